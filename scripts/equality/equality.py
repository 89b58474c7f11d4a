#!/usr/bin/env python3
"""Trains every configuration in `configs/` for 50 updates with a given binary, and compares two sets of results bit by bit.

    equality.py run BINARY DIR [--threads N] [--only NAME]...
    equality.py compare DIR DIR [--rename FILE]
    equality.py check BINARY REFERENCE [--rename FILE] [--threads N] [--only NAME]... [--keep DIR]

`run` writes DIR/NAME: the run itself (`run/`) and the standard output of the commands that the family supports (`*.out`).
`compare` prints one line per configuration: the number of tensors of `model.safetensors` and of the last checkpoint that
differ, the number of lines of `metrics.jsonl` that differ (ignoring times), and the outputs that differ. `check` does both,
and exits with status 1 if anything differs.

The file for `--rename` maps tensor names of the first (reference) set to those of the second. Each line consists of a
regular expression, white space, a replacement, and optionally a regular expression for the configurations that the line is
meant for; all are applied in order with Python's `re.sub`.

Standard library only.
"""

import argparse
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIGS = HERE / "configs"
UPDATES = 50
# Keys of metrics.jsonl that depend on the clock or the machine.
TIMES = {"seconds", "tokens_per_second", "time", "elapsed"}

# Commands by family: output name and arguments. Paths are relative to this directory; RUN is the model directory.
TRANSLATE = [
    ("translate", "translate RUN data/SRC --scores"),
    ("greedy", "translate RUN data/SRC --beam-width 1"),
    ("evaluate", "evaluate RUN --src data/SRC --ref data/TGT"),
    ("valid", "evaluate RUN --valid"),
]
GENERATE = [
    ("generate", "generate RUN --n-best 3 --seed 1 --max-new-tokens 40"),
    ("greedy", "generate RUN --prompt The --greedy --max-new-tokens 40"),
    ("nucleus", "generate RUN --prompt Anna --seed 2 --top-p 0.8 --temperature 0.7 --max-new-tokens 40"),
]
FILL = [
    ("fill", "fill RUN < data/gaps.txt"),
    ("embed", "embed RUN data/lines.txt"),
    ("evaluate", "evaluate RUN --text data/lines.txt"),
]
TAG = [
    ("tag", "tag RUN data/tokens.txt"),
    ("valid", "evaluate RUN --valid"),
]
TAG_VECTORS = [
    ("tag", "tag RUN data/vectors.jsonl"),
    ("evaluate", "evaluate RUN --jsonl data/vectors.jsonl"),
]


def commands(config):
    """The commands for a configuration, chosen by its text."""
    text = config.read_text()
    if "d_input" in text:
        return TAG_VECTORS
    if 'family = "tagger"' in text:
        return TAG
    if 'family = "encoder_only"' in text:
        return FILL
    if 'family = "decoder_only"' in text:
        stream = 'units = "stream"' in text
        return GENERATE + [("evaluate", "evaluate RUN --text data/text.txt" if stream else "evaluate RUN --valid")]
    digits = 'builtin = "reverse"' in text
    src, tgt = ("digits.txt", "digits-reversed.txt") if digits else ("english.txt", "german.txt")
    return [(name, line.replace("SRC", src).replace("TGT", tgt)) for name, line in TRANSLATE]


def execute(binary, line, threads, stdin=None):
    arguments, _, source = line.partition(" < ")
    command = [binary, *arguments.split()] + (["--threads", str(threads)] if threads else [])
    with open(HERE / source if source else "/dev/null", "rb") as stdin:
        return subprocess.run(command, cwd=HERE, stdin=stdin, capture_output=True)


def normalized(output):
    """The output of a command, or a log, without version and times."""
    output = re.sub(r"attentive-\d+\.\d+\.\d+[\w.-]*", "attentive-VERSION", output)
    return re.sub(r"in \d+\.\d+ s.*", "in TIME", output)


def run(binary, out, threads, only):
    binary = str(Path(binary).resolve())
    out = Path(out).resolve()
    for config in sorted(CONFIGS.glob("*.toml")):
        if only and config.stem not in only:
            continue
        folder = out / config.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.time()
        line = f"train configs/{config.name} --output {folder}/run --set train.max_steps={UPDATES}"
        done = execute(binary, line, threads)
        (folder / "train.err").write_bytes(done.stderr)
        if done.returncode != 0:
            print(f"{config.stem}: training failed: {done.stderr.decode(errors='replace').strip().splitlines()[-3:]}")
            continue
        for name, line in commands(config):
            done = execute(binary, line.replace("RUN", f"{folder}/run"), threads)
            status = "" if done.returncode == 0 else f"[exit status {done.returncode}]\n{done.stderr.decode()}"
            output = (done.stdout.decode() + status).replace(str(folder), "")
            (folder / f"{name}.out").write_text(normalized(output))
        print(f"{config.stem}: {time.time() - start:.1f} s", file=sys.stderr)


