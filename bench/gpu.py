#!/usr/bin/env python3
"""Measures Attentive on a GPU, in one command, on Linux or macOS: python3 bench/gpu.py > report.md

Prints a Markdown report: the GPU; whether two runs have the same bits; updates of five models beside PyTorch, and in which
operations the host spends its time; translation; the demo; and the beginning of Multi30k.
Each part has a limit of time, all together less than 10 minutes, after which it is stopped and the next one begins; setting up
PyTorch and building the programs come before. All that the programs print goes to target/gpu/output.txt.

`--alone` leaves PyTorch out, `--only` measures some parts, and `--factor 3` makes all limits three times as long. `--quick` does
so little of everything that it also ends on a GPU in software (Mesa's lavapipe); its speeds say nothing.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

from common import ROOT, gpu, machine, python, target
from compare import INSTRUCTIONS, MODELS, PACKAGES, PIP_OPTIONS_GPU, ours

# Everything is random in it that can be: dropout in all places, and the order of batches. Larger than the run of
# tests/it/cli_gpu.rs: its products keep several workgroups of a real GPU busy.
SMALL = """
[data]
train = { builtin = 'grammar', pairs = 300 }
valid = { builtin = 'grammar', pairs = 20 }
[tokenizer]
kind = 'word'
vocabulary = 'separate'
[model]
d_model = 64
d_ff = 128
n_heads = 4
n_encoder_layers = 2
n_decoder_layers = 2
dropout = 0.1
tie_embeddings = 'decoder'
[train]
max_steps = 20
batch_tokens = 512
validate_every = 10
validate_sentences = 8
"""


class Stopped(Exception):
    """A part took too long, or one of its programs failed."""


@dataclasses.dataclass
class Harness:
    """What the parts need."""

    options: argparse.Namespace
    program: pathlib.Path
    work: pathlib.Path
    # When the current part is to end.
    end: float = 0

    def run(self, *command, cwd=ROOT):
        """Runs a command until the part is to end, and returns its output."""
        command = list(map(str, command))
        print("$ " + " ".join(command), file=sys.stderr, flush=True)
        # In a process group of its own, so that what it starts is stopped with it.
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=cwd, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        try:
            written, errors = process.communicate(timeout=max(1, self.end - time.monotonic()))
            stopped = False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            written, errors = process.communicate()
            stopped = True
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        with (self.work / "output.txt").open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n{written}\n{errors}\n")
        if stopped or process.returncode != 0:
            what = "no time was left for" if stopped else f"exit status {process.returncode} of"
            last = "".join(errors.splitlines(keepends=True)[-10:])
            raise Stopped(f"{what} `{' '.join(command)}`:\n\n```\n{written}{last}```")
        return written

    def attentive(self, *arguments):
        return self.run(self.program, *arguments, cwd=self.work)

    def train(self, config, folder, *sets):
        """Trains on the GPU, and returns the seconds that it took."""
        shutil.rmtree(self.work / folder, ignore_errors=True)
        start = time.monotonic()
        options = [part for each in sets for part in ("--set", each)]
        self.attentive("train", config, "--output", folder, "--device", "gpu", *options)
        return time.monotonic() - start


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in lines) + "\n"


def device(harness):
    """The GPU."""
    return f"```\n{harness.attentive('devices')}```\n"


def bits(harness):
    """Whether two runs have the same bits, and translations in batches of two sizes."""
    (harness.work / "small.toml").write_text(SMALL)
    few = ["--max-new-tokens", 8] if harness.options.quick else []
    hashes = set()
    for name in "one", "two":
        harness.train("small.toml", name, *(["train.max_steps=2"] if harness.options.quick else []))
        checkpoints = harness.work / name / "checkpoints"
        files = sorted(checkpoints.glob("*/*.safetensors"))
        if not files:
            raise Stopped(f"there is no checkpoint in {checkpoints}")
        hashes.add(tuple((str(file.relative_to(checkpoints)), hashlib.sha256(file.read_bytes()).digest()) for file in files))
    lines = ["the old teacher gives the children a book .", "a dog sees the cat .", "they sleep ."] * 4
    (harness.work / "lines").write_text("".join(f"{line}\n" for line in lines))
    rows = [["weights and moments of two runs", "equal" if len(hashes) == 1 else "**different**"]]
    for precision in "f32", "bf16":
        command = ["translate", "one", "lines", "--json", "--device", "gpu", "--precision", precision, *few, "--batch-size"]
        found = {harness.attentive(*command, size) for size in (1, 5, 32)}
        rows.append([f"scores in batches of 1, 5 and 32, {precision}", "equal" if len(found) == 1 else "**different**"])
    return table(["bits of", "result"], rows)


def training(harness):
    """Updates, in target tokens per second: Attentive in f32, PyTorch in both precisions."""
    options = harness.options
    command = [sys.executable, ROOT / "bench" / "peers" / "compare.py", "--device", "gpu", "--rounds", 1]
    command += ["--alone", "--precisions", "f32"] if options.alone else []
    command += ["--compile"] if options.compile and not options.alone else []
    command += ["--quick", "--steps", 2] if options.quick else ["--steps", 20]
    command += ["--models", *options.models] if options.models else []
    return f"```\n{harness.run(*command)}```\n"


def measured(harness, part):
    """What `attentive bench` measures."""
    names = harness.options.models or (["tiny"] if harness.options.quick else ["tiny", "base"])
    models = [option for name in names for option in ("--model", name)]
    quick = ["--quick"] if harness.options.quick else []
    written = harness.attentive("bench", "--device", "gpu", "--only", part, "--json", *models, *quick)
    return [json.loads(line) for line in written.splitlines()]


def operations(harness):
    """Time of the host in an update, in milliseconds: the GPU computes meanwhile."""
    rows = []
    for one in measured(harness, "training"):
        for operation in one["operations"]:
            rows.append([one["model"], operation["name"], f"{1000 * operation['seconds']:.2f}"])
        whole = 1000 * sum(one["seconds"]) / len(one["seconds"])
        rows.append([one["model"], "the whole update, with what the GPU computes", f"{whole:.2f}"])
    return table(["model", "operation", "ms of the host"], rows)


def translation(harness):
    """Translation of random sentences, in output tokens per second; weights in f32 and in bf16."""
    rows = []
    for one in measured(harness, "translation"):
        rate = one["tokens"] / one["seconds"]
        rows.append([one["model"], one["precision"], one["batch"], one["beam"], f"{rate:.0f}"])
    return table(["model", "weights", "batch", "beam", "tokens/s"], rows)


def demo(harness):
    """`attentive demo`, from the corpus to sentences that it has not seen."""
    if harness.options.quick:
        return "Not tried: it has no smaller size. The runs of the second part have its corpus.\n"
    start = time.monotonic()
    shutil.rmtree(harness.work / "demo", ignore_errors=True)
    written = harness.attentive("demo", "--output", "demo", "--device", "gpu")
    return f"{time.monotonic() - start:.0f} s.\n\n```\n{written}```\n"


def multi30k(harness):
    """Multi30k: updates of configs/multi30k.toml, and BLEU on its test set."""
    options = harness.options
    names = [f"{name}.{side}" for name in ("train", "val", "test_2016_flickr") for side in ("en", "de")]
    if not all((options.data / name).exists() for name in names):
        return f"There is no corpus in {options.data}; `--data` names another folder.\n"
    updates = 2 if options.quick else options.updates
    for name, few in ("train", 2000), ("val", 4), ("test_2016_flickr", 4):
        for side in "en", "de":
            lines = (options.data / f"{name}.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
            lines = lines[:few] if options.quick else lines
            (harness.work / f"{name}.{side}").write_text("".join(lines), encoding="utf-8")
    sets = [f"data.dir={harness.work}", f"train.max_steps={updates}", f"train.validate_every={updates}"]
    if options.quick:
        sets += ["train.batch_tokens=256", "tokenizer.vocab_size=500", "decode.max_new_factor=0.5", "decode.max_new_extra=2"]
    seconds = harness.train(ROOT / "configs" / "multi30k.toml", "multi30k", *sets)
    test = "test_2016_flickr.en", "--ref", "test_2016_flickr.de"
    rows = [["training", f"{updates} updates in {seconds:.0f} s"]]
    for precision in "f32", "bf16":
        start = time.monotonic()
        search = ["--device", "gpu", "--precision", precision, "--batch-size", 256]
        written = harness.attentive("evaluate", "multi30k", "--src", *test, "--json", *search)
        took = f"{time.monotonic() - start:.1f} s"
        rows.append([f"evaluation, beam 5, weights in {precision}", f"BLEU {json.loads(written)['bleu']['value']:.2f}, {took}"])
    return table(["part", "result"], rows)


# Each with its limit in seconds.
PARTS = {
    device: 10,
    bits: 60,
    training: 190,
    operations: 40,
    translation: 60,
    demo: 60,
    multi30k: 80,
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [part.__name__ for part in PARTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="parts to measure")
    parser.add_argument("--alone", action="store_true", help="without PyTorch")
    parser.add_argument("--compile", action="store_true", help="PyTorch with torch.compile too, which takes much longer")
    usual = "[default: all for training; tiny and base for the time of the host and for translation]"
    parser.add_argument("--models", nargs="+", choices=MODELS, help=f"models of `attentive bench` {usual}")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "multi30k")
    parser.add_argument("--updates", type=int, default=500, help="updates on Multi30k [default: 500; the recipe has 4561]")
    parser.add_argument("--factor", type=float, default=1, help="makes the limits of all parts longer")
    parser.add_argument("--quick", action="store_true", help="little work of each kind; the speeds say nothing")
    return parser.parse_args()


def main():
    options = arguments()
    work = target() / "gpu"
    work.mkdir(parents=True, exist_ok=True)
    (work / "output.txt").write_text("")
    if "training" in options.only and not options.alone:
        python(target() / "peers" / "venv-gpu", PACKAGES, *PIP_OPTIONS_GPU)
    program = ours("gpu")
    print(f"# Attentive on {gpu(program)}\n\n{machine(INSTRUCTIONS)}; {time.strftime('%Y-%m-%d')}\n", flush=True)
    harness = Harness(options, program, work)
    complete = True
    for part, limit in PARTS.items():
        if part.__name__ not in options.only:
            continue
        print(f"## {part.__doc__}\n", flush=True)
        start = time.monotonic()
        harness.end = start + limit * options.factor
        try:
            print(part(harness))
        except (Stopped, OSError, ValueError, KeyError) as problem:
            complete = False
            print(f"{problem}\n")
        print(f"({time.monotonic() - start:.0f} s)\n", flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
