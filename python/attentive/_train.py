"""Training."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import _attentive
from ._config import Config
from ._config import overrides as in_toml
from ._corpus import Corpus, lines
from ._events import Event, Watcher
from ._model import Model, load

Existing = Literal["refuse", "resume", "overwrite"]
"""What happens to a run directory that exists already."""

Callback = Callable[[Event], object]
"""A function that is called with each event of a run."""


@dataclass(frozen=True)
class Best:
    """The best validation of a run."""

    step: int
    """The update after which the validation ran."""
    loss: float
    """The label-smoothed loss per token."""
    bleu: float | None = None
    """BLEU, if sentences were translated."""
    perplexity: float | None = None
    """The perplexity, without label smoothing."""
    accuracy: float | None = None
    """The share of tokens that the model predicts correctly."""
    chrf: float | None = None
    """chrF, if `train.best_by` or `train.keep_best_by` names it."""
    script: float | None = None
    """The number of `train.validation_script`, if there is one."""


@dataclass(frozen=True)
class Run:
    """A run that has ended. Its directory is a model directory."""

    path: Path
    """The directory."""
    step: int
    """The number of updates."""
    epoch: int
    """The current pass over the corpus, counted from 0."""
    stopped: str
    """Why training ended: `"max_steps"`, `"max_epochs"` or `"patience"`."""
    seconds: float
    """The duration of the call, in seconds."""
    best: Best | None = None
    """The best validation, if there was one."""
    resumed_at: int | None = None
    """The update after which the run was resumed; `None` for a new run."""

    def model(self, **options: Any) -> Model:
        """Loads the model; `options` are those of `load`."""
        return load(self.path, **options)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The log of the run: a dictionary for each logged update and each validation, for example for a table of pandas."""
        with open(self.path / "metrics.jsonl", encoding="utf-8") as log_file:
            return [json.loads(line) for line in log_file]


def train(
    config: Config | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    train_data: Corpus | None = None,
    valid_data: Corpus | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    existing: Existing = "refuse",
    overrides: Config | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Run:
    """Trains a model. The weights are those of `attentive train` with the same configuration and data.

    Ctrl-C saves a checkpoint and ends with `KeyboardInterrupt`; with `existing="resume"`, the same call continues as if the run
    had never stopped. If a callback raises an exception, a checkpoint is saved too, and the exception is passed on.

    Args:
        config: The path of a configuration file, or a dictionary with its sections. Everything has a default but the training
            data.
        out: The run directory, which becomes the model directory.
        train_data: Training data in RAM, in place of `data.train`: an iterable of texts or of pairs (a source and its
            translation, a text and its label, or tokens and their tags), or a table with the columns `src` and `tgt`, `text`
            and `label`, `tokens` and `tags`, or `text`. Tables are dictionaries of lists, or those of pandas and `datasets`.
        valid_data: Validation data in RAM, in place of `data.valid`.
        callbacks: A function, or several, called with each event: `Start`, `Log`, `Validation`, `Checkpoint` and `Average`.
        existing: What to do if `out` exists: refuse it, resume the run, or start over.
        overrides: Values that replace those of the configuration.
        threads: The number of threads; by default, one for each CPU. The weights do not depend on it.
        progress: Whether to show a bar of tqdm, if it is installed. By default, only in terminals and notebooks.

    Raises:
        ConfigError: The configuration has an unknown key or an unsuitable value.
        DataError: The data cannot be used.
        RunExistsError: `out` exists, and `existing` is `"refuse"`.
        NotFiniteError: The loss became NaN or infinite.

    >>> pairs = [("a dog", "ein Hund"), ("two dogs", "zwei Hunde"), ("a cat", "eine Katze")]
    >>> config = {
    ...     "tokenizer": {"kind": "word", "min_frequency": 1},
    ...     "model": {"d_model": 16, "n_heads": 2},
    ...     "train": {"max_steps": 20, "log_every": 100},
    ... }
    >>> def show(event):
    ...     if isinstance(event, attentive.Log):
    ...         print("update", event.step)
    >>> run = attentive.train(config, out="small", train_data=pairs, callbacks=show)
    update 1
    >>> run.step, run.stopped
    (20, 'max_steps')
    >>> run.model().task
    'translate'
    """
    if isinstance(config, Mapping):
        path, values = None, list(in_toml(config))
    else:
        path, values = os.fspath(config), []
    values.extend(in_toml(overrides or {}))
    given = None if train_data is None else lines(train_data)
    given_valid = None if valid_data is None else lines(valid_data)
    watcher = Watcher([callbacks] if callable(callbacks) else list(callbacks), progress)
    try:
        summary = _attentive.train(
            path, values, given, given_valid, os.fspath(out), existing, threads, watcher
        )
    finally:
        watcher.close()
    return run(json.loads(summary))


def run(summary: dict[str, Any]) -> Run:
    """The run with this summary of the native module."""
    best = summary.get("best")
    return Run(
        path=Path(summary["path"]),
        step=summary["step"],
        epoch=summary["epoch"],
        stopped=summary["stopped"],
        seconds=summary["seconds"],
        best=None if best is None else Best(**best),
        resumed_at=summary.get("resumed_at"),
    )
