"""What all models have."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from . import _attentive
from ._progress import Progress, progress_bar
from ._stream import all_at_once, checked_text, in_chunks, is_sequence
from ._tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

log = logging.getLogger("attentive")

Precision = Literal["f32", "bf16", "int8"]
"""The number type of a model's matrix products."""

CachePrecision = Literal["f32", "bf16"]
"""The number type of the keys and values that a model keeps while it decodes."""

T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)

DOES = {
    "translate": "translates",
    "generate": "generates text",
    "fill": "fills gaps",
    "tag": "tags",
    "classify": "classifies",
    "embed": "embeds",
}
"""What a model does, in words."""


class Texts(Protocol[T_co]):
    """A sequence: a list, a tuple, an array, a column of a table."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...

    def __iter__(self) -> Iterator[T_co]: ...


class Loaded:
    """What all models have, whatever their task."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        precision: Precision | None = None,
        threads: int | None = None,
        *,
        cache_precision: CachePrecision | None = None,
        source_lang: str | None = None,
        target_lang: str | None = None,
    ) -> None:
        self._arguments = (os.fspath(path), precision, threads, cache_precision, source_lang, target_lang)
        self._native = _attentive.Model(*self._arguments)

    def __repr__(self) -> str:
        return f"<attentive.Model {str(self.path)!r}: {DOES[self.task]}, {self._native.n_weights:,} weights>"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[object, ...]]:
        path, precision, threads, cache_precision, source_lang, target_lang = self._arguments
        load = _Reload(type(self), cache_precision, source_lang, target_lang)
        return load, (os.path.abspath(path), precision, threads)

    @property
    def path(self) -> Path:
        """The directory from which the model was loaded."""
        return Path(self._native.path)

    @property
    def task(self) -> str:
        """What the model does: `"translate"`, `"generate"`, `"fill"`, `"tag"`, `"classify"` or `"embed"`."""
        return self._native.task

    @property
    def threads(self) -> int:
        """The number of threads that the model uses."""
        return self._native.threads

    @property
    def config(self) -> dict[str, Any]:
        """The configuration with all defaults, as a new dictionary.

        >>> attentive.load("en-de").config["model"]["family"]
        'transformer'
        """
        return cast(dict[str, Any], json.loads(self._native.config()))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts that the model reads.

        >>> tokenizer = attentive.load("en-de").tokenizer
        >>> tokenizer.tokens(tokenizer.encode("a dog runs"))
        ['a', 'dog', 'runs']
        """
        return Tokenizer(self._native.source_tokenizer)

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts that the model writes, or of its labels."""
        return Tokenizer(self._native.target_tokenizer)

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights by their names, as arrays that cannot be written to.

        The arrays lie in the file of the model, which is memory-mapped, so that they take no RAM until they are used. Weights
        of a quantized model, and those stored in 16 bits, are converted to `float32`, all of them at once. One line moves the model into PyTorch:
        `{name: torch.tensor(array) for name, array in model.state_dict().items()}`. Needs NumPy.

        >>> weights = attentive.load("en-de").state_dict()
        >>> weights["src.embedding.weight"].dtype, weights["src.embedding.weight"].flags.writeable
        (dtype('float32'), False)
        """
        import numpy

        return {name: numpy.asarray(tensor) for name, tensor in self._native.weights()}

    def save(self, out: str | os.PathLike[str]) -> None:
        """Writes the model, as it is stored, to the new model directory `out`.

        The copy of a run or of a checkpoint has neither its checkpoints nor its log. `precision` of `load` does not change
        the stored weights; `quantize` does.

        Raises:
            UsageError: `out` exists.
        """
        self._native.save(os.fspath(out))


def by_rule(
    texts: Any,
    work: Callable[[int, list[T]], Iterable[R]],
    *,
    batch_size: int,
    progress: bool | None = False,
    counter: Callable[[], int] | None = None,
    items: Callable[[Iterable[Any]], Iterable[T]] = iter,
) -> Any:
    """The results of `work` for the `items` of `texts`: one for a `str`, a list for a sequence, or else an iterator.

    The progress of a sequence is shown by the `counter` of the texts done, if there is one.
    """
    if isinstance(texts, str):
        return next(iter(work(1, list(items([texts])))))
    if is_sequence(texts):
        total = len(texts)
        few = total <= batch_size
        bar = progress_bar(False if few else progress, total, "texts")
        return all_at_once(list(items(texts)), batch_size, work, Progress(bar, total, counter))
    if not isinstance(texts, Iterable):
        raise TypeError(f"expected a text or several, found {type(texts).__name__}")
    return in_chunks(items(texts), batch_size, work)


def checked(first: int, texts: Iterable[object]) -> list[str]:
    """The texts, all of which must be `str`; the first has the number `first`."""
    return [checked_text(text, number) for number, text in enumerate(texts, first)]


def warn(first: int, warnings: Iterable[list[str]]) -> None:
    """Logs the problems with texts, the first of which has the number `first`."""
    for number, problems in enumerate(warnings, first):
        for problem in problems:
            log.warning("text %d: %s", number, problem)


class _Reload:
    """Loads a model again, in another process."""

    def __init__(
        self,
        kind: type[Loaded],
        cache_precision: CachePrecision | None,
        source_lang: str | None,
        target_lang: str | None,
    ) -> None:
        self.kind = kind
        self.cache_precision: CachePrecision | None = cache_precision
        self.languages = (source_lang, target_lang)

    def __call__(self, path: str, precision: Precision | None, threads: int | None) -> Any:
        source_lang, target_lang = self.languages
        return self.kind(
            path,
            precision,
            threads,
            cache_precision=self.cache_precision,
            source_lang=source_lang,
            target_lang=target_lang,
        )
