"""The texts of the experiments: ambiguous words in sentences, questions with short answers, and pairs with “it”."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AmbiguousSentence:
    """A sentence with a word that has two senses. The context that decides between them stands before the word, too."""

    word: str
    sense: str
    text: str


# Six words with two senses each, in six sentences of each sense, which share no phrase.
_SENSES: dict[str, dict[str, tuple[str, ...]]] = {
    "bank": {
        "river": (
            "The children fished from the muddy bank all afternoon.",
            "After the flood, water covered the left bank of the stream.",
            "We tied our boat to a tree on the bank and slept.",
            "Ducks were nesting in the grass along the river bank.",
            "The canoe drifted slowly towards the opposite bank.",
            "Reeds and willows grow on the steep bank of the canal.",
        ),
        "money": (
            "She deposited her salary at the bank yesterday.",
            "To buy the house, they asked a bank for a loan.",
            "The manager of the bank raised the interest rate.",
            "He forgot the number of his account at the bank.",
            "Robbers took all the cash from the bank last night.",
            "My aunt works as a cashier in a small bank downtown.",
        ),
    },
    "bat": {
        "animal": (
            "At dusk a bat flew out of the cave.",
            "Hanging upside down from the roof, the bat was asleep.",
            "An owl and a bat both hunt insects in the dark.",
            "The wings of the bat are made of thin skin.",
            "Under the bridge we found a baby bat with brown fur.",
            "With its large ears the bat hears the echo of its calls.",
        ),
        "sport": (
            "The player swung his bat and hit the ball.",
            "He dropped the wooden bat and ran to first base.",
            "For his birthday the boy got a glove and a bat.",
            "In cricket, the bat has a flat side.",
            "The coach showed us how to hold the bat with both hands.",
            "Her team bought a new aluminium bat for the final game.",
        ),
    },
    "bark": {
        "tree": (
            "The old oak has thick and rough bark.",
            "Beetles live under the bark of dead pines.",
            "He carved her name into the bark of a birch.",
            "In winter the deer eat bark from young trees.",
            "Cork is made from the bark of a kind of oak.",
            "The trunk was smooth, and its bark was nearly white.",
        ),
        "dog": (
            "The puppy woke us with a loud bark.",
            "Every time the postman comes, our dog gives a bark.",
            "From behind the fence came the angry bark of a hound.",
            "A single bark of the terrier scared the cat away.",
            "The bark of the neighbour's poodle keeps me awake.",
            "With a happy bark the animal ran to its owner.",
        ),
    },
    "spring": {
        "season": (
            "The flowers in our garden bloom in spring.",
            "After a long winter, spring came early this year.",
            "Birds return from the south every spring to nest.",
            "The festival takes place in the spring, usually in April.",
            "Last spring it rained for the whole of May.",
            "Farmers sow their wheat in autumn or in spring.",
        ),
        "coil": (
            "The mechanic replaced a broken spring in the engine.",
            "Inside the old watch is a tiny spring made of steel.",
            "When you press the pen, a spring pushes the tip out.",
            "The mattress squeaks because one spring is rusty.",
            "A heavy weight stretches the spring by two inches.",
            "The door closes by itself, because a spring pulls it shut.",
        ),
    },
    "seal": {
        "animal": (
            "On the ice a young seal waited for its mother.",
            "The polar bear caught a seal near the hole.",
            "At the zoo, the seal balanced a ball on its nose.",
            "Fishermen saw a grey seal swimming behind their ship.",
            "The seal dived deep and came up with a herring.",
            "Whales hunt the seal in cold oceans.",
        ),
        "stamp": (
            "The letter was closed with a red wax seal.",
            "The king pressed his royal seal on the document.",
            "A certificate is valid only with the official seal of the office.",
            "She broke the seal and opened the envelope.",
            "On the contract there was a signature and a seal.",
            "The university prints its seal on every diploma.",
        ),
    },
    "match": {
        "game": (
            "Our team won the football match by two goals.",
            "The referee ended the match after ninety minutes.",
            "Thousands of fans watched the tennis match on television.",
            "He was injured and could not play in the last match.",
            "After the match the players shook hands.",
            "The chess match between the champions lasted five hours.",
        ),
        "fire": (
            "She struck a match and lit the candle.",
            "There was only one dry match left in the box.",
            "He burned his finger on the match by the stove.",
            "To start the campfire, hold a match to the paper.",
            "The flame of the match went out in the wind.",
            "Smoking is forbidden here, so do not light a match.",
        ),
    },
}  # fmt: skip
AMBIGUOUS = tuple(
    AmbiguousSentence(word, sense, text)
    for word, senses in _SENSES.items()
    for sense, texts in senses.items()
    for text in texts
)
SENTENCES = tuple(each.text for each in AMBIGUOUS)  # plain sentences for everything else


@dataclass(frozen=True)
class Prompt:
    """The beginning of a sentence, and the word that continues it."""

    kind: str  # prompts of a kind have answers of a kind: the answer of another one is a control
    text: str
    answer: str


_CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Japan": "Tokyo", "Russia": "Moscow",
    "China": "Beijing", "Egypt": "Cairo", "Greece": "Athens", "Austria": "Vienna", "Cuba": "Havana",
    "Portugal": "Lisbon", "Ireland": "Dublin", "Poland": "Warsaw", "Norway": "Oslo", "Peru": "Lima",
    "England": "London", "Turkey": "Ankara",
}  # fmt: skip
_OPPOSITES = {
    "hot": "cold", "big": "small", "up": "down", "left": "right", "black": "white", "day": "night", "good": "bad",
    "rich": "poor", "young": "old", "open": "closed", "fast": "slow", "true": "false", "first": "last",
    "love": "hate",
}  # fmt: skip
_FACTS = {
    "The first month of the year is": "January",
    "The last month of the year is": "December",
    "The day after Monday is": "Tuesday",
    "The day after Friday is": "Saturday",
    "The planet closest to the Sun is": "Mercury",
    "The largest planet of the solar system is": "Jupiter",
    "The author of Romeo and Juliet is William": "Shakespeare",
    "The theory of relativity was developed by Albert": "Einstein",
    "The president who abolished slavery was Abraham": "Lincoln",
    "The currency of Japan is the": "yen",
    "The currency of the United States is the": "dollar",
    "The chemical formula of water is H2O. Ice is frozen": "water",
    "The Eiffel Tower is in the city of": "Paris",
    "The Statue of Liberty is in New": "York",
    "The pyramids of Giza are in": "Egypt",
    "The Great Wall is in": "China",
    "Bees make": "honey",
    "The language that people speak in Brazil is": "Portuguese",
    "The language that people speak in Mexico is": "Spanish",
    "The organ that pumps blood through the body is the": "heart",
}
PROMPTS = (
    *(Prompt("capital", f"The capital of {country} is", city) for country, city in _CAPITALS.items()),
    *(Prompt("opposite", f"The opposite of “{word}” is “", other) for word, other in _OPPOSITES.items()),
    *(Prompt("fact", text, answer) for text, answer in _FACTS.items()),
)


@dataclass(frozen=True)
class PronounPair:
    """Two sentences that differ in one word after “it”: with the first word “it” means `first`, else `second`."""

    text: str  # with {} for the word
    first: str
    second: str
    words: tuple[str, str]


# After Levesque, Davis and Morgenstern 2012, The Winograd schema challenge: their first example, and own ones.
PRONOUN_PAIRS = tuple(
    PronounPair(text, first, second, words)
    for text, first, second, words in (
        ("The trophy does not fit in the suitcase because it is too {}.", "trophy", "suitcase", ("big", "small")),
        ("The table does not fit through the door because it is too {}.", "table", "door", ("wide", "narrow")),
        ("The rope could not hold the piano because it was too {}.", "piano", "rope", ("heavy", "thin")),
        ("The shelf broke under the lamp because it was too {}.", "lamp", "shelf", ("heavy", "weak")),
        ("The coat does not fit in the drawer because it is too {}.", "coat", "drawer", ("thick", "small")),
        ("The knife could not cut the bread because it was too {}.", "bread", "knife", ("hard", "dull")),
        ("The book does not fit on the shelf because it is too {}.", "book", "shelf", ("tall", "low")),
        ("The sofa did not go through the window because it was too {}.", "sofa", "window", ("large", "small")),
        ("The donkey could not carry the sack because it was too {}.", "sack", "donkey", ("heavy", "weak")),
        ("The picture does not fit in the frame because it is too {}.", "picture", "frame", ("large", "small")),
        ("The nail did not go into the board because it was too {}.", "board", "nail", ("hard", "soft")),
        ("The car did not fit in the garage because it was too {}.", "car", "garage", ("long", "short")),
        ("The wheel broke the ice because it was so {}.", "wheel", "ice", ("heavy", "thin")),
        ("The bridge fell under the train because it was too {}.", "train", "bridge", ("heavy", "weak")),
        ("The letter does not fit in the envelope because it is too {}.", "letter", "envelope", ("big", "small")),
        ("The rock broke the glass because it was so {}.", "rock", "glass", ("hard", "thin")),
        ("The dog could not catch the rabbit because it was too {}.", "rabbit", "dog", ("fast", "slow")),
        ("The boat passed the ship because it was so {}.", "boat", "ship", ("fast", "slow")),
        ("The tree crushed the roof because it was so {}.", "tree", "roof", ("heavy", "weak")),
        ("The cat could not reach the bird because it was too {}.", "bird", "cat", ("high", "small")),
        ("The box does not fit under the bed because it is too {}.", "box", "bed", ("high", "low")),
        ("The hook could not hold the bag because it was too {}.", "bag", "hook", ("heavy", "weak")),
        ("The ball did not go through the hole because it was too {}.", "ball", "hole", ("big", "small")),
        ("The ladder did not reach the window because it was too {}.", "window", "ladder", ("high", "short")),
    )
)
