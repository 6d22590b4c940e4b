from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import TextError
from explorer.tasks.negation import MAX_CLASSES
from explorer.tasks.own_tables import MAX_ROWS, read_labelled
from explorer.tasks.seq2seq.pairs import MAX_ALPHABET, MAX_CHARACTERS, read_pairs
from explorer.tasks.text.corpora import validated_text
from explorer.tokenization.words import MAX_WORDS

GOOD = "text,label\nA good film,positive\nA bad film,negative\nNot good,negative\nVery good!,positive\n"


def test_a_table_becomes_distinct_sentences_with_classes_in_alphabetical_order() -> None:
    table = read_labelled(GOOD)
    assert table.words == (("a", "good", "film"), ("a", "bad", "film"), ("not", "good"), ("very", "good"))
    assert (table.labels, table.classes, table.repeated) == ((1, 0, 0, 1), ("negative", "positive"), 0)
    assert read_labelled(GOOD.replace(",", "\t").replace("text", " TEXT")) == table
    columns = 'label;id;Text\nx;1;"one; two, three"\ny;2;four\nx;3;five\ny;4;six\n'
    assert read_labelled(columns).words[0] == ("one", "two", "three") and read_labelled(columns).labels == (0, 1, 0, 1)
    table = read_labelled(GOOD + "\nA GOOD film.,Positive\n")
    assert (len(table.words), table.repeated, table.classes) == (4, 1, ("negative", "positive"))
    assert read_labelled(validated_text(GOOD.replace("\n", "\r\n").encode("utf-8-sig"))) == read_labelled(GOOD)
    table = read_labelled('text,label\nNA,a\nnull,b\n"=SUM(1;2)",a\n7,b\n<b>x</b>,a\n"two\nlines",b\n')
    assert table.words == (("na",), ("null",), ("sum(1;2",), ("7",), ("b>x</b",), ("two", "lines"))
    table = read_labelled("text,label\nwon\u00adder,x\u200b\n\u200bsad,y\nday,x\nnight,\u202ey\nwonder,x\n")
    assert table.words == (("wonder",), ("sad",), ("day",), ("night",))
    assert (table.classes, table.repeated) == (("x", "y"), 1)
    thai = "text,label\nหนังเรื่องนี้ดี,x\nหนังไม่ดี,y\nดีมาก,x\nแย่มาก,y\n"
    assert "split at spaces" in read_labelled(thai).hint and not table.hint


@pytest.mark.parametrize(
    "table",
    [
        "sep=;\r\ntext;label\r\n{};a\r\ny;b\r\nz;a\r\nw;b\r\n",
        "\n \n\ntext, label\n{}, a\ny, b\n\nz, a\nw, b\n",
        'text\tlabel\n"{}"\ta\n"y"\tb\nz\ta\nw\tb\n',
        'label,text\na, "{}"\nb, "y"\na, z\nb, w\n',
    ],
    ids=["separator declared", "blank lines and spaces", "tabs", "quotes after a space"],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.filterwarnings("ignore:This file is not in UTF-8")
def test_a_table_is_read_as_spreadsheets_write_it(table: str, encoding: str) -> None:
    content = validated_text(table.format("schön isn’t").encode(encoding))
    found = read_labelled(content)
    assert (found.words[0], len(found.words), found.classes) == (("schön", "isn't"), 4, ("a", "b"))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the first row has nothing"),
        ("a,b,c\n1,2,3\n", "the first row has “a”, “b”, “c”"),
        ("text,label,text\na,b,c\n", "the column text 2 times"),
        ("text,label\n", "no row with a sentence"),
        ("text,label\ngood, nice,pos\n", "Row 2 has 3 cells, but the first row has 2"),
        ("text,label\na,x\n\nb\n", "Row 4 has no label"),
        ("\ntext,label\na,x\nb;y\n", "The first row separates its columns by commas, row 4 by semicolons"),
        ("sep=;\ntext;label\na;x\n!?;y\n", "Row 4 has no word"),
        ("text,label\na,x\n!?,y\n", "Row 3 has no word"),
        ('text,label\na,x\n"b,y\nc,x\n', "opened in row 3 is never closed"),
        ("text,label\na,x\nb,x\n", "Every sentence has the label “x”"),
        ("text,label\na,x\nb,x\nc,y\n", "“y” has only one sentence"),
        ("text,label\na b,x\nA  b!,y\n", "Rows 2 and 3 have the same words"),
        ("text,label\n" + "".join(f"w{i},c{i}\n" for i in range(12)), f"at most {MAX_CLASSES} classes"),
        ("text,label\n" + "w " * (MAX_WORDS + 1) + ",x\n", f"row 2 has {MAX_WORDS + 1} words"),
        ("text,label\na b,\u200b\nc d,\ufeff\u200b\n", "Row 2 has no label"),
        ("text,label\n\u200b\u200b,x\nc d,x\n", "Row 2 has no word"),
        ("text,label\na," + "y" * 41 + "\n", "has 41 characters"),
        ("text,label\n" + "a,b\n" * (MAX_ROWS + 1), f"more than {MAX_ROWS:,} rows"),
        ("text,label" + ",x" * 200 + "\na,b\n", "202 columns"),
        ("text,label" + ",x" * 1_000_000 + "\na,b\n", "first row has 2,000,010 characters"),
        ("text,label\n" + "," * 1_000_000 + "\n", "Row 2 has 1000001 cells"),
        ("text,label\n" + '"' * 1_000_001, "never closed"),
    ],
)
def test_a_table_that_cannot_be_learned_from_is_refused_in_a_sentence(content: str, problem: str) -> None:
    assert_refused(read_labelled, content, problem)


