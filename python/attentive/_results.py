"""What models return: texts with everything that is known about them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NamedTuple


class Hypothesis(str):
    """One possible translation: a `str` that knows how it was found.

    Attributes:
        score: The log-probability after the length penalty, plus the coverage penalty. Candidates are ranked by it. `None`
            unless scores were requested.
        log_prob: The natural log-probability of all tokens, the end included. `None` unless scores were requested.
        tokens: The tokens, as spelled in the vocabulary, without the end.
        token_log_probs: The natural log-probability of each token; a finished translation has one more, that of its end.
            `None` unless scores were requested.
        finished: False if the translation was cut off at the length limit.
        unmet: The required phrases that the translation lacks.
        alignment: Pairs `(i, j)`: word `j` of the translation belongs to word `i` of the source, both counted from 0. `None`
            unless alignments were requested.
    """

    score: float | None
    log_prob: float | None
    tokens: list[str]
    token_log_probs: list[float] | None
    finished: bool
    unmet: list[str]
    alignment: list[tuple[int, int]] | None


class Translation(Hypothesis):
    """The best translation of a text, with the other candidates.

    It is a `str`, so it can be printed, written and compared like one.

    Attributes:
        source: The text that was translated.
        hypotheses: The `n_best` candidates, best first (samples in the order in which they were drawn). The first one is this
            translation.
        warnings: Problems with the text, such as characters that the model does not know, and with the translations, such as
            one that was cut off.
    """

    source: str
    hypotheses: list[Hypothesis]
    warnings: list[str]

    def _repr_html_(self) -> str:
        """A table of the candidates, for notebooks."""
        cell = 'style="text-align: left"'
        rows = [f'<tr><th {cell} colspan="2">{escape(self.source)}</th></tr>']
        for found in self.hypotheses:
            score = "" if found.score is None else f"{found.score:.4f}"
            rows.append(f"<tr><td {cell}>{escape(str(found))}</td><td>{score}</td></tr>")
        rows += [f'<tr><td {cell} colspan="2">⚠ {escape(warning)}</td></tr>' for warning in self.warnings]
        return f"<table>{''.join(rows)}</table>"


class Generation(str):
    """A text that continues a prompt: a `str` without the prompt.

    Attributes:
        prompt: The prompt, without trailing blanks that the tokenizer drops.
        tokens: The tokens of the text, as spelled in the vocabulary; with those of a stop string, if one ended it.
        ending: Why the text ended: `"end_of_text"`, `"stopped"` (by a stop string), `"max_new_tokens"` or `"context_full"`.
        warnings: Problems with the prompt.
    """

    prompt: str
    tokens: list[str]
    ending: str
    warnings: list[str]


class Guess(NamedTuple):
    """A token that may fill a gap."""

    token: str
    """The text of the token."""
    probability: float
    """The probability of the token."""
    joined: bool
    """True if the token continues the preceding word."""


class Filled(str):
    """A text whose gaps are filled with the likeliest tokens: a `str`.

    Attributes:
        gaps: The likeliest tokens for each gap, most likely first.
        warnings: Problems with the text.
    """

    gaps: list[list[Guess]]
    warnings: list[str]


class TaggedToken(NamedTuple):
    """A token and its tag."""

    token: str
    """The token."""
    tag: str
    """The tag."""


class Tagged(list[TaggedToken]):
    """The tokens of a text with their tags: a `list` of pairs.

    Attributes:
        unknown: The number of tokens that are not in the vocabulary.
        warnings: Problems with the text.
    """

    unknown: int
    warnings: list[str]

    @property
    def tags(self) -> list[str]:
        """The tags alone."""
        return [tag for _, tag in self]


class LabelScore(NamedTuple):
    """A label and its probability."""

    label: str
    """The label."""
    probability: float
    """The probability, from 0 to 1."""


class Label(str):
    """The likeliest label of a text: a `str`, which is empty for a blank text.

    Attributes:
        probability: The probability of the label; NaN for a blank text.
        labels: The likeliest labels with their probabilities, most likely first.
        warnings: Problems with the text.
    """

    probability: float
    labels: list[LabelScore]
    warnings: list[str]


@dataclass(frozen=True)
class Rescored:
    """The probability of a given translation."""

    log_prob: float
    """The natural log-probability of all tokens; NaN if the source is blank."""
    tokens: list[str]
    """The tokens of the translation, the end included."""
    token_log_probs: list[float]
    """The natural log-probability of each token, given the source and the tokens before it."""
    warnings: list[str]
    """Problems with the source or the translation."""
