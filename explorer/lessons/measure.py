"""The functions that compute the measures of lessons: one number, or one label, for each seed.

They use shipped runs, or random draws from a fixed seed, so the results are the same everywhere. `measures.py` names
the measures and checks their settings without torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from explorer.byte_cache import cached
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.recall import SOLVED
from explorer.generation.decoding import make_decoder
from explorer.generation.generate import TextGenerator, generate_with_logits
from explorer.generation.sampling import Sampling, truncate_logits
from explorer.generation.text_statistics import compute_statistics_by_temperature
from explorer.hub.allowed import PREFIX
from explorer.hub.card import ModelCard
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.inspection.attention import alignment, attend, head_scores
from explorer.inspection.language.tokenizers import truncate_tokenizer
from explorer.inspection.load_model import LoadedModel, shared_model
from explorer.inspection.pretrained import opened_model
from explorer.inspection.pretrained.answer_depth import own_answer
from explorer.inspection.pretrained.first_token import first_token_attention
from explorer.inspection.pretrained.word_similarity import (
    random_word_similarity,
    share_of_halvings,
    word_similarity,
)
from explorer.inspection.recurrent import gates, input_gradients, per_step_gradients
from explorer.inspection.seq2seq import decoding
from explorer.inspection.transformer import cost_formulas, depth, induction, positions, softmax_scaling
from explorer.inspection.words.negation_sentences import class_probabilities, sustain_probabilities
from explorer.inspection.words.word_vectors import load_table, pair_similarity
from explorer.lessons.measures import evaluated_lengths, split_sentences
from explorer.model.run_model import RunModel
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.own_sentences import Language
from explorer.tasks.seq2seq.config import TranslationConfig, source_vocabulary
from explorer.tasks.seq2seq.digits import ReverseConfig
from explorer.tokenization.text import Tokenizer, from_json

Settings: TypeAlias = Mapping[str, Any]
Values: TypeAlias = "list[float] | list[str]"
SAMPLES = 8  # generated texts of each measurement, with different sampling noise
HEAD_IMPORTANCE = Path(__file__).with_name("head_importance.json")
WORD_PIECES = Path(__file__).with_name("word_pieces.json")
STACK_HEADS = 4  # as on the page on depth
PER_LENGTH = 50  # fresh sources for each length, as on the page

_FUNCTIONS: dict[str, Callable[[Settings], Values]] = {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _measures(name: str) -> Callable[[_Function], _Function]:
    """Register a function as the measure of this name, which stands in lesson files."""

    def register(function: _Function) -> _Function:
        _FUNCTIONS[name] = function
        return function

    return register


def _loaded_model(run: str, step: int | None = None) -> LoadedModel:
    return shared_model(store.find(run), step)


def _step(settings: Settings) -> int | None:
    """Return the training step whose weights are used; None is the last."""
    step = settings.get("step", -1)
    return None if step < 0 else step


def _floats(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values).ravel()]


# ---- from the card and the curves


@_measures("score")
def final_metric(settings: Settings) -> list[float]:
    """Return a metric at the end of a run, from its card; NaN where a seed has none."""
    values = store.find(settings["run"]).card.metrics[settings["metric"]].values
    return [float("nan") if value is None else float(value) for value in values]


@_measures("fall")
def metric_difference(settings: Settings) -> list[float]:
    """Return by how much a metric of this run lies below that of the run `other`."""
    pairs = zip(final_metric({**settings, "run": settings["other"]}), final_metric(settings), strict=True)
    return [other - one for other, one in pairs]


@_measures("at_length")
def accuracy_at_length(settings: Settings) -> list[float]:
    """Return the share of right answers at a length that the run was evaluated at."""
    run = store.find(settings["run"])
    place = evaluated_lengths(run.config).index(settings["length"])
    return _floats(run.curves.answers["by_length"][-1][:, place])


@_measures("solved")
def solved_seeds(settings: Settings) -> list[float]:
    """Return how many seeds reach the accuracy that counts as solved."""
    return [float(sum(value >= SOLVED for value in final_metric({**settings, "metric": "accuracy"})))]


@_measures("reached")
def seeds_above(settings: Settings) -> list[float]:
    """Return how many seeds have at least `least` of a metric at the end."""
    return [float(sum(value >= settings["least"] for value in final_metric(settings)))]


# ---- word vectors


@_measures("similarity")
def cosine_of_words(settings: Settings) -> list[float]:
    """Return the cosine of the vectors of two words."""
    return _floats(
        pair_similarity(load_table(store.find(settings["run"])), settings["word"], settings["other"]).cosines
    )


# ---- negation


@_measures("sustain")
def sustain_probability(settings: Settings, sentence: str = "sentence") -> list[float]:
    """Return P(sustain) of a sentence."""
    return _floats(sustain_probabilities(_loaded_model(settings["run"]), VOCABULARY.split(settings[sentence])))


@_measures("says")
def predicted_class(settings: Settings) -> list[str]:
    """Return the class that each seed predicts for a sentence."""
    return ["sustain" if share > 0.5 else "collapse" for share in sustain_probability(settings)]


@_measures("judges")
def judged_class(settings: Settings) -> list[str]:
    """Return the class that each seed gives an English sentence."""
    loaded = _loaded_model(settings["run"])
    language = Language.from_json(loaded.tokenizer)
    found = class_probabilities(loaded, language.vocabulary.split(settings["sentence"]))
    return [language.classes[i] for i in found.argmax(axis=1)]


@_measures("apart")
def probability_distance(settings: Settings) -> list[float]:
    """Return the distance between P(sustain) of two sentences."""
    pairs = zip(sustain_probability(settings), sustain_probability(settings, "other"), strict=True)
    return [abs(one - other) for one, other in pairs]


# ---- memory


@_measures("gradient")
def gradient_ratio(settings: Settings) -> list[float]:
    """Return the norm of the gradient at the first symbol divided by that at the last."""
    along = input_gradients.input_gradient_norms(_loaded_model(settings["run"], _step(settings)))
    return _floats(along[:, 0] / along[:, -1])


@_measures("terms")
def gradient_terms(settings: Settings) -> list[float]:
    """Return how many of the last time steps make `share` of the gradient of the recurrent matrix."""
    share = per_step_gradients.step_gradients(_loaded_model(settings["run"], _step(settings))).projection
    from_the_end = share[:, ::-1].cumsum(axis=1)
    return _floats((from_the_end >= settings["share"]).argmax(axis=1) + 1)


@_measures("left")
def content_left(settings: Settings) -> list[float]:
    """Return the share of a cell's content that is left after `steps` steps with a constant gate."""
    return [float(settings["gate"] ** (settings["steps"] - 1))]


