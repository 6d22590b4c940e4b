/* Show the most probable answers of the model as bars, with and without the intervention. */
import { node, setTextIfChanged } from "../../shared/runtime/dom.js";
import { formatWeight } from "../../shared/runtime/format.js";
import { tokenLabel } from "../../shared/runtime/visible_text.js";

/** Return {root, show(answers)}; `answers` is {where, rows: [{text, now, before}], changed} or missing. */
export function answersPanel() {
  const title = node("h3", {}, "What the model predicts"),
    where = node("p", { class: "under" }),
    rows = node("div", { class: "answer-rows" }),
    key = node("p", { class: "under answer-key" });
  const root = node("div", { class: "model-answers", role: "status" }, title, where, rows, key);
  return {
    root,
    show(answers) {
      root.hidden = !answers;
      if (!answers) return;
      setTextIfChanged(where, answers.where);
      setTextIfChanged(key, answers.changed ? "Solid: with the intervention. Pale: unchanged." : "");
      rows.replaceChildren(
        ...answers.rows.map(({ text, now, before }) => {
          const bar = node("div", { class: "answer-bar" }, node("i", { class: "before" }), node("i", { class: "now" }));
          bar.children[0].style.width = `${100 * before}%`;
          bar.children[1].style.width = `${100 * now}%`;
          return node(
            "div",
            { class: "answer-row" },
            node(
              "span",
              { class: "answer-text", title: [...text].length > 8 ? tokenLabel(text) : null },
              tokenLabel(text),
            ),
            bar,
            node("b", {}, formatWeight(now, 2)),
          );
        }),
      );
    },
  };
}
