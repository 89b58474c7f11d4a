#!/usr/bin/env python3
"""Measures what large models take to import, start and quantize: python3 bench/large_models.py WORK

Models in the shapes of large published ones, with random weights, are made in the folder WORK from the small models in
tests/fixtures/hf, one after the other, and removed when they are measured. A start is the work on one short line: a translation of
one token, a continuation by one token, a vector or a filled mask. Prints a table of seconds, seconds of CPU time and peak RAM.
About 8 GB of disk are needed. Standard library only; Linux."""

import argparse
import array
import json
import os
import random
import re
import shutil
import statistics
import struct
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = 1 << 20

# The small model; its dimensions and what they become; the layers; other keys of the configuration; the command of a start.
TRANSLATE = ["translate", "--max-new-tokens", "1", "--beam-width", "1"]
BART = dict(layers=("encoder_layers", "decoder_layers"), heads=("encoder_attention_heads", "decoder_attention_heads"))
BERT = dict(layers=("num_hidden_layers",), heads=("num_attention_heads",))
SHAPES = {
    "NLLB-600M": dict(BART, small="m2m_100", sizes={24: 1024, 33: 4096, 45: 256206}, depth=12, keys=dict(max_position_embeddings=1024), start=TRANSLATE),
    "OPUS-big": dict(BART, small="marian", sizes={24: 1024, 33: 4096, 45: 58101}, depth=6, keys=dict(max_position_embeddings=1024), start=TRANSLATE),
    "mBART-large": dict(BART, small="mbart", sizes={24: 1024, 33: 4096, 45: 250054, 50: 1026}, depth=12, keys=dict(max_position_embeddings=1024), start=TRANSLATE),
    "T5-large": dict(
        small="t5", sizes={20: 1024, 33: 4096, 47: 32128, 21: 1024, 7: 64, 3: 16, 8: 32}, depth=24, layers=("num_layers", "num_decoder_layers"), heads=("num_heads",),
        keys=dict(relative_attention_max_distance=128), start=TRANSLATE,
    ),
    "GPT-2 medium": dict(small="gpt2", sizes={24: 1024, 33: 4096, 45: 50257, 40: 1024, 72: 3072}, depth=24, layers=("n_layer",), heads=("n_head",), keys={}, start=["generate", "--max-new-tokens", "1"]),
    "Llama-1B": dict(
        BERT, small="llama", sizes={24: 2048, 37: 8192, 43: 128256, 40: 2048, 20: 512, 10: 64}, depth=16, n_heads=32, left_out="lm_head",
        keys=dict(num_key_value_heads=8, tie_word_embeddings=True, max_position_embeddings=4096), start=["generate", "--max-new-tokens", "1"],
    ),
    "XLM-R-large": dict(BERT, small="xlm_roberta_encoder", sizes={24: 1024, 33: 4096, 45: 250002, 40: 514}, depth=24, keys={}, start=["embed"]),
    "BERT-large": dict(BERT, small="bert", sizes={24: 1024, 33: 4096, 45: 30522, 40: 512}, depth=24, keys={}, start=["fill"]),
}


def tensors(path):
    """The shapes of the tensors in a file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return {name: tensor["shape"] for name, tensor in header.items() if name != "__metadata__"}


def enlarged(small, shape):
    """The shapes of the tensors of the large model."""
    found = {}
    for name, dims in tensors(small / "model.safetensors").items():
        if name.startswith(shape.get("left_out", "\0")):
            continue
        large = [shape["sizes"].get(dim, dim) for dim in dims]
        layer = re.search(r"(?<=\.)(layers?|h|block)\.(\d+)\.", name)
        if layer is None:
            found[name] = large
        # The second layer is like all others; the first one of T5 has the table of positions, too.
        elif layer[2] == "1":
            for n in range(1, shape["depth"]):
                found[name[: layer.start(2)] + str(n) + name[layer.end(2) :]] = large
        elif layer[2] == "0":
            found[name] = large
    return found


def write_weights(path, shapes):
    """Writes random numbers as weights."""
    chance = random.Random(1)
    block = array.array("f", (chance.gauss(0, 0.02) for _ in range(BLOCK))).tobytes()
    header, end = {}, 0
    for name, dims in shapes.items():
        size = 4
        for dim in dims:
            size *= dim
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        while end > 0:
            file.write(block[:end])
            end -= len(block)


def write_model(folder, shape):
    """Writes a model as transformers has it, and returns the number of its weights."""
    small = ROOT / "tests/fixtures/hf" / shape["small"]
    folder.mkdir(parents=True)
    config = json.loads((small / "config.json").read_text())
    n_words = config["vocab_size"]
    size_keys = [key for key, value in config.items() if type(value) is int and value in shape["sizes"] and not key.endswith("_id") and value > 4]
    config.update({key: shape["sizes"][config[key]] for key in size_keys})
    width = config.get("d_model") or config.get("hidden_size") or config.get("n_embd")
    config.update({key: shape["depth"] for key in shape["layers"]})
    config.update({key: shape.get("n_heads", width // 64) for key in shape["heads"]})
    config.update(shape["keys"])
    (folder / "config.json").write_text(json.dumps(config))
    generation = small / "generation_config.json"
    if generation.exists():
        shutil.copy(generation, folder)
    tokenizer = json.loads((small / "tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    words.update({f"x{n}": n for n in range(n_words, config["vocab_size"])})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    shapes = enlarged(small, shape)
    write_weights(folder / "model.safetensors", shapes)
    return (folder / "model.safetensors").stat().st_size / 4


def run(program, arguments, text=""):
    """The seconds, the seconds of CPU time and the peak RAM in GB of a run of the program."""
    start = time.monotonic()
    process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    process.stdin.write(text.encode())
    process.stdin.close()
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{program} {' '.join(map(str, arguments))} failed:\n{said}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6


def measured(program, model, shape, rounds):
    """The median run of a start."""
    command, *options = shape["start"]
    line = "w1 [MASK]\n" if command == "fill" else "w1\n"
    arguments = [command, model, *options] + (["--prompt", "w1"] if command == "generate" else [])
    runs = [run(program, arguments, line) for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="NAME")
    parser.add_argument("--program", default=ROOT / "target/release/attentive", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="starts of each model")
    options = parser.parse_args()
    program = options.program.resolve()
    steps = ["import", "start", "quantize int8", "start int8", "quantize f32", "start f32, mapped"]
    print("| model | million weights | " + " | ".join(steps) + " |")
    print("|---" * (len(steps) + 2) + "|")
    for name in options.models:
        shape = SHAPES[name]
        theirs, ours = options.work / "theirs", options.work / "ours"
        for folder in ["theirs", "ours", "int8", "f32"]:
            shutil.rmtree(options.work / folder, ignore_errors=True)
        n_weights = write_model(theirs, shape)
        rows = [run(program, ["import", theirs, "--output", ours])]
        shutil.rmtree(theirs)
        rows.append(measured(program, ours, shape, options.rounds))
        for precision in ["int8", "f32"]:
            stored = options.work / precision
            rows.append(run(program, ["quantize", ours, "--precision", precision, "--output", stored]))
            rows.append(measured(program, stored, shape, options.rounds))
            shutil.rmtree(stored)
        cells = [f"{seconds:.2f} s, {cpu:.2f} s, {ram:.2f} GB" for seconds, cpu, ram in rows]
        print(f"| {name} | {n_weights / 1e6:.0f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
