/* The life cycle of a component that Streamlit mounts. */

/**
 * Return the function that Streamlit calls to mount a component and again, with the same element, for new data. The
 * view that `build(place, send)` returns is kept: its `show(data, component)` is called each time, `resize()` whenever the
 * size of `place` has changed, `close()` at unmount. `send(name, value)` sends an event to the page.
 *
 * In presentation mode a component is one slide if it fits, else it is shown in the `slides` that it declares: for each
 * slide the selectors of what is on it. What is named for no slide is on all of them, and a part may be on several.
 * `controls` (selectors) are on no slide until the teacher shows the controls. For example
 * `defineComponent(build, { slides: [".prompt, .texts", ".prompt, .bars"], controls: ".settings" })`.
 * The parts of one slide must say something together: a figure with its headline, its labels and the slider that moves it.
 *
 * @typedef {{show: (data: any, component: any) => void, resize?: () => void, close?: () => void}} View
 * @param {(place: HTMLElement, send: (name: string, value: any) => void) => View} build
 * @param {{slides?: string[], controls?: string}} [presentation]
 */
export function defineComponent(build, { slides = [], controls = "" } = {}) {
  const mounted = new WeakMap(); // by element: {component, view, size}
  return (component) => {
    const root = component.parentElement,
      place = root.querySelector(".lineage");
    if (!mounted.has(root)) {
      const within = (parts) => `.${place.classList[1]} :is(${parts})`;
      if (slides.length) place.dataset.slides = JSON.stringify(slides.map(within));
      if (controls) place.dataset.controls = within(controls);
      const view = build(place, (name, value) => mounted.get(root)?.component.setTriggerValue(name, value)),
        size = new ResizeObserver(() => view.resize());
      if (view.resize) size.observe(place);
      mounted.set(root, { view, size });
    }
    Object.assign(mounted.get(root), { component }).view.show(component.data, component);
    return () => {
      const { view, size } = mounted.get(root) ?? {};
      size?.disconnect();
      view?.close?.();
      mounted.delete(root);
    };
  };
}

/** Return whether a component is alone on the slide of a presentation. */
export const isScreened = () => document.body.classList.contains("lineage-screened");

/** Limit the height (px) of a drawing on a presentation screen, where `most` is left beside the rest of its slide. */
export const limitHeight = (usual, most = 400) => (isScreened() ? Math.min(usual, most) : usual);
