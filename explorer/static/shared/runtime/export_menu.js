/* The menu that saves a figure as PNG, SVG, CSV or text.

   saveMenu(container, {svg: () => text, csv: () => text, file: "negation-race"})
     puts the button into the top right corner of `container` (shared/base.css sets position: relative). The functions (`txt` is
     another) are called only when the user saves, and may return a promise; the menu lists the formats that are given.
     A second call with the same container replaces what is saved. Pictures are saved in light colours, also from the dark
     theme, which additionally offers a dark PNG.
   svgOf(element)  returns the text of an inline <svg> with the page's colours and fonts written into it. */
import { element, icon, nextFrames } from "./dom.js";
import { escapeInvisible, escapeInvisibleInXml } from "./visible_text.js";

const png = async (svg) => svgToPng(svg, ...sizeOf(svg));
const FORMATS = {
  PNG: { of: "svg", make: png },
  "PNG, dark": { of: "svg", make: png, extension: "png", dark: true },
  SVG: { of: "svg", make: async (svg) => new Blob([await withFonts(svg)], { type: "image/svg+xml" }) },
  CSV: { of: "csv", make: async (csv) => new Blob([csv], { type: "text/csv;charset=utf-8" }) },
  TXT: { of: "txt", make: async (txt) => new Blob([escapeInvisible(txt)], { type: "text/plain;charset=utf-8" }) },
};
const menus = new WeakMap();

const isDark = (element) => getComputedStyle(element).colorScheme === "dark";

/** Return what `make` returns while the component around `container` has light colours. */
async function withLightColours(container, make) {
  const root = /** @type {HTMLElement} */ (container.closest(".lineage") ?? container);
  if (!isDark(root)) return make();
  const { cssText } = root.style;
  root.style.cssText += "; color-scheme: light; background: var(--page)";
  try {
    // The transition of its probe (theme.js) tells a canvas or a chart to draw in other colours, in the next frame.
    const changes = [...root.querySelectorAll(".frame-probe")].flatMap((probe) => probe.getAnimations());
    await Promise.allSettled(changes.map(({ finished }) => finished));
    await nextFrames();
    return await make();
  } finally {
    root.style.cssText = cssText;
  }
}

export function saveMenu(container, source) {
  const existing = menus.get(container);
  if (existing) return Object.assign(existing, { source }).root;
  const menu = { source, root: element("div", "lineage-save") };
  menus.set(container, menu);

  const button = element("button", "lineage-button lineage-save-button");
  button.type = "button";
  button.title = "Save";
  button.ariaLabel = "Save this figure";
  button.ariaHasPopup = "menu";
  button.ariaExpanded = "false";
  button.append(icon("download"));
  const list = element("div", "lineage-save-list");
  list.role = "menu";
  list.ariaLabel = "Save as";
  list.hidden = true;
  const trouble = element("div", "lineage-save-trouble");
  trouble.role = "status";

  const visibleItems = () => [...list.querySelectorAll("button:not([hidden])")];
  const closeIfOutside = (event) => {
    if (!menu.root.contains(event.target)) setOpen(false);
  };
  function setOpen(yes) {
    for (const item of list.querySelectorAll("button")) {
      const { of, dark } = FORMATS[item.value];
      item.hidden = !menu.source[of] || (dark && !isDark(container));
    }
    list.hidden = !yes;
    button.ariaExpanded = String(yes);
    trouble.textContent = "";
    document[yes ? "addEventListener" : "removeEventListener"]("pointerdown", closeIfOutside);
    if (yes) visibleItems()[0]?.focus();
  }
  async function saveFile(format) {
    const { of, make, dark, extension = format.toLowerCase() } = FORMATS[format],
      read = () => menu.source[of]();
    try {
      const content = await (of !== "svg" || dark ? read() : withLightColours(container, read));
      download(`${menu.source.file || "figure"}.${extension}`, await make(content));
      setOpen(false);
      button.focus();
    } catch {
      trouble.textContent = "This browser could not write the file.";
    }
  }
  for (const format of Object.keys(FORMATS)) {
    const item = element("button", "lineage-save-item");
    item.type = "button";
    item.role = "menuitem";
    item.value = item.textContent = item.ariaLabel = format;
    item.onclick = () => saveFile(format);
    list.append(item);
  }
  button.onclick = () => setOpen(list.hidden);
  menu.root.onkeydown = (event) => {
    const all = visibleItems(),
      at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape" && !list.hidden) {
      setOpen(false);
      button.focus();
    } else if (event.key === "Tab") {
      if (!list.hidden) setOpen(false);
      return;
    } else if (to !== undefined) {
      if (list.hidden) setOpen(true);
      else all.at(to % all.length).focus();
      event.preventDefault();
    } else return;
    event.stopPropagation();
  };
  list.append(trouble);
  menu.root.append(button, list);
  container.append(menu.root);
  return menu.root;
}

