"""What marian.py and firefox.py share: programs that translate with the same small model, each on one thread."""

import json
import pathlib
import statistics
import subprocess
import sys
from dataclasses import dataclass

from programs import HERE, measure


@dataclass
class Run:
    """What a program did with all lines."""

    lines: list[str]
    # Without the start.
    seconds: float
    cpu: float
    # Until the first translation, from the start of the process.
    start: float
    # Peak memory of the process in MB.
    peak: float | None


def read_lines(path, count=None):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")[:count]


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def process(command, lines, work, **more):
    """Runs a program that reads a file and writes translations: once with all lines, and once with the first, which is the start."""
    one = measure([*command, write_lines(work / "one.txt", lines[:1])], stdout=subprocess.PIPE, **more)
    everything = measure([*command, write_lines(work / "all.txt", lines)], stdout=subprocess.PIPE, **more)
    found = everything.written.removesuffix("\n").split("\n")
    if len(found) != len(lines):
        sys.exit(f"{len(found)} translations of {len(lines)} lines: {' '.join(map(str, command))}")
    return Run(found, everything.seconds - one.seconds, everything.cpu - one.cpu, one.seconds, everything.peak)


def task(command, work, **fields):
    """Runs a program that reads a task and measures itself."""
    path = work / "task.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    run = measure([*command, path], stdout=subprocess.PIPE)
    found = json.loads(run.written)
    return Run(found["lines"], found["seconds"], found["cpu"], found["start"], run.peak)


def attentive(program, model, lines, work, batch, *options):
    command = [program, "translate", model, "--threads", 1, "--batch-size", batch, "--beam-width", 1, *options]
    return process(command, lines, work)


def count_tokens(interpreter, model, lines, work):
    """The number of tokens of the translations, `</s>` included, by the vocabulary of the target."""
    path, out = write_lines(work / "tokens.txt", lines), work / "count.txt"
    measure([interpreter, HERE / "tokens.py", "count", model, path, out])
    return int(out.read_text())


def bleu(program, lines, references, work):
    if references is None:
        return None
    files = [write_lines(work / "hypotheses.txt", lines), write_lines(work / "references.txt", references)]
    written = measure([program, "score", *files, "--metric", "bleu", "--json"], stdout=subprocess.PIPE).written
    return json.loads(written)[0]["value"]


def compare(programs, options, references, work, interpreter):
    """Runs all programs in alternation, and prints a Markdown table. `programs` are functions by name; lines are compared with those
    of the first. `interpreter` has the package of tokenizers."""
    first, rounds = next(iter(programs)), {name: [] for name in programs}
    for number in range(options.rounds):
        names = list(programs)
        for name in names if number % 2 == 0 else names[::-1]:
            rounds[name].append(programs[name]())
    head = ["program", "tokens/s", "tokens/CPU s", "start, ms", "peak, MB", "BLEU", "equal lines"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name, runs in rounds.items():
        lines, most = runs[0].lines, max((run.peak or 0) for run in runs)
        tokens = count_tokens(interpreter, options.model, lines, work)
        median = lambda of: statistics.median(map(of, runs))
        score = bleu(options.attentive, lines, references, work)
        equal = sum(a == b for a, b in zip(lines, rounds[first][0].lines, strict=True))
        cells = [
            name,
            f"{tokens / median(lambda run: run.seconds):.0f}",
            f"{tokens / median(lambda run: run.cpu):.0f}",
            f"{1000 * median(lambda run: run.start):.0f}",
            f"{most:.0f}",
            "–" if score is None else f"{score:.2f}",
            f"{equal} of {len(lines)}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


def arguments(parser):
    """Adds the options that both scripts have."""
    parser.add_argument("model", type=pathlib.Path, help="a model that configs/student-firefox.toml trained")
    parser.add_argument("--attentive", type=pathlib.Path, help="the program [default: target/release/attentive]")
    parser.add_argument("--src", required=True, type=pathlib.Path, help="sentences, one per line")
    parser.add_argument("--ref", type=pathlib.Path, help="their references, for BLEU")
    parser.add_argument("--shortlist", required=True, nargs=2, type=pathlib.Path, help="text from which the shortlist is learned")
    parser.add_argument("--calibrate", type=pathlib.Path, required=True, help="sentences for the scales of 8-bit products, not of the test set")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32, help="sentences that are translated together")
    return parser