def tensors(path):
    """The tensors of a safetensors file by name: type, shape and bytes."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size :]
    return {
        name: (entry["dtype"], tuple(entry["shape"]), body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


def largest(a, b):
    """The largest absolute difference between two f32 tensors."""
    numbers = lambda data: struct.unpack(f"<{len(data) // 4}f", data)
    return max((abs(x - y) for x, y in zip(numbers(a), numbers(b))), default=0.0)


def renamed(name, config, rules):
    for pattern, replacement, *configs in rules:
        if not configs or re.match(configs[0], config):
            name = re.sub(pattern, replacement, name)
    return name


def compare_tensors(old, new, config, rules):
    """The number of tensors, and a description of each difference between two weights files."""
    old, new = tensors(old), tensors(new)
    old = {renamed(name, config, rules): value for name, value in old.items()}
    words = []
    for name in sorted(old.keys() - new.keys()):
        words.append(f"{name} is missing")
    for name in sorted(new.keys() - old.keys()):
        words.append(f"{name} is new")
    for name in sorted(old.keys() & new.keys()):
        (dtype, shape, data), (new_dtype, new_shape, new_data) = old[name], new[name]
        if (dtype, shape) != (new_dtype, new_shape):
            words.append(f"{name} is {new_dtype}{list(new_shape)}, was {dtype}{list(shape)}")
        elif data != new_data:
            off = f", by up to {largest(data, new_data):.1e}" if dtype == "F32" else ""
            words.append(f"{name} differs{off}")
    return len(old), words


def metrics(path):
    lines = [json.loads(line) for line in normalized(path.read_text()).splitlines()]
    return [{key: value for key, value in line.items() if key not in TIMES} for line in lines]


def compare_metrics(old, new):
    """The number of lines, and of those that differ in keys present in both files."""
    old, new = metrics(old), metrics(new)
    differ = abs(len(old) - len(new))
    for a, b in zip(old, new):
        differ += any(a[key] != b[key] for key in a.keys() & b.keys())
    return len(old), differ


def compare(reference, other, rules, only):
    reference, other = Path(reference), Path(other)
    print(f"{'configuration':26} {'tensors':>16} {'checkpoint':>16} {'metrics':>14}  outputs")
    bad, details = 0, []
    for folder in sorted(path for path in reference.iterdir() if (path / "run").is_dir()):
        name = folder.name
        if only and name not in only:
            continue
        if not (other / name / "run/model.safetensors").exists():
            print(f"{name:26} no model")
            bad += 1
            continue
        row, wrong = [], False
        for file in ["model.safetensors", f"checkpoints/step-{UPDATES:08}/model.safetensors"]:
            old, new = folder / "run" / file, other / name / "run" / file
            if not (old.exists() and new.exists()):
                row.append("absent")
                wrong = True
                continue
            count, words = compare_tensors(old, new, name, rules)
            row.append(f"{len(words)} of {count} differ" if words else f"{count} equal")
            details += [f"{name}/{file}: {word}" for word in words]
            wrong |= bool(words)
        count, differ = compare_metrics(folder / "run/metrics.jsonl", other / name / "run/metrics.jsonl")
        row.append(f"{differ} of {count} differ" if differ else f"{count} equal")
        outputs = []
        for out in sorted(folder.glob("*.out")):
            twin = other / name / out.name
            if not (twin.exists() and twin.read_text() == out.read_text()):
                outputs.append(out.stem)
                details.append(f"{name}: diff {out} {twin}")
        total = len(list(folder.glob("*.out")))
        text = ", ".join(outputs) + " differ" if outputs else f"{total} equal"
        wrong |= bool(outputs) or bool(differ)
        print(f"{name:26} {row[0]:>16} {row[1]:>16} {row[2]:>14}  {text}")
        bad += wrong
    if details:
        print("\n" + "\n".join(details))
    print("\neverything is equal" if not bad else f"\n{bad} configurations differ")
    return bad == 0


def rules_from(path):
    if not path:
        return []
    lines = [line for line in Path(path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [tuple((line.split() + [""])[: max(2, len(line.split()))]) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "compare", "check"])
    parser.add_argument("first", help="the binary; for `compare`, the reference")
    parser.add_argument("second", help="the output directory; for `compare`, the other set; for `check`, the reference")
    parser.add_argument("--rename", help="file with renaming rules for tensors")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--keep", metavar="DIR", help="keep the results of `check` in this directory")
    args = parser.parse_args()
    if args.action == "run":
        run(args.first, args.second, args.threads, args.only)
        return 0
    if args.action == "compare":
        return 0 if compare(args.first, args.second, rules_from(args.rename), args.only) else 1
    with tempfile.TemporaryDirectory() as temporary:
        out = args.keep or temporary
        run(args.first, out, args.threads, args.only)
        return 0 if compare(args.second, out, rules_from(args.rename), args.only) else 1


if __name__ == "__main__":
    sys.exit(main())
