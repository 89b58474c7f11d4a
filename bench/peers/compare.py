#!/usr/bin/env python3
"""Compares training steps of Attentive and PyTorch on this machine: python3 bench/peers/compare.py

Sets up PyTorch in a virtual environment (target/peers), builds the program, and runs `attentive bench` and pytorch_step.py in
alternation, in new processes each round, so that other load on the machine affects both. Prints target tokens per second
(the median over the steps of all rounds, excluding the first step of each process), their ratio, the share of the ceiling that
`attentive bench` measures, and the peak memory, and writes the time of every step to target/peers/results.json. The models are
those of `attentive bench`. `--compile` measures PyTorch with torch.compile too, and takes the faster one.

`--device gpu` compares them on a GPU: Attentive, built with the feature `gpu`, in f32, and PyTorch with CUDA in both precisions.
There is no ceiling then, the memory is RAM, and d1024 is measured too. `--alone` leaves PyTorch out. `--quick` only shows that
everything runs: a batch has 4 sentences of 4 tokens.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

from common import MODELS_FILE, QUICK, ROOT, gpu, high_water_mark, machine, python, target

PACKAGES = {"torch": "2.15.0"}
PIP_OPTIONS = ["numpy", "--extra-index-url", "https://download.pytorch.org/whl/cpu"]
# The packages of PyPI compute with CUDA.
PIP_OPTIONS_GPU = ["numpy"]
INSTRUCTIONS = ["avx2", "avx512f", "avx512_bf16", "amx_bf16"]
MODELS = {model["name"]: model for model in json.loads(MODELS_FILE.read_text())}

LEGEND = """
<  the process was stopped before its first step was complete: an upper bound
~  the process was stopped before its second step was complete: based on the first step, which includes warm-up
–  not known"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = "[default: all, but d1024 only on a GPU and without --quick]"
    parser.add_argument("--models", nargs="+", choices=MODELS, help=usual)
    parser.add_argument("--precisions", nargs="+", choices=["f32", "bf16"], default=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="steps per process")
    parser.add_argument("--length", type=int, help="tokens of a sentence; a batch has as many tokens as with the default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="batches of 4 sentences of 4 tokens")
    parser.add_argument("--compile", action="store_true", help="measure PyTorch with torch.compile too")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--alone", action="store_true", help="measure Attentive alone")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a process is stopped")
    options = parser.parse_args()
    if options.steps < 2:
        parser.error("the first step is not measured: --steps must be at least 2")
    if options.quick and options.length:
        parser.error("--quick has a length of its own")
    with_large = options.device == "gpu" and not options.quick
    usual = [name for name, model in MODELS.items() if with_large or not model.get("is_large")]
    options.models = options.models or usual
    return options


def ours(device):
    """Builds the program for this device and returns its path."""
    features = ["--features", "gpu"] if device == "gpu" else []
    subprocess.run(["cargo", "build", "--release", *features], cwd=ROOT, check=True)
    return target() / "release" / "attentive"