def assert_refused(read: Callable[[str], object], content: str, problem: str) -> None:
    with pytest.raises(TextError) as raised:
        read(content)
    message = str(raised.value)
    assert problem in message
    assert "\n" not in message
    assert len(message) < 400
    assert message.count(". ") >= 1  # the problem, and what to do


def test_a_table_of_pairs_keeps_capitals_and_counts_repeated_pairs_once() -> None:
    table = read_pairs('Target;source;id\n Babies ;Baby;1\n;;\n"a ""b""";"x;  y";2\nBabies;Baby;3\nNA;null;4\n')
    assert table.pairs == (("Baby", "Babies"), ("x; y", 'a "b"'), ("null", "NA"))
    assert table.repeated == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the first row has nothing"),
        ("text,label\na,b\n", "The columns source and target are needed"),
        ("source,target\n", "no row with a pair"),
        ("source,target\na,b\nc,d\n", "has 2 different sources; at least 3"),
        ("source,target\na,b\nc,\n", "Row 3 has no target"),
        ("source,target\na,b\n ,c\n", "Row 3 has no source"),
        ("source,target\na,b\n\na,c\n", "Rows 2 and 4 have the same source, “a”, with the targets “b” and “c”"),
        ("source,target\n" + "a" * (MAX_CHARACTERS + 1) + ",b\n", f"row 2 has {MAX_CHARACTERS + 1} characters"),
        ("source,target\na," + "b" * 1_000_000 + "\n", "row 2 has 1,000,000 characters"),
        ("source,target\na,b\ue000c\n", "The target in row 2 has an invisible character (U+E000)"),
        (
            "source,target\n" + "".join(f"{chr(0x4E00 + i)},b\n" for i in range(MAX_ALPHABET + 1)),
            f"Up to row {MAX_ALPHABET + 2}, the column source has {MAX_ALPHABET + 1} different characters",
        ),
    ],
)
def test_pairs_that_cannot_be_learned_from_are_refused_in_a_sentence(content: str, problem: str) -> None:
    assert_refused(read_pairs, content, problem)


@settings(max_examples=30)
@given(st.text(st.sampled_from("textlabel,;\t\"'\n a1=é"), max_size=60) | st.text(max_size=200))
def test_any_text_is_read_or_refused(content: str) -> None:
    for read, header in ((read_labelled, "text,label\n"), (read_pairs, "source,target\n")):
        for start in ("", header):
            try:
                read(start + content)
            except TextError as error:
                assert "\n" not in str(error) and len(str(error)) < 600
