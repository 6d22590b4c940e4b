"""The browser samples the same tokens as the server: the JavaScript in node against `explorer.generation`."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.generation.decoding import make_decoder
from explorer.generation.generate import TextGenerator, generate_ids
from explorer.generation.sampling import Sampling, choose, gumbel_noise, noise_generator, truncate_logits
from explorer.generation.text_statistics import distinct_n, repetition
from tests import needs
from tests.generation.small import CONTEXT, VOCABULARY, model, texts
from tests.labs.node import run_in_node

pytestmark = needs.node

TEMPERATURES = [*(i / 10 for i in range(21)), 0.01, 0.37, 1.99, 5.0]
TRUNCATIONS: list[dict[str, Any]] = [
    {},
    {"top_k": 1},
    {"top_k": 5},
    {"top_p": 0.9},
    {"top_p": 0.0},
    {"min_p": 0.1},
    {"min_p": 1.0},
    {"top_k": 12, "top_p": 0.95, "min_p": 0.02},
    {"top_k": 5, "top_p": 0.6},
]
SCRIPT = """
const { choose, truncate: cut, distinctNgrams: distinct, entropy, sortByLogit: order, repetition, softmax } = m;
const numbers = (given) => Float32Array.from(given, (one) => one ?? -Infinity);
const ofText = (ids) => ({ distinct: [1, 2, 4].map((n) => distinct(ids, n)), repetition: repetition(ids) });
function ofChoice({ logits, noise, rules, whole }) {
  const values = numbers(logits), gumbel = numbers(noise), p = softmax(values, rules.t);
  const keep = [...cut(values, rules)].flatMap((one, id) => (one ? [id] : []));
  const ids = [choose(values, gumbel, rules), choose(values, gumbel, rules, order(values))];
  return { ids, keep, ...(whole ? { p: [...p], entropy: entropy(p) } : {}) };
}
console.log(JSON.stringify(given.map((one) => (one.ids ? ofText(Int32Array.from(one.ids)) : ofChoice(one)))));
"""
run = partial(run_in_node, "temperature/sampling.js", SCRIPT)


def case(logits: Tensor, noise: Tensor, temperature: float, rules: dict[str, Any], **more: bool) -> dict[str, Any]:
    """Return a case for node. 32-bit numbers survive JSON unchanged; infinity becomes null."""
    numbers = [None if value == -math.inf else value for value in logits.tolist()]
    return {"logits": numbers, "noise": noise.tolist(), "rules": {"t": temperature, **rules}, **more}


def kept_token_ids(logits: Tensor, sampling: Sampling) -> list[int]:
    """Return the tokens that the server's truncation keeps, without those of probability 0 before it."""
    ids: list[int] = truncate_logits(logits, sampling).isfinite().nonzero()[:, 0].tolist()
    return ids


def random_logits(vocabulary: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = noise_generator(seed, 0)
    logits = torch.randn(vocabulary, generator=generator) * (1 + seed % 4)
    return logits, gumbel_noise(generator, 1, vocabulary)[0]


@pytest.mark.parametrize("vocabulary", [2, 65])
def test_choices_and_truncations_equal_those_of_the_server(vocabulary: int) -> None:
    cases, expected = [], []
    for temperature, rules in product(TEMPERATURES, TRUNCATIONS):
        logits, noise = random_logits(vocabulary, len(cases) % 2)
        sampling = Sampling(temperature, **rules)
        cases.append(case(logits, noise, temperature, rules))
        expected.append((int(choose(logits, noise, sampling)), kept_token_ids(logits, sampling)))
    answers = run(cases)
    assert [(answer["ids"], answer["keep"]) for answer in answers] == [([id, id], keep) for id, keep in expected]
    assert len({id for id, _ in expected}) > 1


def test_ties_are_broken_as_on_the_server() -> None:
    ties = [
        torch.zeros(9),
        torch.tensor([1.0, 3.0, 3.0, -2.0, 3.0, 1.0]),
        torch.tensor([-math.inf, 0.5, -math.inf, 0.5]),
    ]
    rules: list[dict[str, Any]] = [{}, {"top_k": 2}, {"top_p": 0.5}, {"min_p": 0.9}]
    cases, expected = [], []
    for logits, temperature, rule in product(ties, (0.0, 0.5, 1.0), rules):
        noise, sampling = torch.zeros_like(logits), Sampling(temperature, **rule)
        cases.append(case(logits, noise, temperature, rule))
        # Without a rule nothing is truncated, not even tokens of probability 0.
        keep = range(len(logits)) if not rule and temperature else kept_token_ids(logits, sampling)
        expected.append((int(choose(logits, noise, sampling)), list(keep)))
    assert [(answer["ids"][0], answer["keep"]) for answer in run(cases)] == expected
    logits, noise = random_logits(65, 3)
    for answer in run([case(logits, noise, 1.3, {"greedy": True}), case(logits, noise, 0.0, {})]):
        assert answer["ids"][0] == int(logits.argmax()) and answer["keep"] == [int(logits.argmax())]


def test_probabilities_and_entropy_are_those_of_the_server() -> None:
    cases, expected = [], []
    for seed, temperature in product(range(6), (0.05, 0.7, 1.0, 2.0)):
        logits, noise = random_logits(65, seed)
        cases.append(case(logits, noise, temperature, {}, whole=True))
        expected.append((logits.double() / temperature).softmax(dim=-1))
    for answer, p in zip(run(cases), expected, strict=True):
        assert answer["p"] == pytest.approx(p.tolist(), rel=1e-5, abs=1e-12)  # the logits' differences have 32 bits
        assert answer["entropy"] == pytest.approx(torch.special.entr(p).sum().item(), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", ["ngram 4", "lstm"])
def test_the_logits_of_a_model_give_the_text_that_it_generated(name: str) -> None:
    lm, prompt, tokens = model(name), texts(1, 3)[0], 8
    cases, generated = [], []
    for seed, (temperature, rules) in enumerate(product((0.0, 0.7, 1.2), ({}, {"top_k": 4, "top_p": 0.9}))):
        sampling = Sampling(temperature, **rules, seed=seed)  # type: ignore[arg-type]
        text = generate_ids(TextGenerator(lm, CONTEXT), prompt, tokens, sampling)[0]
        reader, noise = make_decoder(lm, CONTEXT), gumbel_noise(noise_generator(seed, 0), tokens, VOCABULARY)
        logits = reader.read(prompt[None])
        for step in range(tokens):
            cases.append(case(logits[0], noise[step], temperature, rules))
            logits = reader.step(text[step : step + 1])
        generated += text.tolist()
    assert [answer["ids"][0] for answer in run(cases)] == generated


def test_text_statistics_equal_those_of_the_server() -> None:
    rows: list[list[int]] = [[], [1, 2, 3], [0] * 30, list(range(30)), [1, 11, 1, 11, 1, 2, 3] * 4]
    for answer, ids in zip(run([{"ids": ids} for ids in rows]), rows, strict=True):
        for found, value in zip(
            [*answer["distinct"], answer["repetition"]],
            [*(distinct_n(ids, n) for n in (1, 2, 4)), repetition(ids)],
            strict=True,
        ):
            assert found is None if math.isnan(value) else found == pytest.approx(value)  # JSON knows no NaN
