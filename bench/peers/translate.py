#!/usr/bin/env python3
"""Compares translation with Attentive and with CTranslate2 on this machine, with the same weights:

    python3 bench/peers/translate.py --attentive target/release/attentive --model runs/multi30k

Needs Python 3.11, a release build of the program, a model trained with configs/multi30k.toml, and Multi30k's test set. Sets up
CTranslate2 in a virtual environment (target/peers/ctranslate2), makes the base model of `attentive bench` with random weights,
and converts both models. `--models marian` measures an imported model of the shape of OPUS-MT with random weights. Prints
Markdown tables and writes every measurement to target/peers/translate.jsonl.

Speed is output tokens per second, including `</s>`. Both programs run in alternation, in new processes each round; a number is
the median over the rounds. Ours is (tokens of all sentences − tokens of the first) / (time of a process that translates all −
time of a process that translates the first), so it includes reading, tokenizing, detokenizing and writing, but no start-up.
CTranslate2 gets tokens and gives tokens; its clock runs within the process, after loading and a first batch. Before the rounds,
a sweep picks its best setting: workers × threads, and the packed products of MKL. A batch of 32 is one of 32 sentences for each
worker of CTranslate2; our threads share one of as many sentences as two such workers have. One sentence at a time we use one or
two threads, whichever is faster. Both have the same length penalty (length^α) and the same limit on the length, and end the
search of a sentence as soon as the number of finished hypotheses equals the beam width. Run it on an idle machine: threads that
wait for a busy core distort both sides.

`--device gpu` compares them on a GPU: Attentive, built with the feature `gpu`, and CTranslate2 with CUDA, both in f32 and bf16;
Attentive rounds the weights alone then. `--alone` measures Attentive alone.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import workloads
from common import ROOT, gpu, machine, python, target
from programs import Attentive, CTranslate2, Search

PACKAGES = {"ctranslate2": "4.8.5", "numpy": "2.4.6", "safetensors": "0.8.0", "tokenizers": "0.23.3"}
INSTRUCTIONS = ["avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"]
# What CTranslate2 needs of CUDA.
CUDA = {"nvidia-cublas-cu12": "12.6.4.1"}
BATCHES, BEAMS, PRECISIONS = [32, 1], [1, 5], ["f32", "bf16", "int8"]
USUAL = {"cpu": ["f32", "int8"], "gpu": ["f32", "bf16"]}
# Restricts both programs to AVX2; CTranslate2 multiplies with MKL or oneDNN.
AVX2 = dict(
    ATTENTIVE_ISA="avx2",
    CT2_FORCE_CPU_ISA="AVX2",
    MKL_ENABLE_INSTRUCTIONS="AVX2",
    ONEDNN_MAX_CPU_ISA="AVX2",
)
# The sweep, and a quick run, translate this part of the sentences, but at least two batches.
SWEEP_SHARE, QUICK_SHARE = 2, 8


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, help="the program [default: target/release/attentive]")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "runs" / "multi30k", help="the trained model")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "multi30k")
    parser.add_argument("--models", nargs="+", choices=["tiny", "base", "marian"], default=["tiny", "base"])
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--alone", action="store_true", help="measure Attentive alone")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, help="[default: f32 int8; on a GPU: f32 bf16]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="the most that either program uses")
    parser.add_argument("--no-sweep", action="store_true", help="use the settings that are usually best")
    parser.add_argument("--swept", type=pathlib.Path, help="use the best settings of this log of an earlier sweep")
    parser.add_argument("--avx2", action="store_true", help="restrict both programs to AVX2")
    parser.add_argument("--quick", action="store_true", help="one round with few sentences")
    parser.add_argument("--sentences", type=int, help="the most sentences of a measurement, at least 2: for GPUs in software")
    options = parser.parse_args()
    if options.sentences is not None and options.sentences < 2:
        parser.error("the first sentence is not measured: --sentences must be at least 2")
    options.precisions = options.precisions or USUAL[options.device]
    return options


@dataclass(frozen=True)
class Case:
    """What a row of the table measures."""

    workload: str
    precision: str
    batch: int
    beam: int

    def cells(self):
        return [self.workload, self.precision, self.batch, self.beam]


class Log:
    """The file of all measurements, one JSON object a line."""

    def __init__(self, path):
        self.file = path.open("w", encoding="utf-8")

    def write(self, kind, **values):
        self.file.write(json.dumps(dict(kind=kind, **values)) + "\n")
        self.file.flush()


def table(head, rows):
    """Prints a Markdown table."""
    for cells in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(map(str, cells)) + " |")
    print(flush=True)


def ratio(a, b):
    return "–" if a is None or b is None else f"{a / b:.2f}"


def number(value, digits=0):
    return "–" if value is None else f"{value:.{digits}f}"


def both(values):
    """The cells of two values and their ratio."""
    return [*map(number, values), ratio(*values)]


class Comparison:
    """Both programs, what they translate, and what was measured."""

    def __init__(self, options, work, interpreter, log):
        self.options, self.work, self.log = options, work, log
        self.ours = Attentive(options.attentive, work, options.device)
        self.theirs = None if options.alone else CTranslate2(interpreter, work, options.device)
        self.workloads = {}
        for name in options.models:
            match name:
                case "tiny":
                    made = workloads.tiny(options.model.resolve(), options.data, work)
                case "base":
                    made = workloads.base(options.attentive, work)
                case "marian":
                    made = workloads.marian(options.attentive, work, interpreter)
            self.prepare(made)
            self.workloads[name] = made
        self.settings = {}

    def prepare(self, workload):
        """Writes the models of each precision in both formats."""
        if self.options.quick:
            workload.counts = {case: max(count // QUICK_SHARE, 2 * case[0], 4) for case, count in workload.counts.items()}
        if self.options.sentences:
            workload.counts = {case: min(count, self.options.sentences) for case, count in workload.counts.items()}
        if self.options.quick or self.options.sentences:
            workload.lines = workload.lines[: max(workload.counts.values())]
            workload.references = workload.references[: len(workload.lines)]
        for precision in self.options.precisions:
            if self.theirs:
                self.theirs.convert(workload, precision)
            if self.ours.computes_in(precision):
                workload.models[precision] = self.ours.convert(workload, precision)
        if self.theirs:
            self.theirs.tokenize(workload)

    def cases(self):
        for name in self.workloads:
            for precision in self.options.precisions:
                for batch in BATCHES:
                    for beam in BEAMS:
                        yield Case(name, precision, batch, beam)

    def sides(self, case):
        """The programs that can run the case."""
        ours = [self.ours] if case.precision in self.workloads[case.workload].models else []
        return [*ours, self.theirs] if self.theirs else ours

    def speed(self, program, case, setting, count):
        workload = self.workloads[case.workload]
        return program.speed(workload, case.precision, Search(case.batch, case.beam), setting, count)

    def compare_outputs(self):
        """Translates all lines with both programs."""
        rows = []
        for workload in self.workloads.values():
            for precision in self.options.precisions:
                for beam in BEAMS:
                    search = Search(32, beam)
                    cells = [workload.name, precision, beam, len(workload.lines)]
                    found, both = {}, []
                    if self.theirs:
                        theirs = self.theirs.translations(workload, precision, search)
                        found |= dict(theirs_tokens=theirs.tokens, theirs_bleu=self.ours.bleu(theirs.lines, workload))
                        both.append(theirs.lines)
                    if precision in workload.models:
                        ours = self.ours.translations(workload, precision, search)
                        found |= dict(ours_tokens=ours.tokens, ours_bleu=self.ours.bleu(ours.lines, workload))
                        both.append(ours.lines)
                    if len(both) == 2:
                        found["equal"] = sum(a == b for a, b in zip(*both, strict=True))
                    self.log.write("outputs", workload=workload.name, precision=precision, beam=beam, **found)
                    pairs = [
                        ("equal", 0),
                        ("ours_tokens", 0),
                        ("theirs_tokens", 0),
                        ("ours_bleu", 2),
                        ("theirs_bleu", 2),
                    ]
                    rows.append(cells + [number(found.get(key), digits) for key, digits in pairs])
        print("Outputs\n")
        names = ["equal", "Attentive: tokens", "CTranslate2: tokens", "Attentive: BLEU", "CTranslate2: BLEU"]
        table(["model", "precision", "beam", "lines", *names], rows)

    def choose_usual_settings(self):
        for case in self.cases():
            for program in self.sides(case):
                tried = program.settings(case.batch, case.precision, self.options.threads)
                self.settings[program.name, case] = tried[0]

    def choose_swept_settings(self, log):
        """The best settings of the sweep that wrote `log`."""
        self.choose_usual_settings()
        rates = {}
        for record in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
            if record["kind"] == "sweep":
                case = Case(*(record[key] for key in ("workload", "precision", "batch", "beam")))
                rates[record["program"], case, record["setting"]] = max(record["rates"])
        for case in self.cases():
            for program in self.sides(case):
                tried = program.settings(case.batch, case.precision, self.options.threads)
                self.settings[program.name, case] = max(tried, key=lambda each: rates.get((program.name, case, str(each)), 0))

    def sweep(self):
        """Finds the best setting of each program for each case."""
        rows = []
        for case in self.cases():
            all_sentences = self.workloads[case.workload].counts[case.batch, case.beam]
            count = min(max(all_sentences // SWEEP_SHARE, 2 * case.batch), self.options.sentences or sys.maxsize)
            for program in self.sides(case):
                tried = {}
                for setting in program.settings(case.batch, case.precision, self.options.threads):
                    repeats = [self.speed(program, case, setting, count).rate for _ in range(1 if self.options.quick else 2)]
                    tried[setting] = max(repeats)
                    self.log.write("sweep", program=program.name, **asdict(case), setting=str(setting), rates=repeats)
                self.settings[program.name, case] = max(tried, key=tried.get)
                all_rates = ", ".join(f"{setting}: {rate:.0f}" for setting, rate in tried.items())
                rows.append([program.name, *case.cells(), all_rates])
        print("Settings that were tried, in tokens per second on fewer sentences\n")
        table(["program", "model", "precision", "batch", "beam", "settings"], rows)

    def rounds(self):
        """Measures every case in every round and prints the medians."""
        found = {}
        for number_of_round in range(1 if self.options.quick else self.options.rounds):
            for case in self.cases():
                count = self.workloads[case.workload].counts[case.batch, case.beam]
                sides = self.sides(case)
                for program in sides if number_of_round % 2 == 0 else sides[::-1]:
                    setting = self.settings[program.name, case]
                    speed = self.speed(program, case, setting, count)
                    found.setdefault((program.name, case), []).append(speed)
                    record = dict(asdict(case), setting=str(setting), round=number_of_round, load=os.getloadavg()[0])
                    self.log.write("speed", program=program.name, **record, **asdict(speed))
        self.print_speeds(found)

    def print_speeds(self, found):
        speed_rows, cpu_rows = [], []
        for case in self.cases():
            rates, per_cpu, peaks = [], [], []
            for program in Attentive, CTranslate2:
                speeds = found.get((program.name, case))
                rates.append(speeds and statistics.median(speed.rate for speed in speeds))
                per_cpu.append(speeds and statistics.median(speed.tokens / max(speed.cpu, 0.01) for speed in speeds))
                peaks.append(max((speed.peak for speed in speeds or [] if speed.peak), default=None))
            used = [str(self.settings.get((program.name, case), "–")) for program in (Attentive, CTranslate2)]
            speed_rows.append([*case.cells(), *both(rates), *both(peaks)])
            cpu_rows.append([*case.cells(), *both(per_cpu), *used])
        case_head, pair = ["model", "precision", "batch", "beam"], ["Attentive", "CTranslate2", "ratio"]
        print("Output tokens per second, and peak memory in MB\n")
        table([*case_head, *pair, "MB: Attentive", "MB: CTranslate2", "ratio"], speed_rows)
        print("Output tokens per second of CPU time, on which other load has less effect, and the settings\n")
        table([*case_head, *pair, "Attentive with", "CTranslate2 with (workers × threads)"], cpu_rows)

    def start_up(self):
        """Measures the time to the first translation, in new processes."""
        rows = []
        repeats = 2 if self.options.quick else 2 * self.options.rounds + 1
        for workload in self.workloads.values():
            for precision in self.options.precisions:
                programs = {self.theirs.name: self.theirs} if self.theirs else {}
                if precision in workload.models:
                    programs[self.ours.name] = self.ours
                times = {}
                for _ in range(repeats):
                    for name, program in programs.items():
                        for threads in range(1, self.options.threads + 1):
                            start = program.start(workload, precision, threads)
                            times.setdefault((name, threads), []).append(start)
                best = {}
                for (name, threads), starts in times.items():
                    self.log.write(
                        "start",
                        program=name,
                        workload=workload.name,
                        precision=precision,
                        threads=threads,
                        starts=starts,
                    )
                    medians = [1000 * statistics.median(values) for values in zip(*starts)]
                    best[name] = min(best.get(name, medians), medians)
                ours, (inside, whole) = best.get(Attentive.name, [None])[0], best.get(CTranslate2.name, [None, None])
                rows.append([workload.name, precision, number(ours), number(inside), number(whole), ratio(ours, inside)])
        print("Start-up to the first translation, in milliseconds\n")
        theirs = ["CTranslate2: model and translation", "CTranslate2: process with Python"]
        table(["model", "precision", "Attentive: process", *theirs, "ratio to the second"], rows)
        if self.theirs:
            imports = [self.theirs.import_alone() for _ in range(repeats)]
            alone, peak = (statistics.median(values) for values in zip(*imports))
            print(f"Python that only imports CTranslate2: {1000 * alone:.0f} ms, {peak:.0f} MB\n", flush=True)
            self.log.write("import", seconds=alone, peak=peak)


def main():
    options = arguments()
    if options.avx2:
        os.environ |= AVX2
    cargo_target = target()
    options.attentive = (options.attentive or cargo_target / "release" / "attentive").resolve()
    if not options.attentive.exists():
        sys.exit(f"no program {options.attentive}: run `cargo build --release`, or name one with --attentive")
    work = cargo_target / "peers" / "translate"
    work.mkdir(parents=True, exist_ok=True)
    on_gpu = options.device == "gpu"
    needed = PACKAGES | (CUDA if on_gpu and not options.alone else {})
    interpreter, installed = python(cargo_target / "peers" / "ctranslate2", needed)
    log = Log(cargo_target / "peers" / "translate.jsonl")
    version = subprocess.run([options.attentive, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    packages = [f"{name} {number}" for name, number in zip(needed, installed)]
    facts = [
        machine(INSTRUCTIONS),
        time.strftime("%Y-%m-%d"),
        version,
        *packages,
        f"Python {platform.python_version()}",
        *(["restricted to AVX2"] if options.avx2 else []),
        *([gpu(options.attentive)] if on_gpu else []),
    ]
    print("; ".join(facts) + "\n", flush=True)
    log.write("environment", facts=facts, load=os.getloadavg(), threads=options.threads, rounds=options.rounds)
    comparison = Comparison(options, work, interpreter, log)
    if "int8" in options.precisions and not comparison.ours.has_int8:
        print(f"{version} has no int8: its cells are empty.\n", flush=True)
    comparison.compare_outputs()
    if options.swept:
        comparison.choose_swept_settings(options.swept)
    elif options.no_sweep:
        comparison.choose_usual_settings()
    else:
        comparison.sweep()
    comparison.rounds()
    comparison.start_up()
    print("Load of the machine at the end: " + " ".join(f"{load:.2f}" for load in os.getloadavg()))


if __name__ == "__main__":
    sys.exit(main())
