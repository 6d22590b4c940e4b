/**
 * Draw a table: results with a strip of seeds, or answers sentence by sentence. Rows are selected and sorted in the
 * browser at once. Events: "chosen": keys; "sort": "key" or "-key"; "open": key of the row.
 *
 * @import { SendEvent } from "../../shared/runtime/events.js"
 *
 * @typedef {object} TableData
 * @property {any[]} columns {key, label, kind: "model" | "text" | "number" | "strip" | "verdict" | "mono" | "open" |
 *    "tags" | "brief" (two lines; complete in the saved file), align: "left" | "right", range: [low, high] of a
 *    strip, each: what a dot of a strip stands for (default: seed), colour: of a model column, sort: true if rows can be sorted by it,
 *    wrap: true if its words may stand below each other, minor: true if a narrow screen and the presentation mode leave
 *    it out until all columns are requested}
 * @property {any[]} rows {cells: {key: {text, colour, values, mark, tone: "sustain" | "collapse", wrong, detail: a
 *    second line of "open", or of a "strip" without values, tags: [text], sort: value to sort by instead of the
 *    text}}, key: needed to select or open the row, rule: strong line above}
 * @property {{chosen: string[], most: number | null} | null} select
 * @property {string | null} sort "key" or "-key"
 * @property {string} caption
 * @property {string} file
 * @property {string} label accessible name
 *
 * @typedef {object} TableEvents
 * @property {string[]} chosen keys
 * @property {string} sort "key" or "-key"
 * @property {string} open key of the row
 */
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { icon, node, tint } from "../../shared/runtime/dom.js";
import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { formatRounded } from "../../shared/runtime/format.js";

const unseenText = (text) => node("span", { class: "unseen" }, text);
const cellClass = ({ kind, align, wrap, minor }) =>
  `${align ?? "left"}${kind === "mono" ? " mono" : ""}${wrap ? " wrap" : ""}${minor ? " minor" : ""}`;
const rowKey = (row, i) => row.key ?? String(i);

/** Return the rows in the order of `sort`; rows without a value are last in both directions. */
export function sortRows(rows, sort) {
  if (!sort) return rows;
  const key = sort.replace(/^-/, ""),
    way = sort === key ? 1 : -1;
  const sortValue = (row) => row.cells[key]?.sort ?? row.cells[key]?.text ?? "";
  const isEmpty = (value) => value === "" || Number.isNaN(value);
  return [...rows].sort((one, other) => {
    const a = sortValue(one),
      b = sortValue(other);
    if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
    return (
      way *
      (typeof a === "number" && typeof b === "number"
        ? a - b
        : String(a).localeCompare(String(b), "en", { numeric: true }))
    );
  });
}

/** The keys chosen once `changed` are all on or all off: in the order of the rows, then those whose rows are not shown. */
export function chooseKeys(chosen, keys, changed, on, most) {
  const newKeys = new Set(chosen);
  for (const key of changed) {
    if (!on) newKeys.delete(key);
    else if (newKeys.size < (most ?? Infinity)) newKeys.add(key);
  }
  return [
    ...keys.filter((key) => newKeys.has(key)),
    ...chosen.filter((key) => newKeys.has(key) && !keys.includes(key)),
  ];
}

