/* The menu that saves a figure as PNG, SVG, CSV or text.

   saveMenu(container, {svg: () => text, csv: () => text, file: "negation-race"})
     puts the button into the top right corner of `container` (shared/base.css sets position: relative). The functions (`txt` is
     another) are called only when the user saves, and may return a promise; the menu lists the formats that are given.
     figuresOf(page)  returns {container, source} of the pictures that can be saved, in the order of the page.
   A second call with the same container replaces what is saved. Pictures are saved in light colours, also from the dark
     theme, which additionally offers a dark PNG.
   svgOf(element)  returns the text of an inline <svg> with the page's colours and fonts written into it. */
import { icon, nextFrames, node, svgNode } from "./dom.js";
import { escapeInvisible, escapeInvisibleInXml } from "./visible_text.js";

const SHARPNESS = 2; // pixels of a PNG for each px
const FORMATS = {
  PNG: { of: "svg", make: svgToPng },
  "PNG, dark": { of: "svg", make: svgToPng, extension: "png", dark: true },
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
  if (menus.has(container)) return void Object.assign(menus.get(container), { source });
  const menu = { source };
  menus.set(container, menu);

  const makeItem = (format) => {
    const attributes = { type: "button", role: "menuitem", value: format, "aria-label": format };
    return node("button.lineage-save-item", { ...attributes, onclick: () => saveFile(format) }, format);
  };
  const items = Object.keys(FORMATS).map(makeItem),
    trouble = node("div.lineage-save-trouble", { role: "status" }),
    list = node("div.lineage-save-list", { role: "menu", "aria-label": "Save as", hidden: true }, items, trouble),
    about = { type: "button", title: "Save", "aria-label": "Save this figure", "aria-haspopup": "menu" },
    onclick = () => setOpen(list.hidden);
  const button = node(
    "button.lineage-button.lineage-save-button",
    { ...about, "aria-expanded": false, onclick },
    icon("download"),
  );
  const root = node("div.lineage-save", { onkeydown }, button, list);

  const visibleItems = () => items.filter((item) => !item.hidden);
  const closeIfOutside = (event) => {
    if (!root.contains(event.target)) setOpen(false);
  };
  function setOpen(yes) {
    for (const item of items) {
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
    try {
      await saveFigure({ container, source: menu.source }, format);
      setOpen(false);
      button.focus();
    } catch {
      trouble.textContent = "This browser could not write the file.";
    }
  }
  function onkeydown(event) {
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
  }
  container.append(root);
}

export const figuresOf = (page) =>
  [...page.querySelectorAll(".lineage-save")]
    .map(({ parentElement: container }) => ({ container, ...menus.get(container) }))
    .filter(({ container, source }) => source?.svg && container.checkVisibility());

/** Save a figure in one of the formats. */
export async function saveFigure({ container, source }, format) {
  const { of, make, dark, extension = format.toLowerCase() } = FORMATS[format],
    read = () => source[of](),
    content = await (of !== "svg" || dark ? read() : withLightColours(container, read));
  download(`${source.file || "figure"}.${extension}`, await make(content));
}

export function download(name, blob) {
  const href = URL.createObjectURL(blob);
  node("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

const STYLES = [
  ...["fill", "fill-opacity", "opacity", "visibility", "display", "paint-order", "text-anchor", "dominant-baseline"],
  ...["width", "opacity", "dasharray", "linecap", "linejoin"].map((part) => `stroke-${part}`),
  ...["family", "size", "weight", "style", "variant-numeric"].map((part) => `font-${part}`),
  ...["stroke", "letter-spacing", "image-rendering"],
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
    { width, height } = svg.getBoundingClientRect(),
    copies = [copy, ...copy.querySelectorAll("*")];
  [svg, ...svg.querySelectorAll("*")].forEach((each, i) => {
    const style = getComputedStyle(each);
    copies[i].removeAttribute("class");
    copies[i].setAttribute(
      "style",
      STYLES.map((name) => `${name}:${plainColours(style.getPropertyValue(name))}`).join(";"),
    );
  });
  const viewBox = copy.getAttribute("viewBox") ?? `0 0 ${width} ${height}`,
    [x, y, wide, high] = viewBox.split(/[\s,]+/);
  for (const [name, value] of Object.entries({ xmlns: copy.namespaceURI, width, height, viewBox }))
    copy.setAttribute(name, value);
  copy.prepend(svgNode("rect", { x, y, width: wide, height: high, fill: colourAround(svg, "--page") }));
  return new XMLSerializer().serializeToString(copy);
}

/** Return one of base.css's colours as it is around an element; "" where the styles of the app are not loaded. */
export function colourAround(element, name) {
  if (!getComputedStyle(element).getPropertyValue(name).trim()) return "";
  const probe = element.parentElement.appendChild(node("i", { style: `color: var(${name})` })),
    { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Return the text of an SVG file as an image. */
export async function figureImage(svgText) {
  const { documentElement: svg } = new DOMParser().parseFromString(svgText, "image/svg+xml"),
    [width, height] = ["width", "height"].map((side) => parseFloat(svg.getAttribute(side))),
    url = URL.createObjectURL(new Blob([await withFonts(svgText)], { type: "image/svg+xml" }));
  try {
    const image = Object.assign(new Image(width, height), { src: url });
    await image.decode();
    return image;
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function svgToPng(svgText) {
  const image = await figureImage(svgText),
    [width, height] = [image.width, image.height].map((side) => Math.round(SHARPNESS * side)),
    canvas = node("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"),
  );
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
    return []; // another site's sheet may not be read
  }
}

const faceTexts = new Map(); // by the address of the font
function faceText({ style, parentStyleSheet }) {
  const address = /url\("?([^")]+)"?\)/.exec(style.src)?.[1];
  if (!address) return "";
  async function embed() {
    const answer = await fetch(new URL(address, parentStyleSheet.href ?? document.baseURI)),
      reader = new FileReader();
    reader.readAsDataURL(await answer.blob());
    await new Promise((done) => (reader.onload = done));
    return (
      `@font-face{font-family:${style.fontFamily};font-weight:${style.fontWeight || "normal"};` +
      `font-style:${style.fontStyle || "normal"};src:url("${reader.result}")}`
    );
  }
  if (!faceTexts.has(address))
    faceTexts.set(
      address,
      embed().catch(() => ""),
    ); // then the next font in the list is drawn
  return faceTexts.get(address);
}
