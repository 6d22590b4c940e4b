/* The state of a view, and elements that follow it. What depends on the state is written as a function where the element is
   made; each change calls all these functions again and changes only what has become different:

   const view = new ViewState(send, draw),
     { node, button } = view;
   place.append(view.toggle("causal", "causal mask"), node("h3", {}, () => describe(view.value)));

   The state is an object. A control that is bound to one of its fields changes it, draws, and sends the state to the page as
   event "set" when it is released. */

import { icon, moveSlider, node as makeNode, splitParts, svgNode } from "./dom.js";
import { SyncedValue } from "./synced_value.js";

/** Set an attribute. `false`, null and undefined remove it, but for "aria-…", where false is a value. */
function setAttribute(element, name, value) {
  const isAria = name.startsWith("aria-");
  if (name === "value" && element.type === "range") moveSlider(element, value);
  else if (name === "checked" || name === "value")
    element[name] = value; // the user changes it, too
  else if (value == null || (value === false && !isAria)) element.removeAttribute(name);
  else {
    const text = value === true && !isAria ? "" : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** A child of `LiveElements.node`, see `list`. */
class ElementList {
  constructor(items, make) {
    Object.assign(this, { items, make });
  }
}

/** Elements some of whose attributes, texts and children follow a state. */
export class LiveElements {
  #updates = [];

  /** Read the state again. */
  update = () => this.#updates.forEach((update) => update());

  /**
   * Create an HTML element, as `node` in dom.js does. An attribute "on…" is the handler of an event; any other function is
   * called at each update: it returns the value of the attribute, or as a child its text. A `list` is a child, too.
   */
  node = (tag, ...parts) => this.#bind(makeNode(tag), ...splitParts(parts));

  /** Create an SVG element in the same way. */
  svg = (tag, ...parts) => this.#bind(svgNode(tag), ...splitParts(parts));

  /** Create a button; `symbol` is the name of its icon. */
  button = ({ symbol = "", ...more }, ...children) => {
    const attributes = { type: "button", class: "lineage-button", ...more };
    return this.node("button", attributes, symbol ? icon(symbol) : null, ...children);
  };

  /** Create a button that plays or pauses, with the symbol and the word of what it does next. */
  playButton = (isPlaying, attributes) => {
    const at = () => Number(Boolean(isPlaying())),
      symbol = { class: "lineage-icon", "aria-hidden": "true" };
    return this.button(
      attributes,
      this.node("span", symbol, () => ["play_arrow", "pause"][at()]),
      this.node("span", {}, () => ["Play", "Pause"][at()]),
    );
  };

  /** Create a row of buttons, one of which is selected. `options` returns {value: text}; with less than two it is hidden. `kind` has the
      classes of the row and of the buttons. */
  buttonChoice = (label, options, get, press, kind = {}) => {
    const isHidden = () => Object.keys(options()).length < 2,
      makeButton = ([value, text], _, inner) =>
        inner.node(
          "button",
          {
            type: "button",
            class: kind.button,
            value,
            "aria-pressed": () => value === get(),
            onclick: () => press(value),
          },
          text,
        );
    const attributes = { class: kind.root ?? "choice", role: "group", "aria-label": label, hidden: isHidden };
    return this.node(
      "div",
      attributes,
      this.list(() => Object.entries(options()), makeButton),
    );
  };

  /**
   * Return a child that stands for one element per item. They are made again when the items have become different; `make`
   * receives the item, its index and `LiveElements` of their own.
   */
  list = (items, make) => new ElementList(items, make);

  #bind(element, attributes, children) {
    for (const child of children) {
      if (typeof child === "function") element.append(this.#bindText(child));
      else if (child?.make) this.#bindList(element, child);
      else if (child != null) element.append(child);
    }
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element[name] = value;
      else if (typeof value === "function") this.#updates.push(() => setAttribute(element, name, value()));
      else setAttribute(element, name, value);
    }
    return element;
  }
  #bindText(read) {
    const text = document.createTextNode("");
    this.#updates.push(() => {
      const words = String(read());
      if (text.data !== words) text.data = words;
    });
    return text;
  }
  #bindList(element, { items, make }) {
    let drawn = "",
      inner = new LiveElements();
    this.#updates.push(() => {
      const current = items(),
        state = JSON.stringify(current);
      if (state !== drawn) {
        const focused = [...element.children].findIndex((child) => child.contains(document.activeElement));
        inner = new LiveElements();
        element.replaceChildren(...current.map((item, i) => make(item, i, inner)));
        const again = element.children[focused];
        (again?.querySelector("button") ?? again)?.focus({ preventScroll: true });
        drawn = state;
      }
      inner.update();
    });
  }
}