export function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "paint-order",
  "opacity",
  "visibility",
  "display",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "font-variant-numeric",
  "text-anchor",
  "dominant-baseline",
  "letter-spacing",
  "image-rendering",
];
const COLOUR = /color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)/g;

/** Mixed colours are computed as color(srgb ...), which most programs for SVG do not know. */
export const plainColours = (style) =>
  style.replace(COLOUR, (_, red, green, blue, alpha = "1") => {
    const channels = [red, green, blue].map((share) => Math.round(255 * Number(share))).join(", ");
    return Number(alpha) === 1 ? `rgb(${channels})` : `rgba(${channels}, ${Number(alpha)})`;
  });

export function svgOf(svg) {
  const copy = svg.cloneNode(true),
    { width, height } = svg.getBoundingClientRect();
  const from = [svg, ...svg.querySelectorAll("*")],
    to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    to[i].removeAttribute("class");
    const texts = STYLES.map((name) => `${name}:${plainColours(style.getPropertyValue(name))}`);
    to[i].setAttribute("style", texts.join(";"));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const view = copy.getAttribute("viewBox").split(/[\s,]+/),
    page = document.createElementNS(copy.namespaceURI, "rect");
  ["x", "y", "width", "height"].forEach((name, i) => page.setAttribute(name, view[i]));
  page.setAttribute(
    "fill",
    getComputedStyle(svg).getPropertyValue("--page").trim() && resolveColour(svg, "var(--page)"),
  );
  copy.prepend(page);
  return new XMLSerializer().serializeToString(copy);
}

function resolveColour(near, colour) {
  const probe = element("i");
  probe.style.color = colour;
  near.parentElement.append(probe);
  const rgb = getComputedStyle(probe).color;
  probe.remove();
  return rgb;
}

export async function svgToPng(svgText, width, height, scale = 2) {
  const image = new Image(width, height);
  const url = URL.createObjectURL(new Blob([await withFonts(svgText)], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

function sizeOf(svgText) {
  const svg = new DOMParser().parseFromString(svgText, "image/svg+xml").documentElement;
  return [parseFloat(svg.getAttribute("width")), parseFloat(svg.getAttribute("height"))];
}

// An <svg> that is loaded as an image has no access to the page's fonts; the fonts it uses are embedded in it.
async function withFonts(svgText) {
  const faces = [...document.styleSheets]
    .flatMap(rulesOf)
    .filter(
      (rule) =>
        rule instanceof CSSFontFaceRule &&
        svgText.includes(rule.style.fontFamily.replaceAll('"', "")) &&
        (rule.style.fontStyle !== "italic" || svgText.includes("italic")),
    );
  const css = (await Promise.all(faces.map(faceText))).join("");
  return escapeInvisibleInXml(svgText).replace(/<svg[^>]*>/, (tag) => `${tag}<style>${css}</style>`);
}

function rulesOf(sheet) {
  try {
    return [...sheet.cssRules];
  } catch {
    return [];
  } // another site's sheet may not be read
}

const texts = new Map();
function faceText(rule) {
  const address = /url\("?([^")]+)"?\)/.exec(rule.style.src)?.[1];
  if (!address) return "";
  if (!texts.has(address))
    texts.set(
      address,
      fetch(new URL(address, rule.parentStyleSheet.href ?? document.baseURI))
        .then((answer) => answer.blob())
        .then(
          (blob) =>
            new Promise((done) => {
              const reader = new FileReader();
              reader.onload = () => done(reader.result);
              reader.readAsDataURL(blob);
            }),
        )
        .then(
          (url) =>
            `@font-face{font-family:${rule.style.fontFamily};font-weight:${rule.style.fontWeight || "normal"};` +
            `font-style:${rule.style.fontStyle || "normal"};src:url("${url}")}`,
        )
        .catch(() => ""),
    ); // then the next font in the list is drawn
  return texts.get(address);
}
