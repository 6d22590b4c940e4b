/* The glossary: links to terms, `#glossary-NAME`, show the definition beside them and lead nowhere. The terms and their
   forms are in ../glossary.json; explorer/ui/glossary.py marks them in Markdown by the same rule. */

const make = (tag, properties) => Object.assign(document.createElement(tag), properties); // dom.js needs this module
const LINK = 'a[href^="#glossary-"]';

async function readTerms() {
  try {
    return await (await fetch(new URL("../glossary.json", import.meta.url))).json();
  } catch {
    return {}; // a component in a notebook has no server
  }
}

const nameOf = (term) => term.replaceAll(" ", "-"),
  terms = Object.entries(await readTerms()),
  names = new Map(
    terms.flatMap(([term, { forms }]) => [term, ...forms].map((form) => [form.toLowerCase(), nameOf(term)])),
  ),
  definitions = new Map(terms.map(([term, { definition }]) => [`#glossary-${nameOf(term)}`, definition])),
  longestFirst = [...names.keys()].sort((one, other) => other.length - one.length),
  forms = new RegExp(`“[^”]*”|(?<![\\w-])(${longestFirst.join("|")})(?![\\w-])`, "gi");

/** Return a text as children of an element: the first use of each term is a link, but for what stands in quotation marks. */
export function prose(text) {
  const parts = [],
    marked = new Set();
  let end = 0;
  for (const { 1: form, index } of text.matchAll(forms)) {
    const name = form && names.get(form.toLowerCase());
    if (!name || marked.has(name)) continue;
    marked.add(name);
    parts.push(text.slice(end, index), make("a", { href: `#glossary-${name}`, textContent: form }));
    end = index + form.length;
  }
  return [...parts, text.slice(end)];
}

/** Show the definition of a term at the pointer, the keyboard focus or a tap, until `signal` ends it. */
export function showDefinitions(signal) {
  const tip = make("div", { id: "glossary-tip", className: "glossary-tip", role: "tooltip", popover: "manual" });
  let shown = null; // the link whose definition is shown
  const linkOf = (event) => event.target.closest?.(LINK),
    isOnTip = (event) => tip.contains(event.target),
    listen = (kind, act, options = {}) => document.addEventListener(kind, act, { signal, ...options });

  function show(link) {
    if (link === shown) return;
    hide();
    shown = link;
    link.setAttribute("aria-describedby", tip.id);
    tip.textContent = definitions.get(link.hash);
    (link.closest("[data-testid=stApp]") ?? document.body).append(tip); // with its colour scheme
    tip.showPopover();
    place();
  }
  function place() {
    const at = shown?.getClientRects()[0];
    if (!at) return hide();
    const isBelow = at.bottom + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${isBelow ? at.bottom : at.top - tip.offsetHeight}px`;
  }
  function hide() {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.remove();
  }
  function follow(event) {
    const link = linkOf(event);
    if (link) show(link);
    else if (event.type === "focusin" || (!isOnTip(event) && shown !== document.activeElement)) hide();
  }
  function open(event) {
    const link = linkOf(event);
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    show(link);
  }
  listen("pointerover", follow);
  listen("focusin", follow);
  listen("pointerdown", (event) => linkOf(event) || isOnTip(event) || hide());
  listen("keydown", (event) => event.key === "Escape" && hide());
  listen("scroll", place, { capture: true, passive: true });
  listen("click", open, { capture: true });
  signal.addEventListener("abort", hide);
}
