#!/usr/bin/env python3
"""Reads the event files of a run with TensorBoard and compares them with its `metrics.jsonl`.

    python3 -m venv venv && venv/bin/pip install tensorboard==2.20.0 'setuptools<81'
    venv/bin/python scripts/tensorboard_events.py RUN

Both readers of TensorBoard must find each logged value once, at its update, and nothing else: the updates that a resumed run
repeated are there once.
"""

import json
import math
import struct
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator as PluginAccumulator

KEYS = {
    "step": ["loss", "nll", "perplexity", "accuracy", "learning_rate", "gradient_norm", "tokens_per_second"],
    "validation": ["loss", "nll", "perplexity", "accuracy", "bleu", "exact_match"],
}
NAMES = {"step": "train", "validation": "validation"}


def as_float(number):
    """The number as a 32-bit float, as event files hold it."""
    return struct.unpack("f", struct.pack("f", number))[0]


def logged(run):
    """The values of `metrics.jsonl`: for each name the list of updates and values."""
    series = {}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        for key in KEYS[entry["kind"]]:
            value = entry.get(key)
            if isinstance(value, dict):
                value = value["value"]
            if value is not None:
                series.setdefault(f"{NAMES[entry['kind']]}/{key}", []).append((entry["step"], as_float(value)))
    return series


def scalars(run):
    reader = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    return {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def tensors(run):
    reader = PluginAccumulator(str(run / "tensorboard"), size_guidance={"tensors": 0}).Reload()
    value = lambda event: event.tensor_proto.float_val[0]
    return {tag: [(event.step, value(event)) for event in reader.Tensors(tag)] for tag in reader.Tags()["tensors"]}


def main():
    run = Path(sys.argv[1])
    expected = logged(run)
    for name, found in [("event_accumulator", scalars(run)), ("plugin_event_accumulator", tensors(run))]:
        assert found.keys() == expected.keys(), f"{name}: {sorted(found)} instead of {sorted(expected)}"
        for tag, values in expected.items():
            same = len(values) == len(found[tag]) and all(
                step == other and (math.isclose(a, b, rel_tol=1e-6) or a == b)
                for (step, a), (other, b) in zip(values, found[tag])
            )
            assert same, f"{name}, {tag}: {found[tag]} instead of {values}"
    files = len(list((run / "tensorboard").iterdir()))
    print(f"{run}: {sum(map(len, expected.values()))} values of {len(expected)} names, in {files} event files")


if __name__ == "__main__":
    main()
