/* Show the scores of one head in numbers and words, and the buttons for interventions on it. */
import {
  SCORES,
  includesHead,
  distanceProfile,
  describeHead,
  describeInterventions,
  describeImportance,
} from "./math.js";
import { setTextIfChanged, icon, svgNode, node } from "../../shared/runtime/dom.js";
import { formatNumber, formatSigned, formatWeight } from "../../shared/runtime/format.js";

export const FAR = 15; // bars of the profile

export const scoreTitles = (unit) => ({
  previous: `on the ${unit} before`,
  itself: "on itself",
  first: `on the first ${unit}`,
  same: `on the same ${unit} earlier`,
  after_same: `on what followed the same ${unit}`,
  spread: `${unit}s it spreads over`,
  worth: "loss without it",
});

/** Format the score by which the grid is sorted. */
export const scoreFormat = (sort) =>
  sort === "worth"
    ? (value) => formatSigned(value, 3)
    : sort === "spread"
      ? (value) => formatNumber(value, 1)
      : (value) => formatNumber(value);

export const formatDistance = (back) => (back ? `${Math.abs(back)} ${back < 0 ? "ahead" : "back"}` : "itself");

/** `does` = { flip(), flatten() }. */
export function headScoresPanel(does) {
  const title = node("h3", {}, "What this head does"),
    note = node("p", { class: "under" }, "share of its attention, this text");
  const rows = Object.fromEntries(
    [...SCORES, "spread"].map((name) => {
      const words = node("span", { class: "habit-name" }),
        value = node("b"),
        bar = node("div", { class: "rail" });
      return [name, { words, value, bar, root: node("div", { class: "habit" }, words, value, bar) }];
    }),
  );
  const columns = svgNode("path", { class: "columns" }),
    own = svgNode("path", { class: "own" });
  const bars = svgNode(
    "svg",
    { class: "profile", role: "img", viewBox: "0 0 100 100", preserveAspectRatio: "none" },
    columns,
    own,
  );
  const farTitle = node("h4"),
    most = node("span", { class: "most" }),
    beyond = node("p", { class: "beyond" });
  const near = node("span"),
    middle = node("span"),
    far = node("span");
  const description = node("p", { class: "said" }),
    importance = node("p", { class: "worth" });
  const makeButton = (press) => {
    const button = node("button", { type: "button", class: "lineage-button" });
    button.onclick = press;
    return button;
  };
  const off = makeButton(does.flip),
    flat = makeButton(does.flatten);
  const figure = node(
    "div",
    { class: "habits-figure" },
    title,
    note,
    ...Object.values(rows).map(({ root }) => root),
    node("div", { class: "profile-head" }, farTitle, most),
    bars,
    node("div", { class: "profile-ends" }, near, middle, far),
    beyond,
  );
  const root = node(
    "div",
    { class: "habits" },
    figure,
    description,
    node("div", { class: "buttons" }, off, flat),
    importance,
  );
  return {
    root,
    figure,
    show({ found, unit, keys, label }) {
      const words = scoreTitles(unit);
      for (const [name, { words: place, value, bar }] of Object.entries(rows)) {
        const number = found[name],
          spread = name === "spread";
        setTextIfChanged(place, spread ? `${words.spread}, of ${keys}` : words[name]);
        setTextIfChanged(value, formatNumber(number, spread ? 1 : 2));
        const why = Number.isNaN(number) ? `no ${unit} of this text could` : "";
        if (value.title !== why) value.title = why;
        bar.style.backgroundSize = `${Number.isNaN(number) ? 0 : 100 * (spread ? number / Math.max(1, keys) : number)}% 100%`;
      }
      const { shown, farther } = distanceProfile(found, FAR),
        top = Math.max(...shown.map(({ share }) => share), 1e-9);
      const wide = 100 / Math.max(8, shown.length);
      const barPath = ({ share }, i) =>
        `M${(i * wide).toFixed(2)} 100V${(100 - 100 * Math.max(0.012, share / top)).toFixed(2)}H${((i + 1) * wide - 0.7).toFixed(2)}V100Z`;
      const middleOf = shown[0].back < 0 ? shown.findIndex(({ back }) => back === 0) : -1;
      columns.setAttribute("d", shown.map((one, i) => (i === middleOf ? "" : barPath(one, i))).join(""));
      own.setAttribute("d", middleOf < 0 ? "" : barPath(shown[middleOf], middleOf));
      const [{ back: first }, { back: last }] = [shown[0], shown.at(-1)];
      setTextIfChanged(farTitle, first < 0 ? "How far it looks" : "How far back it looks");
      setTextIfChanged(most, `highest shown ${formatNumber(top)}`);
      setTextIfChanged(near, formatDistance(first));
      setTextIfChanged(middle, first < 0 ? "itself" : "");
      setTextIfChanged(far, shown.length > 1 ? formatDistance(last) : "");
      setTextIfChanged(
        beyond,
        farther === null ? "" : `Farther off: ${farther < 0.01 ? "below 0.01" : `at most ${formatNumber(farther)}`}.`,
      );
      bars.ariaLabel = `How far ${label} looks: ${shown.map(({ share, back }) => `${formatDistance(back)} ${formatWeight(share, 2)}`).join(", ")}.`;
      setTextIfChanged(description, describeHead(found, unit));
    },
    showIntervention({ touch, open: [layer, head], rise, error, unit, where, ended }) {
      const isOff = includesHead(touch.off, layer, head),
        isFlat = includesHead(touch.flat, layer, head);
      const setButton = (button, symbol, text) => {
        if (button.textContent !== symbol + text) button.replaceChildren(icon(symbol), node("span", {}, text));
      };
      setButton(off, isOff ? "toggle_on" : "toggle_off", isOff ? "Switch on" : "Switch off");
      setButton(flat, "drag_handle", isFlat ? "As it was" : "Make uniform");
      importance.hidden = rise == null;
      if (rise != null)
        setTextIfChanged(
          importance,
          `${describeImportance(rise, error, unit, where)}${ended ? "" : " Measured at the end of training."}${describeInterventions(touch) ? " Measured with nothing touched." : ""}`,
        );
    },
  };
}
