"""Tokenizers."""

from __future__ import annotations

from collections.abc import Iterable

from . import _attentive


class Tokenizer:
    """Converts text to token ids and back. `Model.tokenizer` returns one.

    >>> tokenizer = attentive.load("en-de").tokenizer
    >>> ids = tokenizer.encode("a dog runs")
    >>> tokenizer.tokens(ids), tokenizer.offsets("a dog runs")
    (['a', 'dog', 'runs'], [(0, 1), (2, 5), (6, 10)])
    >>> tokenizer.decode(ids)
    'a dog runs'
    """

    def __init__(self, native: _attentive.Tokenizer) -> None:
        self._native = native

    def __len__(self) -> int:
        return self._native.vocab_size

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of `text`, without special tokens around it. Special tokens in the text are ordinary text."""
        return self._native.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`. Special tokens and ids outside the vocabulary are skipped."""
        return self._native.decode(list(ids))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """For each token of `encode(text)`, the place in `text` from which it comes: `text[start:end]`."""
        return self._native.offsets(text)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The tokens with these `ids`, as spelled in the vocabulary.

        Raises:
            UsageError: An id is outside the vocabulary.
        """
        return self._native.tokens(list(ids))

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The ids of `tokens`, which are spelled as in the vocabulary.

        Raises:
            DataError: A token is not in the vocabulary.
        """
        return self._native.ids(list(tokens))

    @property
    def mask(self) -> str | None:
        """The token that stands for a gap, as the model spells it; `None` if it has none."""
        return self._native.mask
