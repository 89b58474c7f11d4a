"""Events of a training run."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Callable

from ._progress import Bar, NoBar, progress_bar

log = logging.getLogger("attentive")


@dataclass(frozen=True)
class Start:
    """Training starts or resumes."""

    step: int
    """The number of updates already done; 0 for a new run."""
    max_steps: int
    """The largest number of updates."""
    n_parameters: int
    """The number of trainable weights."""
    n_examples: int
    """The number of sentence pairs, texts or windows to train on."""
    src_vocab: int
    """The size of the source vocabulary; 0 if the model reads vectors."""
    tgt_vocab: int
    """The size of the target vocabulary."""
    steps_per_epoch: int
    """The number of updates per pass over the corpus."""
    memory: int
    """The predicted peak memory use, in bytes."""


@dataclass(frozen=True)
class Log:
    """A line of the log: averages over the updates since the line before. Losses are per token of the target."""

    step: int
    """The last of the updates, counted from 1."""
    epoch: int
    """The pass over the corpus, counted from 0."""
    updates: int
    """The number of updates."""
    loss: float
    """The label-smoothed loss."""
    nll: float
    """The negative log-likelihood, in nats."""
    perplexity: float
    """exp(nll)."""
    accuracy: float
    """The share of tokens that the model predicts correctly, given the tokens before."""
    learning_rate: float
    """The learning rate of the last update."""
    gradient_norm: float
    """The norm of the gradient before clipping."""
    tgt_tokens: int
    """The number of target tokens."""
    tokens_per_second: float
    """The number of target tokens per second."""
    gradient_norms: dict[str, float] = field(default_factory=dict)
    """The norm of the gradient of each layer, and of what is beside the layers."""
    reference_probability: float | None = None
    """With scheduled sampling: the probability that the decoder read the reference in the last update."""


@dataclass(frozen=True)
class Sample:
    """A translation and its reference."""

    src: str
    """The source."""
    translation: str
    """The model's translation."""
    reference: str
    """The reference translation."""


@dataclass(frozen=True)
class Validation:
    """A validation is done. Losses are per token of the target."""

    step: int
    """The update after which it ran."""
    loss: float
    """The label-smoothed loss."""
    nll: float
    """The negative log-likelihood, in nats."""
    perplexity: float
    """exp(nll)."""
    accuracy: float
    """The share of tokens that the model predicts correctly, given the tokens before."""
    best: bool
    """True if it is the best so far."""
    seconds: float
    """The duration, in seconds."""
    bleu: float | None = None
    """BLEU of the first sentences, translated with greedy search."""
    chrf: float | None = None
    """chrF of these sentences, if `train.best_by` or `train.keep_best_by` names it."""
    script: float | None = None
    """The number of `train.validation_script` for these sentences."""
    best_by: list[str] = field(default_factory=list)
    """Those of `train.keep_best_by` by which it is the best so far."""
    exact_match: float | None = None
    """The share of these sentences that are translated exactly like the reference."""
    samples: list[Sample] = field(default_factory=list)
    """Some of the translations."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint was written."""

    step: int
    """The update after which it was written."""
    path: Path
    """Its folder, which `load` takes."""


@dataclass(frozen=True)
class Average:
    """Training has ended, and the model is the average of some checkpoints."""

    steps: list[int]
    """The updates of the checkpoints."""
    validation: Validation | None = None
    """The validation of the average, if there was one."""


Event = Start | Log | Validation | Checkpoint | Average
"""An event of a run."""


def validation(report: dict[str, Any]) -> Validation:
    """The validation with this report."""
    scores = {name: report[name]["value"] for name in ("bleu", "chrf") if report.get(name)}
    samples = [Sample(**sample) for sample in report["samples"]]
    return Validation(**{**report, **scores, "samples": samples})


def average(report: dict[str, Any]) -> Average:
    """The average with this report."""
    found = report["validation"]
    return Average(report["steps"], found and validation(found))


def known(kind: Any) -> Callable[[dict[str, Any]], Any]:
    """Makes an event of the fields of a report that the event has."""
    names = [one.name for one in fields(kind)]
    return lambda report: kind(**{name: report[name] for name in names if name in report})


KINDS: dict[str, Callable[[dict[str, Any]], Event]] = {
    "start": known(Start),
    "log": known(Log),
    "validation": validation,
    "checkpoint": lambda report: Checkpoint(report["step"], Path(report["path"])),
    "average": average,
}
"""How events are made, by the names of the native module."""


class Watcher:
    """Passes on the events of a run to callbacks, the logger and a progress bar."""

    def __init__(self, callbacks: Sequence[Callable[[Event], object]], progress: bool | None) -> None:
        self.callbacks = callbacks
        self.progress = progress
        self.bar: Bar = NoBar()

    def on_step(self) -> None:
        """An update is done."""
        self.bar.update(1)

    def on_event(self, kind: str, report: str) -> None:
        """Something else happened."""
        content = json.loads(report)
        if kind == "note":
            log.info("%s", content)
        elif kind == "warning":
            log.warning("%s", content)
        else:
            self.tell(KINDS[kind](content))

    def tell(self, event: Event) -> None:
        """Calls the callbacks."""
        if isinstance(event, Start):
            self.bar = progress_bar(self.progress, event.max_steps, "updates")
            self.bar.update(event.step)
        log.info("%s", event)
        for callback in self.callbacks:
            callback(event)

    def close(self) -> None:
        """The run has ended."""
        self.bar.close()
