/* A drawing context like that of a canvas which makes SVG elements, so that one function draws for the screen and for a
   saved file. It has what the drawings of this project use. */
import { svgNode } from "./dom.js";

const ANCHOR = { left: "start", center: "middle", right: "end" };

export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  lineCap = "butt";
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "middle"; // the only one
  imageSmoothingEnabled = true;
  #path = "";
  #dash = [];
  #transform = "";
  #saved = [];

  /** @param {number} x
   * @param {number} y where the drawing's origin lies, in px */
  constructor(x = 0, y = 0) {
    this.root = svgNode("g", { transform: `translate(${x} ${y})` });
  }

  #append(tag, attributes, ...children) {
    const opacity = this.globalAlpha < 1 ? this.globalAlpha : null;
    this.root.append(svgNode(tag, { transform: this.#transform || null, opacity, ...attributes }, ...children));
  }
  #stroke() {
    return {
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": this.lineWidth,
      "stroke-linecap": this.lineCap,
      "stroke-dasharray": this.#dash.join(" ") || null,
    };
  }

  save() {
    this.#saved.push(this.#transform);
  }
  restore() {
    this.#transform = this.#saved.pop() ?? "";
  }
  translate(x, y) {
    this.#transform += `translate(${x} ${y})`;
  }
  rotate(angle) {
    this.#transform += `rotate(${(angle * 180) / Math.PI})`;
  }
  setLineDash(dash) {
    this.#dash = dash;
  }

  beginPath() {
    this.#path = "";
  }
  moveTo(x, y) {
    this.#path += `M${round(x)} ${round(y)}`;
  }
  lineTo(x, y) {
    this.#path += `${this.#path ? "L" : "M"}${round(x)} ${round(y)}`;
  }
  bezierCurveTo(...points) {
    this.#path += `C${points.map(round).join(" ")}`;
  }
  /** A whole circle. */
  arc(x, y, radius) {
    const [r, left, width] = [radius, x - radius, 2 * radius].map(round);
    this.#path += `M${left} ${round(y)}a${r} ${r} 0 1 0 ${width} 0a${r} ${r} 0 1 0 ${-width} 0`;
  }
  fill() {
    this.#append("path", { d: this.#path, fill: this.fillStyle });
  }
  stroke() {
    this.#append("path", { d: this.#path, ...this.#stroke() });
  }

  fillRect(x, y, width, height) {
    this.#append("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill: this.fillStyle });
  }
  strokeRect(x, y, width, height) {
    this.#append("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), ...this.#stroke() });
  }
  fillText(words, x, y) {
    const [, look, size, family] = /^(.*?)([\d.]+)px (.*)$/.exec(this.font);
    this.#append(
      "text",
      {
        x,
        y: y + 0.35 * Number(size), // not every program that shows SVG knows dominant-baseline
        fill: this.fillStyle,
        "font-size": size,
        "font-family": family,
        "font-style": look.includes("italic") ? "italic" : null,
        "font-weight": /\d+/.exec(look)?.[0] ?? null,
        "text-anchor": ANCHOR[this.textAlign],
      },
      words,
    );
  }
  drawImage(canvas, x, y, width, height) {
    const href = canvas.toDataURL();
    this.#append("image", {
      x,
      y,
      width,
      height,
      href,
      preserveAspectRatio: "none",
      style: "image-rendering:pixelated",
    });
  }
}

const round = (value) => Number(value.toFixed(2));
