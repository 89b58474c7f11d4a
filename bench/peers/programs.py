"""The two programs that translate.py compares. Both have the same methods:

`settings` (those worth trying, first the one that is usually best), `speed`, `translations`, `start` and `convert`.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from common import high_water_mark

HERE = pathlib.Path(__file__).resolve().parent
# What CTranslate2 calls the precisions.
KINDS = {"f32": "float32", "bf16": "bfloat16", "int8": "int8"}
# The length penalty divides log-probabilities by length^ALPHA.
ALPHA = 0.6
# Processes that are so disturbed that one sentence takes longer than many are repeated.
ATTEMPTS = 5


@dataclass(frozen=True)
class Search:
    batch: int
    beam: int


@dataclass(frozen=True)
class Setting:
    """How a program uses the machine."""

    # Workers, each with a batch of its own; `None` for Attentive, which decides that itself.
    workers: int | None
    # Of each worker.
    threads: int
    # Sentences per batch, if a setting.
    batch: int | None = None
    # Whether MKL packs the weights (`CT2_USE_EXPERIMENTAL_PACKED_GEMM`).
    packed: bool = False

    def __str__(self):
        if self.workers is None:
            return f"{self.threads} threads, batch {self.batch}"
        return f"{self.workers} × {self.threads}" + (", packed" if self.packed else "")


@dataclass
class Speed:
    # Output tokens per second.
    rate: float
    tokens: int
    seconds: float
    # CPU time of all threads, in seconds.
    cpu: float
    # Peak memory in MB.
    peak: float | None


@dataclass
class Translations:
    lines: list[str]
    tokens: int


@dataclass
class Run:
    """What a process took."""

    seconds: float
    # CPU time of all threads, in seconds.
    cpu: float
    # Peak memory in MB.
    peak: float | None
    # What it wrote, if to a pipe.
    written: str | None


def measure(command, stdout=subprocess.DEVNULL, **more):
    """Runs a process to its end."""
    started, cpu_before = time.perf_counter(), cpu_of_children()
    process = subprocess.Popen(list(map(str, command)), stdout=stdout, stderr=subprocess.PIPE, text=True, **more)
    peaks = []
    watch = threading.Thread(target=watch_memory, args=(process, peaks), daemon=True)
    watch.start()
    written, errors = process.communicate()
    seconds, cpu = time.perf_counter() - started, cpu_of_children() - cpu_before
    watch.join()
    if process.returncode != 0:
        sys.exit(f"exit status {process.returncode}: {' '.join(map(str, command))}\n{errors}")
    return Run(seconds, cpu, max(peaks, default=None), written)


def cpu_of_children():
    """CPU seconds of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def watch_memory(process, peaks):
    while process.returncode is None:
        peak = high_water_mark(process.pid)
        if peak is not None:
            peaks.append(peak)
        time.sleep(0.01)


def first_line(command, **more):
    """Starts a process and returns the seconds until its first line, and the line."""
    started = time.perf_counter()
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more
    ) as process:
        line = process.stdout.readline()
        seconds = time.perf_counter() - started
        process.communicate()
    if process.returncode != 0 or not line:
        sys.exit(f"no line from {' '.join(map(str, command))}")
    return seconds, line


