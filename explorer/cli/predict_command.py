"""The command `predict`: what a run or a real model predicts for an input."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from explorer.catalogue import task_row
from explorer.cli.common import Json, RunOrRealModel, argument, find_model
from explorer.cli.program import print_json
from explorer.cli.tables import round_or_none, visible_token
from explorer.errors import InvalidSetting
from explorer.inspection.words import labelling
from explorer.lazy_libraries import np
from explorer.model import predictions, real_model, run_model
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.dates import DatesConfig, parse_date
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.visible_text import escape_invisible

_SHOWN = 10  # most probable tokens of a real model


def predict(
    run: RunOrRealModel,
    sentence: Annotated[str, argument("INPUT", "A sentence, a sequence of symbols, or a source to translate.")],
    as_json: Json = False,
) -> None:
    """Print what the model of a run predicts for an input.

    Negation and sentiment: the class of a sentence. Recall: the first symbol. Sequence labelling: the label at every
    position. These are averaged over the seeds. Translation: the output of each seed. Real model: the most probable
    tokens that follow the text, or at each [MASK] of an encoder.
    """
    model = find_model(run)
    if isinstance(model, real_model.RealModel):
        return _predict_with_real_model(model, sentence, as_json)
    assert isinstance(model, run_model.RunModel), "every other model is a run"
    task = model.config.task
    if isinstance(task, TextConfig | StringConfig | WordVectorsConfig):
        instead = f"generate {run} --prompt TEXT"
        if isinstance(task, WordVectorsConfig):
            instead = f'explorer.load("{run}").neighbours(word) in Python'
        raise InvalidSetting(
            f"{run} is a run of the task {task_row(task).name}, which predicts no class. Use {instead}."
        )
    found = predictions.predict(model, sentence)
    if isinstance(found, list):
        return _print_labels(found, model.config.replicas, as_json)
    if isinstance(found, predictions.Translation):
        if isinstance(task, DatesConfig) and (why := parse_date(sentence).error):
            print(why, file=sys.stderr)
        return _print_translation(found, model.seeds, as_json)
    probabilities = _outcome_probabilities(found)
    if not as_json:
        if found.unread:
            print(found.unread, file=sys.stderr)
        return _print_bars(probabilities)
    answer: dict[str, object] = {"sentence": sentence, "tokens": list(found.tokens)}
    if isinstance(task, RecallConfig):
        answer = {"symbols": len(found.tokens), "first": found.tokens[0], "trained_at": task.length}
    unread = {"unread": found.unread} if found.unread else {}
    print_json({"kind": "prediction", **answer, "probabilities": probabilities, **unread})


def _outcome_probabilities(found: predictions.Distribution) -> dict[str, float | None]:
    mean = found.probabilities.mean(axis=0)
    return {name: round_or_none(share) for name, share in zip(found.outcomes, mean, strict=True)}


def _print_bars(probabilities: dict[str, float | None]) -> None:
    width = max(9, *(len(escape_invisible(name)) for name in probabilities))
    for name, value in probabilities.items():
        print(f"{escape_invisible(name):{width}} {value or 0:.3f} {'█' * round(40 * (value or 0))}")


def _print_translation(found: predictions.Translation, seeds: tuple[int, ...], as_json: bool) -> None:
    answers = [
        {"seed": seed, "target": each.text, "probability": round(each.probability, 6), "finished": each.has_end}
        for seed, each in zip(seeds, found.outputs, strict=True)
    ]
    if as_json:
        print_json({"kind": "prediction", "source": found.source, "answers": answers, "right": found.expected})
        return
    for answer in answers:
        end = "" if answer["finished"] else "  (no end)"
        print(f"{answer['target']}  {answer['probability']:.3f}{end}")


def _print_labels(found: list[labelling.PositionAnswer], seeds: int, as_json: bool) -> None:
    """Print the label at every position, and whether it is right where the answer is known."""
    known = [each.is_correct for each in found if each.is_correct is not None]
    if as_json:
        places = [_label_fields(place, each) for place, each in enumerate(found)]
        print_json({"kind": "prediction", "seeds": seeds, "places": places, "right": sum(known), "known": len(known)})
        return
    wide, long = (max(map(len, names)) for names in ([e.token for e in found], [e.answer for e in found]))
    for place, each in enumerate(found):
        answer = f"{each.answer:{long}} {each.probability:.3f}  {_describe_correctness(each)}"
        print(f"{place:3} {visible_token(each.token):{wide}}  {answer if each.in_loss else '(not asked)'}".rstrip())
    if known:
        print(f"{sum(known)} of {len(known)} right")


def _label_fields(place: int, each: labelling.PositionAnswer) -> dict[str, Any]:
    answer = {"answer": each.answer, "probability": round(each.probability, 6)} if each.in_loss else {}
    expected = {} if each.target is None else {"wanted": each.target, "right": each.is_correct}
    return {"place": place, "token": each.token, "asked": each.in_loss, **answer, **expected}


def _describe_correctness(each: labelling.PositionAnswer) -> str:
    if each.is_correct is None:
        return ""
    return "right" if each.is_correct else f"wrong: it is {visible_token(each.target or '')}"


def _predict_with_real_model(model: real_model.RealModel, text: str, as_json: bool) -> None:
    """Print the most probable next tokens of a decoder, those at each mask of an encoder, or a translation."""
    found = predictions.predict_with_real_model(model, text, model.check_step(None))
    if unread := model.tokenize(text).unread:
        print(escape_invisible(unread), file=sys.stderr)
    if isinstance(found, predictions.Output):
        answer = {"target": found.text, "probability": round_or_none(found.probability)}
        if as_json:
            print_json({"kind": "prediction", "source": text, "answers": [answer]})
        else:
            print(f"{answer['target']}  {answer['probability']:.3f}")
        return
    for each in found:
        rounded = _outcome_probabilities(each)
        best = np.argsort(-each.probabilities[0], kind="stable")[:_SHOWN]
        probabilities = {each.outcomes[i]: rounded[each.outcomes[i]] for i in best}
        if as_json:
            at = {} if each.position is None else {"position": each.position}
            print_json({"kind": "prediction", "text": text, **at, "probabilities": probabilities})
            continue
        if each.position is not None:
            print(f"at token {each.position}:")
        _print_bars(probabilities)
