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
import {
  linePath,
  mixColours,
  moveCell,
  formatNumber,
  scalePosition,
  spanOf,
  labelledColumns,
} from "../../shared/charts/value_scale.js";
import { describeHalfLife, orderByHalfLife } from "./math.js";
import { setTextIfChanged, svgNode, node, tint } from "../../shared/runtime/dom.js";
import { loadArrays } from "../../shared/runtime/array_store.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { svgFile } from "../../shared/runtime/svg_file.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { Theme } from "../../shared/runtime/theme.js";

const STRIP = 56; // px: the line below a heat map

export default defineComponent((place) => {
  const grid = node("div", { class: "parts", tabindex: 0, role: "group" });
  const legend = node(
    "div",
    { class: "legend" },
    node("span", {}, "gates 0"),
    node("i", { class: "ramp amount" }),
    node("span", {}, "1"),
    node("span", { class: "next" }, "states −"),
    node("i", { class: "ramp sign" }),
    node("span", {}, "+"),
  );
  const words = node("p", { class: "words", role: "status" });
  place.replaceChildren(grid, words, legend);
  const theme = new Theme(place, () => paintFigures());
  const watch = new ResizeObserver(() => paintFigures());
  watch.observe(place);
  /** @type {GateViewerData | null} */
  let data = null,
    loaded = null,
    presented = null, // the arrays that present() drew last
    order = [],
    figures = [],
    at = null,
    isKept = false;

  /** One small multiple: a heat map with its symbols, and the line of one of its rows. */
  function makeFigure(part) {
    const canvas = node("canvas"),
      mark = node("i", { class: "mark" }),
      column = node("i", { class: "column" });
    const path = svgNode("path"),
      zero = svgNode("path", { class: "zero" }),
      strip = svgNode("svg", { class: "strip", height: STRIP, "aria-hidden": "true" }, zero, path);
    const letters = node("div", { class: "letters", "aria-hidden": "true" }),
      value = node("span", { class: "value" });
    const map = node("div", { class: "map" }, canvas, mark, column);
    const root = node(
      "figure",
      {},
      node("figcaption", {}, node("b", {}, part.title), node("span", { class: "scale" }, part.scale), value),
      map,
      letters,
      strip,
    );
    map.onpointermove = (event) => isKept || selectCell(part, canvas, event);
    map.onpointerdown = (event) => {
      if (!isKept) selectCell(part, canvas, event);
    };
    map.onclick = (event) => {
      isKept = !isKept;
      selectCell(part, canvas, event);
    };
    return { ...part, root, canvas, mark, column, path, zero, strip, letters, value };
  }
  function selectCell(part, canvas, event) {
    const box = canvas.getBoundingClientRect(),
      clampIndex = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    const row = clampIndex((event.clientY - box.top) / box.height, part.rows),
      time = clampIndex((event.clientX - box.left) / box.width, data.symbols.length);
    at = { row: part.answer ? (at?.row ?? 0) : row, time };
    show();
  }
  grid.onpointerleave = () => {
    if (!isKept) {
      at = null;
      show();
    }
  };
  grid.onkeydown = (event) => {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (event.key === "Escape") {
      isKept = false;
      at = null;
    } else if (event.key === "Enter" || event.key === " ") isKept = !isKept;
    else {
      const next = loaded && moveCell(at ?? { row: 0, time: 0 }, event.key, order.length, data.symbols.length);
      if (!next) return;
      [at, isKept] = [next, true];
    }
    event.preventDefault();
    show();
  };

  function showArrays(arrived) {
    const {
        values: {
          data: numbers,
          shape: [, units, times],
        },
        answers,
        lives,
      } = arrived,
      count = data.letters.length;
    loaded = { lives: lives?.data ?? null };
    order = orderByHalfLife(loaded.lives, units);
    const parts = data.parts.map((part, p) => {
      const own = numbers.subarray(p * units * times, (p + 1) * units * times),
        span = part.signed ? spanOf(own) : null;
      const unitTrace = (place) => own.subarray(order[place] * times, (order[place] + 1) * times);
      const scale = span === null ? "0 to 1" : `−${span} to ${span}`;
      return { title: part.title, scale, rows: units, span, row: unitTrace, answer: false };
    });
    const answerTrace = (letter) => Float32Array.from({ length: times }, (_, t) => answers.data[t * count + letter]);
    parts.push({
      title: "its answer after each symbol",
      scale: "0 to 1",
      rows: count,
      span: null,
      row: answerTrace,
      answer: true,
    });
    figures = parts.map(makeFigure);
    grid.replaceChildren(...figures.map(({ root }) => root));
    grid.ariaLabel = `${data.title}: ${parts.map(({ title }) => title).join(", ")}, unit by unit over ${times} symbols. Arrow keys move, Escape lets go.`;
    if (at) at = { row: Math.min(at.row, units - 1), time: Math.min(at.time, times - 1) };
    paintFigures();
    saveMenu(place, { svg: () => figureSvg(), csv: () => gatesCsv(), file: data.file ?? "gates" });
  }

  const colourStops = (name) =>
    Array.from({ length: 7 }, (_, i) =>
      theme
        .colour(`--${name}-${i}`)
        .match(/[\d.]+/g)
        .slice(0, 3)
        .map(Number),
    );

  function paintFigures() {
    if (!figures.length || !place.clientWidth) return;
    const scales = { amount: colourStops("amount"), sign: colourStops("sign") },
      times = data.symbols.length;
    const widths = figures.map(({ canvas }) => canvas.parentElement.clientWidth);
    figures.forEach((one, i) => {
      const { canvas, rows, span, row, letters } = one,
        image = new ImageData(times, rows);
      canvas.width = times;
      canvas.height = rows;
      for (let r = 0; r < rows; r++) {
        row(r).forEach((value, t) =>
          image.data.set(
            [...mixColours(span === null ? scales.amount : scales.sign, scalePosition(value, span)), 255],
            4 * (r * times + t),
          ),
        );
      }
      canvas.getContext("2d").putImageData(image, 0, 0);
      letters.replaceChildren(
        ...labelledColumns(times, widths[i]).map((t) => {
          const letter = node("span", {}, data.symbols[t]);
          letter.style.left = `${(100 * (t + 0.5)) / times}%`;
          return letter;
        }),
      );
      one.width = widths[i];
      one.strip.setAttribute("viewBox", `0 0 ${widths[i]} ${STRIP}`);
      one.zero.setAttribute("d", `M0 ${span === null ? STRIP - 2 : STRIP / 2}H${widths[i]}`);
    });
    show();
  }

  /** Draw everything that depends on the pointer. */
  function show() {
    if (!loaded) return;
    const first = data.letters.indexOf(data.symbols[0]),
      times = data.symbols.length,
      row = at?.row ?? 0,
      time = at?.time ?? times - 1;
    for (const one of figures) {
      const shownRow = one.answer ? first : row,
        values = one.row(shownRow);
      one.path.setAttribute("d", linePath(values, one.width, STRIP, one.span));
      one.mark.hidden = !at && !one.answer;
      one.mark.style.cssText = `top:${(100 * shownRow) / one.rows}%;height:${100 / one.rows}%`;
      one.column.hidden = !at;
      one.column.style.cssText = `left:${(100 * time) / times}%;width:${100 / times}%`;
      setTextIfChanged(one.value, formatNumber(values[time]));
    }
    const unit = order[row],
      life = describeHalfLife(loaded.lives?.[unit]),
      end = figures.at(-1).row(first)[time];
    const position = `after symbol ${time + 1}, “${data.symbols[time]}”, it gives “${data.symbols[0]}”, the first one, ${formatNumber(end)}`;
    setTextIfChanged(
      words,
      `Unit ${unit + 1}${life ? `, which ${life}` : ""}; ${position}. ${at ? (isKept ? "Esc or a click lets go." : "A click keeps it.") : "Point at a unit, or use the arrow keys."}`,
    );
    grid.classList.toggle("kept", isKept);
  }

  /* ---- saving ---- */

  function figureSvg() {
    const from = place.getBoundingClientRect(),
      edge = 16,
      ink = theme.colour("--ink"),
      soft = theme.colour("--soft"),
      shapes = [];
    const boxOf = (element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: left - from.left + edge, y: top - from.top + edge, width, height };
    };
    const copyText = (element, weight = 400, size = 14, fill = ink, anchor = "start") => {
      const { x, y, width, height } = boxOf(element);
      const label = svgNode("text", {
        x: anchor === "middle" ? x + width / 2 : x,
        y: y + height / 2,
        fill,
        "font-size": size,
        "font-weight": weight,
        "dominant-baseline": "central",
        "text-anchor": anchor,
      });
      label.textContent = element.textContent;
      shapes.push(label);
    };
    for (const one of figures) {
      for (const element of one.root.querySelectorAll("figcaption > *"))
        copyText(element, element.tagName === "B" ? 600 : 400, 15, element.className === "scale" ? soft : ink);
      shapes.push(
        svgNode("image", {
          ...boxOf(one.canvas),
          href: one.canvas.toDataURL(),
          preserveAspectRatio: "none",
          style: "image-rendering:pixelated",
        }),
      );
      if (!one.mark.hidden)
        shapes.push(svgNode("rect", { ...boxOf(one.mark), fill: "none", stroke: ink, "stroke-width": 1.5 }));
      for (const letter of one.letters.children) copyText(letter, 400, 13, soft, "middle");
      const { x, y } = boxOf(one.strip);
      shapes.push(
        svgNode(
          "g",
          { transform: `translate(${x} ${y})` },
          svgNode("path", { d: one.zero.getAttribute("d"), stroke: theme.colour("--rule"), fill: "none" }),
          svgNode("path", {
            d: one.path.getAttribute("d"),
            stroke: theme.colour(data.colour),
            "stroke-width": 2.5,
            fill: "none",
          }),
        ),
      );
    }
    return svgFile(from.width + 2 * edge, boxOf(legend).y, theme.colour("--page"), ...shapes);
  }
  function gatesCsv() {
    const rows = figures.flatMap((one) =>
      Array.from({ length: one.rows }, (_, r) =>
        Array.from(one.row(r), (value, t) => [
          one.title,
          one.answer ? data.letters[r] : order[r] + 1,
          t + 1,
          data.symbols[t],
          Number(value.toPrecision(6)),
        ]),
      ).flat(),
    );
    return toCsv(["part", "unit", "step", "symbol", "value"], rows);
  }

  return {
    show(/** @type {GateViewerData} */ newData) {
      const same = data?.address === newData.address;
      data = newData;
      tint(place, data.colour);
      if (same && loaded) return presented && showArrays(presented);
      loadArrays(newData.address).then(
        (arrived) => {
          if (data !== newData) return;
          presented = arrived;
          showArrays(arrived);
        },
        () => setTextIfChanged(words, "The numbers of this sequence did not arrive. Reload the page to try again."),
      );
    },
    close() {
      watch.disconnect();
    },
  };
});
