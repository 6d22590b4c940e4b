/* The state of a view, and elements that follow it. What depends on the state is written as a function where the element is
   made; each change calls all these functions again and changes only what has become different:

   const view = new ViewState(send, draw),
     { node, button } = view;
   place.append(view.toggle("causal", "causal mask"), node("h3", {}, () => describe(view.value)));

   The state is an object. A control that is bound to one of its fields changes it, draws, and sends the state to the page as
   event "set" when it is released. */

import { createHtml, createSvg, elementMaker, node as makeNode } from "./dom.js";
import { SyncedValue } from "./synced_value.js";

/** Elements some of whose attributes, texts and children follow a state. */
export class LiveElements {
  #updates = [];
  #endings = [];

  /** Read the state again. */
  update = () => this.#updates.forEach((update) => update());

  /** Call a function at each update. */
  follow = (update) => void this.#updates.push(update);

  /** Call a function when the elements are removed, if they are of an item of a list. */
  whenRemoved = (end) => void this.#endings.push(end);

  /**
   * Create an HTML element, as `node` in dom.js does. A function is called at each update: it returns the value of an
   * attribute, or as a child its text. A `list` is a child, too.
   */
  node = elementMaker(createHtml, this.follow);

  /** Create an SVG element in the same way. */
  svg = elementMaker(createSvg, this.follow);

  /** Create a button; `symbol` is the name of its icon. */
  button = ({ symbol = null, ...more }, ...children) => {
    const label = (child) =>
        typeof child === "string" || typeof child === "function" ? this.node("span", child) : child,
      sign = symbol && this.node("span.lineage-icon", { "aria-hidden": "true" }, symbol);
    const attributes = { type: "button", class: "lineage-button", ...more };
    return this.node("button", attributes, sign, symbol ? children.map(label) : children);
  };

  /** Create a button that plays or pauses, with the symbol and the word of what it does next. */
  playButton = (isPlaying, attributes, words = "Play") =>
    this.button({ symbol: () => (isPlaying() ? "pause" : "play_arrow"), ...attributes }, () =>
      isPlaying() ? "Pause" : words,
    );

  /** Create a row of buttons, one of which is selected. `options` returns {value: text}; with less than two it is hidden. `kind` has the
      classes of the row and of the buttons. */
  buttonChoice = (label, options, get, press, kind = {}) => {
    const isHidden = () => Object.keys(options()).length < 2,
      makeButton = ([value, text], _, inner) => {
        const isPressed = () => value === get(),
          onclick = () => press(value);
        return inner.node(
          "button",
          { type: "button", class: kind.button, value, "aria-pressed": isPressed, onclick },
          text,
        );
      };
    const attributes = { class: kind.root ?? "choice", role: "group", "aria-label": label, hidden: isHidden };
    const buttons = this.list(() => Object.entries(options()), makeButton);
    return this.node("div", attributes, buttons);
  };

  /**
   * Return a child that stands for one element per item, which is made again when its item has become different; `make`
   * receives the item, its index and `LiveElements` of its own.
   */
  list = (items, make) => ({
    attach: (element) =>
      this.#attachList(
        element,
        items,
        (item, i) => `${i} ${JSON.stringify(item)}`,
        (read, inner, i) => make(read(), i, inner),
        true,
      ),
  });

  /**
   * Return a child that stands for one element per item, which is kept as long as there is an item of this key, by default
   * in this place. `make` receives a function that returns the item, and `LiveElements` of its own.
   */
  keyed = (items, make, keyOf = (_item, i) => i) => ({
    attach: (element) => this.#attachList(element, items, keyOf, make),
  });

  /** `refocuses`: an element that takes the place of that with the keyboard focus gets the focus. */
  #attachList(element, items, keyOf, make, refocuses = false) {
    let views = new Map(); // by key: { item, child, inner }
    this.whenRemoved(() => views.forEach(({ inner }) => inner.#endings.forEach((end) => end())));
    this.follow(() => {
      const before = views,
        active = /** @type {HTMLElement} */ (document.activeElement),
        focused = [...element.childNodes].findIndex((child) => child.contains(active));
      views = new Map();
      items().forEach((item, i) => {
        const key = keyOf(item, i),
          view = before.get(key) ?? { inner: new LiveElements() };
        view.item = item;
        view.child ??= make(() => view.item, view.inner, i);
        views.set(key, view);
      });
      for (const [key, { child, inner }] of before) {
        if (views.has(key)) continue;
        inner.#endings.forEach((end) => end());
        child.remove();
      }
      [...views.values()].forEach(({ child }, i) => {
        if (element.childNodes[i] !== child) element.insertBefore(child, element.childNodes[i] ?? null);
      });
      if (focused >= 0 && document.activeElement !== active) {
        const other = /** @type {HTMLElement} */ (refocuses ? element.childNodes[focused] : null),
          next = active.isConnected ? active : (other?.querySelector?.("button") ?? other);
        /** @type {HTMLElement} */ (next)?.focus?.({ preventScroll: true }); // a moved element has lost it
      }
      for (const { inner } of views.values()) inner.update();
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
    const checked = () => this.value[field],
      onchange = (event) => this.set({ [field]: event.target.checked });
    return this.node(
      "label",
      this.node("input.toggle", { type: "checkbox", role: "switch", checked, onchange }),
      label,
    );
  }

  /** Create a menu with its label. `options` is {value: text}. */
  select(field, label, options) {
    const items = Object.entries(options).map(([value, text]) => makeNode("option", { value }, text)),
      onchange = (event) => this.set({ [field]: event.target.value }),
      value = () => this.value[field];
    return this.node("label", label, this.node("select.lineage-select", { value, onchange }, items));
  }

  /**
   * Create radio buttons that look like segmented controls. `options` is {value: text}; `from` makes values of the field of
   * its values, `more` are attributes of the buttons.
   */
  choice(field, legend, options, { from = String, ...more } = /** @type {any} */ ({})) {
    const name = `choice-${crypto.getRandomValues(new Uint32Array(1))}`;
    const labels = Object.entries(options).map(([value, text]) => {
      const checked = () => String(this.value[field]) === value,
        onchange = () => this.set({ [field]: from(value) });
      return this.node("label", this.node("input", { type: "radio", name, checked, onchange, ...more }), text);
    });
    return this.node("fieldset.lineage-choice", this.node("legend", legend), labels);
  }

  /**
   * Create a slider. `to` and `from` convert between the values of the field and those of the slider.
   * @param {(value: any) => number} to
   * @param {(value: number) => any} from
   */
  slider(field, attributes, to = Number, from = Number) {
    const value = () => to(this.value[field]),
      oninput = (event) => this.change({ [field]: from(Number(event.target.value)) });
    return this.node("input.slider", { type: "range", ...attributes, value, oninput, onchange: this.report });
  }
}