export class ViewState extends LiveElements {
  #synced = new SyncedValue();
  #reported = "";

  /**
   * @param {(name: "set", value: any) => void} send
   * @param {() => void} draw called after each change; it calls `update`
   * @param {(value: any) => any} encode the state as it is sent
   */
  constructor(send, draw, encode = JSON.stringify) {
    super();
    this.send = send;
    this.draw = draw;
    this.encode = encode;
  }

  get value() {
    return this.#synced.value;
  }
  /** Take the state of the page, and return whether it is new; an echo of an earlier state of ours is not. */
  receive(value) {
    const isNew = this.#synced.receive(value);
    if (isNew) this.#reported = JSON.stringify(value);
    return isNew;
  }
  /** Change fields without sending them, and draw. */
  change(fields) {
    this.#synced.value = { ...this.value, ...fields };
    this.draw();
  }
  /** Send the state if it has changed. */
  report = () => {
    const text = JSON.stringify(this.value);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#synced.set(this.value);
    this.send("set", this.encode(this.value));
  };
  /** Change fields, draw and send. */
  set(fields) {
    this.change(fields);
    this.report();
  }

  /** Create a switch with its label. */
  toggle(field, label) {
    const onchange = (event) => this.set({ [field]: event.target.checked });
    const attributes = {
      type: "checkbox",
      class: "toggle",
      role: "switch",
      checked: () => this.value[field],
      onchange,
    };
    return this.node("label", {}, this.node("input", attributes), label);
  }

  /** Create a menu with its label. `options` is {value: text}. */
  select(field, label, options, attributes = {}) {
    const items = Object.entries(options).map(([value, text]) => makeNode("option", { value }, text)),
      onchange = (event) => this.set({ [field]: event.target.value }),
      value = () => this.value[field];
    return this.node(
      "label",
      {},
      label,
      this.node("select", { class: "lineage-select", value, onchange, ...attributes }, ...items),
    );
  }

  /**
   * Create radio buttons that look like segmented controls. `options` is {value: text}; `from` makes values of the field of
   * its values.
   * @param {string} field
   * @param {string} legend
   * @param {Record<string, string>} options
   * @param {any} [more] `from`, and attributes of the buttons
   */
  choice(field, legend, options, { from = String, ...more } = {}) {
    const name = `choice-${crypto.getRandomValues(new Uint32Array(1))}`;
    const labels = Object.entries(options).map(([value, text]) => {
      const checked = () => String(this.value[field]) === value;
      const input = { type: "radio", name, checked, onchange: () => this.set({ [field]: from(value) }), ...more };
      return this.node("label", {}, this.node("input", input), text);
    });
    return this.node("fieldset", { class: "lineage-choice" }, this.node("legend", {}, legend), ...labels);
  }

  /**
   * Create a slider. `to` and `from` convert between the values of the field and those of the slider.
   * @param {string} field
   * @param {any} attributes
   * @param {(value: any) => number} to
   * @param {(value: number) => any} from
   */
  slider(field, attributes, to = Number, from = Number) {
    const value = () => to(this.value[field]),
      oninput = (event) => this.change({ [field]: from(Number(event.target.value)) });
    return this.node("input", { type: "range", class: "slider", ...attributes, value, oninput, onchange: this.report });
  }
}
