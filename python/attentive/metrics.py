"""BLEU, chrF and TER, equal to sacreBLEU's, with intervals and paired tests.

References are a list with one reference for each hypothesis, or several such lists.

>>> from attentive import metrics
>>> score = metrics.bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
>>> round(score.value, 2), score.signature.split("|version")[0]
(53.73, 'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _attentive

__all__ = [
    "Estimate",
    "Interval",
    "Paired",
    "Score",
    "bleu",
    "chrf",
    "compare",
    "sentence_bleu",
    "sentence_chrf",
    "sentence_ter",
    "ter",
]

References = Sequence[str] | Sequence[Sequence[str]]
"""One reference for each hypothesis, or several such lists."""

Tokenize = Literal["13a", "intl", "zh", "char", "none"]
"""How BLEU divides text into words."""

Smooth = Literal["exp", "floor", "add-k", "none"]
"""How BLEU treats n-gram orders without a match."""

SEED = 12345
"""The seed of resampling, as in sacreBLEU."""


@dataclass(frozen=True)
class Interval:
    """The interval that contains 95 % of the scores of resampled test sets."""

    mean: float
    """The average score."""
    lower: float
    """The lower end."""
    upper: float
    """The upper end."""


@dataclass(frozen=True)
class Score:
    """A score, with all settings that it depends on. `str` gives the line that sacreBLEU prints."""

    name: str
    """The name of the metric: `"BLEU"`, `"chrF2"`, `"chrF2++"` or `"TER"`."""
    value: float
    """The score in percent. TER is an error rate: lower is better."""
    signature: str
    """The settings in sacreBLEU's format."""
    detail: str = ""
    """What sacreBLEU prints after the value: for BLEU precisions, brevity penalty and lengths."""
    interval: Interval | None = None
    """The interval, if it was requested."""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        text = f"{self.name}|{self.signature} = {self.value:.2f}"
        if self.interval is not None:
            half = (self.interval.upper - self.interval.lower) / 2
            text += f" (μ = {self.interval.mean:.2f} ± {half:.2f})"
        return f"{text} {self.detail}".rstrip()


@dataclass(frozen=True)
class Estimate:
    """A number measured on the test set, with its interval."""

    value: float
    """The number on the test set itself."""
    interval: Interval
    """The interval of the number on resampled test sets."""


@dataclass(frozen=True)
class Paired:
    """A system compared with a baseline on the same lines."""

    baseline: Estimate
    """The score of the baseline."""
    system: Estimate
    """The score of the system."""
    difference: Estimate
    """The score of the system minus that of the baseline."""
    p_value: float
    """Roughly the probability of a difference at least this large if the systems were equally good."""


def bleu(
    hypotheses: Iterable[str],
    references: References,
    *,
    tokenize: Tokenize = "13a",
    smooth: Smooth = "exp",
    smooth_value: float | None = None,
    lowercase: bool = False,
    resamples: int = 0,
    seed: int = SEED,
) -> Score:
    """BLEU of a corpus.

    Args:
        hypotheses: The translations.
        references: Their references.
        tokenize: How text is divided into words.
        smooth: How n-gram orders without a match are treated.
        smooth_value: The value of `"floor"` (0.1 by default) or `"add-k"` (1 by default).
        lowercase: Whether to ignore case.
        resamples: The number of resampled test sets for the interval, for example 1000; 0 for no interval.
        seed: The seed of resampling.

    Raises:
        DataError: The numbers of hypotheses and references differ.
    """
    options = settings("bleu", tokenize=tokenize, smooth=smooth, smooth_value=smooth_value, lowercase=lowercase)
    return corpus(options, hypotheses, references, resamples, seed)


def chrf(
    hypotheses: Iterable[str],
    references: References,
    *,
    word_order: int = 0,
    lowercase: bool = False,
    resamples: int = 0,
    seed: int = SEED,
) -> Score:
    """chrF of a corpus; chrF++ with a `word_order` of 2.

    >>> from attentive import metrics
    >>> metrics.chrf(["a cat"], ["a cat"], word_order=2).name
    'chrF2++'
    """
    return corpus(settings("chrf", word_order=word_order, lowercase=lowercase), hypotheses, references, resamples, seed)


