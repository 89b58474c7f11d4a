"""Small models for the tests and the examples, trained in some seconds on sentences that they know by heart."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import attentive
import pytest

NOUNS = {"a dog": "ein Hund", "a bird": "ein Vogel", "two cats": "zwei Katzen", "two horses": "zwei Pferde"}
VERBS = {"a": {"runs": "rennt", "sleeps": "schläft"}, "two": {"run": "rennen", "sleep": "schlafen"}}

PAIRS = [
    (f"{noun} {verb}", f"{german} {VERBS[noun.split()[0]][verb]}")
    for noun, german in NOUNS.items()
    for verb in VERBS[noun.split()[0]]
]
"""Sentences and their translations."""

QUESTIONS = [(f"does {source}", "question") for source, _ in PAIRS] + [(source, "statement") for source, _ in PAIRS]
TAGS = [(source.split(), ["DET", "NOUN", "VERB"]) for source, _ in PAIRS]
GERMAN = [target for _, target in PAIRS]


STACKS: dict[str, dict[str, Any]] = {
    "transformer": {"n_encoder_layers": 1, "n_decoder_layers": 1},
    "decoder_only": {"n_decoder_layers": 1},
    "encoder_only": {"n_encoder_layers": 1},
    "tagger": {"n_encoder_layers": 1, "encoder": "transformer"},
    "classifier": {"n_encoder_layers": 1, "encoder": "transformer"},
}
"""The layers of a model of each family."""


def config(family: str, max_steps: int = 150) -> dict[str, Any]:
    """A configuration of a small Transformer."""
    model = {"family": family, "d_model": 32, "n_heads": 2, "d_ff": 64, "dropout": 0.0, **STACKS[family]}
    return {
        "tokenizer": {"kind": "word", "min_frequency": 1},
        "model": model,
        "train": {
            "max_steps": max_steps,
            "batch_tokens": 256,
            "log_every": 50,
            "label_smoothing": 0.0,
            "optimizer": {"learning_rate": 0.005},
            "schedule": {"kind": "constant", "warmup_steps": 10},
        },
    }


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model for each task."""
    folder = tmp_path_factory.mktemp("models")

    def train(name: str, family: str, data: Any) -> None:
        attentive.train(config(family), out=folder / name, train_data=data, progress=False)

    (folder / "opus-mt").symlink_to(Path(__file__).parents[2] / "tests" / "fixtures" / "hf" / "marian")
    train("en-de", "transformer", PAIRS)
    train("stories", "decoder_only", GERMAN)
    train("gaps", "encoder_only", GERMAN * 4)
    train("tagger", "tagger", TAGS)
    train("classifier", "classifier", QUESTIONS)
    return folder


@pytest.fixture
def model(models: Path) -> attentive.Model:
    """A model that translates."""
    return attentive.load(models / "en-de")


class FakeBar:
    """A bar like that of tqdm, which remembers how far it is."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit, self.done, self.closed = total, unit, 0, False

    def update(self, n: int = 1) -> None:
        self.done += n

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[FakeBar]:
    """The bars that are shown."""
    shown: list[FakeBar] = []

    def bar(total: int, unit: str) -> FakeBar:
        shown.append(FakeBar(total, unit))
        return shown[-1]

    module = ModuleType("tqdm.auto")
    module.tqdm = bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    return shown


@pytest.fixture(autouse=True)
def own_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doctest_namespace: dict[str, Any]
) -> None:
    """Tests run in a folder of their own; for examples, the models are in it."""
    monkeypatch.chdir(tmp_path)
    if isinstance(request.node, pytest.DoctestItem):
        for trained in request.getfixturevalue("models").iterdir():
            (tmp_path / trained.name).symlink_to(trained)
        doctest_namespace["attentive"] = attentive