function percentAlong([low, high], value) {
  const share = (value - low) / (high - low);
  return `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
}

function makeStrip(cell, column, colour) {
  const range = column.range ?? [0, 1];
  const line = tint(node("span", { class: "line" }), colour);
  for (const value of cell.values) {
    const dot = line.appendChild(node("i"));
    dot.style.left = percentAlong(range, value);
  }
  if (cell.mark != null) line.appendChild(node("b")).style.left = percentAlong(range, cell.mark);
  const values = `${column.each ?? "seed"}s: ${cell.values.join(", ")}${cell.mark == null ? "" : `; mark at ${cell.mark}`}`;
  return node(
    "span",
    { class: "strip" },
    node("span", { class: "figure" }, cell.text),
    node("span", { class: "axis", role: "img", "aria-label": values, title: values }, line),
  );
}

function makeVerdict(cell) {
  const chip = node("span", { class: `verdict ${cell.tone ?? ""}${cell.wrong ? " wrong" : ""}` });
  if (cell.wrong) chip.append(icon("close"), unseenText("wrong: "));
  chip.append(cell.text);
  return chip;
}

function makeLink(cell, press) {
  const button = tint(
    node("button", { type: "button", class: cell.colour ? "open dotted" : "open" }, cell.text ?? ""),
    cell.colour,
  );
  button.onclick = press;
  return withDetail(button, cell);
}

const withDetail = (content, { detail }) =>
  detail ? node("span", { class: "two" }, content, node("span", { class: "detail" }, detail)) : content;

function cellContent(cell, column, row, press) {
  if (!cell) return "";
  if (column.kind === "strip" && cell.values?.length) {
    return makeStrip(cell, column, Object.values(row.cells).find((other) => other.colour)?.colour);
  }
  if (column.kind === "strip") return withDetail(cell.text ?? "", cell);
  if (column.kind === "verdict") return makeVerdict(cell);
  if (column.kind === "open") return makeLink(cell, press);
  if (column.kind === "brief") return node("span", { class: "brief" }, cell.text ?? "");
  if (column.kind === "tags")
    return node("span", { class: "tags" }, ...(cell.tags ?? []).map((tag) => node("span", { class: "tag" }, tag)));
  return cell.text ?? "";
}

function makeHeading(column, press) {
  const cell = node("th", { scope: "col", class: cellClass(column) });
  const label = tint(node("span", { class: column.colour ? "dotted" : "" }, column.label), column.colour);
  const words = column.label ? label : unseenText(column.key);
  if (column.sort) {
    const button = node("button", { type: "button", class: "sort" }, words, icon("arrow_upward"));
    button.onclick = press;
    cell.append(button);
  } else cell.append(words);
  if (column.kind === "strip") {
    const ends = (column.range ?? [0, 1]).map((end) => node("span", {}, formatRounded(end)));
    cell.append(
      node(
        "span",
        { class: "strip", "aria-hidden": "true" },
        node("span", { class: "figure" }),
        node("span", { class: "axis ends" }, ...ends),
      ),
    );
  }
  return cell;
}

/** A cell with a native checkbox, the whole of which can be pressed. */
function makeCheckboxCell(tag, press) {
  const box = node("input", { type: "checkbox" });
  box.onchange = () => press(box.checked);
  return { box, element: node(tag, { class: "choose", scope: tag === "th" ? "col" : null }, node("label", {}, box)) };
}

/** A row. Its node is reused while its cells change, so that a press on it is never lost. */
class TableRow {
  element = node("tr");
  cells = new Map(); // column -> { source, box }

  constructor(key, table) {
    if (table.select) {
      this.tick = makeCheckboxCell("td", (on) => table.choose([key], on));
      this.element.append(this.tick.element);
    }
    this.open = () => table.open(key);
  }

  fill(row, columns) {
    this.element.classList.toggle("ruled", Boolean(row.rule));
    if (this.tick) this.tick.box.ariaLabel = row.cells[columns[0].key]?.text ?? "";
    columns.forEach((column, i) => {
      const cell = row.cells[column.key],
        source = JSON.stringify(column.kind === "strip" ? row.cells : cell);
      const oldCell = this.cells.get(column.key);
      if (oldCell && oldCell.source === source) return;
      const box =
        oldCell?.box ??
        this.element.appendChild(node(i ? "td" : "th", { class: cellClass(column), scope: i ? null : "row" }));
      const inner = cellContent(cell, column, row, () => this.open());
      const dotted = column.kind === "model";
      const focused = box.contains(document.activeElement);
      box.replaceChildren(
        dotted || !i ? tint(node("span", { class: dotted ? "dotted" : "lead" }, inner), cell?.colour) : inner,
      );
      if (focused) box.querySelector("button")?.focus({ preventScroll: true });
      this.cells.set(column.key, { source, box });
    });
  }
}

/** A strip gives one column for its number and one for each of its values. */
function tableCsv(columns, rows) {
  const seedCount = ({ key }) => Math.max(0, ...rows.map((row) => row.cells[key]?.values?.length ?? 0));
  const forEachSeed = (column, make) => Array.from({ length: seedCount(column) }, (_, seed) => make(seed));
  const plainNumber = (text) => text?.replace("−", "-").replace(/(?<=\d),(?=\d{3})/g, "");
  const head = columns.flatMap((column) => {
    const name = column.label || column.key;
    return [name, ...forEachSeed(column, (seed) => `${name}, ${column.each ?? "seed"} ${seed}`)];
  });
  return toCsv(
    head,
    rows.map((row) =>
      columns.flatMap((column) => {
        const cell = row.cells[column.key];
        const text = ["number", "strip"].includes(column.kind)
          ? plainNumber(cell?.text)
          : (cell?.tags?.join("; ") ?? cell?.text);
        const complete = column.kind === "strip" && cell?.detail ? `${text} (${cell.detail})` : text;
        return [complete, ...forEachSeed(column, (seed) => cell?.values?.[seed])];
      }),
    ),
  );
}

export default defineComponent((root, /** @type {SendEvent<TableEvents>} */ send) => {
  const scroller = node("div", { class: "scroller", role: "region" });
  const caption = node("p");
  const complete = node("button", { type: "button", class: "lineage-button complete-columns" }, "All columns");
  const foot = node("div", { class: "foot" }, complete, caption);
  const frame = node("div", { class: "frame" }, scroller);
  root.replaceChildren(frame, foot);
  const chosen = new SyncedValue(),
    sort = new SyncedValue();
  let data, shape, body, all, heads, lines;

  /* Says at which side the table goes on, and gives the keyboard a way to go there. */
  function updateEdges() {
    const rest = scroller.scrollWidth - scroller.clientWidth;
    frame.classList.toggle("more-left", scroller.scrollLeft > 1);
    frame.classList.toggle("more-right", scroller.scrollLeft < rest - 1);
    if (rest > 1) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
    const first = scroller.querySelector("thead th:not(.choose)");
    if (first) frame.style.setProperty("--first", `${first.offsetWidth + (all?.element.offsetWidth ?? 0)}px`);
  }
  complete.onclick = () => {
    complete.ariaPressed = String(frame.classList.toggle("complete"));
  };
  const watch = new ResizeObserver(updateEdges);
  scroller.addEventListener("scroll", updateEdges, { passive: true });

  const rowKeys = () => data.rows.map(rowKey);
  const table = {
    get select() {
      return data.select;
    },
    open: (key) => send("open", key),
    choose(changed, on) {
      chosen.set(chooseKeys(chosen.value ?? [], rowKeys(), changed, on, data.select.most));
      updateCheckboxes();
      send("chosen", chosen.value);
    },
    sort(key) {
      sort.set(sort.value === key ? `-${key}` : key);
      arrangeRows();
      send("sort", sort.value);
    },
  };

  /* An empty table: the rows come by themselves. */
  function buildTable() {
    lines = new Map();
    heads = new Map(data.columns.map((column) => [column.key, makeHeading(column, () => table.sort(column.key))]));
    all = data.select
      ? makeCheckboxCell("th", (on) =>
          table.choose(
            sortedRows().map(({ key }) => key),
            on,
          ),
        )
      : null;
    if (all) all.box.ariaLabel = "all rows";
    body = node("tbody");
    const element = node(
      "table",
      {},
      node("caption", { class: "unseen" }, data.label ?? ""),
      node("thead", {}, node("tr", {}, all?.element, ...heads.values())),
      body,
    );
    watch.disconnect();
    scroller.replaceChildren(element);
    watch.observe(scroller);
    watch.observe(element);
  }

  const sortedRows = () =>
    sortRows(
      data.rows.map((row, i) => ({ ...row, key: rowKey(row, i) })),
      sort.value,
    );

  function arrangeRows() {
    for (const [key, head] of heads) {
      const way = sort.value === key ? "ascending" : sort.value === `-${key}` ? "descending" : null;
      const button = head.querySelector(".sort");
      if (!button) continue;
      head.ariaSort = way ?? "none";
      button.lastChild.textContent = way === "descending" ? "arrow_downward" : "arrow_upward";
    }
    const focused = /** @type {HTMLElement} */ (document.activeElement),
      at = scroller.scrollLeft;
    sortedRows().forEach(({ key }, i) => {
      const { element } = lines.get(key);
      if (body.children[i] !== element) body.insertBefore(element, body.children[i] ?? null);
    });
    scroller.scrollLeft = at;
    if (body.contains(focused)) focused.focus({ preventScroll: true }); // a row that moved has lost it
  }

  function updateCheckboxes() {
    if (!all) return;
    const chosenKeys = new Set(chosen.value),
      full = chosenKeys.size >= (data.select.most ?? Infinity);
    for (const [key, { tick, element }] of lines) {
      tick.box.checked = chosenKeys.has(key);
      tick.box.disabled = full && !chosenKeys.has(key);
      element.classList.toggle("chosen", chosenKeys.has(key));
    }
    const chosenCount = rowKeys().filter((key) => chosenKeys.has(key)).length;
    all.box.checked = chosenCount > 0 && (chosenCount === lines.size || full);
    all.box.indeterminate = chosenCount > 0 && !all.box.checked;
    all.box.disabled = !lines.size || (full && !chosenCount);
  }

  return {
    show(/** @type {TableData} */ next) {
      data = next;
      scroller.ariaLabel = data.label ?? "table";
      chosen.receive(data.select?.chosen);
      sort.receive(data.sort);
      complete.hidden = !data.columns.some(({ minor }) => minor);
      const newShape = JSON.stringify([data.columns, data.label, Boolean(data.select)]);
      if (newShape !== shape) buildTable();
      shape = newShape;
      const keys = new Set(rowKeys());
      for (const [key, { element }] of lines) {
        if (keys.has(key)) continue;
        element.remove();
        lines.delete(key);
      }
      data.rows.forEach((row, i) => {
        const key = rowKey(row, i);
        if (!lines.has(key)) lines.set(key, new TableRow(key, table));
        lines.get(key).fill(row, data.columns);
      });
      arrangeRows();
      updateCheckboxes();
      caption.textContent = data.caption ?? "";
      saveMenu(foot, { csv: () => tableCsv(data.columns, sortedRows()), file: data.file });
    },
    close: () => watch.disconnect(),
  };
});
