/* List the controls of a page by section, and mark those inside components so that a style can hide them.

   Streamlit gives each element with a key the class st-key-KEY. A control inside a component, or a popover without a key,
   gets the class st-key-OWNER--in--LABEL here; `share_form.py` hides both by their classes. */

const FIELDS = "input, textarea, select, button, [role=slider], [role=combobox]";
const INNER = "input:not([type=file]), textarea, select, [role=slider], button.lineage-button, [role=tablist]";
const FRAME = /^(share|jobs|projector|class|lesson|contents|address|unknown)\b/; // what surrounds a page
const MAX_NAME = 80; // characters
const CARDS = ".st-key-lesson-card, .st-key-class-card";

/** Return the key of an element by its CSS class, without the version of a widget, or an empty text. */
export const keyOf = (classes) =>
  [...classes]
    .find((each) => each.startsWith("st-key-") && !each.includes("--in--"))
    ?.slice(7)
    .replace(/--v[0-9]+$/, "") ?? "";

/** Return a label as a part of a name: "Learning rate (T)" becomes "learning-rate-t". */
export const slugOf = (label) =>
  label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40);

/** Return the name of a control inside a component or of a popover; empty if its label has no letter to name it by. */
export const innerName = (owner, label) => {
  const slug = slugOf(label);
  return slug ? `${owner.slice(0, MAX_NAME - slug.length - 6)}--in--${slug}` : "";
};

/** Return the text of an element without the names of its icons. */
function textOf(element) {
  if (!element) return "";
  const copy = element.cloneNode(true);
  for (const each of copy.querySelectorAll('.lineage-icon, [data-testid="stIconMaterial"], option, input, select, svg'))
    each.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** The visible name of a field or button. */
const labelOf = (field) =>
  field.getAttribute("aria-label") || textOf(field.labels?.[0]) || textOf(field.closest("label")) || textOf(field);

/** The controls inside a component, each with all elements that belong to it. */
function innerControls(component, owner) {
  const found = new Map();
  for (const field of component.querySelectorAll(INNER)) {
    if (field.closest("svg, table, .lineage-save, .section-waiting")) continue;
    const label = labelOf(field),
      name = innerName(owner, label);
    if (!name || label.length > 60) continue;
    const elements = [field.closest("label") ?? field, ...(field.labels ?? [])];
    found.set(name, { label, elements: [...(found.get(name)?.elements ?? []), ...elements] });
  }
  return found;
}

/** The popovers of a page that have no key of their own, by the text of their button. */
function popovers(root) {
  const all = [...root.querySelectorAll('[data-testid="stPopover"]')];
  return all
    .filter((each) => !each.closest("[class*='st-key-popover']"))
    .map((element) => {
      const text = textOf(element.querySelector("button")),
        section = keyOf(element.closest("[class*=st-key-page-section-]")?.classList ?? []),
        owner = section ? `popover-${section}` : "popover";
      return { element, label: `“${text}” with its fields`, name: innerName(owner, text) };
    });
}

const isOwn = (name) => name && !FRAME.test(name) && !name.startsWith("section-");
const ownedComponents = (root) =>
  [...root.querySelectorAll(".stElementContainer[class*='st-key-'], .section-component")]
    .map((element) => ({ element, name: keyOf(element.classList) }))
    .filter(({ element, name }) => isOwn(name) && !element.closest(CARDS) && element.querySelector(".lineage"));

/** Mark the controls that have one of these names. */
export function markControls(root, names) {
  const mark = (element, name) => names.includes(name) && element.classList.add(`st-key-${name}`);
  for (const { element, name } of ownedComponents(root)) {
    if (!names.some((each) => each.startsWith(`${name.slice(0, 34)}`))) continue;
    for (const [inner, { elements }] of innerControls(element, name)) elements.forEach((each) => mark(each, inner));
  }
  for (const { element, name } of popovers(root)) mark(element, name);
}

/** Return {name, label, section} of every control on the page, in its order. */
export function listControls(root) {
  const found = new Map(),
    first = textOf(root.querySelector("h1")) || "This page";
  const add = (name, label, section) => {
    if (name && label && name.length <= MAX_NAME && !found.has(name)) found.set(name, { name, label, section });
  };
  let section = first,
    drawn = { figure: 0, table: 0 };
  const marks = [
    "[class*=st-key-page-section-]",
    '[data-testid="stHeading"] h2',
    ".stElementContainer[class*='st-key-']",
    ".section-component",
    '[data-testid="stPopover"]',
  ];
  const unnamed = new Map(popovers(root).map((each) => [each.element, each]));
  for (const element of root.querySelectorAll(marks.join())) {
    const name = keyOf(element.classList);
    if (element.closest(CARDS)) continue;
    if (name.startsWith("page-section-")) {
      section = textOf(element.querySelector("h2, summary")) || first;
      drawn = { figure: 0, table: 0 };
      add(name, "the whole section", section);
    } else if (element.matches("h2")) {
      const title = textOf(element);
      if (title !== section) [section, drawn] = [title, { figure: 0, table: 0 }];
    } else if (unnamed.has(element)) {
      const popover = unnamed.get(element);
      add(popover.name, popover.label, section);
    } else if (!isOwn(name)) continue;
    else if (element.querySelector(".lineage")) {
      const kind = element.querySelector(".lineage-table") ? "table" : "figure";
      drawn[kind] += 1;
      add(name, `the ${kind}${drawn[kind] > 1 ? ` (number ${drawn[kind]})` : ""}`, section);
      for (const [inner, { label }] of innerControls(element, name)) add(inner, label, section);
    } else if (element.querySelector(FIELDS)) {
      const label = textOf(element.querySelector('[data-testid="stWidgetLabel"]'));
      add(name, label || labelOf(element.querySelector(FIELDS)), section);
    }
  }
  return [...found.values()];
}
