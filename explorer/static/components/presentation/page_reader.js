/* Read the elements of a page, in order, from Streamlit's DOM; math.js makes slides of them. */

/* Which parts of a component are on which slide, the component itself says: `defineComponent(build, { slides, controls })`
   in shared/runtime/component.js. */

const CARDS = ".st-key-lesson-card, .st-key-class-card";
const WHOLE = '[class*="st-key-whole-"]'; // a container that is one figure, whatever it contains
const testSelector = (id) => `[data-testid="${id}"]`;
const HEADINGS = { H1: "question", H2: "section", H3: "finding" };
const MARKS = [
  ["code", testSelector("stCode")],
  ["note", testSelector("stAlert")],
  ["caption", testSelector("stCaptionContainer")],
  ["formula", ".katex-display"],
];
const FIGURES = [".lineage", testSelector("stDataFrame"), testSelector("stTable"), testSelector("stImage")].join();
// These are on every page and belong to no slide.
const CORNERS = ["address", "jobs-panel", "presentation", "contents"]
  .map((name) => `.lineage-${name}`)
  .concat(".st-key-next-page")
  .join();

/** Return the selectors of a figure's slides that have something to show; none if its component declares no slides. */
export function partsOf(figure) {
  const place = figure.querySelector("[data-slides]");
  return place ? JSON.parse(place.dataset.slides).filter((each) => figure.querySelector(each)) : [];
}

/** [{ node, kind, title }] */
export function unitsOf(root) {
  return [...(root?.children ?? [])].flatMap(readUnit);
}

/* The kinds of the blocks of a section (components/section), as units of a page. */
const BLOCKS = { markdown: "text", empty: "text", problem: "note", component: "figure" };

/* An expander that is folded: its content is not on the screen. */
const EXPANDER = testSelector("stExpander");
const INPUTS = ["stTextInput", "stTextArea"].map(testSelector).join();
/* An expander, or what contains nothing else. */
const expanderOf = (node) => {
  const inner = node.matches(EXPANDER) ? node : node.querySelector(EXPANDER);
  return inner?.textContent === node.textContent ? inner : null;
};

function readUnit(node) {
  const fold = expanderOf(node)?.querySelector("details");
  if (fold && !fold.open) return [{ node, kind: "hidden", title: "" }];
  if (fold) {
    const [summary, ...content] = fold.children;
    const question = summary.querySelector(testSelector("stMarkdownContainer")); // beside it is the name of an icon
    return [{ node: summary, kind: "section", title: question.textContent.trim() }, ...content.flatMap(readUnit)];
  }
  const blocks = node.matches(testSelector("stElementContainer")) && node.querySelector(".section-blocks");
  if (blocks) return blocks.children.length ? readBlocks(blocks) : [{ node, kind: "hidden", title: "" }];
  const kind = kindOf(node);
  if (kind === "many") return unitsOf(node);
  if (!kind) return [];
  const heading = node.querySelector("h1, h2, h3");
  return [{ node, kind, title: ["question", "section"].includes(kind) ? heading.textContent.trim() : "" }];
}

function readBlocks(list) {
  return [...list.children].flatMap((node) =>
    node.dataset.kind !== "columns"
      ? [{ node, kind: BLOCKS[node.dataset.kind] ?? node.dataset.kind, title: "" }]
      : node.querySelector('[data-kind="code"]')
        ? [{ node, kind: "figure", title: "" }] // texts of several models, to be compared
        : [...node.children].flatMap(readBlocks),
  );
}

function kindOf(node) {
  if (node.querySelector(CORNERS) && !node.querySelector("h1")) return "hidden";
  if (node.matches(CARDS) || node.querySelector(`:scope > :is(${CARDS})`)) return "card";
  if (node.matches(WHOLE) || node.querySelector(`:scope > ${WHOLE}`)) return "figure";
  const figures = node.querySelectorAll(FIGURES).length,
    headings = node.querySelectorAll(`${testSelector("stHeading")} :is(h1, h2, h3)`),
    isElement = node.matches(testSelector("stElementContainer"));
  // A row with a heading and perhaps some buttons counts as that heading; the parts of any other row count separately.
  const isHeadingRow = headings.length === 1 && !figures && node.querySelector(testSelector("stHorizontalBlock"));
  if (isElement ? headings.length : isHeadingRow) return HEADINGS[headings[0].tagName];
  if (isElement) return figures ? "figure" : kindOfPlain(node);
  const isMany = headings.length || figures || node.querySelector(testSelector("stColumn")) || hasSeveralControls(node);
  return isMany ? "many" : kindOfPlain(node);
}

/* Controls one below the other are several; those in a row are one. */
function hasSeveralControls(node) {
  const vertical = testSelector("stVerticalBlock"),
    block = node.matches(vertical) ? node : node.querySelector(`:scope > ${vertical}`);
  return block?.children.length > 1 && block.querySelector("input, button, [role=slider]");
}

/* What is neither heading nor figure. */
function kindOfPlain(node) {
  if (node.querySelector(INPUTS) || node.matches(INPUTS)) return "input";
  const mark = MARKS.find(([, selector]) => node.matches(selector) || node.querySelector(selector));
  if (node.querySelector("input, button, select, textarea, [role=slider]") && mark?.[0] !== "code") return "control";
  if (mark) return mark[0];
  return node.textContent.trim() ? "text" : null;
}
