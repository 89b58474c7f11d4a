#!/usr/bin/env python3
"""Measures what a call from Python costs, beside the command line and beside CTranslate2's Python API with the same weights:

    python bench/peers/calls.py --attentive target/release/attentive --model runs/multi30k --text test_2016_flickr.en

Needs a release build, a translation model that ctranslate2_export.py can convert, source sentences, and an interpreter with the
packages `attentive` (`pip install ./python`), `ctranslate2`, `safetensors` and `numpy`. The packages take turns, in a new
process each; a number is the median over the rounds. The first part translates sentences with a process of the command line
and one of Python, less the time that the same process takes for the first sentence alone. The second part translates one short
sentence again and again; ours is a text, CTranslate2 gets tokens and gives tokens. Run it on an idle machine.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent

TRANSLATE = """
import sys, attentive
model = attentive.load(sys.argv[1])
for translation in model.translate(open(sys.argv[2], encoding="utf-8").read().splitlines()):
    print(translation)
"""

OURS = """
import sys, time, attentive
model = attentive.load(sys.argv[1], sys.argv[2], int(sys.argv[4]))
sentence, calls = sys.argv[3], int(sys.argv[5])
def call(): return model.translate(sentence, beam_width=1)
"""

PEER = """
import sys, time, ctranslate2, json
kind = {"f32": "float32"}.get(sys.argv[2], sys.argv[2])
model = ctranslate2.Translator(sys.argv[1], compute_type=kind, inter_threads=1, intra_threads=int(sys.argv[4]))
sentence, calls = json.loads(sys.argv[3]), int(sys.argv[5])
def call(): return model.translate_batch([sentence], beam_size=1, max_decoding_length=64)[0].hypotheses[0]
"""

TIMED = """
for _ in range(calls // 20): call()
started = time.perf_counter()
for _ in range(calls): call()
print(1e6 * (time.perf_counter() - started) / calls, len(call()))
"""


def seconds(command):
    started = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def overhead(args, folder):
    """Prints the times of the command line and of Python for all sentences."""
    lines = args.text.read_text(encoding="utf-8").splitlines()[: args.lines]
    one, all_lines = folder / "one.txt", folder / "all.txt"
    one.write_text(lines[0] + "\n", encoding="utf-8")
    all_lines.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    ways = {
        "command line": [args.attentive, "translate", args.model],
        "Python": [sys.executable, "-c", TRANSLATE, args.model],
    }
    times = {way: [] for way in ways}
    for _ in range(args.rounds):
        for way, command in ways.items():
            times[way].append(seconds([*command, all_lines]) - seconds([*command, one]))
    medians = {way: statistics.median(found) for way, found in times.items()}
    print(f"{len(lines)} sentences: " + ", ".join(f"{way} {median:.3f} s" for way, median in medians.items()))
    print(f"overhead: {100 * (medians['Python'] / medians['command line'] - 1):+.1f} %")


def calls(args, folder):
    """Prints the microseconds of a call that translates one short sentence."""
    import attentive

    sentence = args.sentence
    tokenizer = attentive.load(args.model).tokenizer
    tokens = json.dumps([*tokenizer.tokens(tokenizer.encode(sentence)), "</s>"])
    for precision in ("f32", "int8"):
        converted = folder / precision
        kind = {"f32": "float32"}.get(precision, precision)
        export = [sys.executable, HERE / "ctranslate2_export.py", args.model, converted, "--to", kind]
        subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
        for threads in range(1, args.threads + 1):
            found = {"Attentive": [], "CTranslate2": []}
            for _ in range(args.rounds):
                for name, code, model, text in (
                    ("Attentive", OURS, args.model, sentence),
                    ("CTranslate2", PEER, converted, tokens),
                ):
                    command = [sys.executable, "-c", code + TIMED, model, precision, text, threads, args.calls]
                    written = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
                    found[name].append(float(written.stdout.split()[0]))
            medians = ", ".join(f"{name} {statistics.median(each):.0f} µs" for name, each in found.items())
            print(f"{precision}, {threads} threads: {medians}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a model directory")
    parser.add_argument("--text", type=pathlib.Path, required=True, help="source sentences")
    parser.add_argument("--sentence", default="A dog runs.", help="the short sentence")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        overhead(args, pathlib.Path(folder))
        calls(args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
