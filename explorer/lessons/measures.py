"""The measures that lessons can use: each returns one number, or one label, for each seed.

They use included runs, or random draws from a fixed seed, so the results are the same everywhere. Their docstrings are
the descriptions in `docs/lesson-format.md`, and the types of their parameters say which settings are possible. torch is
imported when the first of them is computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from explorer.byte_cache import cached
from explorer.catalogue import TASKS
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.recall import SOLVED
from explorer.generation import decoding, generate, sampling, text_statistics
from explorer.hub.allowed import PREFIX
from explorer.hub.card import ModelCard
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.inspection import load_model
from explorer.inspection.attention import alignment, attend, head_scores
from explorer.inspection.language import tokenizers
from explorer.inspection.pretrained import answer_depth, first_token, opened_model, word_similarity
from explorer.inspection.pretrained.random_network import random_network
from explorer.inspection.recurrent import gates, input_gradients, per_step_gradients
from explorer.inspection.seq2seq import decoding as translation
from explorer.inspection.transformer import cost_formulas, depth, induction, positions, softmax_scaling
from explorer.inspection.words import negation_sentences, word_vectors
from explorer.lazy_libraries import np, torch
from explorer.lessons.measure import MEASURES as MEASURES
from explorer.lessons.measure import Check, Limits, Measure, Setting, Values, lesson_measure
from explorer.model import run_model
from explorer.run_store import store
from explorer.tasks import recall
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.tasks.own_sentences import Language
from explorer.tasks.sentiment.config import CLASSES as ENGLISH_CLASSES
from explorer.tasks.seq2seq import digits as digit_tasks
from explorer.tasks.seq2seq.config import TranslationConfig, source_vocabulary
from explorer.tasks.seq2seq.digits import ReverseConfig
from explorer.tasks.sequence_labelling import delayed_copy
from explorer.tasks.sequence_labelling.induction import ROLES
from explorer.tokenization.text import Tokenizer, from_json
from explorer.training.config import RunConfig

SAMPLES = 8  # generated texts of each measurement, with different sampling noise
HEAD_IMPORTANCE = Path(__file__).with_name("head_importance.json")
WORD_PIECES = Path(__file__).with_name("word_pieces.json")
STACK_HEADS = 4  # as on the page on depth
PER_LENGTH = 50  # fresh sources for each length, as on the page
FEWEST_SENTENCES, MOST_SENTENCES = 4, 8  # of a visitor, for a real encoder; the page reads as many
_MOST_WORDS = 20  # the limit of the page about positions


def find_measure(name: str) -> Measure:
    """Return the measure of this name. Raises InvalidSetting."""
    if name not in MEASURES:
        raise InvalidSetting(f"There is no measure “{shorten(name)}”. The measures are {', '.join(MEASURES)}.")
    return MEASURES[name]


def measure(name: str, settings: Mapping[str, Any]) -> Values:
    """Return one number or label for each seed, or for each generated sample. Raises LineageError.

    `name` is the name of a measure and `settings` its settings, as `Measure.parse_settings` returns them.
    """
    return MEASURES[name].compute(**settings)


# ---- checks


def _config(given: Mapping[str, Any]) -> RunConfig:
    return store.find(given["run"]).config


def _shared_metrics(given: Mapping[str, Any]) -> list[str]:
    runs = [store.find(given[name]) for name in ("run", "other") if name in given]
    return [metric for metric in runs[0].card.metrics if all(metric in run.card.metrics for run in runs)]


def evaluated_lengths(config: RunConfig) -> tuple[int, ...]:
    """Return the lengths at which a run was evaluated at its end."""
    if isinstance(config.task, recall.RecallConfig):
        return recall.evaluation_lengths(config.task.length)
    if isinstance(config.task, delayed_copy.DelayedCopyConfig):
        return delayed_copy.evaluation_lengths(config.task)
    return digit_tasks.evaluation_lengths(config.task)  # type: ignore[arg-type]  # measures accept no other task


def _check_words(name: str, given: Mapping[str, Any]) -> None:
    count = len(given[name].split())
    if not 1 <= count <= _MOST_WORDS:
        raise InvalidSetting(f"“{shorten(given[name])}” has {count} words. Give 1 to {_MOST_WORDS}.")


def _check_sentence(name: str, given: Mapping[str, Any]) -> None:
    language = Language.from_json(store.find(given["run"]).tokenizer)
    language.vocabulary.split(given[name])


def _check_word(name: str, given: Mapping[str, Any]) -> None:
    word_vectors.load_table(store.find(given["run"])).ids([given[name]])


def _model_check(is_possible: Callable[[Any], bool], problem: str) -> Check:
    """Return the check of the model of a run; `problem` ends the sentence about one that is not possible."""

    def check(name: str, given: Mapping[str, Any]) -> None:
        if not is_possible(_config(given).model):
            raise InvalidSetting(f"Run “{given['run']}” {problem}")

    return check


_check_attention = _model_check(
    lambda model: getattr(model, "attention", "") != "none", "has no attention. Name a run with attention."
)
_check_has_heads = _model_check(
    lambda model: getattr(model, "heads", 0) > 0, "has no attention heads. Name a run of a Transformer."
)
_check_two_layers = _model_check(
    lambda model: getattr(model, "layers", 0) > 1, "has one layer, and so no induction head. Name one with two layers."
)


def _check_digits(name: str, given: Mapping[str, Any]) -> None:
    if not given[name].isdecimal():
        raise InvalidSetting(f"“{shorten(given[name])}” does not consist of digits.")


def _check_intervention(name: str, given: Mapping[str, Any]) -> None:
    if given[name] in ("uniform", "frozen"):
        _check_attention(name, given)


def _check_head(name: str, given: Mapping[str, Any]) -> None:
    if "run" not in given:
        return
    model = _config(given).model
    layers, heads = getattr(model, "layers", 0), getattr(model, "heads", 0)
    if not (given["layer"] < layers and given["head"] < heads):
        raise InvalidSetting(
            f"Run “{given['run']}” has no head {given['layer']}.{given['head']}: it has layers 0 to {layers - 1} and "
            f"heads 0 to {heads - 1}."
        )


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a visitor, which a URL separates by slashes."""
    return tuple(each.strip() for each in text.split("/") if each.strip())


