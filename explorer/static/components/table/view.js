/**
 * Draw a table: results with a strip of seeds, or answers sentence by sentence. Rows are selected and sorted in the
 * browser at once. Events: "chosen": keys; "sort": "key" or "-key"; "open": key of the row.
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
import { prose } from "../../shared/runtime/glossary.js";
import { LiveElements } from "../../shared/runtime/view_state.js";
import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { formatRounded } from "../../shared/runtime/format.js";

const unseenText = (text) => node("span.unseen", text);
const cellClass = ({ kind, align, wrap, minor }) =>
  [align ?? "left", kind === "mono" && "mono", wrap && "wrap", minor && "minor"].filter(Boolean).join(" ");
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

function percentAlong(range, value) {
  const [low, high] = range,
    share = (value - low) / (high - low);
  return `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
}

function makeStrip(cell, { range = [0, 1], each = "seed" }, colour) {
  const place = (value) => ({ style: `left: ${percentAlong(range, value)}` }),
    dots = cell.values.map((value) => node("i", place(value))),
    mark = cell.mark == null ? null : node("b", place(cell.mark)),
    values = `${each}s: ${cell.values.join(", ")}${mark ? `; mark at ${cell.mark}` : ""}`;
  return node(
    "span.strip",
    node("span.figure", cell.text),
    node(
      "span.axis",
      { role: "img", "aria-label": values, title: values },
      tint(node("span.line", dots, mark), colour),
    ),
  );
}

const withDetail = (content, { detail }) => (detail ? node("span.two", content, node("span.detail", detail)) : content);

/** Return what is in a cell: an element or a text. */
function cellContent(cell, column, row, onclick) {
  if (!cell) return "";
  const { text = "", colour } = cell;
  switch (column.kind) {
    case "strip":
      if (!cell.values?.length) return withDetail(text, cell);
      return makeStrip(cell, column, Object.values(row.cells).find((other) => other.colour)?.colour);
    case "verdict": {
      const about = { class: `verdict ${cell.tone ?? ""}`, ".wrong": cell.wrong };
      return node("span", about, cell.wrong && [icon("close"), unseenText("wrong: ")], text);
    }
    case "open":
      return withDetail(tint(node("button.open", { type: "button", ".dotted": colour, onclick }, text), colour), cell);
    case "brief":
      return node("span.brief", text);
    case "tags":
      return node(
        "span.tags",
        (cell.tags ?? []).map((tag) => node("span.tag", tag)),
      );
  }
  return text;
}

/** Make the heading of a column; `live` has the direction in which it sorts the rows. */
function makeHeading(column, { node: live }, sort, onclick) {
  const { key, label, colour } = column,
    words = label ? tint(node("span", { ".dotted": colour }, label), colour) : unseenText(key),
    isDescending = () => sort.value === `-${key}`,
    arrow = () => (isDescending() ? "arrow_downward" : "arrow_upward"),
    direction = () => (isDescending() ? "descending" : sort.value === key ? "ascending" : "none");
  const ends = () => (column.range ?? [0, 1]).map((end) => node("span", formatRounded(end)));
  return live(
    "th",
    { scope: "col", class: cellClass(column), "aria-sort": column.sort ? direction : null },
    column.sort
      ? live(
          "button.sort",
          { type: "button", onclick },
          words,
          live("span.lineage-icon", { "aria-hidden": true }, arrow),
        )
      : words,
    column.kind === "strip" &&
      node("span.strip", { "aria-hidden": true }, node("span.figure"), node("span.axis.ends", ends())),
  );
}