@_measures("kept")
def content_kept(settings: Settings) -> list[float]:
    """Return the share that a gated cell keeps in one step, of the unit that keeps most."""
    return _floats(gates.mean_keep_rates(_loaded_model(settings["run"])).max(axis=-1))


# ---- translation


@_measures("mirror")
def reversed_attention(settings: Settings) -> list[float]:
    """Return the mean attention weight on the digit that has to be written next."""
    loaded, found = _loaded_model(settings["run"]), list[float]()
    config = loaded.config.task_as(ReverseConfig)
    source = [source_vocabulary(config).index(digit) for digit in settings["digits"]]
    for replica in range(loaded.config.replicas):
        model = decoding.require_translator(loaded.single_replica(replica))
        seen = alignment.align(model, config, source, source[::-1]).weights
        assert seen is not None, "the registry lets only runs with attention through"
        shares = seen.mean(axis=(0, 1))[: len(source), : len(source)]
        found.append(float(np.fliplr(shares).diagonal().mean()))
    return found


@_measures("touched")
def accuracy_with_intervention(settings: Settings) -> list[float]:
    """Return the share of right answers at a length with the attention changed."""
    loaded = _loaded_model(settings["run"])
    config: TranslationConfig = loaded.config.task  # type: ignore[assignment]  # the registry lets nothing else through
    model = decoding.require_translator(loaded.stack)
    return _floats(
        alignment.exact_match_under(model, config, settings["touch"], PER_LENGTH, lengths=[settings["length"]])
    )


# ---- attention

softmax_statistics = cached()(softmax_scaling.measure_softmax)


@_measures("strongest")
def largest_softmax_weight(settings: Settings) -> list[float]:
    """Return the median over all draws of the largest softmax weight at a width."""
    largest = softmax_statistics().largest[int(settings["divided"] == "yes")]
    return [float(np.median(largest[softmax_scaling.WIDTHS.index(settings["width"])]))]


