"""The types of the library's options. `options.py` writes this file."""

from __future__ import annotations

from typing import Literal, TypedDict


class SearchOptions(TypedDict, total=False):
    """Options of the search; what is left out is as the model's configuration says."""

    beam_width: int | None
    """Beam width: number of hypotheses kept at each step; 1 is greedy search [default: the model's]."""
    length_penalty: float | None
    """Length penalty (an exponent): higher values favor longer translations, and 0 turns it off [default: the
    model's; with a formula other than the model's, 0.6 for gnmt and 1 for length]."""
    length_penalty_formula: Literal["gnmt", "length"] | None
    """Formula of the length penalty: the log-probability of a translation is divided by it [default: the model's]."""
    max_new_tokens: int | None
    """Maximum number of tokens of a translation, up to the most that the model can read [default: the model's limit,
    which grows with the source]."""
    early_stopping: Literal["never", "heuristic", "always"] | None
    """When the beam search of a sentence ends [default: the model's]."""
    min_length: int | None
    """Minimum number of tokens of a translation [default: the model's, usually 0]."""
    no_repeat_ngram: int | None
    """Never repeat N consecutive tokens within a translation; 0 to allow it [default: the model's, usually 0]."""
    coverage_penalty: float | None
    """Coverage penalty (Wu et al. 2016), which favors translations that attend to the whole source; 0.2 is usual
    [default: 0]."""


class Sampling(TypedDict, total=False):
    """Options of sampling; what is left out has its default."""

    temperature: float | None
    """Sampling temperature: 1 samples from the model's distribution, lower values favor likely tokens, and 0 always
    takes the most likely one [default: 1 for translations, 0.8 for texts]."""
    top_k: int | None
    """Top-k sampling: sample from the K most likely tokens only [default: all, which is 0]."""
    top_p: float | None
    """Nucleus sampling: keep the smallest set of top tokens whose probabilities sum to P [default: 1, all tokens]."""
    epsilon: float | None
    """Epsilon sampling: never draw a token whose probability is below E, unless it is the most likely one; 0.02 is
    usual for many samples [default: 0, all tokens]."""
    seed: int | None
    """Random seed: the same seed gives the same samples [default: 0]."""
