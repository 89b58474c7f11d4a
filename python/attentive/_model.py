"""Models."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict, overload

from . import _attentive
from ._loaded import CachePrecision, Precision, Texts, by_rule, checked, warn
from ._options import Sampling
from ._search import sampling
from ._results import Filled, Generation, Guess, Label, LabelScore, Tagged, TaggedToken
from ._translator import Translator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

LINES = 64
"""The number of texts that a model without search reads first from a stream."""


def load(
    path: str | os.PathLike[str],
    precision: Precision | None = None,
    threads: int | None = None,
    *,
    cache_precision: CachePrecision | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Model:
    """Loads a model.

    Args:
        path: A model directory, or the folder of a checkpoint (`RUN/checkpoints/step-N`).
        precision: The number type of the matrix products; by default, as the model is stored. Any model of text can be
            rounded to `"bf16"` or `"int8"` while it is loaded.
        threads: The number of threads; by default, one for each CPU. Results do not depend on it.
        cache_precision: The number type of the keys and values of attention that are kept while a text is decoded; by default,
            that of the model. `"bf16"` takes half the RAM. Only for models that translate or generate.
        source_lang: The source language of a multilingual model; by default, the model's.
        target_lang: The target language of a multilingual model; by default, the model's.

    Raises:
        ModelError: The directory is not that of a model, or is damaged.
        UsageError: The model does not have this precision or language.

    >>> model = attentive.load("en-de")
    >>> model.task
    'translate'
    """
    return Model(
        path,
        precision,
        threads,
        cache_precision=cache_precision,
        source_lang=source_lang,
        target_lang=target_lang,
    )


class GenerateOptions(Sampling, total=False):
    """The options of `Model.generate`."""

    max_new_tokens: int
    number: int
    stop: str | Iterable[str]
    on_text: Callable[[str], object] | None


class Model(Translator):
    """A loaded model, with a method for each task. `load` makes one.

    All methods that take texts follow one rule: a `str` gives one result, a sequence (a list, a tuple, an array, a column of
    pandas or `datasets`) gives a list, and any other iterable (a generator, an open file) gives an iterator, which reads ahead
    only as far as is needed to keep the model busy, and yields results in order. The result for a text depends on that text
    alone.

    Problems with texts, such as characters that the model does not know, are in the results and go to the logger `attentive`.
    Several threads may use one model at the same time. Ctrl-C interrupts a method at once.
    """

    @overload
    def generate(self, prompts: str, **options: Unpack[GenerateOptions]) -> Generation: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, prompts: Texts[str], **options: Unpack[GenerateOptions]) -> list[Generation]: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, prompts: Iterable[str], **options: Unpack[GenerateOptions]) -> Iterator[Generation]: ...
    def generate(
        self,
        prompts: Any,
        *,
        max_new_tokens: int = 500,
        number: int = 0,
        stop: str | Iterable[str] = (),
        on_text: Callable[[str], object] | None = None,
        **options: Unpack[Sampling],
    ) -> Any:
        """Continues texts with a language model. Results are those of `attentive generate`.

        Args:
            prompts: A text, which may be empty, a sequence of texts, or any other iterable of texts.
            max_new_tokens: The largest number of new tokens.
            number: The number of the sample: others are drawn with the same seed by the numbers 1, 2, and so on.
            stop: A string, or several: the text ends before the first one that appears.
            on_text: Called with each piece of the text as soon as it is known.
            **options: How tokens are drawn: `temperature`, `top_k`, `top_p` and `seed`, as `attentive.Sampling` describes them.

        Raises:
            UsageError: The model does not generate text, or an option is unsuitable.

        >>> model = attentive.load("stories")
        >>> model.generate("ein Hund", temperature=0)
        ' rennt'
        """
        drawn = sampling(options)
        stops = [stop] if isinstance(stop, str) else list(stop)

        def work(first: int, chunk: list[str]) -> Iterator[Generation]:
            for index, prompt in enumerate(checked(first, chunk), first):
                yield self._generate(index, prompt, (drawn, number, max_new_tokens, stops, on_text))

        return by_rule(prompts, work, batch_size=1)

    def _generate(self, index: int, prompt: str, options: tuple[Any, ...]) -> Generation:
        answer = json.loads(_attentive.generate(self._native, prompt, *options))
        warn(index, [answer["warnings"]])
        generation = Generation(answer["text"])
        generation.prompt, generation.tokens = answer["prompt"], answer["tokens"]
        generation.ending, generation.warnings = answer["ending"], answer["warnings"]
        return generation

    def _answers(self, task: str, first: int, texts: list[str], top: int = 1) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(_attentive.answers(self._native, task, first, checked(first, texts), top))
        warn(first, (answer["warnings"] for answer in found))
        return found

    @overload
    def fill(self, texts: str, top: int = 5) -> Filled: ...  # type: ignore[overload-overlap]
    @overload
    def fill(self, texts: Texts[str], top: int = 5) -> list[Filled]: ...  # type: ignore[overload-overlap]
    @overload
    def fill(self, texts: Iterable[str], top: int = 5) -> Iterator[Filled]: ...
    def fill(self, texts: Any, top: int = 5) -> Any:
        """Fills each `<mask>` of texts with the likeliest token of a masked language model.

        Args:
            texts: A text, a sequence of texts, or any other iterable of texts. The model's own spelling of the mask, such as
                `[MASK]`, is read as well.
            top: The number of guesses for each gap.

        Raises:
            UsageError: The model does not fill gaps, or a text has none.

        >>> filled = attentive.load("gaps").fill("<mask> Katzen schlafen", top=2)
        >>> filled, len(filled.gaps[0])
        ('zwei Katzen schlafen', 2)
        """

        def work(first: int, chunk: list[str]) -> Iterator[Filled]:
            for answer in self._answers("fill", first, chunk, top):
                filled = Filled(answer["text"])
                filled.gaps = [[Guess(**guess) for guess in gap] for gap in answer["gaps"]]
                filled.warnings = answer["warnings"]
                yield filled

        return by_rule(texts, work, batch_size=1)

    @overload
    def tag(self, texts: str) -> Tagged: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Texts[str]) -> list[Tagged]: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Iterable[str]) -> Iterator[Tagged]: ...
    def tag(self, texts: Any) -> Any:
        """Tags the tokens of texts.

        Args:
            texts: A text whose tokens are separated by blanks, a sequence of texts, or any other iterable of texts.

        Raises:
            UsageError: The model does not tag tokens.

        >>> attentive.load("tagger").tag("a dog runs")[1]
        TaggedToken(token='dog', tag='NOUN')
        """

        def work(first: int, chunk: list[str]) -> Iterator[Tagged]:
            for answer in self._answers("tag", first, chunk):
                tagged = Tagged(map(TaggedToken, answer["tokens"], answer["tags"]))
                tagged.unknown, tagged.warnings = answer["unknown"], answer["warnings"]
                yield tagged

        return by_rule(texts, work, batch_size=LINES)

    @overload
    def classify(self, texts: str, top: int = 1) -> Label: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Texts[str], top: int = 1) -> list[Label]: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Iterable[str], top: int = 1) -> Iterator[Label]: ...
    def classify(self, texts: Any, top: int = 1) -> Any:
        """Predicts a label for each text.

        Args:
            texts: A text, a sequence of texts, or any other iterable of texts.
            top: The number of labels to return with their probabilities.

        Raises:
            UsageError: The model does not classify texts.

        >>> label = attentive.load("classifier").classify("does a dog run", top=2)
        >>> label, round(sum(share for _, share in label.labels), 6)
        ('question', 1.0)
        """

        def work(first: int, chunk: list[str]) -> Iterator[Label]:
            for answer in self._answers("classify", first, chunk, top):
                label = Label(answer["label"] or "")
                label.labels = [LabelScore(**one) for one in answer["labels"]]
                label.probability = label.labels[0].probability if label.labels else float("nan")
                label.warnings = answer["warnings"]
                yield label

        return by_rule(texts, work, batch_size=LINES)

    @overload
    def embed(self, texts: str, *, progress: bool | None = None) -> NDArray[np.float32]: ...  # type: ignore[overload-overlap]
    @overload
    def embed(self, texts: Texts[str], *, progress: bool | None = None) -> NDArray[np.float32]: ...  # type: ignore[overload-overlap]
    @overload
    def embed(self, texts: Iterable[str], *, progress: bool | None = None) -> Iterator[NDArray[np.float32]]: ...
    def embed(self, texts: Any, *, progress: bool | None = None) -> Any:
        """Computes a vector for each text, with the encoder of any model that has one. Needs NumPy.

        Args:
            texts: A text, a sequence of texts, or any other iterable of texts.
            progress: Whether to show a bar of tqdm, if it is installed. By default, only in terminals and notebooks.

        Returns:
            `float32` vectors: for a text an array `[d]`, for a sequence of `n` texts an array `[n, d]`, otherwise an iterator of
            arrays `[d]`. A blank text has a vector of NaN.

        Raises:
            UsageError: The model has no text encoder.

        >>> attentive.load("en-de").embed(["a dog runs", "two cats sleep"]).shape
        (2, 32)
        """
        import numpy

        def work(first: int, chunk: list[str]) -> Iterable[NDArray[np.float32]]:
            tensor, warnings = _attentive.embed(self._native, first, checked(first, chunk))
            warn(first, warnings)
            return numpy.array(tensor, dtype=numpy.float32)

        found = by_rule(texts, work, batch_size=LINES, progress=progress)
        if not isinstance(found, list):
            return found
        if not found:
            return numpy.array(_attentive.embed(self._native, 1, [])[0], dtype=numpy.float32)
        return numpy.stack(found)
