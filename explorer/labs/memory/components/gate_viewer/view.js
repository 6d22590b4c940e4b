/**
 * Draw the gates and states of a recurrent network, units by symbols; the selected unit is drawn as a line. Hover
 * shows a unit, a click keeps it, arrow keys move, Esc releases. Sends no events.
 *
 * @typedef {object} GateViewerData
 * @property {string[]} symbols one letter per step
 * @property {string[]} letters every symbol of the task
 * @property {any[]} parts {title, signed}
 * @property {string} address "values" (F32 "parts units time"), "answers" (F32 "time letters"), and for gated
 *    networks "lives" (F32 "units", half-lives in symbols)
 * @property {string} colour CSS variable
 * @property {string} title
 * @property {string} file
 */
import { linePath, moveCell, scalePosition, spanOf } from "../../../../static/shared/charts/value_scale.js";
import { HeatMap, colourRamp, labelCells } from "../../../../static/shared/charts/heatmap.js";
import { describeHalfLife, orderByHalfLife } from "./math.js";
import { svgNode, tint } from "../../../../static/shared/runtime/dom.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { Selection } from "../../../../static/shared/runtime/selection.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const STRIP = 56; // px: the line below a heat map

const PRESENTATION = {
  slides: [".parts > :nth-child(-n+2)", ".parts > :nth-child(n+3):nth-child(-n+4)", ".parts > :nth-child(n+5)"],
};

