/* The life cycle of a component that Streamlit mounts. */

/**
 * Return the function that Streamlit calls to mount a component and again, with the same element, for new data. The
 * view that `build(place)` returns is kept: its `show(data, component)` is called each time, `close()` at unmount.
 */
export function defineComponent(build) {
  const views = new WeakMap();
  return (component) => {
    const root = component.parentElement;
    if (!views.has(root)) views.set(root, build(root.querySelector(".lineage")));
    views.get(root).show(component.data, component);
    return () => {
      views.get(root)?.close?.();
      views.delete(root);
    };
  };
}

/** Limit the height (px) of a drawing that fills a presentation screen. */
export const limitHeight = (usual) =>
  document.body.classList.contains("lineage-screened") ? Math.min(usual, 400) : usual;
