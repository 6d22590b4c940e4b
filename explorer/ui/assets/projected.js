/* What stands on a page of ours, in its order, as stops are made of it (projecting.js): read off Streamlit's elements. */

const test = (id) => `[data-testid="${id}"]`;
const HEADINGS = { H1: "question", H2: "section", H3: "finding" };
const MARKS = [
  ["code", test("stCode")],
  ["note", test("stAlert")],
  ["caption", test("stCaptionContainer")],
  ["formula", ".katex-display"],
];
const FIGURES = [".lineage", test("stDataFrame"), test("stTable"), test("stImage")].join();
const CORNERS = ".lineage-jobs, .lineage-projector"; // they are of every page, and of no stop

/** [{ node, kind, title }] */
export function unitsOf(root) {
  return [...(root?.children ?? [])].flatMap(unit);
}

function unit(node) {
  const kind = kindOf(node);
  if (kind === "many") return unitsOf(node);
  if (!kind) return [];
  const heading = node.querySelector("h1, h2, h3");
  return [{ node, kind, title: ["question", "section"].includes(kind) ? heading.textContent.trim() : "" }];
}

function kindOf(node) {
  if (node.querySelector(CORNERS) && !node.querySelector("h1")) return null;
  if (node.matches(".st-key-lesson-card") || node.querySelector(":scope > .st-key-lesson-card")) return "card";
  const figures = node.querySelectorAll(FIGURES).length, headings = node.querySelectorAll(`${test("stHeading")} :is(h1, h2, h3)`);
  if (!node.matches(test("stElementContainer"))) {
    // A row that has a heading and perhaps some buttons is that heading; of anything else that has several, each counts.
    if (headings.length === 1 && !figures && node.querySelector(test("stHorizontalBlock"))) return HEADINGS[headings[0].tagName];
    if (headings.length || figures) return "many";
    if (columns(node) || several(node)) return "many";
    return plain(node);
  }
  if (headings.length) return HEADINGS[headings[0].tagName];
  if (figures) return "figure";
  return plain(node);
}

/* Controls one below the other are several; those in a row are one. */
const several = (node) => {
  const block = node.matches(test("stVerticalBlock")) ? node : node.querySelector(`:scope > ${test("stVerticalBlock")}`);
  return block && block.children.length > 1 && block.querySelector("input, button, [role=slider]");
};
const columns = (node) => node.querySelector(test("stColumn"));

/* What is neither heading nor figure. */
function plain(node) {
  const found = MARKS.find(([, selector]) => node.matches(selector) || node.querySelector(selector));
  if (node.querySelector("input, button, select, textarea, [role=slider]") && found?.[0] !== "code") return "control";
  if (found) return found[0];
  return node.textContent.trim() ? "text" : null;
}
