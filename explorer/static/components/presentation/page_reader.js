/* Read the elements of a page, in order, from Streamlit's DOM; math.js makes stops of them. */

/* For components higher than a screen: the selectors of each of their screens, in order. Parts in no list are on every screen. */
const SCREENS = {
  "attention-heads": [".training", ".heads", ".second", ".habits-figure", ".said, .buttons, .worth, .model"],
  "gates-by-hand": [
    ".tools, .dials",
    ".told, .diagram",
    ".gate, .gate ~ div:not(.head):not(.axis)",
    ".head, .trace, .axis, .keys",
  ],
  masks: [".tools, .rows, .words", ".padding, .causal", ".both, .scores", ".under, .weights"],
  temperature: [".controls, .finding", ".controls, .distribution", ".written"],
  "attention-walkthrough": [".askers, .rail, .formula, .note", ".lens", ".keys"],
  positions: [
    "h3, .about, .about ~ .dials",
    "section > :nth-child(n+4):nth-child(-n+5)",
    "section > :nth-child(n+6):nth-child(-n+7)",
    "section > :nth-child(n+8):nth-child(-n+10)",
    "section > :nth-child(n+11)",
  ],
  "block-diagram": [".tower", ".pills:not(.heads)", ".plot, .heads", ".below", ".learned"],
  "residual-stacks": [".controls, .finding, .rest", ".figure, .read"],
  "multi-head": [".controls, .finding, .about", ".stage, .words, .legend"],
  "sense-map": [".map", ".side"],
  "dot-product": [".tables, .words", ".steps"],
  alignment: [".bar, .written, .both", ".strips, .below"],
  "token-tree": [".finding, .token-text, .controls, .about", ".columns"],
  tokenizer: [".finding, .controls", ".picture, .numbers", ".side"],
  "gate-viewer": [".parts > :nth-child(-n+2)", ".parts > :nth-child(n+3):nth-child(-n+4)", ".parts > :nth-child(n+5)"],
  "beam-search": [".control, h3, .scroller", ".lists, .words, .lineage-caption"],
};

const testSelector = (id) => `[data-testid="${id}"]`;
const HEADINGS = { H1: "question", H2: "section", H3: "finding" };
const MARKS = [
  ["code", testSelector("stCode")],
  ["note", testSelector("stAlert")],
  ["caption", testSelector("stCaptionContainer")],
  ["formula", ".katex-display"],
];
const FIGURES = [".lineage", testSelector("stDataFrame"), testSelector("stTable"), testSelector("stImage")].join();
const CORNERS = ".lineage-address, .lineage-jobs-panel, .lineage-presentation"; // these are on every page and belong to no stop

/** The selectors of a figure's screens: one, or none, where it is not made of several. */
export function screensOf(figure) {
  const name = Object.keys(SCREENS).find((each) => figure.querySelector(`.lineage-${each}`));
  return (SCREENS[name] ?? [])
    .map((each) =>
      each
        .split(", ")
        .map((one) => `.lineage-${name} ${one}`)
        .join(", "),
    )
    .filter((each) => figure.querySelector(each));
}

/** [{ node, kind, title }] */
export function unitsOf(root) {
  return [...(root?.children ?? [])].flatMap(readUnit);
}

/* The kinds of the blocks of a section (components/section), as units of a page. */
const BLOCKS = {
  finding: "finding",
  text: "text",
  markdown: "text",
  empty: "text",
  caption: "caption",
  code: "code",
  problem: "note",
  component: "figure",
};

/* An expander that is folded: its content is not on the screen. */
const EXPANDER = testSelector("stExpander");
const isFolded = (node) =>
  node.matches(`${EXPANDER}, :has(> ${EXPANDER})`) && node.querySelector("details")?.open === false;

function readUnit(node) {
  if (isFolded(node)) return [{ node, kind: "control", title: "" }];
  const blocks = node.matches(testSelector("stElementContainer")) && node.querySelector(".section-blocks");
  if (blocks) return readBlocks(blocks);
  const kind = kindOf(node);
  if (kind === "many") return unitsOf(node);
  if (!kind) return [];
  const heading = node.querySelector("h1, h2, h3");
  return [{ node, kind, title: ["question", "section"].includes(kind) ? heading.textContent.trim() : "" }];
}

function readBlocks(list) {
  return [...list.children].flatMap((node) =>
    node.dataset.kind === "columns"
      ? [...node.children].flatMap(readBlocks)
      : [{ node, kind: BLOCKS[node.dataset.kind], title: "" }],
  );
}

function kindOf(node) {
  if (node.querySelector(CORNERS) && !node.querySelector("h1")) return null;
  if (node.matches(".st-key-lesson-card") || node.querySelector(":scope > .st-key-lesson-card")) return "card";
  const figures = node.querySelectorAll(FIGURES).length,
    headings = node.querySelectorAll(`${testSelector("stHeading")} :is(h1, h2, h3)`);
  if (!node.matches(testSelector("stElementContainer"))) {
    // A row with a heading and perhaps some buttons counts as that heading; the parts of any other row count separately.
    if (headings.length === 1 && !figures && node.querySelector(testSelector("stHorizontalBlock")))
      return HEADINGS[headings[0].tagName];
    if (headings.length || figures) return "many";
    if (firstColumn(node) || hasSeveralControls(node)) return "many";
    return kindOfPlain(node);
  }
  if (headings.length) return HEADINGS[headings[0].tagName];
  if (figures) return "figure";
  return kindOfPlain(node);
}

/* Controls one below the other are several; those in a row are one. */
const hasSeveralControls = (node) => {
  const block = node.matches(testSelector("stVerticalBlock"))
    ? node
    : node.querySelector(`:scope > ${testSelector("stVerticalBlock")}`);
  return block && block.children.length > 1 && block.querySelector("input, button, [role=slider]");
};
const firstColumn = (node) => node.querySelector(testSelector("stColumn"));

/* What is neither heading nor figure. */
function kindOfPlain(node) {
  const mark = MARKS.find(([, selector]) => node.matches(selector) || node.querySelector(selector));
  if (node.querySelector("input, button, select, textarea, [role=slider]") && mark?.[0] !== "code") return "control";
  if (mark) return mark[0];
  return node.textContent.trim() ? "text" : null;
}