class Attentive:
    """The program of this repository."""

    name = "Attentive"

    def __init__(self, program, work, device):
        self.program, self.work, self.device = program, work, device
        self.has_quantize = "quantize" in self.help()
        self.has_precision = "--precision" in self.help("translate")
        self.has_int8 = self.has_precision and "int8" in self.help("translate")
        # The lengths of translations in tokens, by workload, precision and beam width.
        self.lengths = {}

    def help(self, *command):
        return subprocess.run([self.program, *command, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout

    def computes_in(self, precision):
        """Whether the device computes in the precision."""
        if self.device == "gpu":
            return precision in ("f32", "bf16")
        return precision == "f32" or self.has_precision and precision in self.help("translate")

    def convert(self, workload, precision):
        """The model directory for the precision."""
        if precision == "f32" or not self.has_quantize:
            return workload.model
        out = self.work / f"{workload.name}-{precision}"
        few = (workload.references or workload.lines)[:8]
        src, ref = workload.text(self.work, len(few)), self.work / f"{workload.name}.few.ref"
        ref.write_text("".join(f"{line}\n" for line in few), encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        measure([self.program, "quantize", workload.model, "--precision", precision, "--output", out, "--src", src, "--ref", ref])
        return out

    def settings(self, batch, precision, threads):
        if self.device == "gpu":
            return [Setting(None, 1, batch)]
        if batch == 1:
            return [Setting(None, count, 1) for count in range(threads, 0, -1)]
        # Our batch is that of all threads; CTranslate2's is that of each worker.
        return [Setting(None, threads, size) for size in (threads * batch, batch)]

    def command(self, workload, precision, beam, setting):
        search = ["--beam-width", beam, "--length-penalty-formula", "length", "--length-penalty", ALPHA]
        # As CTranslate2 does with a length penalty. The default goes on until no hypothesis can overtake the best.
        search += ["--early-stopping", "always"]
        used = ["--threads", setting.threads, "--batch-size", setting.batch]
        chosen = ["--precision", precision] if self.has_precision else []
        chosen += ["--device", "gpu"] if self.device == "gpu" else []
        return [self.program, "translate", workload.models[precision], *search, *used, *chosen]

    def translations(self, workload, precision, search):
        """The translations of all lines. Their lengths follow from `score = log_prob / length^ALPHA`."""
        command = self.command(workload, precision, search.beam, Setting(None, 2, search.batch))
        source = workload.text(self.work, len(workload.lines))
        written = measure([*command, "--json", source], stdout=subprocess.PIPE).written
        found = [json.loads(line)["translations"][0] for line in written.splitlines()]
        lengths = [round((each["log_prob"] / each["score"]) ** (1 / ALPHA)) for each in found]
        self.lengths[workload.name, precision, search.beam] = lengths
        return Translations([each["text"] for each in found], sum(lengths))

    def speed(self, workload, precision, search, setting, count):
        lengths = self.lengths[workload.name, precision, search.beam]
        tokens = sum(lengths[number % len(lengths)] for number in range(1, count))
        command = self.command(workload, precision, search.beam, setting)
        first, everything = workload.text(self.work, 1), workload.text(self.work, count)
        for _ in range(ATTEMPTS):
            one, whole = measure([*command, first]), measure([*command, everything])
            seconds, cpu = whole.seconds - one.seconds, whole.cpu - one.cpu
            if min(seconds, cpu) > 0:
                return Speed(tokens / seconds, tokens, seconds, cpu, whole.peak)
        sys.exit(f"{count} sentences of the {workload.name} model are too few to measure")

    def bleu(self, lines, workload):
        """BLEU of the translations; `None` without references."""
        if not workload.references:
            return None
        files = []
        for name, text in ("hypotheses", lines), ("references", workload.references):
            path = self.work / f"{name}.txt"
            path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
            files.append(path)
        written = measure([self.program, "score", *files, "--metric", "bleu"], stdout=subprocess.PIPE).written
        return float(re.search(r"= *([\d.]+)", written)[1])

    def start(self, workload, precision, threads):
        """Seconds from the start of the process to the first line of its output."""
        source = self.work / f"{workload.name}.first.txt"
        source.write_text(workload.first + "\n", encoding="utf-8")
        command = self.command(workload, precision, 1, Setting(None, threads, 1))
        return (first_line([*command, "--max-new-tokens", workload.first_limit, source])[0],)


class CTranslate2:
    """CTranslate2 through its Python interface."""

    name = "CTranslate2"

    def __init__(self, interpreter, work, device):
        self.interpreter, self.work, self.device = interpreter, work, device
        self.environment = dict(os.environ)
        if device == "gpu":
            libraries = interpreter.parent.parent.glob("lib/python*/site-packages/nvidia/*/lib")
            before = filter(None, [os.environ.get("LD_LIBRARY_PATH")])
            self.environment["LD_LIBRARY_PATH"] = os.pathsep.join([*map(str, libraries), *before])

    def model(self, workload, precision):
        return self.work / f"{workload.name}-ctranslate2-{precision}"

    def convert(self, workload, precision):
        out, kind = self.model(workload, precision), KINDS[precision]
        measure([self.interpreter, HERE / "ctranslate2_export.py", workload.model, out, "--to", kind])

    def tokenize(self, workload):
        """Writes the tokens of as many sentences as are ever translated, and of the first."""
        count = max(len(workload.lines), *workload.counts.values())
        source = workload.text(self.work, count)
        first = self.work / f"{workload.name}.first.txt"
        first.write_text(workload.first + "\n", encoding="utf-8")
        for text, tokens in (source, self.sentences(workload)), (first, self.sentences(workload, "first")):
            measure([self.interpreter, HERE / "tokens.py", "encode", workload.model, text, tokens])

    def sentences(self, workload, which="all"):
        return self.work / f"{workload.name}.{which}.json"

    def settings(self, batch, precision, threads):
        if self.device == "gpu":
            return [Setting(1, 1)]
        shapes = [(1, count) for count in range(1, threads + 1)]
        if batch > 1:
            shapes = [(count, 1) for count in range(threads, 1, -1)] + shapes
        # Packed products are usually better for single sentences.
        packings = [batch == 1, batch > 1] if precision == "f32" else [False]
        return [Setting(*shape, packed=packed) for shape in shapes for packed in packings]

    def task(self, workload, precision, search, setting, **changes):
        """The command of a process and its environment."""
        fields = dict(
            model=str(self.model(workload, precision)),
            compute_type=KINDS[precision],
            device={"cpu": "cpu", "gpu": "cuda"}[self.device],
            inter=setting.workers,
            intra=setting.threads,
            sentences=str(self.sentences(workload)),
            batch=search.batch,
            beam=search.beam,
            length_penalty=ALPHA,
            limit=workload.limit,
            forced=workload.forced,
            warm_up=search.batch,
        )
        command = [self.interpreter, HERE / "ctranslate2_translate.py", json.dumps(fields | changes)]
        return command, dict(self.environment, CT2_USE_EXPERIMENTAL_PACKED_GEMM=str(int(setting.packed)))

    def translations(self, workload, precision, search):
        tokens, text = self.work / "found.json", self.work / "found.txt"
        setting, count = Setting(2, 1), len(workload.lines)
        command, environment = self.task(workload, precision, search, setting, count=count, output=str(tokens))
        written = measure(command, stdout=subprocess.PIPE, env=environment).written
        measure([self.interpreter, HERE / "tokens.py", "decode", workload.model, tokens, text])
        return Translations(text.read_text(encoding="utf-8").removesuffix("\n").split("\n"), json.loads(written)["tokens"])

    def speed(self, workload, precision, search, setting, count):
        command, environment = self.task(workload, precision, search, setting, count=count)
        run = measure(command, stdout=subprocess.PIPE, env=environment)
        found = json.loads(run.written)
        tokens, seconds = found["tokens"], found["seconds"]
        return Speed(tokens / seconds, tokens, seconds, found["cpu"], run.peak)

    def start(self, workload, precision, threads):
        """Seconds to load the model and translate a sentence, and from the start of the process to that."""
        first = dict(sentences=str(self.sentences(workload, "first")), count=1, limit=workload.first_limit, warm_up=0)
        command, environment = self.task(workload, precision, Search(1, 1), Setting(1, threads), **first)
        seconds, line = first_line(command, env=environment)
        return json.loads(line)["until_done"], seconds

    def import_alone(self):
        """Seconds to start Python and import CTranslate2, and the peak memory in MB."""
        command = [self.interpreter, "-c", "import ctranslate2; print(flush=True); input()"]
        started = time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            seconds, peak = time.perf_counter() - started, high_water_mark(process.pid)
            process.communicate("\n")
        return seconds, peak
