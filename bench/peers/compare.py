#!/usr/bin/env python3
"""Compares training steps of Attentive and PyTorch on this machine: python3 bench/peers/compare.py

Sets up PyTorch in a virtual environment (target/peers), builds examples/training_step.rs, and runs both programs in turn,
each round in processes of their own, so that whatever else the machine does meets both. Prints target tokens per second
(the median over all rounds' steps but the first of each process), the ratio, and the peak of memory, and writes every
step's time to target/peers/results.json. The models are those of bench/models.json.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = "2.15.0"
MODELS = {model["name"]: model for model in json.loads((ROOT / "bench" / "models.json").read_text())}

LEGEND = """
<  the process was stopped before its first step was done: an upper bound
~  the process was stopped before its second step was done: the first step, which warms up, counts
–  the system does not tell"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--precisions", nargs="+", choices=["f32", "bf16"], default=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="a process")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a process is stopped")
    return parser.parse_args()


def workplace():
    """Cargo's target directory has the room for what is neither source nor result."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(json.loads(found.stdout)["target_directory"]) / "peers"


def python(work):
    """The virtual environment's Python, and the version of the PyTorch in it, which is the one wanted."""
    interpreter = work / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not interpreter.exists():
        venv.create(work / "venv", with_pip=True)
    version = torch_version(interpreter)
    if version.partition("+")[0] != TORCH:
        index = ["--extra-index-url", "https://download.pytorch.org/whl/cpu"]
        wanted = [f"torch=={TORCH}", "numpy"]
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *wanted, *index], check=True)
        version = torch_version(interpreter)
    return interpreter, version


def torch_version(interpreter):
    """Empty if there is none."""
    command = [interpreter, "-c", "import torch; print(torch.__version__)"]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def ours():
    """The built example."""
    command = ["cargo", "build", "--release", "--example", "training_step", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == "training_step" and message.get("executable"):
            return message["executable"]
    sys.exit("cargo built no example `training_step`")


class Side:
    """What the processes of one program gave."""

    def __init__(self):
        self.steps, self.first_steps, self.peak = [], [], None

    def run(self, command, threads, limit):
        """Takes down the seconds of every step and the peak of memory in MB. A process past `limit` is stopped."""
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
        seconds = [float(found) for found in re.findall(r"^([\d.]+) s, loss", text, re.MULTILINE)]
        if not seconds and not stopped:
            sys.exit(f"no step in the output of {' '.join(map(str, command))}:\n{text}")
        self.first_steps += seconds[:1]
        self.steps += seconds[1:]

    def speed(self, tokens, limit):
        """A mark for what is no median of steps, and tokens per second."""
        if self.steps:
            return "", tokens / statistics.median(self.steps)
        if self.first_steps:
            return "~", tokens / statistics.median(self.first_steps)
        return "<", tokens / limit


def high_water_mark(pid):
    """The process's peak of resident memory in MB, `None` where the system does not tell."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else None


def machine():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    name = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if re.search(rf"\b{flag}\b", text)]
    return f"{name[1] if name else platform.machine()}, {os.cpu_count()} CPUs, {' '.join(flags)}"


def row(model, precision, attentive, pytorch, limit):
    """A line of the table."""
    tokens = MODELS[model]["batch"] * MODELS[model]["length"]
    (our_mark, our_speed), (their_mark, their_speed) = (side.speed(tokens, limit) for side in (attentive, pytorch))
    # A quotient of two bounds is none, and of a bound of theirs a bound from below.
    mark = {("", "<"): ">", ("~", "<"): ">", ("<", "<"): "?"}.get((our_mark, their_mark), our_mark or their_mark)
    peaks = [attentive.peak, pytorch.peak]
    memory = " / ".join("–" if peak is None else f"{peak:.0f}" for peak in peaks)
    share = "–" if None in peaks else f"{peaks[0] / peaks[1]:.2f}"
    speeds = f"{our_mark}{our_speed:.0f}", f"{their_mark}{their_speed:.0f}", f"{mark}{our_speed / their_speed:.2f}"
    return f"{model:<7}{precision:<10}{speeds[0]:>10}{speeds[1]:>10}{speeds[2]:>8}{memory:>15} MB{share:>8}"


def main():
    options = arguments()
    work = workplace()
    work.mkdir(parents=True, exist_ok=True)
    interpreter, version = python(work)
    programs = {"attentive": [ours()], "pytorch": [interpreter, ROOT / "bench" / "peers" / "pytorch_step.py"]}
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}; {options.threads} threads; PyTorch {version}")
    print(f"{'model':<7}{'products':<10}{'attentive':>10}{'pytorch':>10}{'ratio':>8}{'memory':>18}{'ratio':>8}", flush=True)
    results = []
    for precision in options.precisions:
        for model in options.models:
            chosen = ["--model", model, "--steps", str(options.steps), "--threads", str(options.threads)]
            chosen += ["--bf16"] if precision == "bf16" else []
            sides = {name: Side() for name in programs}
            for _ in range(options.rounds):
                for name, program in programs.items():
                    sides[name].run([*map(str, program), *chosen], options.threads, options.limit)
            print(row(model, precision, sides["attentive"], sides["pytorch"], options.limit), flush=True)
            results.append(dict(model=model, precision=precision, sides={name: vars(side) for name, side in sides.items()}))
    print(LEGEND)
    record = dict(
        machine=machine(), date=time.strftime("%Y-%m-%d"), threads=options.threads, pytorch=version, results=results
    )
    (work / "results.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    sys.exit(main())