def _check_halves(name: str, given: Mapping[str, Any]) -> None:
    count = len(split_sentences(given[name]))
    if not FEWEST_SENTENCES <= count <= MOST_SENTENCES or count % 2:
        raise InvalidSetting(
            f"You have {count} sentences. Write {FEWEST_SENTENCES}, 6 or {MOST_SENTENCES}: the first half with one "
            "sense of the word, the second half with the other one."
        )


def _check_probabilities(name: str, given: Mapping[str, Any]) -> None:
    for text in given[name].split():
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise InvalidSetting(f"“{shorten(text)}” is not a probability above 0 and up to 1.")


# ---- types of settings

Run = Annotated[str, Setting(tasks=tuple(TASKS))]
RecallRun = Annotated[str, Setting(tasks=("recall",))]
NegationRun = Annotated[str, Setting(tasks=("negation",))]
SentimentRun = Annotated[str, Setting(tasks=("sentiment",))]
VectorsRun = Annotated[str, Setting(tasks=("word_vectors",))]
DigitsRun = Annotated[str, Setting(tasks=("reverse", "copy"))]
LengthsRun = Annotated[str, Setting(tasks=("recall", "echo", "reverse", "copy"))]
AttentionRun = Annotated[str, Setting(tasks=("reverse",), check=_check_attention)]
TextRun = Annotated[str, Setting(tasks=("text",))]
HeadsRun = Annotated[str, Setting(tasks=("text",), check=_check_has_heads)]
CopyRun = Annotated[str, Setting(tasks=("induction",))]
InductionRun = Annotated[str, Setting(tasks=("induction",), check=_check_two_layers)]

Metric = Annotated[str, Setting(known=_shared_metrics)]  # of all runs that are named
EvaluatedLength = Annotated[int, Setting(low=1, high=1_000, known=lambda given: evaluated_lengths(_config(given)))]
Step = Annotated[  # of the training; -1 is the last
    int, Setting(low=-1, high=1_000_000, known=lambda given: (-1, *store.find(given["run"]).snapshot_steps()))
]
Sentence = Annotated[str, Setting(check=_check_sentence)]
FewWords = Annotated[str, Setting(check=_check_words)]
WordWithVector = Annotated[str, Setting(check=_check_word)]
Digits = Annotated[str, Setting(check=_check_digits)]
Probabilities = Annotated[str, Setting(check=_check_probabilities)]
Halves = Annotated[str, Setting(check=_check_halves)]
Width = Annotated[int, Setting(low=1, high=1_024, known=lambda given: softmax_scaling.WIDTHS)]
Share = Annotated[float, Setting(low=0.0, high=1.0)]
Temperature = Annotated[float, Setting(low=0.0, high=2.0)]
Layer = Annotated[int, Setting(low=0, high=63)]
HeadOfLayer = Annotated[int, Setting(low=0, high=63, check=_check_head)]
Role = Annotated[str, Setting(choices=ROLES)]
Position = Annotated[int, Setting(low=1, high=1_000)]
TokenCount = Annotated[int, Setting(low=20, high=400)]
VocabularySize = Annotated[int, Setting(low=2, high=2_000)]
Length = Annotated[int, Setting(low=1, high=100_000)]
LayerWidth = Annotated[int, Setting(low=1, high=10_000)]
YesOrNo = Literal["yes", "no"]
HeadScore = Literal["previous", "itself", "first", "same", "after_same", "spread"]
Intervention = Annotated[
    str, Setting(choices=("none", "uniform", "frozen", "cut", "shuffled"), check=_check_intervention)
]
Part = Literal["attention", "fused", "feedforward", "rnn", "gru", "lstm"]

# ---- limits of values

SHARE: Limits = (0.0, 1.0, "")
COSINE: Limits = (-1.0, 1.0, "")


def above_zero(unit: str = "") -> Limits:
    return 0.0, None, unit


def from_one(unit: str = "") -> Limits:
    return 1.0, None, unit


