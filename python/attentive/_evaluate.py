"""Evaluation of models on test sets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _attentive
from ._corpus import Corpus, lines
from ._model import Model, load
from ._options import SearchOptions
from ._search import search as changes

if TYPE_CHECKING:
    from typing_extensions import Unpack

Tokenize = Literal["13a", "intl", "zh", "char", "none"]
"""How BLEU divides text into words, as in sacreBLEU."""


def evaluate(
    model: Model | str | os.PathLike[str],
    data: Corpus,
    *,
    references: Sequence[Iterable[str]] = (),
    tokenize: Tokenize = "13a",
    batch_size: int | None = None,
    **search: Unpack[SearchOptions],
) -> dict[str, Any]:
    """Evaluates a model on a test set. Results are those of `attentive evaluate --json`.

    Args:
        model: A model, or the directory of one.
        data: The test set, as in `train`: for a model that translates pairs of a source and its reference, for a classifier
            pairs of a text and its label, for a tagger pairs of tokens and their tags, for a language model texts.
        references: Further lists of references of a translation model.
        tokenize: The tokenizer of BLEU.
        batch_size: As in `Model.translate`.
        **search: Options of the search, as those of `Model.translate`.

    Returns:
        For translations, scores (`bleu`, `chrf`, `chrf_plus_plus` and `ter`, each with `value` and `signature`), `exact_match`,
        `perplexity` and, beyond the command's results, `translations`. For other models, accuracies and perplexities.

    Raises:
        UsageError: The model predicts nothing that could be evaluated, or an option is unsuitable.
        DataError: The test set is empty, or does not fit the model.

    >>> result = attentive.evaluate("en-de", [("a dog runs", "ein Hund rennt"), ("two cats sleep", "zwei Katzen schlafen")])
    >>> result["exact_match"]
    {'correct': 2, 'total': 2}
    >>> result["translations"]
    ['ein Hund rennt', 'zwei Katzen schlafen']
    """
    loaded = model if isinstance(model, Model) else load(model)
    streams = [list(stream) for stream in references]
    found, translations = _attentive.evaluate(loaded._native, lines(data), streams, changes(search), batch_size, tokenize)
    results = cast(dict[str, Any], json.loads(found))
    if loaded.task == "translate":
        results["translations"] = translations
    return results
