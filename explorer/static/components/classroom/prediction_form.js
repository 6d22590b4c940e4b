/* Draw the question of a class and the form for a student's answer, with native inputs. */
import { voteChart } from "./vote_chart.js";
import { node } from "../../shared/runtime/dom.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

let forms = 0;
const UNREAD = { mine: null, first: null, vote: 1, votes: [], visible: false, revealed: false, answer: null };

/** `send(answer)` is called for each answer. */
export function predictionForm({ question, code }, send) {
  let state = /** @type {any} */ (UNREAD),
    filled = "";
  const { node: live, button, update } = new LiveElements(),
    chart = voteChart(question),
    name = `class-${(forms += 1)}`;
  const input = question.collects
    ? makeSentenceInput(question.collects, name)
    : question.choices.length
      ? makeChoiceInput(question.choices, name)
      : makeNumberInput(question.scale, name);
  const isSent = () => state.vote === 1 && state.mine !== null,
    isClosed = () => state.revealed || isSent(),
    isAsked = () => !state.revealed,
    act = () => (state.vote === 1 ? "Send my answer" : `${state.mine === null ? "Send" : "Change"} my second answer`);
  const onsubmit = (event) => {
    event.preventDefault();
    const answer = input.read();
    if (answer === null) input.focus();
    else send(answer);
  };
  const result = node("div.result");
  const root = node(
    "div",
    live(
      "form.predict",
      { onsubmit, hidden: () => state.revealed },
      live("fieldset", { disabled: isClosed }, node("legend", question.text), input.fields),
      button({ symbol: "send", type: "submit", disabled: isClosed, hidden: isSent }, act),
    ),
    live("p.question", { hidden: isAsked }, question.text),
    live("div.both", { hidden: isAsked }, chart.root, result),
    node("p.lineage-caption", `Class ${code}`),
  );
  update();
  return {
    root,
    result,
    show(newState) {
      state = newState;
      const own = state.mine ?? state.first,
        fill = `${state.vote} ${own !== null}`;
      if (own !== null && filled !== fill) input.write(own);
      filled = fill;
      update();
      if (state.revealed) chart.show({ ...state, own });
    },
  };
}

function makeChoiceInput(offered, name) {
  const inputs = offered.map((choice) => node("input", { type: "radio", name, value: choice.name, required: "" }));
  return {
    fields: offered.map(({ text }, i) => node("label", inputs[i], node("span", text))),
    read: () => inputs.find((input) => input.checked)?.value ?? null,
    write: (answer) => inputs.forEach((input) => (input.checked = input.value === answer)),
    focus: () => inputs[0].focus(),
  };
}

/* A field without a slider: the position of a slider would suggest an answer. */
function makeNumberInput({ low, high, unit }, id) {
  const inputmode = low < 0 ? null : "decimal"; // the keyboard of a phone for decimals has no minus
  const field = node("input", { type: "number", min: low, max: high, step: "any", required: "", id, inputmode });
  return makeField(field, `A number from ${low} to ${high}${unit ? ` (${unit})` : ""}`, Number, unit);
}

function makeSentenceInput(most, id) {
  const about = { required: "", pattern: ".*\\S.*", maxlength: most, id, dir: "auto", autocomplete: "off" };
  return makeField(node("input", about), `One sentence, at most ${most} characters`, String);
}

const makeField = (field, text, convert, unit = "") => ({
  fields: [node(`div.field.${field.type}`, node("label", { for: field.id }, text), field, node("span", unit))],
  read: () => (field.checkValidity() ? convert(field.value) : null),
  write: (answer) => (field.value = answer),
  focus: () => field.reportValidity(),
});
