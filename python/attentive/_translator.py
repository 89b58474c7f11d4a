"""Translation, and what belongs to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _attentive
from ._attention import Attention, AttentionMap
from ._errors import UsageError
from ._loaded import Loaded, Texts, by_rule, checked, warn
from ._requests import Request, paired, requests
from ._options import Sampling, SearchOptions
from ._results import Hypothesis, Rescored, Translation
from ._search import sampling as sampling_options
from ._search import search
from ._trace import Operation, Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

H = TypeVar("H", bound=Hypothesis)

PAIRS = 64
"""The number of translations that are scored first from a stream."""


class TranslateOptions(SearchOptions, total=False):
    """The options of `Model.translate`."""

    n_best: int
    prefix: str | Iterable[str] | None
    constraints: Iterable[str] | Iterable[Iterable[str]] | None
    glossary: str | os.PathLike[str] | Mapping[str, str] | None
    sampling: Sampling | None
    alignments: bool
    return_scores: bool
    progress: bool | None
    batch_size: int | None


class Translator(Loaded):
    """A model that translates."""

    @overload
    def translate(self, texts: str, **options: Unpack[TranslateOptions]) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, texts: Texts[str], **options: Unpack[TranslateOptions]) -> list[Translation]: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, texts: Iterable[str], **options: Unpack[TranslateOptions]) -> Iterator[Translation]: ...
    def translate(
        self,
        texts: Any,
        *,
        n_best: int = 1,
        prefix: str | Iterable[str] | None = None,
        constraints: Iterable[str] | Iterable[Iterable[str]] | None = None,
        glossary: str | os.PathLike[str] | Mapping[str, str] | None = None,
        sampling: Sampling | None = None,
        alignments: bool = False,
        return_scores: bool = False,
        progress: bool | None = None,
        batch_size: int | None = None,
        **options: Unpack[SearchOptions],
    ) -> Any:
        """Translates texts, each of which should be one sentence. Results are those of `attentive translate`.

        Options of the search that are `None` are as the model's configuration says.

        Args:
            texts: A text, a sequence of texts, or any other iterable of texts.
            n_best: The number of candidates of each text, at most `beam_width`; or of samples.
            prefix: The beginning of the translation: one for all texts, or one for each text.
            constraints: Phrases that the translation must contain: a list for all texts, or a list for each text. A beam width
                of 10 or more is useful.
            glossary: Terms and the words to translate them with: a dictionary, or a file with a term, a tab and its translation
                on each line. Not with `prefix` or `constraints`. A warning names a term that
                has no place.
            sampling: Draws translations at random instead of searching for the likeliest.
            alignments: Whether to add word alignments, taken from the attention.
            return_scores: Whether to add scores; always with `n_best` above 1.
            progress: Whether to show a bar of tqdm, if it is installed. By default, only in terminals and notebooks.
            batch_size: The number of texts that are translated together; 0 for the number that is usually fastest.
                Results do not depend on it. By default, the model's `decode.batch_size`.
            **options: Options of the search, such as `beam_width`; `attentive.SearchOptions` describes all.

        Raises:
            UsageError: The model does not translate, or an option is unsuitable.
            DataError: No translation can have a prefix, or a line of the glossary is wrong.

        >>> model = attentive.load("en-de")
        >>> model.translate("a dog runs")
        'ein Hund rennt'
        >>> for translation in model.translate(["a dog runs", "two cats sleep"], n_best=2):
        ...     print(translation, len(translation.hypotheses))
        ein Hund rennt 2
        zwei Katzen schlafen 2
        """
        changes, drawn = search(options), None if sampling is None else sampling_options(sampling)
        scored = return_scores or n_best > 1
        demanding = prefix is not None or constraints is not None
        if glossary is not None and demanding:
            raise UsageError("`glossary` is not possible with `prefix` or `constraints`", "leave one of them out")
        terms = None if glossary is None else read_glossary(glossary)

        def work(first: int, chunk: list[Request]) -> Iterator[Translation]:
            sources = checked(first, (text for text, _, _ in chunk))
            demands = [(prefix, phrases) for _, prefix, phrases in chunk] if demanding else None
            found = json.loads(
                _attentive.translate(self._native, first, sources, demands, terms, changes, batch_size, drawn, n_best, scored, alignments)
            )
            warn(first, (answer["warnings"] for answer in found))
            for source, answer in zip(sources, found):
                yield translation(source, answer, scored)

        return by_rule(
            texts,
            work,
            batch_size=batch_size or self._native.batch_size,
            progress=progress,
            counter=lambda: self._native.translated,
            items=lambda texts: requests(texts, prefix, constraints),
        )

    @overload
    def rescore(self, sources: str, translations: str) -> Rescored: ...  # type: ignore[overload-overlap]
    @overload
    def rescore(self, sources: Texts[str], translations: Iterable[str]) -> list[Rescored]: ...  # type: ignore[overload-overlap]
    @overload
    def rescore(self, sources: Iterable[str], translations: Iterable[str]) -> Iterator[Rescored]: ...
    def rescore(self, sources: Any, translations: Any) -> Any:
        """Computes the probabilities of given translations.

        Args:
            sources: A text, a sequence of texts, or any other iterable of texts.
            translations: The translation of each of them.

        Raises:
            UsageError: The model does not translate.
            DataError: The numbers of sources and translations differ.

        >>> model = attentive.load("en-de")
        >>> good, bad = model.rescore(["a dog runs"] * 2, ["ein Hund rennt", "zwei Katzen schlafen"])
        >>> good.log_prob > bad.log_prob
        True
        """
        if isinstance(sources, str):
            translations = [translations]

        def work(first: int, chunk: list[tuple[str, str]]) -> Iterator[Rescored]:
            texts, targets = (checked(first, side) for side in zip(*chunk))
            found = json.loads(_attentive.rescore(self._native, first, texts, targets))
            warn(first, (answer["warnings"] for answer in found))
            return map(rescored, found)

        return by_rule(sources, work, batch_size=PAIRS, items=lambda texts: paired(texts, translations))

    def attention(self, text: str, translation: str | None = None) -> Attention:
        """Runs the model on a text and returns the weights of every attention, which a notebook shows as a picture.

        Args:
            text: A text; a language model reads it as the beginning of a text.
            translation: A translation of the text; by default, the model's own.

        Raises:
            UsageError: The text is blank, or the model does not translate but there is a translation.

        >>> attention = attentive.load("en-de").attention("a dog runs")
        >>> attention.source
        ['a', 'dog', 'runs', '</s>']
        >>> attention.target
        ['<s>', 'ein', 'Hund', 'rennt']
        >>> attention.cross.shape   # layers, heads, target, source
        (1, 2, 4, 4)
        """
        source, target, maps, page, warnings = _attentive.attention(self._native, text, translation)
        warn(1, [warnings])
        return Attention(source, target, [AttentionMap(*one) for one in maps], page)

    def trace(
        self,
        text: str,
        translation: str | None = None,
        *,
        unweighted: bool = False,
        backward: int | Literal["all", "last"] | None = None,
    ) -> Trace:
        """Runs the model on a text and returns every operation with its formula and its values.

        Args:
            text: A text; a language model reads it as the beginning of a text.
            translation: A translation of the text, which the decoder reads; by default, the model's own.
            unweighted: Also compute softmax(X·Xᵀ)·X of the first input X, which no model computes.
            backward: Also compute the gradients of the loss of `"all"` predictions, the `"last"`, or that at a position,
                counted from 0.

        Raises:
            UsageError: The text is blank, the model does not translate but there is a translation, or there is no such
                prediction.

        >>> trace = attentive.load("en-de").trace("a dog runs", backward="last")
        >>> trace["encoder.layers.0.self_attention.weights"].shape   # heads, queries, keys
        (2, 4, 4)
        >>> len(trace.gradients["src"])
        4
        """
        position = None if backward is None else str(backward)
        found = _attentive.trace(self._native, text, translation, unweighted, position)
        source, target, operations, gradients, page, warnings = found
        warn(1, [warnings])
        loss, outputs = gradients or (None, [])
        return Trace(source, target, [Operation(*one) for one in operations], loss, dict(outputs), page)


def read_glossary(glossary: str | os.PathLike[str] | Mapping[str, str]) -> _attentive.Glossary:
    """The glossary that a user gives as a file or as a dictionary."""
    if isinstance(glossary, Mapping):
        return _attentive.Glossary.of(list(glossary.items()))
    return _attentive.Glossary.read(os.fspath(glossary))


def translation(source: str, answer: dict[str, Any], scored: bool) -> Translation:
    """The translation of `source` that the native module found."""
    first, *others = answer["translations"]
    best = hypothesis(Translation, first, scored)
    best.source = source
    best.hypotheses = [best, *(hypothesis(Hypothesis, other, scored) for other in others)]
    best.warnings = answer["warnings"]
    return best


def hypothesis(kind: type[H], found: dict[str, Any], scored: bool) -> H:
    """A candidate that the native module found."""
    made = kind(found["text"])
    made.score, made.log_prob = (found["score"], found["log_prob"]) if scored else (None, None)
    made.tokens, made.token_log_probs = found["tokens"], found["token_log_probs"] if scored else None
    made.finished, made.unmet = found["finished"], found["unmet"]
    pairs = found.get("alignment")
    made.alignment = None if pairs is None else [(i, j) for i, j in pairs]
    return made


def rescored(answer: dict[str, Any]) -> Rescored:
    """The probability that the native module computed."""
    log_prob = float("nan") if answer["log_prob"] is None else answer["log_prob"]
    return Rescored(log_prob, answer["tokens"], answer["token_log_probs"], answer["warnings"])
