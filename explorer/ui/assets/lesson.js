/*
What was measured at a step of a lesson, beside what the visitor predicted.

data = { question, said, and the fields of an answer, see answer.js }
*/
import { answered } from "./answer.js";
import { instrument } from "./svg.js";

export default instrument((place) => ({
  show({ question, said, ...answer }) {
    place.replaceChildren(answered(question, answer, said));
  },
}));
