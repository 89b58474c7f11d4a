"""Texts with what belongs to each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any, TypeVar

from ._errors import DataError

T = TypeVar("T")
U = TypeVar("U")

Request = tuple[str, str, list[str]]
"""A text, the beginning of its translation, and phrases that its translation must contain."""


def requests(
    texts: Iterable[str],
    prefix: str | Iterable[str] | None,
    constraints: Iterable[str] | Iterable[Iterable[str]] | None,
) -> Iterator[Request]:
    """The requests to translate `texts`, with one prefix and list of phrases for all or one for each."""
    if prefix is None or isinstance(prefix, str):
        with_prefix: Iterable[tuple[str, str]] = ((text, prefix or "") for text in texts)
    else:
        with_prefix = paired(texts, prefix)
    for (text, beginning), phrases in paired(with_prefix, each_phrases(constraints)):
        yield text, beginning, phrases


def each_phrases(constraints: Iterable[str] | Iterable[Iterable[str]] | None) -> Iterator[list[str]]:
    """The phrases of each text."""
    if constraints is None:
        return repeat([])
    if isinstance(constraints, str):
        raise TypeError("`constraints` is a str: give a list of phrases, or a list of lists")
    items = iter(constraints)
    first: Any = next(items, None)
    if first is None or isinstance(first, str):
        return repeat([first, *items] if first is not None else [])  # type: ignore[list-item]
    return (list(phrases) for phrases in chain([first], items))


def paired(items: Iterable[T], others: Iterable[U]) -> Iterator[tuple[T, U]]:
    """Each of `items` with its counterpart.

    Raises:
        DataError: There are fewer counterparts than items, or more, unless they never end.
    """
    missing = object()
    counterparts = iter(others)
    for number, item in enumerate(items, 1):
        other = next(counterparts, missing)
        if other is missing:
            raise DataError(f"there is nothing that belongs to text {number}", "both lists need the same length")
        yield item, other  # type: ignore[misc]
    if not isinstance(others, repeat) and next(counterparts, missing) is not missing:
        raise DataError("there is more than belongs to the texts", "both lists need the same length")
