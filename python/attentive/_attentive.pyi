"""The native module, which the other modules document."""

from collections.abc import Callable
from typing import Any, Protocol, final

from typing_extensions import Self

from ._events import Watcher

__all__ = [
    "Glossary",
    "Model",
    "Tensor",
    "Tokenizer",
    "answers",
    "attention",
    "embed",
    "evaluate",
    "export",
    "generate",
    "import_model",
    "main",
    "paired",
    "quantize",
    "rescore",
    "schemas",
    "score",
    "sentence_scores",
    "trace",
    "train",
    "translate",
]

_Range = tuple[float, float, float]
_Scored = tuple[str, float, str, str, _Range | None]
_Estimated = tuple[float, _Range]
_Parallel = tuple[list[str], list[list[str]]]
_Lines = list[str] | list[tuple[str, str]] | list[tuple[list[str], list[str]]]

@final
class Tensor:
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Tokenizer:
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: list[int]) -> str: ...
    def offsets(self, text: str) -> list[tuple[int, int]]: ...
    def tokens(self, ids: list[int]) -> list[str]: ...
    def ids(self, tokens: list[str]) -> list[int]: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def mask(self) -> str | None: ...

@final
class Glossary:
    @staticmethod
    def read(path: str) -> Glossary: ...
    @staticmethod
    def of(terms: list[tuple[str, str]]) -> Glossary: ...

@final
class Model:
    def __new__(
        cls,
        path: str,
        precision: str | None,
        threads: int | None,
        cache_precision: str | None,
        source_lang: str | None,
        target_lang: str | None,
    ) -> Self: ...
    @property
    def path(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def task(self) -> str: ...
    @property
    def n_weights(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def translated(self) -> int: ...
    @property
    def source_tokenizer(self) -> Tokenizer: ...
    @property
    def target_tokenizer(self) -> Tokenizer: ...
    def config(self) -> str: ...
    def weights(self) -> list[tuple[str, Tensor]]: ...
    def save(self, out: str) -> None: ...

def translate(
    model: Model,
    first: int,
    texts: list[str],
    demands: list[tuple[str, list[str]]] | None,
    glossary: Glossary | None,
    search: str,
    batch_size: int | None,
    sampling: str | None,
    n_best: int,
    scored: bool,
    aligned: bool,
) -> str: ...
def rescore(model: Model, first: int, sources: list[str], translations: list[str]) -> str: ...
def generate(
    model: Model,
    prompt: str,
    sampling: str,
    number: int,
    max_new_tokens: int,
    stop: list[str],
    on_text: Callable[[str], object] | None,
) -> str: ...
def answers(model: Model, task: str, first: int, texts: list[str], top: int) -> str: ...
def embed(model: Model, first: int, texts: list[str]) -> tuple[Tensor, list[list[str]]]: ...
def attention(
    model: Model, text: str, translation: str | None
) -> tuple[list[str], list[str], list[tuple[str, str, int, Tensor]], str, list[str]]: ...
def trace(
    model: Model, text: str, translation: str | None, unweighted: bool, backward: str | None
) -> tuple[
    list[str],
    list[str],
    list[tuple[str, int | None, str, Tensor]],
    tuple[float, list[tuple[str, list[float]]]] | None,
    str | None,
    list[str],
]: ...
def train(
    path: str | None,
    overrides: list[str],
    train_data: _Lines | None,
    valid_data: _Lines | None,
    out: str,
    existing: str,
    threads: int | None,
    watcher: Watcher,
) -> str: ...
def evaluate(
    model: Model, lines: _Lines, references: list[list[str]], search: str, batch_size: int | None, tokenize: str
) -> tuple[str, list[str]]: ...
def score(
    options: dict[str, Any], hypotheses: list[str], references: list[list[str]], resamples: int, seed: int
) -> _Scored: ...
def sentence_scores(
    options: dict[str, Any], hypotheses: list[str], references: list[list[str]]
) -> list[_Scored]: ...
def paired(
    options: dict[str, Any],
    baseline: list[str],
    system: list[str],
    references: list[list[str]],
    resamples: int,
    trials: int,
    seed: int,
) -> tuple[_Estimated, _Estimated, _Estimated, float]: ...
def quantize(
    model: str,
    out: str,
    precision: str,
    cache_precision: str | None,
    test: _Parallel | None,
    max_drop: float | None,
    shortlist: tuple[list[str], list[str]] | None,
    resamples: int,
    threads: int | None,
) -> str: ...
def import_model(
    path: str, out: str, format: str | None, source_lang: str | None, target_lang: str | None
) -> tuple[str, int, list[str]]: ...
def export(model: str, out: str, format: str) -> tuple[str, list[str]]: ...
def schemas() -> str: ...
def main(arguments: list[str]) -> int: ...