export default defineComponent((place) => {
  /** @type {GateViewerData | null} */
  let data = null,
    loaded = null, // the arrays
    order = [],
    figures = [],
    words = "";
  const selection = new Selection(show);
  const { node, update } = new LiveElements();
  const grid = node("div", { class: () => (selection.isKept ? "parts kept" : "parts"), tabindex: 0, role: "group" });
  const legend = node(
    "div.legend",
    node("span", "gates 0"),
    node("i.ramp.amount"),
    node("span", "1"),
    node("span.next", "states −"),
    node("i.ramp.sign"),
    node("span", "+"),
  );
  place.replaceChildren(
    grid,
    node("p.words", { role: "status" }, () => words),
    legend,
  );
  const theme = new Theme(place, () => paintFigures());
  const load = arrayLoader(
    (arrived) => {
      loaded = arrived;
      showArrays();
    },
    () => {
      words = "The numbers of this sequence did not arrive. Reload the page to try again.";
      update();
    },
  );

  /** One small multiple: a heat map with its symbols, and the line of one of its rows. */
  function makeFigure(part) {
    const map = new HeatMap();
    map.followsTouch = true;
    const path = svgNode("path"),
      zero = svgNode("path.zero"),
      strip = svgNode("svg.strip", { height: STRIP, "aria-hidden": "true" }, zero, path);
    const letters = node("div.letters", { "aria-hidden": "true" }),
      value = document.createTextNode(""),
      scale = node("span.scale", part.scale),
      caption = node("figcaption", node("b", part.title), scale, node("span.value", value)),
      root = node("figure", caption, map.root, letters, strip);
    const cellOf = (cell) => (part.answer ? { ...cell, row: selection.at?.row ?? 0 } : cell);
    map.onpoint = (cell) => selection.point(cellOf(cell));
    map.onpick = (cell) => selection.toggle(cellOf(cell));
    return { ...part, root, map, path, zero, strip, letters, value };
  }
  const moveUnit = (key, at) => loaded && moveCell(at ?? { row: 0, column: 0 }, key, order.length, data.symbols.length);
  grid.onpointerleave = selection.leave;
  grid.onkeydown = selection.onKeyDown(grid, moveUnit, true);

  function showArrays() {
    const { values, answers, lives } = loaded,
      [, units, times] = values.shape,
      count = data.letters.length;
    order = orderByHalfLife(lives?.data ?? null, units);
    const makePart = (title, rows, span, row, answer) => {
      const scale = span === null ? "0 to 1" : `−${span} to ${span}`;
      return { title, scale, rows, span, row, answer };
    };
    const parts = data.parts.map(({ title, signed }, p) => {
      const own = values.data.subarray(p * units * times, (p + 1) * units * times),
        unitTrace = (place) => own.subarray(order[place] * times, (order[place] + 1) * times);
      return makePart(title, units, signed ? spanOf(own) : null, unitTrace, false);
    });
    const answerTrace = (letter) => Float32Array.from({ length: times }, (_, t) => answers.data[t * count + letter]);
    parts.push(makePart("its answer after each symbol", count, null, answerTrace, true));
    figures = parts.map(makeFigure);
    grid.replaceChildren(...figures.map(({ root }) => root));
    grid.ariaLabel = `${data.title}: ${parts.map(({ title }) => title).join(", ")}, unit by unit over ${times} symbols. Arrow keys move, Escape lets go.`;
    const { at } = selection;
    if (at) selection.at = { row: Math.min(at.row, units - 1), column: Math.min(at.column, times - 1) };
    paintFigures();
    const svg = () => screenSvg(place, { skip: ".words, .legend" });
    saveMenu(place, { svg, csv: gatesCsv, file: data.file ?? "gates" });
  }

  function paintFigures() {
    if (!figures.length || !place.clientWidth) return;
    const scales = { amount: colourRamp(theme.colour, "amount"), sign: colourRamp(theme.colour, "sign") },
      times = data.symbols.length;
    const widths = figures.map(({ map }) => map.root.clientWidth);
    figures.forEach((one, i) => {
      const { map, rows, span, row, letters } = one;
      const shares = (r) => row(r).map((value) => scalePosition(value, span));
      map.show({ rows, columns: times, row: shares }, span === null ? scales.amount : scales.sign);
      labelCells(letters, times, (t) => data.symbols[t], "left", widths[i]);
      one.width = widths[i];
      one.strip.setAttribute("viewBox", `0 0 ${widths[i]} ${STRIP}`);
      one.zero.setAttribute("d", `M0 ${span === null ? STRIP - 2 : STRIP / 2}H${widths[i]}`);
    });
    show();
  }

  /** Draw everything that depends on the pointer. */
  function show() {
    if (!loaded) return;
    const { at, isKept } = selection,
      first = data.letters.indexOf(data.symbols[0]),
      times = data.symbols.length,
      row = at?.row ?? 0,
      time = at?.column ?? times - 1;
    for (const one of figures) {
      const shownRow = one.answer ? first : row,
        values = one.row(shownRow);
      one.path.setAttribute("d", linePath(values, one.width, STRIP, one.span));
      one.map.markRow(at || one.answer ? shownRow : null);
      one.map.markColumn(at ? time : null);
      one.value.data = formatNumber(values[time]);
    }
    const unit = order[row],
      life = describeHalfLife(loaded.lives?.data[unit]),
      end = figures.at(-1).row(first)[time];
    const position = `after symbol ${time + 1}, “${data.symbols[time]}”, it gives “${data.symbols[0]}”, the first one, ${formatNumber(end)}`,
      hint = at
        ? isKept
          ? "Esc or a click lets go."
          : "A click keeps it."
        : "Point at a unit, or use the arrow keys.";
    words = `Unit ${unit + 1}${life ? `, which ${life}` : ""}; ${position}. ${hint}`;
    update();
  }

  /* ---- saving ---- */

  function gatesCsv() {
    const cells = ({ title, answer, row }, r) =>
      Array.from(row(r), (value, t) => [
        ...[title, answer ? data.letters[r] : order[r] + 1, t + 1, data.symbols[t]],
        Number(value.toPrecision(6)),
      ]);
    const rows = figures.flatMap((one) => Array.from({ length: one.rows }, (_, r) => cells(one, r)).flat());
    return toCsv(["part", "unit", "step", "symbol", "value"], rows);
  }

  return {
    show(/** @type {GateViewerData} */ newData) {
      data = newData;
      tint(place, data.colour);
      if (load(data.address)) loaded = null;
      else if (loaded) showArrays();
    },
    resize: paintFigures,
  };
}, PRESENTATION);
