"""Small models for the tests and the examples, trained in some seconds on sentences that they know by heart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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


def config(family: str, max_steps: int = 150, **model: Any) -> dict[str, Any]:
    """A configuration of a small model."""
    layers = {"n_decoder_layers": 1} if family in ("transformer", "decoder_only") else {}
    layers |= {"n_encoder_layers": 1} if family != "decoder_only" else {}
    return {
        "tokenizer": {"kind": "word", "min_frequency": 1},
        "model": {"family": family, "d_model": 32, "n_heads": 2, "d_ff": 64, "dropout": 0.0, "max_len": 32, **layers, **model},
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


@pytest.fixture(autouse=True)
def place_of_examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> Iterator[None]:
    """Examples run in a folder of their own, with the models in it."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    folder = request.getfixturevalue("tmp_path")
    for trained in request.getfixturevalue("models").iterdir():
        (folder / trained.name).symlink_to(trained)
    doctest_namespace["attentive"] = attentive
    request.getfixturevalue("monkeypatch").chdir(folder)
    yield
