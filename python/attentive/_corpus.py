"""Corpora in RAM: lists, columns of tables, data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import DataError

Corpus = Iterable[str] | Iterable[tuple[Any, Any]] | Mapping[str, Iterable[Any]] | Any
"""Texts; pairs of a source and its translation, a text and its label, or tokens and their tags; or a table of such columns."""

Lines = list[str] | list[tuple[str, str]] | list[tuple[list[str], list[str]]]
"""A corpus for the native module."""

COLUMNS = (("src", "tgt"), ("text", "label"), ("tokens", "tags"), ("text",))
"""The columns of a table, named as the keys of a file in JSON Lines."""


def lines(corpus: Corpus) -> Lines:
    """The lines of `corpus`: a table with columns, or an iterable of texts or pairs.

    Raises:
        DataError: It is empty, has other columns, or its columns differ in length.
        TypeError: Its lines are neither texts nor pairs.
    """
    if isinstance(corpus, (str, bytes)):
        raise TypeError("a corpus is a list of lines or a table, not a single text: a file belongs into the configuration")
    columns = names(corpus)
    rows: list[Any] = list(corpus) if columns is None else table(corpus, columns)
    if not rows:
        raise DataError("the corpus is empty", "give at least one line")
    if isinstance(rows[0], str):
        return rows
    return [pair(row, number) for number, row in enumerate(rows, 1)]


def names(corpus: object) -> list[str] | None:
    """The columns of a table: a dictionary, or a table of pandas, polars or `datasets`. `None` if it is none."""
    if isinstance(corpus, Mapping):
        return list(corpus)
    for attribute in ("column_names", "columns"):
        found = getattr(corpus, attribute, None)
        if found is not None:
            return list(found)
    return None


def table(corpus: Any, columns: list[str]) -> list[Any]:
    """The rows of a table with these columns, of which those of a corpus are used."""
    for wanted in COLUMNS:
        if all(name in columns for name in wanted):
            break
    else:
        known = "; ".join(" and ".join(f"`{name}`" for name in wanted) for wanted in COLUMNS)
        raise DataError(f"the corpus has the columns {columns}", f"a corpus has one of these: {known}")
    values = [list(corpus[name]) for name in wanted]
    if len({len(column) for column in values}) > 1:
        lengths = ", ".join(f"{len(column)} in `{name}`" for name, column in zip(wanted, values))
        raise DataError(f"the columns of the corpus differ in length: {lengths}")
    return values[0] if len(values) == 1 else list(zip(*values))


def pair(row: Any, number: int) -> tuple[Any, Any]:
    """A line of two texts or of two lists of texts."""
    if isinstance(row, (str, Mapping)) or not isinstance(row, Iterable):
        raise TypeError(f"line {number} of the corpus is {type(row).__name__}, expected a pair, like line 1")
    both = tuple(one if isinstance(one, str) else tuple_of(one) for one in row)
    if len(both) != 2:
        raise TypeError(f"line {number} of the corpus has {len(both)} parts, expected 2")
    return both


def tuple_of(words: Any) -> list[str]:
    """The tokens or tags of a line."""
    return list(words)