def count_of_seeds(given: Mapping[str, Any]) -> Limits:
    return 0.0, float(_config(given).replicas), "seeds"


def limits_of_metric(given: Mapping[str, Any]) -> Limits:
    if "perplexity" in given["metric"]:
        return from_one()
    if "loss" in given["metric"]:
        return above_zero("nats")
    return above_zero("bits") if "bits" in given["metric"] else SHARE


# ---- helpers


@cached()
def _loaded_model(run: str, step: int = -1) -> load_model.LoadedModel:
    """Load an included run with the weights of a step of its training; -1 is the last."""
    return load_model.shared_model(store.find(run), None if step < 0 else step)


def _floats(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values).ravel()]


# ---- from the card and the curves


@lesson_measure("score", span=limits_of_metric)
def final_metric(run: Run, metric: Metric) -> list[float]:
    """The value of a metric at the end of a run."""  # NaN where a seed has none
    values = store.find(run).card.metrics[metric].values
    return [float("nan") if value is None else float(value) for value in values]


@lesson_measure("fall")
def metric_difference(run: Run, other: Run, metric: Metric) -> list[float]:
    """How much lower a metric of the run `run` is than that of the run `other`, for each seed."""
    pairs = zip(final_metric(other, metric), final_metric(run, metric), strict=True)
    return [higher - lower for higher, lower in pairs]


@lesson_measure("at_length", span=SHARE)
def accuracy_at_length(run: LengthsRun, length: EvaluatedLength) -> list[float]:
    """The share of right answers to sequences of a length, evaluated at the end of the run."""
    stored = store.find(run)
    column = evaluated_lengths(stored.config).index(length)
    return _floats(stored.curves.answers["by_length"][-1][:, column])


@lesson_measure("solved", over="", span=count_of_seeds)
def solved_seeds(run: RecallRun) -> list[float]:
    """The number of seeds of a run with an accuracy of at least 0.95 on new sequences."""
    return seeds_above(run, "accuracy", SOLVED)


@lesson_measure("reached", over="", span=count_of_seeds)
def seeds_above(run: Run, metric: Metric, least: Share = 0.95) -> list[float]:
    """The number of seeds of a run whose metric is at least `least` at its end."""
    return [float(sum(value >= least for value in final_metric(run, metric)))]


# ---- negation


@lesson_measure("says", labels=CLASSES)
def predicted_class(run: NegationRun, sentence: Sentence) -> list[str]:
    """The class that a model predicts for a sentence."""
    return ["sustain" if share > 0.5 else "collapse" for share in sustain_probability(run, sentence)]


@lesson_measure("sustain", span=SHARE)
def sustain_probability(run: NegationRun, sentence: Sentence) -> list[float]:
    """The probability of the class sustain for a sentence."""
    return _floats(negation_sentences.sustain_probabilities(_loaded_model(run), VOCABULARY.split(sentence)))


@lesson_measure("apart", span=SHARE)
def probability_distance(run: NegationRun, sentence: Sentence, other: Sentence) -> list[float]:
    """The absolute difference between the probabilities of the class sustain for two sentences."""
    return _floats(np.abs(np.subtract(sustain_probability(run, sentence), sustain_probability(run, other))))


@lesson_measure("judges", labels=ENGLISH_CLASSES)
def judged_class(run: SentimentRun, sentence: Sentence) -> list[str]:
    """The class that a model gives an English sentence."""
    loaded = _loaded_model(run)
    language = Language.from_json(loaded.tokenizer)
    found = negation_sentences.class_probabilities(loaded, language.vocabulary.split(sentence))
    return [language.classes[i] for i in found.argmax(axis=1)]


# ---- memory


@lesson_measure("gradient", span=above_zero())
def gradient_ratio(run: RecallRun, step: Step = -1) -> list[float]:
    """The gradient norm at the first symbol divided by that at the last symbol, on new sequences."""
    along = input_gradients.input_gradient_norms(_loaded_model(run, step))
    return _floats(along[:, 0] / along[:, -1])


@lesson_measure("terms", span=above_zero("steps"))
def gradient_terms(
    run: RecallRun, step: Step = -1, share: Annotated[float, Setting(low=0.01, high=1.0)] = 0.99
) -> list[float]:
    """The number of last time steps that make up the share `share` of the gradient of the recurrent matrix, on new
    sequences.
    """
    shares = per_step_gradients.step_gradients(_loaded_model(run, step)).projection
    from_the_end = shares[:, ::-1].cumsum(axis=1)
    return _floats((from_the_end >= share).argmax(axis=1) + 1)


@lesson_measure("kept", span=SHARE)
def content_kept(run: RecallRun) -> list[float]:
    """The share of its content that a gated cell keeps in one step, for the unit that keeps most."""
    return _floats(gates.mean_keep_rates(_loaded_model(run)).max(axis=-1))


@lesson_measure("left", over="", span=SHARE)
def content_left(gate: Share, steps: Annotated[int, Setting(low=2, high=1_000)] = 50) -> list[float]:
    """The share of a content that is left after `steps` steps if a gate keeps the share `gate` at every step but the
    first.
    """
    return [float(gate ** (steps - 1))]