@_measures("order")
def order_distance(settings: Settings) -> list[float]:
    """Return the distance between the vectors of two sentences in an untrained Transformer, relative to their
    length.
    """
    found = _order_distances(settings["sentence"], settings["other"])
    return _floats(found[settings["positions"], settings["sees"] == "past"])


@cached()
def _order_distances(one: str, other: str) -> dict[tuple[str, bool], Any]:
    every = positions.word_order_distances(one.lower().split(), other.lower().split())
    return {(each.positions, each.causal): each.sentence_distance for each in every}


def _model(settings: Settings) -> RunModel:
    return RunModel(store.find(settings["run"]))


def _head_scores(settings: Settings) -> list[np.ndarray]:
    """Return one of the scores of all heads over a text (see `score_heads`), an array (layers, heads) for each seed."""
    model, found = _model(settings), []
    read = model.tokenize(settings["text"])
    for replica in range(model.config.replicas):
        seen = attend.attend(model.module(replica, _step(settings)), read.ids)
        found.append(getattr(head_scores.score_heads(seen.weights, read.ids), settings["habit"]))
    return found


@_measures("habit")
def head_score(settings: Settings) -> list[float]:
    """Return one of the scores of a head."""
    return [float(scores[settings["layer"], settings["head"]]) for scores in _head_scores(settings)]


@_measures("largest_head_score")
def largest_score(settings: Settings) -> list[float]:
    """Return the largest value over all heads of one of their scores."""
    return [float(np.nanmax(scores)) for scores in _head_scores(settings)]


@_measures("visible")
def visible_tokens(settings: Settings) -> list[float]:
    """Return how many tokens the token at a position (counted from 1) may attend to."""
    model = _model(settings)
    read = model.tokenize(settings["text"])
    row = attend.attend(model.module(step=_step(settings)), read.ids).weights[
        settings["layer"], settings["head"], settings["place"] - 1
    ]
    return [float((~np.isnan(row)).sum())]


@cached()
def included_head_importance() -> dict[str, list[list[list[float]]]]:
    """Return the head importance that is included: by the key of a run, then by replica, layer and head, in nats.

    Lessons need these numbers where Tiny Shakespeare is not on the machine.
    """
    found: dict[str, list[list[list[float]]]] = json.loads(HEAD_IMPORTANCE.read_text("utf-8"))
    return found


def _head_importance(run: StoredRun) -> list[np.ndarray]:
    """Return by how many nats the loss rises without each head, an array (layers, heads) for each seed."""
    if included := included_head_importance().get(run.key):
        return [np.array(replica) for replica in included]
    return [head_scores.head_importance(run, replica).importance for replica in range(run.config.replicas)]


@_measures("head_off")
def importance_of_head(settings: Settings) -> list[float]:
    """Return by how many nats the loss rises without one head."""
    return [float(seed[settings["layer"], settings["head"]]) for seed in _head_importance(store.find(settings["run"]))]


@_measures("largest_head_importance")
def largest_importance(settings: Settings) -> list[float]:
    """Return by how many nats the loss rises without the head without which it rises most."""
    return [float(seed.max()) for seed in _head_importance(store.find(settings["run"]))]


@_measures("loss_without")
def loss_without_head(settings: Settings) -> list[float]:
    """Return the loss on the second copy of each seed with the output of its head of a role set to zero."""
    loaded = _loaded_model(settings["run"])
    roles = induction.find_roles(induction.measure_scores(loaded))
    return _floats(induction.loss_without(loaded, [[heads[settings["role"]]] for heads in roles], "zero"))


# ---- generation


def _logits(settings: Settings) -> list[torch.Tensor]:
    """Return the logits of the next token after the prompt, one tensor (vocabulary,) for each seed."""
    model, found = _model(settings), []
    ids = torch.tensor(model.read_prompt(settings["prompt"])[0])
    for replica in range(model.config.replicas):
        text_generator = model.text_generator(replica)
        reader = make_decoder(text_generator.model, text_generator.context or len(ids), 1, text_generator.padding)
        with torch.inference_mode():
            found.append(reader.read(ids[None])[0])
    return found


