"""Options of the search for translations."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

LengthPenaltyFormula = Literal["gnmt", "length"]
"""By what the log-probability of a translation is divided: `((5 + length) / 6) ** penalty` or `length ** penalty`."""

Stopping = Literal["never", "heuristic", "always"]
"""When the beam search of a text ends, as in transformers: `"never"` is exact, the others end earlier."""


class SearchOptions(TypedDict, total=False):
    """Options of the search; everything that is left out or `None` is as the model's configuration says."""

    beam_width: int | None
    length_penalty: float | None
    length_penalty_formula: LengthPenaltyFormula | None
    max_new_tokens: int | None
    early_stopping: Stopping | None
    min_length: int | None
    no_repeat_ngram: int | None
    coverage_penalty: float | None
    batch_size: int | None


NAMES = tuple(SearchOptions.__annotations__)
"""The names of the options."""


def complete(options: SearchOptions) -> dict[str, Any]:
    """All options, for the native module.

    Raises:
        TypeError: One of `options` is unknown.
    """
    for name in options:
        if name not in NAMES:
            raise TypeError(f"{name!r} is not an option of the search: it has {', '.join(NAMES)}")
    return {name: options.get(name) for name in NAMES}