# ---- translation


@lesson_measure("mirror", span=SHARE)
def reversed_attention(run: AttentionRun, digits: Digits) -> list[float]:
    """The mean attention weight of a translation model on the digit that it has to generate next."""
    loaded, found = _loaded_model(run), list[float]()
    config = loaded.config.task_as(ReverseConfig)
    source = [source_vocabulary(config).index(digit) for digit in digits]
    for replica in range(loaded.config.replicas):
        model = translation.require_translator(loaded.single_replica(replica))
        weights = alignment.align(model, config, source, source[::-1]).weights
        assert weights is not None, "the measure accepts only runs with attention"
        shares = weights.mean(axis=(0, 1))[: len(source), : len(source)]
        found.append(float(np.fliplr(shares).diagonal().mean()))
    return found


@lesson_measure("touched", span=SHARE)
def accuracy_with_intervention(run: DigitsRun, touch: Intervention, length: EvaluatedLength) -> list[float]:
    """The share of right answers at a length after an intervention: uniform attention, attention frozen at that of the
    first step, the output of the encoder cut (set to zero), or a shuffled source.
    """
    loaded = _loaded_model(run)
    config: TranslationConfig = loaded.config.task  # type: ignore[assignment]  # the measure accepts no other task
    model = translation.require_translator(loaded.stack)
    return _floats(alignment.exact_match_under(model, config, touch, PER_LENGTH, lengths=[length]))


# ---- attention


@cached()
def softmax_statistics() -> softmax_scaling.SoftmaxStatistics:
    return softmax_scaling.measure_softmax()


@lesson_measure("strongest", over="", span=SHARE)
def largest_softmax_weight(width: Width, divided: YesOrNo) -> list[float]:
    """The largest weight that softmax gives one of 64 random keys for a random query (median of all draws), with the
    scores divided by the square root of the width or not.
    """
    largest = softmax_statistics().largest[int(divided == "yes")]
    return [float(np.median(largest[softmax_scaling.WIDTHS.index(width)]))]


@lesson_measure("order", span=above_zero())
def order_distance(
    sentence: FewWords,
    other: FewWords,
    positions: Literal["none", "sinusoidal", "learned", "rotary"],
    sees: Literal["all", "past"],
) -> list[float]:
    """The distance between the vectors of two sentences in untrained Transformers, divided by the length of these
    vectors. `sees`: whether a token attends to all tokens or to past ones only.
    """
    return _floats(_order_distances(sentence, other)[positions, sees == "past"])


@cached()
def _order_distances(one: str, other: str) -> dict[tuple[str, bool], Any]:
    every = positions.word_order_distances(one.lower().split(), other.lower().split())
    return {(each.positions, each.causal): each.sentence_distance for each in every}


@lesson_measure("similarity", span=COSINE)
def cosine_of_words(run: VectorsRun, word: WordWithVector, other: WordWithVector) -> list[float]:
    """The cosine similarity of the vectors of two words."""
    return _floats(word_vectors.pair_similarity(word_vectors.load_table(store.find(run)), word, other).cosines)


def _head_scores(run: str, step: int, text: str, name: str) -> list[np.ndarray]:
    """Return one of the scores of all heads over a text (see `score_heads`), an array (layers, heads) for each seed."""
    model, found = run_model.RunModel(store.find(run)), []
    read = model.tokenize(text)
    for replica in range(model.config.replicas):
        seen = attend.attend(model.module(replica, None if step < 0 else step), read.ids)
        found.append(getattr(head_scores.score_heads(seen.weights, read.ids), name))
    return found


@lesson_measure("habit", span=SHARE)
def head_score(
    run: HeadsRun, text: str, layer: Layer, head: HeadOfLayer, habit: HeadScore, step: Step = -1
) -> list[float]:
    """The score of a head on a text: the mean share of its attention on the previous token, the token itself, the
    first token, earlier tokens that are the same, or the tokens after those; or the spread, the effective number of
    tokens attended to.
    """
    return [float(scores[layer, head]) for scores in _head_scores(run, step, text, habit)]


@lesson_measure("largest_head_score", span=SHARE)
def largest_score(run: HeadsRun, text: str, habit: HeadScore, step: Step = -1) -> list[float]:
    """The highest score of all heads on a text; see `habit`."""
    return [float(np.nanmax(scores)) for scores in _head_scores(run, step, text, habit)]


@lesson_measure("visible", over="")
def visible_tokens(run: HeadsRun, text: str, layer: Layer, head: HeadOfLayer, place: Position) -> list[float]:
    """The number of tokens that the token at position `place` (counted from 1) may attend to."""
    model = run_model.RunModel(store.find(run))
    row = attend.attend(model.module(), model.tokenize(text).ids).weights[layer, head, place - 1]
    return [float((~np.isnan(row)).sum())]


@cached()
def included_head_importance() -> dict[str, list[list[list[float]]]]:
    """Return the head importance that is included: by the key of a run, then by replica, layer and head, in nats.

    Lessons need these numbers where Tiny Shakespeare is not on the machine.
    """
    found: dict[str, list[list[list[float]]]] = json.loads(HEAD_IMPORTANCE.read_text("utf-8"))
    return found


