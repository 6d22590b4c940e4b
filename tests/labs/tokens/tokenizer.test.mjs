import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatFinding,
  countLearned,
  mergeWord,
  rankPairs,
  segmentText,
} from "../../../explorer/labs/tokens/components/tokenizer/bpe.js";

// tokens: 0 <unk>, 1 <pad>, 2 a, 3 b, 4 c; merges: ab 5, abc 6, aa 7
const merges = [2, 3, 5, 5, 4, 6, 2, 2, 7];
const word = (...ids) => ids.map((id, i) => [id, i, i + 1]);
const data = {
  kind: "bpe",
  words: [
    word(2, 3, 4),
    [
      [2, 4, 5],
      [2, 5, 6],
      [2, 6, 7],
    ],
    [[0, 8, 9]],
  ],
  merges,
  unknown: 0,
  least: 5,
};
const cut = (size, more = {}) => segmentText({ ...data, ...more }, rankPairs(merges), size);

test("no merge yet, then one after the other", () => {
  assert.deepEqual(
    cut(5).map(([id]) => id),
    [2, 3, 4, 2, 2, 2, 0],
  );
  assert.deepEqual(
    cut(6).map(([id]) => id),
    [5, 4, 2, 2, 2, 0],
  );
  assert.deepEqual(
    cut(7).map(([id]) => id),
    [6, 2, 2, 2, 0],
  );
  assert.deepEqual(
    cut(8).map(([id]) => id),
    [6, 7, 2, 0],
  ); // three of a kind are merged from the left
});

test("a token stands for the characters of its symbols", () => {
  assert.deepEqual(cut(8), [
    [6, 0, 3],
    [7, 4, 6],
    [2, 6, 7],
    [0, 8, 9],
  ]);
});

test("merges are counted up to the token that fills the vocabulary", () => {
  assert.deepEqual(
    [4, 5, 6, 7, 8, 9].map((size) => countLearned(merges, size)),
    [0, 0, 1, 2, 3, 3],
  );
  assert.equal(countLearned([], 10), 0);
  const twice = [2, 3, 5, 5, 4, 6, 2, 4, 6, 6, 6, 7]; // two ways to one token
  assert.deepEqual(
    [6, 7, 8].map((size) => countLearned(twice, size)),
    [1, 2, 4],
  );
});

test("the pair that was learned first is merged first, also if it is only made by another merge", () => {
  const flat = [3, 4, 5, 2, 3, 6, 2, 5, 7];
  assert.deepEqual(
    mergeWord(word(2, 3, 4), flat, rankPairs(flat), 3).map(([id]) => id),
    [7],
  );
  assert.deepEqual(
    mergeWord(word(2, 3, 4), flat, rankPairs(flat), 2).map(([id]) => id),
    [2, 5],
  );
  assert.deepEqual(mergeWord([], flat, rankPairs(flat), 3), []);
});

test("a smaller vocabulary of words knows the most frequent ones", () => {
  const words = [
    [
      [1, 0, 3],
      [7, 4, 8],
      [0, 9, 12],
    ],
  ];
  assert.deepEqual(cut(5, { kind: "word", words, merges: [] }), [
    [1, 0, 3],
    [0, 4, 8],
    [0, 9, 12],
  ]);
  assert.deepEqual(
    cut(8, { kind: "word", words, merges: [] }).map(([id]) => id),
    [1, 7, 0],
  );
});

test("characters are what they are", () => {
  assert.deepEqual(
    cut(2, { kind: "char", words: [word(3, 2)], merges: [] }).map(([id]) => id),
    [3, 2],
  );
});

test("the finding is made of the numbers", () => {
  const say = (more, tokens, characters, size) => formatFinding({ ...data, ...more }, tokens, characters, size);
  assert.equal(say({}, cut(8), 9, 8), "With a vocabulary of 8, these 9 characters are 4 tokens: 2.25 characters each.");
  assert.equal(say({}, cut(5), 9, 5), "No merge yet: every character is a token of its own, 7 tokens in all.");
  assert.equal(
    say({ kind: "bytes" }, word(2), 1, 5),
    "No merge yet: every byte is a token of its own, 1 token in all.",
  );
  assert.equal(
    say({ kind: "char", unknown: null }, word(2, 3), 2, 5),
    "Nothing to learn, nothing to lose: 2 characters, 2 tokens.",
  );
  assert.equal(
    say({ kind: "char", unknown: null }, word(2), 3, 5),
    "3 characters become 1 token: what this corpus never showed is dropped.",
  );
  assert.match(say({ kind: "word" }, word(0, 3), 8, 5), /1 of these 2 tokens is “<unk>”/);
  assert.match(say({ kind: "word" }, word(0, 0), 8, 5), /2 of these 2 tokens are “<unk>”/);
  assert.equal(say({ kind: "word" }, word(3, 4), 8, 5), "8 characters become 2 tokens, 4.00 characters each.");
  assert.match(say({}, [], 0, 5), /^Type a text above/);
  assert.match(say({}, [], 3, 5), /knows none of them/);
});
