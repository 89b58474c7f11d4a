"""The one rule for inputs: a text gives one result, a sequence a list, and any other iterable an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ._progress import Progress

T = TypeVar("T")
R = TypeVar("R")

GROWTH = 32
"""A stream is read in chunks that grow up to this many batches, so that texts of similar length share a batch."""


def is_sequence(items: object) -> bool:
    """Whether all items are there already, as in a list, an array or a column of a table."""
    return hasattr(items, "__len__") and hasattr(items, "__getitem__")


def checked_text(text: object, index: int) -> str:
    """`text`, which must be a `str`."""
    if isinstance(text, str):
        # A subclass may have any methods; the library gets the characters.
        return text
    raise TypeError(f"text {index} is {type(text).__name__}, expected str")


def in_chunks(
    items: Iterable[T],
    batch_size: int,
    work: Callable[[int, list[T]], Iterable[R]],
) -> Iterator[R]:
    """The results of `work` for chunks of `items`, each called with the number of its first item, counted from 1.

    The chunks grow from one batch, so that the first results come early. If `items` raises, the results for what came before
    are given first.
    """
    source = iter(items)
    first, size = 1, batch_size
    while True:
        chunk: list[T] = []
        failure: BaseException | None = None
        try:
            while len(chunk) < size:
                chunk.append(next(source))
        except StopIteration:
            size = 0
        except Exception as error:
            failure = error
        if chunk:
            yield from work(first, chunk)
        if failure is not None:
            raise failure
        if size == 0:
            return
        first += len(chunk)
        size = min(2 * size, GROWTH * batch_size)


def all_at_once(
    items: list[T],
    batch_size: int,
    work: Callable[[int, list[T]], Iterable[R]],
    progress: Progress,
) -> list[R]:
    """The results of `work` for all `items`, in chunks of the largest size."""
    results: list[R] = []
    size = GROWTH * batch_size
    with progress:
        for start in range(0, len(items), size):
            results.extend(work(start + 1, items[start : start + size]))
            progress.reach(len(results))
    return results