def _head_importance(run: store.StoredRun) -> list[np.ndarray]:
    """Return by how many nats the loss rises without each head, an array (layers, heads) for each seed."""
    if included := included_head_importance().get(run.key):
        return [np.array(replica) for replica in included]
    return [head_scores.head_importance(run, replica).importance for replica in range(run.config.replicas)]


@lesson_measure("head_off", span=above_zero("nats"))
def importance_of_head(run: HeadsRun, layer: Layer, head: HeadOfLayer) -> list[float]:
    """The increase of the loss in nats when one head is switched off."""
    return [float(seed[layer, head]) for seed in _head_importance(store.find(run))]


@lesson_measure("largest_head_importance", span=above_zero("nats"))
def largest_importance(run: HeadsRun) -> list[float]:
    """The increase of the loss in nats when the most important head is switched off."""
    return [float(seed.max()) for seed in _head_importance(store.find(run))]


@lesson_measure("loss_without", span=above_zero("nats"))
def loss_without_head(run: InductionRun, role: Role) -> list[float]:
    """The loss in nats on the second copy of random symbols when one head of each seed is switched off: the head with
    this role, which is found by its scores.
    """
    loaded = _loaded_model(run)
    roles = induction.find_roles(induction.measure_scores(loaded))
    return _floats(induction.loss_without(loaded, [[heads[role]] for heads in roles], "zero"))


@lesson_measure("copies", span=SHARE)
def accuracy_of_copies(run: CopyRun, length: Annotated[int, Setting(low=3, high=12)]) -> list[float]:
    """The share of right symbols of the second copy in rows whose copies have this length."""
    return _floats(induction.copy_accuracy(_loaded_model(run), length))


# ---- generation


def _logits(run: str, prompt: str) -> list[torch.Tensor]:
    """Return the logits of the next token after the prompt, one tensor (vocabulary,) for each seed."""
    found = []
    for replica in range(store.find(run).config.replicas):
        generator, ids = _generator_and_prompt(run, prompt, replica)
        reader = decoding.make_decoder(generator.model, generator.context or len(ids), 1, generator.padding)
        with torch.inference_mode():
            found.append(reader.read(ids[None])[0])
    return found


