"""Writes `attentive/_options.py`: the types of the library's options, from their schemas.

Run it with the package installed, or with the path of the native module; with `--check`, it only says whether the file
is as it should be.
"""

import importlib.util
import json
import sys
import textwrap
from pathlib import Path
from types import ModuleType

WIDTH = 118
FILE = Path(__file__).parent / "attentive" / "_options.py"
BEGINNING = '''\
"""The types of the library's options. `options.py` writes this file."""

from __future__ import annotations

from typing import Literal, TypedDict
'''
TYPES = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


def native() -> ModuleType:
    """The native module, without the package, which needs the file."""
    given = [argument for argument in sys.argv[1:] if argument != "--check"]
    installed = [path for folder in sys.path for path in Path(folder).glob("attentive/_attentive*.so")]
    found = given or [str(path) for path in installed]
    if not found:
        sys.exit("the package is not installed: give the path of the native module")
    spec = importlib.util.spec_from_file_location("_attentive", found[0])
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sentence(text: str) -> str:
    return " ".join(text.split())


def docstring(text: str, indent: str) -> str:
    lines = textwrap.wrap(f'"""{text}"""', WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines)


def choices(schema: dict) -> list[str] | None:
    """The values of a schema that allows only some strings."""
    for part in schema.get("anyOf", [schema]):
        if "oneOf" in part:
            return [choice["const"] for choice in part["oneOf"]]
        if "enum" in part:
            return part["enum"]
    return None


def of(schema: dict) -> str:
    """The type of an option."""
    values = choices(schema)
    if values:
        return f"Literal[{', '.join(json.dumps(value) for value in values)}] | None"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join([TYPES[kind] for kind in kinds if kind != "null"] + ["None"])


def written() -> str:
    text = BEGINNING
    for name, schema in json.loads(native().schemas()):
        text += f"\n\nclass {name}(TypedDict, total=False):\n"
        text += docstring(sentence(schema["description"]), "    ") + "\n\n"
        for option, about in schema["properties"].items():
            text += f"    {option}: {of(about)}\n"
            text += docstring(sentence(about["description"]), "    ") + "\n"
    return text


if __name__ == "__main__":
    if "--check" not in sys.argv:
        FILE.write_text(written())
    elif FILE.read_text() != written():
        sys.exit(f"{FILE} is not what `python options.py` writes")
