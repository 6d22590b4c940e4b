/* The entries of the button “Share”: a popover of the browser, which closes on Escape and on a click beside it. */
import { canRecord, recordFigure } from "../../shared/runtime/animation.js";
import { figuresOf, saveFigure } from "../../shared/runtime/export_menu.js";
import { icon, node } from "../../shared/runtime/dom.js";

/** Return the button and its popover; `present` shows the page on a projector, `give` gives it to a class. */
export function shareMenu(page, present, give) {
  const status = node("p", { role: "status" }),
    text = node("textarea", { readonly: true, rows: 3, "aria-label": "Text to copy", hidden: true }),
    say = (words) => (status.textContent = words);
  async function copy(content) {
    Object.assign(text, { value: content, hidden: false }).select();
    const isCopied = await navigator.clipboard?.writeText(content).then(
      () => true,
      () => false,
    );
    say(isCopied ? "Copied." : "Copy this text.");
  }
  function embed() {
    const title = page.querySelector("h1")?.textContent ?? "Lineage";
    return copy(node("iframe", { src: location.href, title, width: "100%", height: 900 }).outerHTML);
  }
  async function save(format) {
    const [figure] = figuresOf(page);
    if (!figure) return say("This page has no figure yet.");
    await saveFigure(figure, format);
  }
  async function animate() {
    if (!canRecord()) return say("This browser cannot record an animation.");
    const figures = figuresOf(page),
      figure = figures.find(({ container }) => container.querySelector(".frame-scrubber")) ?? figures[0];
    if (!figure) return say("This page has no figure yet.");
    await recordFigure(figure, say);
    say("The animation is saved.");
  }
  const entry = (symbol, words, act) => {
    async function onclick() {
      text.hidden = true;
      say("");
      await act().catch(() => say("This browser could not write the file."));
    }
    return node("button", { type: "button", onclick }, icon(symbol), words);
  };
  const leave = (act) => async () => {
    list.hidePopover();
    act();
  };
  const giving = entry("groups", "Give to a class", leave(give));
  const list = node(
    "div.share-list",
    { popover: "auto", id: "lineage-share", role: "group", "aria-label": "Share" },
    entry("link", "Copy link", () => copy(location.href)),
    entry("image", "Picture (PNG)", () => save("PNG")),
    entry("image", "Picture (SVG)", () => save("SVG")),
    entry("movie", "Animation (WebM, 6 s)", animate),
    entry("code", "Embed code", embed),
    entry("slideshow", "Projector (key p)", leave(present)),
    giving,
    text,
    status,
  );
  const button = node(
    "button.lineage-button.lineage-share-button",
    { type: "button", popovertarget: list.id },
    icon("share"),
    node("span", "Share"),
  );
  return { root: [button, list], giving };
}