def _probabilities(logits: torch.Tensor, temperature: float, top_p: float = 1.0) -> torch.Tensor:
    """Return the probabilities at a temperature after top-p; at temperature 0 the likeliest token has all."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(), len(logits)).double()
    left = sampling.truncate_logits(logits[None], sampling.Sampling(temperature=temperature, top_p=top_p))[0]
    return (left.double() / temperature).softmax(dim=-1)


@lesson_measure("likeliest", span=SHARE)
def largest_probability(run: TextRun, prompt: str, temperature: Temperature) -> list[float]:
    """The probability of the most likely next token."""
    return [float(_probabilities(each, temperature).max()) for each in _logits(run, prompt)]


@lesson_measure("grows", span=above_zero("times"))
def probability_ratio(run: TextRun, prompt: str, temperature: Temperature, other: Temperature) -> list[float]:
    """The probability of the most likely next token at `temperature`, divided by that at the temperature `other`."""
    pairs = zip(largest_probability(run, prompt, temperature), largest_probability(run, prompt, other), strict=True)
    return [here / there for here, there in pairs]


@lesson_measure("choices_left", span=above_zero("letters"))
def tokens_after_top_p(run: TextRun, prompt: str, top_p: Share, temperature: Temperature = 1.0) -> list[float]:
    """The number of tokens that top-p keeps."""
    return [float((_probabilities(each, temperature, top_p) > 0).sum()) for each in _logits(run, prompt)]


def _generator_and_prompt(run: str, prompt: str, replica: int = 0) -> tuple[generate.TextGenerator, torch.Tensor]:
    model = run_model.RunModel(store.find(run))
    return model.text_generator(replica), torch.tensor(model.read_prompt(prompt)[0])


@lesson_measure("repeats", over="generated texts", span=SHARE)
def repeated_8grams(run: TextRun, prompt: str, temperature: Temperature, tokens: TokenCount = 200) -> list[float]:
    """The share of 8-grams in a generated text that occurred in it before, for eight texts (at temperature 0: for
    one).
    """
    generator, ids = _generator_and_prompt(run, prompt)
    samples = SAMPLES if temperature > 0 else 1
    found = text_statistics.compute_statistics_by_temperature(
        generator, ids, tokens, sampling.Sampling(), [temperature], samples
    )
    return _floats(found.repetition8[0])


@lesson_measure("in_common", over="pairs of texts", span=above_zero("letters"))
def common_prefix(
    run: TextRun,
    prompt: str,
    temperature: Temperature,
    other: Temperature,
    tokens: TokenCount = 200,
    throws: Annotated[int, Setting(low=1, high=64)] = SAMPLES,
) -> list[float]:
    """The number of tokens that two texts share at their beginning if they are generated at two temperatures with the
    same random numbers.
    """
    generator, ids = _generator_and_prompt(run, prompt)
    both = torch.tensor([temperature, other], dtype=torch.float64)
    with torch.inference_mode():
        generated = generate.generate_with_logits(generator, ids, tokens, sampling.Sampling(), throws, both)
        steps = [ids for _, _, ids in generated]
    one, another = torch.stack(steps, dim=1).view(2, throws, -1)
    return _floats((one == another).long().cumprod(dim=-1).sum(dim=-1))


# ---- pieces of words


@cached()
def _word_pieces(vocabulary: int) -> Tokenizer:
    """Return the BPE tokenizer of the page on tokens, trained on Tiny Shakespeare, truncated to a vocabulary."""
    return tokenizers.truncate_tokenizer(from_json(WORD_PIECES.read_text("utf-8")), vocabulary)


@lesson_measure("pieces", over="", span=above_zero("tokens"))
def token_count(text: str, vocabulary: VocabularySize) -> list[float]:
    """The number of tokens of a text after byte-pair encoding with a vocabulary learned on Tiny Shakespeare."""
    return [float(len(_word_pieces(vocabulary).encode(text)))]


@lesson_measure("unknown", over="", span=above_zero("tokens"))
def unknown_tokens(text: str, vocabulary: VocabularySize) -> list[float]:
    """The number of unknown tokens of a text after byte-pair encoding with a vocabulary learned on Tiny Shakespeare."""
    tokenizer = _word_pieces(vocabulary)
    return [float((tokenizer.encode(text) == tokenizer.unknown).sum())]


@lesson_measure("setting", over="")
def value_of_setting(value: Annotated[float, Setting(low=-1e9, high=1e9)]) -> list[float]:
    """A number that is set on the page. Only tasks use this measure."""
    return [float(value)]


# ---- perplexity


@lesson_measure("perplexity_of", over="", span=from_one())
def perplexity_of_probabilities(probabilities: Probabilities) -> list[float]:
    """The perplexity of a model that gave the tokens of a text these probabilities (separated by spaces)."""
    return [float(np.exp(-np.mean(np.log([float(each) for each in probabilities.split()]))))]


@lesson_measure("per_letter", span=from_one("letters"))
def perplexity_per_letter(run: TextRun) -> list[float]:
    """The perplexity per character of a model with any tokens: 2 to the power of its bits per character."""
    return [2**bits for bits in final_metric(run, "bits_per_char")]


@lesson_measure("perplexity_per_unit", over="", span=from_one())
def perplexity_per_unit(
    perplexity: Annotated[float, Setting(low=1, high=1e9)], units: Annotated[float, Setting(low=0.01, high=1e3)]
) -> list[float]:
    """The perplexity per byte or character, from a perplexity per token and the mean number of these units in a
    token.
    """
    return [float(perplexity ** (1 / units))]


# ---- depth and cost


@lesson_measure("stream_gradient", span=above_zero())
def stack_gradient_ratio(
    residual: YesOrNo, norm: Literal["none", "post", "pre"], layers: Annotated[int, Setting(low=1, high=24)]
) -> list[float]:
    """The gradient norm at the input of an untrained stack of blocks divided by that at its output. Norms are after
    (post) or before (pre) each part.
    """
    combination = depth.Combination(residual == "yes", norm)
    return _floats(depth.stream_gradient_ratios(combination, STACK_HEADS, "usual", layers))


def _multiplications(part: str, length: int, width: int) -> int:
    return cost_formulas.multiplications(part, cost_formulas.LayerSize(length, width))


@lesson_measure("cost_growth", over="", span=above_zero("times"))
def growth_at_twice_the_length(part: Part, length: Length, width: LayerWidth) -> list[float]:
    """The number of multiplications of a part at twice the length, divided by that at the length."""
    return [_multiplications(part, 2 * length, width) / _multiplications(part, length, width)]


@lesson_measure("cost_ratio", over="", span=above_zero("times"))
def ratio_of_multiplications(part: Part, other: Part, length: Length, width: LayerWidth) -> list[float]:
    """The number of multiplications of one part divided by that of another one."""
    return [_multiplications(part, length, width) / _multiplications(other, length, width)]


@lesson_measure("cost_crossing", over="", span=above_zero("tokens"))
def length_of_equal_cost(width: LayerWidth) -> list[float]:
    """The length from which on attention needs at least as many multiplications as the feedforward part."""
    lengths = range(1, 16 * width + 1)
    return [float(next(t for t in lengths if ratio_of_multiplications("attention", "feedforward", t, width)[0] >= 1))]


@lesson_measure("saved_megabytes", over="", span=above_zero("MB"))
def megabytes_for_backward(
    part: Part, length: Length, width: LayerWidth, heads: Annotated[int, Setting(low=1, high=64)] = 4
) -> list[float]:
    """The memory in MB that one layer of a part keeps for the backward pass, by the formula."""
    return [cost_formulas.expected_saved_bytes(part, cost_formulas.LayerSize(length, width, 1, heads)) / 1e6]


# ---- real models

_REAL_DRAWS = 4  # groups of random heads: a visitor waits
_RANDOM_NETWORKS = 4
_REMOVED: Mapping[str, opened_model.Group] = {
    "none": "best",
    "best": "best",
    "two_best": "two best",
    "four_best": "four best",
    "control": "four best",
    "previous": "previous-token head",
}

_language_model_measure = partial(lesson_measure, real_model="language model")
_encoder_measure = partial(lesson_measure, real_model="encoder")


def _real_model(need: Need) -> ModelCard:
    """Return the real model that lessons measure. Raises InvalidSetting if none of this kind is open."""
    if not (cards := suitable_models(need)):
        raise InvalidSetting(how_to_get(need))
    return cards[0]


@_language_model_measure("real_head_score", over="random sequences", span=SHARE)
def score_of_real_head(head: Literal["induction", "previous"]) -> list[float]:
    """In a real language model that reads random tokens twice: the attention of the best induction head to the token
    after the earlier occurrence, or of the previous-token head below it to the token before.
    """
    scores = opened_model.induction_scores(_real_model("language model"))
    if head == "induction":
        layer, index = scores.best_induction_heads(1)[0]
        return _floats(scores.induction[:, layer, index])
    if (found := scores.previous_token_head()) is None:
        raise InvalidSetting("The best induction head is in the first layer, so no head is below it.")
    return _floats(scores.previous[:, found[0], found[1]])


@_language_model_measure("real_loss_without", over="random sequences", span=above_zero("nats"))
def real_loss_without_heads(
    removed: Literal["none", "best", "two_best", "four_best", "previous", "control"],
) -> list[float]:
    """The loss of a real language model on the second copy of random tokens, in nats, without the best induction head,
    the two or four best ones, the previous-token head, or random heads instead of the four best ones (control).
    """
    found = opened_model.loss_without_group(_real_model("language model"), _REMOVED[removed], _REAL_DRAWS)
    if removed == "none":
        return _floats(found.with_all)
    return _floats(found.controls.mean(axis=0) if removed == "control" else found.without)


@_language_model_measure("real_first_token", over="texts", span=SHARE)
def share_of_resting_heads(texts: Literal["unchanged", "replaced", "removed", "longer", "random"]) -> list[float]:
    """The share of the heads of a real language model that give more than half of their attention to the first token
    of a sentence: as it is, with the first token replaced by a random one or removed, in four sentences in a row
    (longer), or in a network with random weights.
    """
    variant: opened_model.FirstTokens = "random network" if texts == "random" else texts
    return _floats(
        opened_model.attention_to_first_token(_real_model("language model"), variant).resting_share_by_text()
    )


@_language_model_measure("real_first_value", over="sentences", span=above_zero("times"))
def length_of_first_value() -> list[float]:
    """The length of the value vector of the first token, divided by that of the others, in the heads of a real
    language model that give more than half of their attention to it.
    """
    found = opened_model.attention_to_first_token(_real_model("language model"), "unchanged")
    return _floats(found.value_norm_by_text())


@_encoder_measure("real_same_sense", over="words", span=SHARE)
def nearest_with_same_sense(
    weights: Literal["trained", "random"], depth: Annotated[int, Setting(low=-1, high=1_000)] = -1
) -> list[float]:
    """The share of the occurrences of an ambiguous word whose nearest occurrence has the same sense, in a real encoder
    or in one with random weights, after `depth` layers (-1: after the last one).
    """
    card = _real_model("encoder")
    seeds = [None] if weights == "trained" else range(_RANDOM_NETWORKS)  # of random networks the mean is returned
    found = [opened_model.neighbours_by_sense(card, seed) for seed in seeds]
    if not -1 <= depth < len(found[0].same):
        raise InvalidSetting(f"{card.name} has {len(found[0].same) - 1} layers. Give a depth up to that.")
    return _floats(np.mean([list(each.by_word(depth).values()) for each in found], axis=0))


@_encoder_measure("real_meaning_of_it", over="", span=SHARE)
def pairs_with_right_noun(nouns: Literal["actual", "chance"]) -> list[float]:
    """The share of pairs of sentences in which the best head of a real encoder attends from “it” to the right noun in
    both: of the actual right nouns, or the mean with random nouns as the right ones (chance).
    """
    found = opened_model.meaning_of_it(_real_model("encoder"))
    return [found.best_share().value if nouns == "actual" else float(found.best_by_chance().mean())]


@_language_model_measure("real_answer_depth", over="prompts", span=SHARE)
def depth_of_answers() -> list[float]:
    """The share of the layers of a real language model after which the answer to a prompt stays the most probable
    token (logit lens).
    """
    found = opened_model.depth_of_answers(_real_model("language model"))
    return _floats(found.settled_depths() / found.layers)


@_language_model_measure("real_answer_rank", over="prompts", span=from_one())
def rank_of_answers(before_end: Annotated[int, Setting(low=0, high=1_000)]) -> list[float]:
    """The rank of the answer to a prompt among all tokens, a number of layers before the end of a real language model
    (logit lens).
    """
    found = opened_model.depth_of_answers(_real_model("language model"))
    return _floats(found.ranks[max(0, found.layers - before_end)])


@_language_model_measure("real_answer_rise", over="prompts", span=above_zero("layers"))
def layers_of_rise() -> list[float]:
    """The number of layers within which the probability of the answer rises from a tenth to a half of its highest
    value in a real language model (logit lens).
    """
    return _floats(opened_model.depth_of_answers(_real_model("language model")).rise_layers())


# ---- real models, and what a visitor has written

_SURE = 0.5  # probability from which on the most probable token counts as the answer
_USUAL = 0.05  # share of other texts from which on a token says nothing about this text
_SEPARATED = 0.1  # share of halvings up to which random networks separate the senses, too
_FEWEST_TOKENS = 8


def _named_models(need: Need) -> dict[str, ModelCard]:
    """Return the real models of a kind by their names in URLs. Raises InvalidSetting if none is open."""
    _real_model(need)
    return {f"{PREFIX}{card.name}": card for card in suitable_models(need)}


def _chosen_language_model(name: str) -> ModelCard:
    """Return the real model that the attention page names. Raises InvalidSetting if it shows another kind of model."""
    cards = _named_models("language model")
    if name not in cards:
        raise InvalidSetting(
            f"“{shorten(name)}” is no real language model that is open on this machine. Choose one in the menu of the "
            f"page: {', '.join(card.name for card in cards.values())}."
        )
    return cards[name]


@_language_model_measure("real_own_first_token", over="", span=COSINE)
def attention_below_other_texts(model: str, text: str, layer: Layer, head: HeadOfLayer) -> list[float]:
    """How much less attention a head of a real language model gives to the first token of a text than to that of each
    of 20 other texts of the same length: the lowest of their shares minus its share. It has to be a head that gives
    more than half of its attention to the first token of English sentences.
    """
    card = _chosen_language_model(model)
    usual = opened_model.attention_to_first_token(card, "unchanged")
    if not (layer < usual.shares.shape[1] and head < usual.shares.shape[2]):
        raise InvalidSetting(f"{card.name} has no head {head + 1} in layer {layer + 1}. Choose another head.")
    if not usual.is_resting()[layer, head]:
        raise InvalidSetting(
            f"Head {head + 1} of layer {layer + 1} gives {100 * usual.shares[:, layer, head].mean():.0f} % of its "
            "attention to the first token of English sentences. Choose a head that gives it more than half."
        )
    opened = opened_model.opened_model(card)
    ids = opened.own_ids(text, _FEWEST_TOKENS)
    words = [opened.tokenizer.tokens[id].strip().casefold() for id in ids]
    if words[0] in words[1:]:
        raise InvalidSetting(
            f"Cannot tell: “{shorten(words[0])}” is the first token and occurs again, and the head may treat the other "
            "ones in the same way. Begin with another word."
        )
    own = first_token.first_token_attention(opened.model, [ids]).shares[0, layer, head]
    others = opened_model.first_token_of_others(card, len(ids)).shares[:, layer, head]
    return [float(others.min() - own)]


@_encoder_measure("real_own_senses", over="", span=SHARE)
def share_of_separated_halvings(model: str, sentences: Halves, word: str) -> list[float]:
    """The share of all halvings of some sentences that the vectors of a word after the last layer of a real encoder
    separate as well as the first and the second half (sentences with “/” between them). There is no value if networks
    with random weights separate the halves too.
    """
    cards = _named_models("encoder")
    opened = opened_model.opened_model(cards.get(model, next(iter(cards.values()))))  # the page shows the first, too
    read = (opened.tokenizer, split_sentences(sentences), word.strip())
    share = word_similarity.share_of_halvings(word_similarity.word_similarity(opened.module, *read)[-1])
    random = [
        word_similarity.share_of_halvings(
            word_similarity.word_similarity(random_network(opened.module, seed), *read)[-1]
        )
        for seed in range(_RANDOM_NETWORKS)
    ]
    if share <= _SEPARATED and np.median(random) <= _SEPARATED:
        raise InvalidSetting(
            "Cannot tell: networks with random weights separate the two halves, too. Perhaps the word has the same "
            "position or the same neighbours in all sentences of a half. Change this in your sentences."
        )
    return [share]


@_language_model_measure("real_own_answer_depth", over="", span=SHARE)
def depth_of_own_answer(model: str, text: str) -> list[float]:
    """The share of the layers of a real language model after which the most probable token after a text stays the most
    probable one (logit lens). There is no value if the model is unsure, or if the logit lens shows this token after
    other texts too.
    """
    card = _chosen_language_model(model)
    opened = opened_model.opened_model(card)
    found = answer_depth.own_answer(opened.model, opened.own_ids(text))
    token = shorten(opened.tokenizer.tokens[found.token])
    if found.probability < _SURE:
        raise InvalidSetting(
            f"Cannot tell: the most probable next token is “{token}” with a probability of only "
            f"{found.probability:.2f}. Write a text that leaves less choice."
        )
    shown = opened_model.lens_after_prompts(card)[found.settled_depth]
    share = float((shown == found.token).mean())
    if share > _USUAL:
        raise InvalidSetting(
            f"Cannot tell: after layer {found.settled_depth} the logit lens shows “{token}” after {100 * share:.0f} % "
            f"of {len(shown)} other texts as well. Write a text with another continuation."
        )
    return [found.settled_depth / found.layers]
