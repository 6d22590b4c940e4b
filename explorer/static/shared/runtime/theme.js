/* Replace the colour names of figures, "var(--m-rnn)" or "var(--m-rnn/.22)", by the current colours of the browser, so
   that a figure follows the light/dark switch without the server. */

import { node } from "./dom.js";

const NAMED = /var\((--[\w-]+)(?:\s*\/\s*([\d.]+))?\)/g;
const STOPS = [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1];

export class Theme {
  #probe;
  #known = new Map();

  /* `onChange` is called whenever the colours of `place` change. */
  constructor(place, onChange) {
    const ontransitionend = (event) => {
      if (event.propertyName !== "color") return;
      this.#known.clear();
      onChange();
    };
    // Its transition event reports every change of colour, whoever caused it.
    this.#probe = place.appendChild(node("i.frame-probe", { "aria-hidden": true, ontransitionend }));
  }

  colour = (name, alpha) => {
    const key = `${name}/${alpha ?? ""}`;
    if (!this.#known.has(key)) {
      this.#probe.style.setProperty("background-color", `var(${name})`);
      const rgb = getComputedStyle(this.#probe).backgroundColor;
      this.#known.set(
        key,
        alpha === undefined ? rgb : rgb.replace(/^rgba?\(([^,]+),([^,]+),([^,)]+).*/, `rgba($1,$2,$3, ${alpha})`),
      );
    }
    return this.#known.get(key);
  };

  /* Return a copy of the value with every colour name replaced and plotly.py's packed arrays unpacked. */
  resolveColours = (value) => {
    if (typeof value === "string")
      return value.includes("var(--") ? value.replace(NAMED, (_, name, alpha) => this.colour(name, alpha)) : value;
    if (Array.isArray(value)) return value.map(this.resolveColours);
    if (!value || typeof value !== "object") return value;
    if (typeof value.bdata === "string") return unpackArray(value);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.resolveColours(inner)]));
  };

  template({ zoomable = false } = {}) {
    const [ink, soft, rule, page] = ["--ink", "--soft", "--rule", "--page"].map((name) => this.colour(name)),
      colourScale = (name) => STOPS.map((stop, i) => [stop, this.colour(`--${name}-${i}`)]),
      amount = colourScale("amount"),
      family = "Source Sans, sans-serif",
      tick = { size: 14, color: soft };
    const axis = {
      zeroline: false,
      automargin: true,
      fixedrange: !zoomable,
      ticklabeloverflow: "allow",
      tickfont: tick,
      linecolor: rule,
      tickcolor: rule,
      title: { font: tick, standoff: 8 },
    };
    const rows = {
      showgrid: true,
      gridcolor: this.colour("--rule", 0.6),
      showline: false,
      ticks: "",
      ticklabelstandoff: 4,
    };
    const layout = {
      font: { family, size: 15, color: ink },
      xaxis: { ...axis, showgrid: false, showline: true, ticks: "outside", ticklen: 4 },
      yaxis: { ...axis, ...rows },
      showlegend: false,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 8, t: 28, b: 8 },
      dragmode: zoomable && "zoom",
      hovermode: "closest",
      hoverlabel: { bgcolor: page, bordercolor: rule, align: "left", font: { family, size: 14, color: ink } },
      colorscale: {
        sequential: amount,
        sequentialminus: amount.map(([stop], i) => [stop, amount[6 - i][1]]),
        diverging: colourScale("sign"),
      },
    };
    const heatmap = { showscale: false, hoverongaps: false, xgap: 2, ygap: 2, colorscale: amount };
    return { layout, data: { heatmap: [heatmap] } };
  }
}

// The arrays of numpy's types.
const INTEGERS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const KINDS = { f8: Float64Array, f4: Float32Array, ...INTEGERS };

function unpackArray({ dtype, bdata, shape }) {
  const bytes = Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0)),
    flat = Array.from(new KINDS[dtype](bytes.buffer), (number) => (Number.isNaN(number) ? null : number)),
    columns = shape && Number(String(shape).split(",")[1]);
  if (!columns) return flat;
  return Array.from({ length: flat.length / columns }, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}
