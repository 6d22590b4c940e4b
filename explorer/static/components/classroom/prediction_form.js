/* Draw the question of a class and the form for a prediction: native inputs; a number has a slider beside its field. */
import { makeHistogram } from "./histogram.js";
import { icon, node } from "../../shared/runtime/dom.js";

let forms = 0;

/** `send(prediction)` is called for each prediction. */
export function predictionForm({ question, code }, send) {
  const name = `class-${(forms += 1)}`;
  const form = node("form", { class: "predict" }),
    fields = node("fieldset", {}, node("legend", {}, question.text));
  const heading = node("p", { class: "question", hidden: "" }, question.text);
  const button = node(
    "button",
    { class: "lineage-button", type: "submit" },
    icon("send"),
    node("span", {}, "Send my prediction"),
  );
  const chart = makeHistogram(question);
  const input = question.choices.length
    ? makeChoiceInput(fields, question.choices, name)
    : makeNumberInput(fields, question.scale, name);
  form.append(fields, button);
  form.onsubmit = (event) => {
    event.preventDefault();
    const prediction = input.read();
    if (prediction === null) input.focus();
    else send(prediction);
  };
  const root = node("div", {}, form, heading, chart.root, node("p", { class: "lineage-caption" }, `Class ${code}`));
  chart.root.hidden = true;
  let filled = false;
  return {
    root,
    show({ mine, revealed, given, answer }) {
      if (mine !== null && !filled) input.write(mine);
      filled = true;
      fields.disabled = button.disabled = revealed;
      form.hidden = revealed;
      heading.hidden = chart.root.hidden = !revealed;
      if (revealed) chart.show(given, mine, answer);
      button.lastChild.textContent = mine === null ? "Send my prediction" : "Change my prediction";
    },
  };
}

function makeChoiceInput(fields, offered, name) {
  const inputs = offered.map((choice) => node("input", { type: "radio", name, value: choice.name, required: "" }));
  offered.forEach((choice, i) => fields.append(node("label", {}, inputs[i], node("span", {}, choice.text))));
  return {
    read: () => inputs.find((input) => input.checked)?.value ?? null,
    write: (prediction) =>
      inputs.forEach((input) => {
        input.checked = input.value === prediction;
      }),
    focus: () => inputs[0].focus(),
  };
}

function makeNumberInput(fields, { low, high, step, unit }, name) {
  const limits = { min: low, max: high, step };
  const field = node("input", { type: "number", ...limits, step: "any", required: "", id: name, inputmode: "decimal" });
  const slider = node("input", { type: "range", ...limits, "aria-label": `${low} to ${high} ${unit}`.trim() });
  slider.value = (low + high) / 2; // the position of the slider is no prediction: the field is empty
  slider.oninput = () => {
    field.value = slider.value;
  };
  field.oninput = () => {
    slider.value = field.value;
  };
  const label = node("label", { for: name }, `${low} to ${high}${unit ? ` ${unit}` : ""}`);
  fields.append(node("div", { class: "number" }, label, field, slider));
  return {
    read: () => (field.value === "" || !field.checkValidity() ? null : Number(field.value)),
    write: (prediction) => {
      field.value = slider.value = prediction;
    },
    focus: () => field.reportValidity(),
  };
}
