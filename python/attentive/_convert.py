"""Models in other formats."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast

from . import _attentive
from ._loaded import CachePrecision

log = logging.getLogger("attentive")

AnyPath = str | os.PathLike[str]


def quantize(
    model: AnyPath,
    out: AnyPath,
    *,
    precision: Literal["int8", "bf16", "f32"] = "int8",
    cache_precision: CachePrecision | None = None,
    test: tuple[Iterable[str], Iterable[str]] | None = None,
    max_drop: float | None = None,
    shortlist: tuple[Iterable[str], Iterable[str]] | None = None,
    resamples: int = 1000,
    threads: int | None = None,
) -> dict[str, Any]:
    """Rounds the weights of a model, so that it is smaller and faster, and measures what that costs a translation model.

    Args:
        model: The model directory.
        out: The new model directory, which must not exist.
        precision: The number type of the new weights. `"f32"` changes no number: a large model that is stored like that starts
            at once.
        cache_precision: The number type of the keys and values that the new model keeps while it decodes; by default, that of
            the original.
        test: Sources of a test set and their references, which both models translate.
        max_drop: Writes nothing if BLEU falls by more than this on the test set.
        shortlist: Sentences and their translations, such as the training data, from which a shortlist is learned.
        resamples: The number of bootstrap resamples of the test set.
        threads: The number of threads; by default, one for each CPU.

    Returns:
        What `attentive quantize --json` writes: with a test set the report, which is stored with the model too; otherwise
        `precision`, the number type of the `original` weights, and the size before and after in `bytes`.

    Raises:
        UsageError: `out` exists, the model is quantized already, or there is a test set or a shortlist, and it does not
            translate.
        DataError: The test set cannot be used, or BLEU falls by more than `max_drop`.

    >>> attentive.quantize("en-de", "en-de-int8")["precision"]
    'int8'
    >>> attentive.load("en-de-int8").translate("a dog runs")
    'ein Hund rennt'
    """
    both = None if test is None else (list(test[0]), [list(test[1])])
    parallel = None if shortlist is None else (list(shortlist[0]), list(shortlist[1]))
    report = _attentive.quantize(
        os.fspath(model), os.fspath(out), precision, cache_precision, both, max_drop, parallel, resamples, threads
    )
    return cast(dict[str, Any], json.loads(report))


def import_model(
    path: AnyPath,
    out: AnyPath,
    *,
    format: Literal["hf", "marian", "g2p"] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Path:
    """Converts a model of another tool into a model directory.

    It reads directories of `transformers` (with `model.safetensors`), and models of Marian and Firefox. What is not
    understood is an error, so that the model computes what the original does. How it behaves differently goes to the logger
    `attentive`.

    Args:
        path: The directory of the model, or the file of its weights.
        out: The new model directory, which must not exist.
        format: The format of the model; by default, it is recognized.
        source_lang: The source language of a multilingual model.
        target_lang: The target language of a multilingual model.

    Returns:
        `out`.

    Raises:
        ModelError: The model is damaged, or not understood.
        UsageError: `out` exists, or the model does not have a language.

    >>> attentive.import_model("opus-mt", "imported")
    PosixPath('imported')
    >>> attentive.load("imported").task
    'translate'
    """
    kind, n_weights, notes = _attentive.import_model(
        os.fspath(path), os.fspath(out), format, source_lang, target_lang
    )
    log.info("%s: %s, %d weights, written to %s", path, kind, n_weights, out)
    for note in notes:
        log.info("%s", note)
    return Path(out)


def export(model: AnyPath, out: AnyPath, *, format: Literal["hf", "marian"] = "hf") -> str:
    """Writes a model for another tool: `transformers` or Marian. How it behaves differently goes to the logger `attentive`.

    Args:
        model: The model directory.
        out: The new directory, which must not exist.
        format: The tool.

    Returns:
        The kind of model, as the other tool calls it.

    Raises:
        UsageError: The other tool has no such model, or `out` exists.

    >>> path = attentive.import_model("opus-mt", "imported")
    >>> attentive.export(path, "exported", format="hf")
    'MarianMT'
    """
    kind, notes = _attentive.export(os.fspath(model), os.fspath(out), format)
    for note in notes:
        log.info("%s", note)
    return kind
