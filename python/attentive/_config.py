"""Configurations as dictionaries."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

Config = Mapping[str, Any]
"""A configuration: sections with keys, as in a file, such as `{"model": {"d_model": 128}}`."""


def overrides(config: Config, section: str = "") -> Iterator[str]:
    """The values of `config`, each as `KEY=VALUE` with a value in TOML.

    Raises:
        TypeError: A key or a value is of a type that no configuration has.
    """
    for name, value in config.items():
        if not isinstance(name, str):
            raise TypeError(f"the key {name!r} of a configuration is {type(name).__name__}, expected str")
        key = f"{section}{name}"
        if isinstance(value, Mapping):
            yield from overrides(value, f"{key}.")
        else:
            yield f"{key}={toml(value, key)}"


def toml(value: Any, key: str) -> str:
    """`value`, the value of `key`, in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml(item, key) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {toml(item, key)}' for name, item in value.items())} }}"
    raise TypeError(f"{key} is {type(value).__name__}: a configuration has strings, numbers, booleans, lists and sections")
