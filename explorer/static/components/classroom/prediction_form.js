/* Draw the question of a class and the form for a student's answer, with native inputs. */
import { voteChart } from "./vote_chart.js";
import { icon, node } from "../../shared/runtime/dom.js";

let forms = 0;

/** `send(answer)` is called for each answer. */
export function predictionForm({ question, code }, send) {
  const name = `class-${(forms += 1)}`;
  const form = node("form", { class: "predict" }),
    fields = node("fieldset", {}, node("legend", {}, question.text));
  const heading = node("p", { class: "question", hidden: "" }, question.text);
  const button = node(
    "button",
    { class: "lineage-button", type: "submit" },
    icon("send"),
    node("span", {}, "Send my answer"),
  );
  const chart = voteChart(question);
  const input = question.collects
    ? makeSentenceInput(fields, question.collects, name)
    : question.choices.length
      ? makeChoiceInput(fields, question.choices, name)
      : makeNumberInput(fields, question.scale, name);
  form.append(fields, button);
  form.onsubmit = (event) => {
    event.preventDefault();
    const answer = input.read();
    if (answer === null) input.focus();
    else send(answer);
  };
  const result = node("div", { class: "result" });
  const both = node("div", { class: "both" }, chart.root, result);
  const root = node("div", {}, form, heading, both, node("p", { class: "lineage-caption" }, `Class ${code}`));
  both.hidden = true;
  let filled = "";
  return {
    root,
    result,
    show({ mine, first, vote, votes, visible, revealed, answer }) {
      const own = mine ?? first;
      const state = `${vote} ${own !== null}`;
      if (own !== null && filled !== state) input.write(own);
      filled = state;
      fields.disabled = button.disabled = revealed || (vote === 1 && mine !== null);
      button.hidden = vote === 1 && mine !== null;
      form.hidden = revealed;
      heading.hidden = both.hidden = !revealed;
      if (revealed) chart.show({ votes, visible, own, answer });
      button.lastChild.textContent =
        vote === 1 ? "Send my answer" : mine === null ? "Send my second answer" : "Change my second answer";
    },
  };
}

function makeChoiceInput(fields, offered, name) {
  const inputs = offered.map((choice) => node("input", { type: "radio", name, value: choice.name, required: "" }));
  offered.forEach((choice, i) => fields.append(node("label", {}, inputs[i], node("span", {}, choice.text))));
  return {
    read: () => inputs.find((input) => input.checked)?.value ?? null,
    write: (answer) =>
      inputs.forEach((input) => {
        input.checked = input.value === answer;
      }),
    focus: () => inputs[0].focus(),
  };
}

/* A field without a slider: the position of a slider would suggest an answer. */
function makeNumberInput(fields, { low, high, unit }, name) {
  const field = node("input", {
    type: "number",
    min: low,
    max: high,
    step: "any",
    required: "",
    id: name,
    inputmode: low < 0 ? null : "decimal", // the keyboard of a phone for decimals has no minus
  });
  return addField(fields, field, `A number from ${low} to ${high}${unit ? ` (${unit})` : ""}`, Number, unit);
}

function makeSentenceInput(fields, most, name) {
  const about = { required: "", pattern: ".*\\S.*", maxlength: most, id: name, dir: "auto", autocomplete: "off" };
  return addField(fields, node("input", about), `One sentence, at most ${most} characters`, String);
}

function addField(fields, field, text, convert, unit = "") {
  const label = node("label", { for: field.id }, text);
  fields.append(node("div", { class: `field ${field.type}` }, label, field, node("span", {}, unit)));
  return {
    read: () => (field.checkValidity() ? convert(field.value) : null),
    write: (answer) => {
      field.value = answer;
    },
    focus: () => field.reportValidity(),
  };
}
