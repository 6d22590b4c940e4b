/* Show a component of the app in a notebook or in a standalone page. No server is there from which it could load its
   modules, so it contains their source texts (explorer/api/embedding.py), and the browser makes a module of each. */

/**
 * Load the modules of a component and return the last one, its view.
 *
 * @param {[string, string][]} modules path and source of each, after those that it imports; an import names the path as
 *    "import:PATH"
 */
export async function loadModules(modules) {
  const urls = new Map();
  for (const [path, source] of modules) {
    const text = source.replace(/"import:([^"]+)"/g, (_, imported) => JSON.stringify(urls.get(imported)));
    urls.set(path, URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  }
  const view = await import([...urls.values()].at(-1));
  urls.forEach((url) => URL.revokeObjectURL(url));
  return view;
}

/** Make the element of a component with its styles inside `parent`. `live`: whether a kernel answers its events. */
function makeRoot(parent, name, styles, live) {
  const root = document.createElement("div"),
    style = document.createElement("style"),
    container = document.createElement("div");
  root.className = `lineage-embedded${live ? "" : " lineage-saved"}`;
  style.textContent = styles;
  container.className = `lineage lineage-${name.replaceAll("_", "-")}`;
  root.append(style, container);
  parent.append(root);
  return root;
}

/** Follow the light or dark theme of JupyterLab, also from an iframe; elsewhere that of the browser. Return a function
    that ends this. */
function followTheme(root) {
  let body = document.body;
  try {
    body = window.parent.document.body;
  } catch {
    // the page around the iframe is of another site
  }
  const follow = () => {
    const light = body.dataset.jpThemeLight;
    root.style.colorScheme = light === undefined ? "light dark" : light === "true" ? "light" : "dark";
  };
  const watch = new MutationObserver(follow);
  watch.observe(body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  follow();
  return () => watch.disconnect();
}

/** Return the functions of an anywidget whose `data` is that of a component; events go to the kernel as messages. */
export function makeWidget(name, modules, styles) {
  return {
    async render({ model, el }) {
      const root = makeRoot(el, name, styles, true),
        unfollowTheme = followTheme(root),
        view = await loadModules(modules),
        send = (event, value) => model.send({ event, value });
      let unmount;
      const show = () => (unmount = showData(view, root, model.get("data"), send));
      model.on("change:data", show);
      show();
      return () => {
        model.off("change:data", show);
        unfollowTheme();
        unmount();
      };
    },
  };
}

const showData = (view, parentElement, data, send) =>
  view.default({ parentElement, data, setTriggerValue: send, sendWhenIdle: send });

/** Fill this page with a component that no kernel answers. An iframe around it gets its height. */
export async function showPage(name, modules, styles, data) {
  const root = makeRoot(document.body, name, styles, false);
  followTheme(document.documentElement);
  const ignore = () => {};
  showData(await loadModules(modules), root, data, ignore);
  new ResizeObserver(() => {
    try {
      if (window.frameElement)
        /** @type {HTMLElement} */ (window.frameElement).style.height = `${root.offsetHeight}px`;
    } catch {
      // the page around the iframe is of another site: its height stays
    }
  }).observe(root);
}