def ceilings(program, threads):
    """Operations a second by precision, of all threads together."""
    command = [program, "--threads", str(threads), "bench", "--only", "ceilings", "--json"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {each["precision"]: each["operations"][1] for each in found["products"]}


class Side:
    """Results of the processes of one program."""

    def __init__(self):
        self.steps, self.first_steps, self.peak, self.flops = [], [], None, None

    def run(self, program, command, threads, limit):
        """Records the duration of every step and the peak memory in MB. Stops the process after `limit` seconds."""
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        start = time.monotonic()
        while process.poll() is None and time.monotonic() - start < limit:
            peak = high_water_mark(process.pid)
            self.peak = max(filter(None, [self.peak, peak]), default=None)
            time.sleep(0.02)
        stopped = process.poll() is None
        if stopped:
            process.kill()
        text, _ = process.communicate()
        if process.returncode != 0 and not stopped:
            sys.exit(f"exit status {process.returncode}: {' '.join(map(str, command))}")
        if program == "attentive":
            if stopped:
                sys.exit(f"`attentive bench` took longer than --limit {limit}")
            found = json.loads(text)
            self.steps += found["seconds"]
            self.flops = sum(operation["flops"] for operation in found["operations"])
            return
        seconds = [float(found) for found in re.findall(r"^([\d.]+) s, loss", text, re.MULTILINE)]
        if not seconds and not stopped:
            sys.exit(f"no step in the output of {' '.join(map(str, command))}:\n{text}")
        self.first_steps += seconds[:1]
        self.steps += seconds[1:]

    def speed(self, tokens, limit):
        """Tokens per second, preceded by a mark if it is not a median over steps."""
        if self.steps:
            return "", tokens / statistics.median(self.steps)
        if self.first_steps:
            return "~", tokens / statistics.median(self.first_steps)
        return "<", tokens / limit


def share_of(side, ceiling):
    """The share of the ceiling that the products of this side reach, if both are known."""
    known = side.steps and ceiling
    return f"{100 * side.flops / statistics.median(side.steps) / ceiling:.0f} %" if known else "–"


def row(model, precision, sides, limit, ceiling, quick):
    """A row of the table."""
    attentive = sides["attentive"]
    others = [side for name, side in sides.items() if name != "attentive"]
    tokens = QUICK * QUICK if quick else MODELS[model]["batch"] * MODELS[model]["length"]
    if not others:
        mark, speed = attentive.speed(tokens, limit)
        used = share_of(attentive, ceiling)
        memory = "–" if attentive.peak is None else f"{attentive.peak:.0f}"
        return f"{model:<7}{precision:<10}{mark + f'{speed:.0f}':>10}{used:>9}{'–':>10}{'–':>8}{memory:>15} MB{'–':>8}"
    pytorch = max(others, key=lambda side: side.speed(1, limit)[1])
    (our_mark, our_speed), (their_mark, their_speed) = (side.speed(tokens, limit) for side in (attentive, pytorch))
    # The ratio of two bounds is unknown; dividing by PyTorch's upper bound gives a lower bound.
    mark = {("", "<"): ">", ("~", "<"): ">", ("<", "<"): "?"}.get((our_mark, their_mark), our_mark or their_mark)
    peaks = [attentive.peak, pytorch.peak]
    memory = " / ".join("–" if peak is None else f"{peak:.0f}" for peak in peaks)
    share = "–" if None in peaks else f"{peaks[0] / peaks[1]:.2f}"
    speeds = f"{our_mark}{our_speed:.0f}", f"{their_mark}{their_speed:.0f}", f"{mark}{our_speed / their_speed:.2f}"
    used = share_of(attentive, ceiling)
    return f"{model:<7}{precision:<10}{speeds[0]:>10}{used:>9}{speeds[1]:>10}{speeds[2]:>8}{memory:>15} MB{share:>8}"


def main():
    options = arguments()
    work = target() / "peers"
    work.mkdir(parents=True, exist_ok=True)
    on_gpu = options.device == "gpu"
    interpreter, version = None, "none"
    if not options.alone:
        folder, pip_options = ("venv-gpu", PIP_OPTIONS_GPU) if on_gpu else ("venv", PIP_OPTIONS)
        interpreter, (version,) = python(work / folder, PACKAGES, *pip_options)
    program, script = ours(options.device), ROOT / "bench" / "peers" / "pytorch_step.py"
    most = {} if on_gpu else ceilings(program, options.threads)
    device = gpu(program) if on_gpu else f"{options.threads} threads"
    print(f"{machine(INSTRUCTIONS)}; {time.strftime('%Y-%m-%d')}; {device}; PyTorch {version}")
    head = f"{'model':<7}{'matmul':<10}{'attentive':>10}{'ceiling':>9}{'pytorch':>10}{'ratio':>8}{'memory':>18}{'ratio':>8}"
    print(head, flush=True)
    results = []
    for precision in options.precisions:
        for model in options.models:
            theirs = [interpreter, script, "--model", model, "--steps", options.steps, "--threads", options.threads]
            theirs += ["--bf16"] if precision == "bf16" else []
            theirs += ["--length", options.length] if options.length else []
            theirs += ["--quick"] if options.quick else []
            theirs += ["--device", "cuda"] if on_gpu else []
            # Ours does not count the first update.
            bench = [program, "--threads", options.threads, "bench", "--only", "training", "--json"]
            bench += ["--model", model, "--steps", options.steps - 1]
            bench += ["--length", options.length] if options.length else []
            bench += ["--quick"] if options.quick else []
            bench += ["--device", "gpu"] if on_gpu else ["--precision", precision]
            commands = {"attentive": bench}
            if not options.alone:
                commands["pytorch"] = theirs
            if options.compile and not options.alone:
                commands["pytorch compiled"] = [*theirs, "--compile"]
            sides = {name: Side() for name in commands}
            for _ in range(options.rounds):
                for name, command in commands.items():
                    sides[name].run(name, list(map(str, command)), options.threads, options.limit)
            print(row(model, precision, sides, options.limit, most.get(precision), options.quick), flush=True)
            results.append(dict(model=model, precision=precision, sides={name: vars(side) for name, side in sides.items()}))
    print(LEGEND)
    record = dict(
        machine=machine(INSTRUCTIONS),
        date=time.strftime("%Y-%m-%d"),
        threads=options.threads,
        device=device,
        pytorch=version,
        results=results,
    )
    (work / "results.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    sys.exit(main())