def _probabilities(logits: torch.Tensor, temperature: float, top_p: float = 1.0) -> torch.Tensor:
    """Return the probabilities at a temperature after top-p; at temperature 0 the likeliest token has all."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(), len(logits)).double()
    left = truncate_logits(logits[None], Sampling(temperature=temperature, top_p=top_p))[0]
    return (left.double() / temperature).softmax(dim=-1)


@_measures("likeliest")
def largest_probability(settings: Settings) -> list[float]:
    """Return the probability of the likeliest next token at a temperature."""
    return [float(_probabilities(each, settings["temperature"]).max()) for each in _logits(settings)]


@_measures("grows")
def probability_ratio(settings: Settings) -> list[float]:
    """Return the largest probability at `temperature` divided by that at the temperature `other`."""
    pairs = zip(
        largest_probability(settings), largest_probability({**settings, "temperature": settings["other"]}), strict=True
    )
    return [here / there for here, there in pairs]


@_measures("choices_left")
def tokens_after_top_p(settings: Settings) -> list[float]:
    """Return how many tokens top-p leaves."""
    return [
        float((_probabilities(each, settings["temperature"], settings["top_p"]) > 0).sum())
        for each in _logits(settings)
    ]


def _generator_and_prompt(settings: Settings) -> tuple[TextGenerator, torch.Tensor]:
    model = _model(settings)
    return model.text_generator(), torch.tensor(model.read_prompt(settings["prompt"])[0])


@_measures("repeats")
def repeated_8grams(settings: Settings) -> list[float]:
    """Return the share of 8-grams in generated texts that occurred before, for each text: one at temperature 0, where
    nothing is random.
    """
    text_generator, ids = _generator_and_prompt(settings)
    samples = SAMPLES if settings["temperature"] > 0 else 1
    found = compute_statistics_by_temperature(
        text_generator, ids, settings["tokens"], Sampling(), [settings["temperature"]], samples
    )
    return _floats(found.repetition8[0])


@_measures("in_common")
def common_prefix(settings: Settings) -> list[float]:
    """Return how many tokens the texts at two temperatures share at the beginning, for each sample."""
    text_generator, ids = _generator_and_prompt(settings)
    both = torch.tensor([settings["temperature"], settings["other"]], dtype=torch.float64)
    with torch.inference_mode():
        steps = [
            ids
            for _, _, ids in generate_with_logits(
                text_generator, ids, settings["tokens"], Sampling(), settings["throws"], both
            )
        ]
    one, other = torch.stack(steps, dim=1).view(2, settings["throws"], -1)
    same = (one == other).long().cumprod(dim=-1).sum(dim=-1)
    return _floats(same)


# ---- pieces of words


@cached()
def _word_pieces(vocabulary: int) -> Tokenizer:
    """Return the BPE tokenizer of the page on tokens, trained on Tiny Shakespeare, truncated to a vocabulary."""
    return truncate_tokenizer(from_json(WORD_PIECES.read_text("utf-8")), vocabulary)


@_measures("pieces")
def token_count(settings: Settings) -> list[float]:
    """Return the number of tokens of a text."""
    return [float(len(_word_pieces(settings["vocabulary"]).encode(settings["text"])))]


@_measures("unknown")
def unknown_tokens(settings: Settings) -> list[float]:
    """Return how many tokens of a text are unknown."""
    tokenizer = _word_pieces(settings["vocabulary"])
    return [float((tokenizer.encode(settings["text"]) == tokenizer.unknown).sum())]


@_measures("setting")
def value_of_setting(settings: Settings) -> list[float]:
    """Return a number that is set on the page."""
    return [float(settings["value"])]


# ---- perplexity


@_measures("perplexity_of")
def perplexity_of_probabilities(settings: Settings) -> list[float]:
    """Return the exponential of the mean surprisal."""
    return [float(np.exp(-np.mean(np.log([float(each) for each in settings["probabilities"].split()]))))]


@_measures("per_letter")
def perplexity_per_letter(settings: Settings) -> list[float]:
    """Return the perplexity for each character, from the bits per character on the card of a run."""
    return [2**bits for bits in final_metric({**settings, "metric": "bits_per_char"})]


@_measures("perplexity_per_unit")
def perplexity_per_unit(settings: Settings) -> list[float]:
    """Return the perplexity for each of the units (bytes, characters) of which a token has `units` on average."""
    return [float(settings["perplexity"] ** (1 / settings["units"]))]


# ---- depth and cost


@_measures("stream_gradient")
def stack_gradient_ratio(settings: Settings) -> list[float]:
    """Return the gradient norm of the residual stream at the input of a stack, divided by that at its output."""
    combination = depth.Combination(settings["residual"] == "yes", settings["norm"])
    return _floats(depth.stream_gradient_ratios(combination, STACK_HEADS, "usual", settings["layers"]))


def _multiplications(settings: Settings, part: str = "part", length: int = 0) -> int:
    size = cost_formulas.LayerSize(length or settings["length"], settings["width"])
    return cost_formulas.multiplications(settings[part], size)


@_measures("cost_growth")
def growth_at_twice_the_length(settings: Settings) -> list[float]:
    """Return the multiplications at twice the length divided by those at the length."""
    return [_multiplications(settings, length=2 * settings["length"]) / _multiplications(settings)]


@_measures("cost_ratio")
def ratio_of_multiplications(settings: Settings) -> list[float]:
    """Return the multiplications of one part divided by those of another one."""
    return [_multiplications(settings) / _multiplications(settings, "other")]


@_measures("cost_crossing")
def length_of_equal_cost(settings: Settings) -> list[float]:
    """Return the length at which attention and the feedforward part need as many multiplications."""
    sizes = {"part": "attention", "other": "feedforward", "width": settings["width"]}
    lengths = range(1, 16 * settings["width"] + 1)
    return [float(next(t for t in lengths if ratio_of_multiplications({**sizes, "length": t})[0] >= 1))]


@_measures("saved_megabytes")
def megabytes_for_backward(settings: Settings) -> list[float]:
    """Return the megabytes that one layer keeps for the backward pass."""
    size = cost_formulas.LayerSize(settings["length"], settings["width"], 1, settings["heads"])
    return [cost_formulas.expected_saved_bytes(settings["part"], size) / 1e6]


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


def _real_model(need: Need) -> ModelCard:
    """Return the real model that lessons measure. Raises InvalidSetting if none of this kind is open."""
    if not (cards := suitable_models(need)):
        raise InvalidSetting(how_to_get(need))
    return cards[0]


@_measures("real_head_score")
def score_of_real_head(settings: Settings) -> list[float]:
    """Return the score of the best induction head, or of the previous-token head, for each sequence."""
    scores = opened_model.induction_scores(_real_model("language model"))
    if settings["head"] == "induction":
        layer, head = scores.best_induction_heads(1)[0]
        return _floats(scores.induction[:, layer, head])
    if (found := scores.previous_token_head()) is None:
        raise InvalidSetting("The best induction head is in the first layer, so no head is below it.")
    return _floats(scores.previous[:, found[0], found[1]])


@_measures("real_loss_without")
def real_loss_without_heads(settings: Settings) -> list[float]:
    """Return the loss on the second copy without a group of heads, for each sequence."""
    removed = settings["removed"]
    found = opened_model.loss_without_group(_real_model("language model"), _REMOVED[removed], _REAL_DRAWS)
    if removed == "none":
        return _floats(found.with_all)
    return _floats(found.controls.mean(axis=0) if removed == "control" else found.without)


@_measures("real_first_token")
def share_of_resting_heads(settings: Settings) -> list[float]:
    """Return the share of heads that give more than half of their attention to the first token, for each text."""
    variant = "random network" if settings["texts"] == "random" else settings["texts"]
    found = opened_model.attention_to_first_token(_real_model("language model"), variant)
    return _floats(found.resting_share_by_text())


@_measures("real_first_value")
def length_of_first_value(settings: Settings) -> list[float]:
    """Return the relative length of the first value vector, for each sentence."""
    found = opened_model.attention_to_first_token(_real_model("language model"), "unchanged")
    return _floats(found.value_norm_by_text())


@_measures("real_same_sense")
def nearest_with_same_sense(settings: Settings) -> list[float]:
    """Return the share of nearest occurrences with the same sense, for each word; of random networks their mean."""
    card, depth = _real_model("encoder"), settings["depth"]
    seeds = [None] if settings["weights"] == "trained" else range(_RANDOM_NETWORKS)
    found = [opened_model.neighbours_by_sense(card, seed) for seed in seeds]
    if not -1 <= depth < len(found[0].same):
        raise InvalidSetting(f"{card.name} has {len(found[0].same) - 1} layers. Give a depth up to that.")
    return _floats(np.mean([list(each.by_word(depth).values()) for each in found], axis=0))


@_measures("real_meaning_of_it")
def pairs_with_right_noun(settings: Settings) -> list[float]:
    """Return the share of pairs in which the best head attends to the right noun twice."""
    found = opened_model.meaning_of_it(_real_model("encoder"))
    return [found.best_share().value if settings["nouns"] == "actual" else float(found.best_by_chance().mean())]


@_measures("real_answer_depth")
def depth_of_answers(settings: Settings) -> list[float]:
    """Return after which share of the layers the answer stays the most probable token, for each prompt."""
    found = opened_model.depth_of_answers(_real_model("language model"))
    return _floats(found.settled_depths() / found.layers)


@_measures("real_answer_rank")
def rank_of_answers(settings: Settings) -> list[float]:
    """Return the rank of each answer some layers before the end."""
    found = opened_model.depth_of_answers(_real_model("language model"))
    return _floats(found.ranks[max(0, found.layers - settings["before_end"])])


@_measures("real_answer_rise")
def layers_of_rise(settings: Settings) -> list[float]:
    """Return within how many layers the probability of each answer rises."""
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


@_measures("real_own_first_token")
def attention_below_other_texts(settings: Settings) -> list[float]:
    """Return how far the attention of a head to the first token lies below that in every other text of the length."""
    card, layer, head = _chosen_language_model(settings["model"]), settings["layer"], settings["head"]
    usual = opened_model.attention_to_first_token(card, "unchanged")
    if not (layer < usual.shares.shape[1] and head < usual.shares.shape[2]):
        raise InvalidSetting(f"{card.name} has no head {head + 1} in layer {layer + 1}. Choose another head.")
    if not usual.is_resting()[layer, head]:
        raise InvalidSetting(
            f"Head {head + 1} of layer {layer + 1} gives {100 * usual.shares[:, layer, head].mean():.0f} % of its "
            "attention to the first token of English sentences. Choose a head that gives it more than half."
        )
    opened = opened_model.opened_model(card)
    ids = opened.own_ids(settings["text"], _FEWEST_TOKENS)
    words = [opened.tokenizer.tokens[id].strip().casefold() for id in ids]
    if words[0] in words[1:]:
        raise InvalidSetting(
            f"Cannot tell: “{shorten(words[0])}” is the first token and occurs again, and the head may treat the other "
            "ones in the same way. Begin with another word."
        )
    own = first_token_attention(opened.model, [ids]).shares[0, layer, head]
    others = opened_model.first_token_of_others(card, len(ids)).shares[:, layer, head]
    return [float(others.min() - own)]


@_measures("real_own_senses")
def share_of_separated_halvings(settings: Settings) -> list[float]:
    """Return the share of halvings of the sentences that are separated as well as the two senses."""
    cards = _named_models("encoder")
    card = cards.get(settings["model"], next(iter(cards.values())))  # the page shows the first, too
    opened, sentences = opened_model.opened_model(card), split_sentences(settings["sentences"])
    word = settings["word"].strip()
    share = share_of_halvings(word_similarity(opened.module, opened.tokenizer, sentences, word)[-1])
    random = [
        share_of_halvings(random_word_similarity(opened.module, opened.tokenizer, sentences, word, seed)[-1])
        for seed in range(_RANDOM_NETWORKS)
    ]
    if share <= _SEPARATED and np.median(random) <= _SEPARATED:
        raise InvalidSetting(
            "Cannot tell: networks with random weights separate the two halves, too. Perhaps the word has the same "
            "position or the same neighbours in all sentences of a half. Change this in your sentences."
        )
    return [share]


@_measures("real_own_answer_depth")
def depth_of_own_answer(settings: Settings) -> list[float]:
    """Return after which share of the layers the most probable token after a text stays the most probable one."""
    card = _chosen_language_model(settings["model"])
    opened = opened_model.opened_model(card)
    found = own_answer(opened.model, opened.own_ids(settings["text"]))
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


def measure(name: str, settings: Settings) -> Values:
    """Return one number or label for each seed, or for each generated sample. Raises LineageError.

    `name` is the name of a measure and `settings` its settings, as `Measure.parse_settings` returns them.
    """
    return _FUNCTIONS[name](settings)
