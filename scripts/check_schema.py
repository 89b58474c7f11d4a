#!/usr/bin/env python3
"""Checks the JSON Schema of configurations: it is valid, accepts all good configurations and refuses all bad ones.

Usage: attentive config schema | scripts/check_schema.py
Needs Python 3.11 or later and `pip install jsonschema==4.25.1`. The test `bad_configurations_are_refused` checks the same files
against the program.
"""

import json
import sys
import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    schema = json.load(sys.stdin)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    failures = 0
    for folder, good in [("configs", True), ("tests/fixtures/config/good", True), ("tests/fixtures/config/bad", False)]:
        paths = sorted((root / folder).glob("*.toml"))
        for path in paths:
            errors = list(validator.iter_errors(tomllib.loads(path.read_text(encoding="utf-8"))))
            if bool(errors) == good:
                failures += 1
                why = errors[0].message if errors else "accepted"
                print(f"{path.relative_to(root)}: {why}", file=sys.stderr)
        if not paths:
            failures += 1
            print(f"{folder} has no configurations", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