def ter(hypotheses: Iterable[str], references: References, *, resamples: int = 0, seed: int = SEED) -> Score:
    """The translation edit rate of a corpus; lower is better.

    >>> from attentive import metrics
    >>> float(metrics.ter(["a cat sat"], ["a cat"]))
    50.0
    """
    return corpus(settings("ter"), hypotheses, references, resamples, seed)


def sentence_bleu(
    hypotheses: Iterable[str],
    references: References,
    *,
    tokenize: Tokenize = "13a",
    smooth: Smooth = "exp",
    smooth_value: float | None = None,
    lowercase: bool = False,
) -> list[Score]:
    """BLEU of each sentence, with the effective order as in sacreBLEU."""
    options = settings("bleu", tokenize=tokenize, smooth=smooth, smooth_value=smooth_value, lowercase=lowercase)
    return sentences(options, hypotheses, references)


def sentence_chrf(
    hypotheses: Iterable[str], references: References, *, word_order: int = 0, lowercase: bool = False
) -> list[Score]:
    """chrF of each sentence."""
    return sentences(settings("chrf", word_order=word_order, lowercase=lowercase), hypotheses, references)


def sentence_ter(hypotheses: Iterable[str], references: References) -> list[Score]:
    """The translation edit rate of each sentence."""
    return sentences(settings("ter"), hypotheses, references)


def compare(
    baseline: Iterable[str],
    system: Iterable[str],
    references: References,
    *,
    metric: Literal["bleu", "chrf", "ter"] = "bleu",
    test: Literal["bootstrap", "randomization"] = "bootstrap",
    resamples: int = 1000,
    trials: int = 10_000,
    seed: int = SEED,
) -> Paired:
    """Tests whether a system differs from a baseline significantly. The p-value equals sacreBLEU's for the same seed.

    Args:
        baseline: The translations of the baseline.
        system: The translations of the same lines by the system.
        references: Their references.
        metric: The metric.
        test: Bootstrap resampling (Koehn 2004) or approximate randomization (Riezler and Maxwell 2005).
        resamples: The number of resampled test sets, from which the intervals come in either case.
        trials: The number of trials of the randomization.
        seed: The seed of both.

    Raises:
        DataError: The numbers of lines differ.

    >>> from attentive import metrics
    >>> references = ["the cat sat on a mat", "it rained"]
    >>> better = metrics.compare(["the cat sat on the mat", "rain"], ["the cat sat on a mat", "it rained"], references)
    >>> better.difference.value > 0, 0 < better.p_value <= 1
    (True, True)
    """
    count = trials if test == "randomization" else 0
    first, second, difference, p_value = _attentive.paired(
        settings(metric), list(baseline), list(system), streams(references), resamples, count, seed
    )
    return Paired(estimate(first), estimate(second), estimate(difference), p_value)


def settings(metric: str, **chosen: Any) -> dict[str, Any]:
    """All options of a metric, for the native module."""
    defaults = {"lowercase": False, "tokenize": "13a", "smooth": "exp", "smooth_value": None, "word_order": 0}
    return {"metric": metric, **defaults, **chosen}


def streams(references: References) -> list[list[str]]:
    """The references as lists with one reference for each hypothesis."""
    several = list(references)
    if all(isinstance(one, str) for one in several):
        return [several]  # type: ignore[list-item]
    return [list(stream) for stream in several]


def corpus(
    options: dict[str, Any], hypotheses: Iterable[str], references: References, resamples: int, seed: int
) -> Score:
    """The score of a corpus."""
    return score(_attentive.score(options, list(hypotheses), streams(references), resamples, seed))


def sentences(options: dict[str, Any], hypotheses: Iterable[str], references: References) -> list[Score]:
    """The scores of sentences."""
    found = _attentive.sentence_scores(options, list(hypotheses), streams(references))
    return [score(one) for one in found]


def estimate(found: _attentive._Estimated) -> Estimate:
    """The estimate that the native module found."""
    value, interval = found
    return Estimate(value, Interval(*interval))


def score(found: _attentive._Scored) -> Score:
    """The score that the native module found."""
    name, value, signature, detail, interval = found
    return Score(name, value, signature, detail, None if interval is None else Interval(*interval))