/** Make a cell with a native checkbox, the whole of which can be pressed. */
const makeCheckbox = ({ node: live }, tag, attributes, press) =>
  live(
    `${tag}.choose`,
    { scope: tag === "th" ? "col" : null },
    live("label", live("input", { type: "checkbox", ...attributes, onchange: (event) => press(event.target.checked) })),
  );

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
  /** @type {TableData} */
  let data;
  let live = new LiveElements(), // of the table
    shape = ""; // the columns and the label of the table
  const chosen = new SyncedValue(),
    sort = new SyncedValue();
  const scroller = node("div.scroller", { role: "region", onscroll: updateEdges }),
    frame = node("div.frame", scroller),
    caption = node("p");
  const complete = node(
    "button.lineage-button.complete-columns",
    { type: "button", onclick: toggleColumns },
    "All columns",
  );
  const foot = node("div.foot", complete, caption);
  root.replaceChildren(frame, foot);
  const watch = new ResizeObserver(updateEdges);

  function toggleColumns() {
    complete.ariaPressed = String(frame.classList.toggle("complete"));
  }
  /* Says at which side the table goes on, and gives the keyboard a way to go there. */
  function updateEdges() {
    const rest = scroller.scrollWidth - scroller.clientWidth;
    frame.classList.toggle("more-left", scroller.scrollLeft > 1);
    frame.classList.toggle("more-right", scroller.scrollLeft < rest - 1);
    if (rest > 1) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
    const [first, second] = scroller.querySelectorAll("thead th"),
      width = first.offsetWidth + (data.select ? second.offsetWidth : 0);
    frame.style.setProperty("--first", `${width}px`);
  }

  const sortedRows = () =>
    sortRows(
      data.rows.map((row, i) => ({ ...row, key: rowKey(row, i) })),
      sort.value,
    );
  function update() {
    const at = scroller.scrollLeft;
    live.update();
    scroller.scrollLeft = at; // a row that moved may have scrolled
  }
  function sortBy(key) {
    sort.set(sort.value === key ? `-${key}` : key);
    update();
    send("sort", sort.value);
  }
  const isChosen = (key) => chosen.value?.includes(key) ?? false,
    isFull = () => (chosen.value ?? []).length >= (data.select.most ?? Infinity);
  function choose(changed, on) {
    chosen.set(chooseKeys(chosen.value ?? [], data.rows.map(rowKey), changed, on, data.select.most));
    update();
    send("chosen", chosen.value);
  }

  function buildTable() {
    live = new LiveElements();
    const countChosen = () => data.rows.map(rowKey).filter(isChosen).length,
      isAll = () => countChosen() > 0 && (countChosen() === data.rows.length || isFull());
    const all = {
      "aria-label": "all rows",
      checked: isAll,
      indeterminate: () => countChosen() > 0 && !isAll(),
      disabled: () => !data.rows.length || (isFull() && !countChosen()),
    };
    const chooseAll = (on) =>
      choose(
        sortedRows().map(({ key }) => key),
        on,
      );
    const table = node(
      "table",
      node("caption.unseen", data.label ?? ""),
      node(
        "thead",
        node(
          "tr",
          data.select && makeCheckbox(live, "th", all, chooseAll),
          data.columns.map((column) => makeHeading(column, live, sort, () => sortBy(column.key))),
        ),
      ),
      live.node("tbody", live.keyed(sortedRows, makeRow, rowKey)),
    );
    watch.disconnect();
    scroller.replaceChildren(table);
    watch.observe(scroller);
    watch.observe(table);
  }

  /* A row stays while its cells change, so that a press on it is never lost. */
  function makeRow(row, inner) {
    const { key } = row();
    const checkbox = {
      "aria-label": () => row().cells[data.columns[0].key]?.text ?? "",
      checked: () => isChosen(key),
      disabled: () => isFull() && !isChosen(key),
    };
    const makeCell = (column, i) => {
      const isModel = column.kind === "model",
        read = () => [column.kind === "strip" ? row().cells : row().cells[column.key]];
      const makeContent = () => {
        const cell = row().cells[column.key],
          content = cellContent(cell, column, row(), () => send("open", key));
        return isModel || !i
          ? tint(node(isModel ? "span.dotted" : "span.lead", content), cell?.colour)
          : content instanceof Node
            ? content
            : document.createTextNode(content);
      };
      const attributes = { class: cellClass(column), scope: i ? null : "row" };
      return inner.node(i ? "td" : "th", attributes, inner.list(read, makeContent));
    };
    return inner.node(
      "tr",
      { ".ruled": () => row().rule, ".chosen": () => data.select && isChosen(key) },
      data.select && makeCheckbox(inner, "td", checkbox, (on) => choose([key], on)),
      data.columns.map(makeCell),
    );
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
      update();
      caption.replaceChildren(...prose(data.caption ?? ""));
      saveMenu(foot, { csv: () => tableCsv(data.columns, sortedRows()), file: data.file });
    },
    close: () => watch.disconnect(),
  };
});
