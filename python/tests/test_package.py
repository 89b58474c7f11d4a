"""The package and the program are of one version, and are built with the same dependencies."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import attentive
import pytest

ROOT = Path(__file__).parents[2]


def versions(lock: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r'^name = "(.+)"\nversion = "(.+)"$', lock.read_text(), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


def test_versions_agree() -> None:
    cargo = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert cargo is not None and cargo[1] == attentive.__version__ == importlib.metadata.version("attentive")


def test_both_builds_lock_the_same_dependencies() -> None:
    ours, of_program = versions(ROOT / "python" / "Cargo.lock"), versions(ROOT / "Cargo.lock")
    shared = ours.keys() & of_program.keys()
    assert len(shared) > 100
    assert {name: ours[name] - of_program[name] for name in shared if ours[name] - of_program[name]} == {}


def test_everything_is_documented() -> None:
    for name in attentive.__all__:
        assert (getattr(attentive, name).__doc__ or "").strip(), name
    for kind in (attentive.Model, attentive.Run, attentive.Tokenizer, attentive.Attention):
        public = [getattr(kind, name) for name in dir(kind) if not name.startswith("_")]
        methods = [one for one in public if callable(one) or isinstance(one, property)]
        assert methods and all((one.__doc__ or "").strip() for one in methods), kind


def test_the_package_has_types() -> None:
    folder = Path(attentive.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_attentive.pyi").exists()


def test_errors_are_of_the_usual_kinds() -> None:
    for kind, usual in [
        (attentive.ConfigError, ValueError),
        (attentive.DataError, ValueError),
        (attentive.UsageError, ValueError),
        (attentive.FileError, OSError),
        (attentive.NotFiniteError, ArithmeticError),
    ]:
        with pytest.raises(usual):
            raise kind("problem", "hint")
        assert str(kind("problem", "try this")) == "problem\nhint: try this" and issubclass(kind, attentive.Error)
