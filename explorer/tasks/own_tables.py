"""A visitor's own table (CSV): its columns, and labelled sentences (`seq2seq/pairs.py` reads pairs).

pandas divides the table into cells; this module checks them before anything is trained on them. Every error is one
sentence that names the row, counted as in a spreadsheet: the header is row 1.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from explorer.errors import TextError, shorten
from explorer.lazy_libraries import pd
from explorer.tasks.negation import MAX_CLASSES
from explorer.tokenization.words import MAX_WORDS, SPLIT_AT_SPACES, drop_invisible, fold_word, lacks_spaces, split_words

LABELLED_COLUMNS = ("text", "label")
MAX_ROWS = 5_000
MIN_PER_CLASS = 2  # one to train on and one to test
MAX_LABEL = 40  # characters
_MAX_COLUMNS = 100
_MAX_HEADER = 10_000  # characters of the first row
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_DECLARED = re.compile(r"\s*\"?sep=(.)\"?[\s,;]*", re.IGNORECASE)  # Excel's declaration of the separator
_FORMAT = "Give a CSV file whose first row is {columns}, with a row for each {row}."


class Labelled(NamedTuple):
    """The distinct sentences of a table, as words, with the class of each."""

    words: tuple[tuple[str, ...], ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...]  # in alphabetical order
    repeated: int  # rows whose sentence stands in an earlier row; they are counted once

    @property
    def hint(self) -> str:
        """A sentence for a table without spaces between its words; empty for others."""
        return SPLIT_AT_SPACES if lacks_spaces(max(words, key=len) for words in self.words) else ""


def read_labelled(content: str) -> Labelled:
    """Return the sentences of a table with the columns text and label. Raises TextError."""
    rows_of: dict[tuple[str, ...], int] = {}
    labels: dict[tuple[str, ...], str] = {}
    spelled: dict[str, str] = {}  # the first spelling of each label, by its case-folded form
    rows = read_columns(content, LABELLED_COLUMNS, "sentence")
    for number, (text, given) in rows:
        label = " ".join(drop_invisible(unicodedata.normalize("NFKC", given)).split())
        words = split_words(text)
        if not words:
            raise TextError(f"Row {number} has no word in the column text.", "Write a sentence there or delete it.")
        if not any(unicodedata.category(each)[0] in "LNPS" for each in label):
            raise TextError(f"Row {number} has no label.", "Write the class of its sentence or delete the row.")
        if len(words) > MAX_WORDS:
            raise TextError(
                f"The sentence in row {number} has {len(words):,} words; the models read at most {MAX_WORDS}.",
                "Shorten it, or divide it into several rows.",
            )
        if len(label) > MAX_LABEL:
            raise TextError(
                f"The label in row {number}, “{shorten(label)}”, has {len(label):,} characters; at most {MAX_LABEL} "
                "are read.",
                "Write a shorter name of the class.",
            )
        label = spelled.setdefault(fold_word(label), label)
        if len(spelled) > MAX_CLASSES:
            raise TextError(
                f"Row {number} has the {len(spelled)}th different label, “{label}”; at most {MAX_CLASSES} classes are "
                "read.",
                "Join some classes, or check that the column label holds classes.",
            )
        if labels.setdefault(words, label) != label:
            raise TextError(
                f"Rows {rows_of[words]} and {number} have the same words with the labels “{labels[words]}” and "
                f"“{label}”.",
                "Give a sentence one label.",
            )
        rows_of.setdefault(words, number)
    classes = tuple(sorted(spelled.values(), key=lambda name: (name.casefold(), name)))
    if len(classes) < 2:
        raise TextError(
            f"Every sentence has the label “{classes[0]}”; a task needs 2 to {MAX_CLASSES} classes.",
            "Add sentences of another class.",
        )
    indices = {name: i for i, name in enumerate(classes)}
    found = [indices[label] for label in labels.values()]
    for i, name in enumerate(classes):
        if found.count(i) < MIN_PER_CLASS:
            raise TextError(
                f"The class “{name}” has only one sentence; it needs at least {MIN_PER_CLASS}, one to train on and "
                "one to test.",
                "Add another one, or delete its row.",
            )
    return Labelled(tuple(labels), tuple(found), classes, len(rows) - len(labels))


def read_columns(content: str, names: Sequence[str], row: str) -> list[tuple[int, tuple[str, ...]]]:
    """Return the number of each row that is not empty, with its cells in the columns `names`. Raises TextError.

    `row` is the word for the content of a row in messages, such as “sentence”.
    """
    advice = _FORMAT.format(columns=",".join(names), row=row)
    lines = content.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if declared := _DECLARED.fullmatch(lines[first]):
        first += 1 + next((i for i, line in enumerate(lines[first + 1 :]) if line.strip()), 0)
    header, content = "".join(lines[first : first + 1]), "\n".join(lines[first:])
    if len(header) > _MAX_HEADER:
        raise TextError(f"The first row has {len(header):,} characters; at most {_MAX_HEADER:,} are read.", advice)
    separators = [declared[1]] if declared and declared[1] in _SEPARATORS else list(_SEPARATORS)
    separator, columns = _find_columns(header, names, advice, separators)
    try:
        table = pd.read_csv(
            io.StringIO(content),
            sep=separator,
            header=None,  # the first row decides how many cells a row has; more are an error
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            on_bad_lines="error",
            nrows=MAX_ROWS + 2,  # the header, and one row above the limit
        )
    except pd.errors.ParserError as error:
        raise TextError(_describe_parser_error(error, separator, first), advice) from None
    if len(table) > MAX_ROWS + 1:
        raise TextError(
            f"This table has more than {MAX_ROWS:,} rows below the first one, the most that are read.", "Cut it."
        )
    positions = [columns.index(name) for name in names]
    found = []
    for number, cells in enumerate(table.iloc[1:].fillna("").itertuples(index=False), start=first + 2):
        if any(cell.strip() for cell in cells):
            other = next((each for each in _SEPARATORS if each != separator and each in cells[0]), "")
            if other and not any(cells[1:]):
                raise TextError(
                    f"The first row separates its columns by {_SEPARATORS[separator]}, row {number} by "
                    f"{_SEPARATORS[other]}.",
                    "Use the same separator in all rows.",
                )
            found.append((number, tuple(cells[position] for position in positions)))
    if not found:
        raise TextError(f"This table has a first row, and no row with a {row} below it.", advice)
    return found


def _find_columns(header: str, names: Sequence[str], advice: str, separators: Sequence[str]) -> tuple[str, list[str]]:
    """Return the separator of a table and the names of its columns, in small letters. Raises TextError."""
    most: list[str] = []
    for separator in separators:
        try:
            cells = pd.read_csv(
                io.StringIO(header), sep=separator, header=None, dtype=str, keep_default_na=False, skipinitialspace=True
            )
        except (pd.errors.EmptyDataError, pd.errors.ParserError):
            continue
        columns = [fold_word(str(cell)).strip() for cell in cells.iloc[0]]
        if set(names) <= set(columns):
            if len(columns) > _MAX_COLUMNS:
                raise TextError(f"This table has {len(columns):,} columns; at most {_MAX_COLUMNS} are read.", advice)
            if twice := next((name for name in names if columns.count(name) > 1), None):
                raise TextError(f"The first row has the column {twice} {columns.count(twice)} times.", advice)
            return separator, columns
        most = max(most, columns, key=len)
    found = ", ".join(f"“{shorten(name, 24)}”" for name in most[:6]) + (" …" if len(most) > 6 else "")
    raise TextError(f"The columns {' and '.join(names)} are needed; the first row has {found or 'nothing'}.", advice)


def _describe_parser_error(error: Exception, separator: str, skipped: int) -> str:
    """Return a sentence that names the row in which a table cannot be divided into cells, after `skipped` lines."""
    message = str(error)
    if match := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message):
        expected, line, saw = match.groups()
        return (
            f"Row {int(line) + skipped} has {saw} cells, but the first row has {expected}: a text with "
            f"{_SEPARATORS[separator]} in it needs quotation marks around it."
        )
    if match := re.search(r"EOF inside string starting at row (\d+)", message):
        return f"A quotation mark that is opened in row {int(match[1]) + 1 + skipped} is never closed."
    return "This table cannot be divided into rows and cells."
