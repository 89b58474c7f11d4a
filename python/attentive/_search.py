"""Options of the library, for the native module."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ._errors import UsageError
from ._options import Sampling, SearchOptions


def search(options: Mapping[str, Any]) -> str:
    """Options of the search as JSON.

    Raises:
        TypeError: One of them is unknown.
    """
    return encoded(options, tuple(SearchOptions.__annotations__), "the search")


def sampling(options: Mapping[str, Any]) -> str:
    """Options of sampling as JSON.

    Raises:
        TypeError: One of them is unknown.
    """
    return encoded(options, tuple(Sampling.__annotations__), "sampling")


def encoded(options: Mapping[str, Any], known: tuple[str, ...], of: str) -> str:
    """Options as JSON, without those that are `None`."""
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{name!r} is not an option of {of}: it has {', '.join(known)}")
        # Numbers of NumPy are no numbers for `json`.
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"`{name}` is {value}", "give a finite number")
        if not isinstance(value, (bool, int, float, str, type(None))):
            raise TypeError(f"{name!r} is {value!r}, which is neither a number nor a name")
        if value is not None:
            given[name] = value
    return json.dumps(given)
