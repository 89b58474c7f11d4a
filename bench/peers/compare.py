#!/usr/bin/env python3
"""Compares training steps of Attentive and PyTorch on this machine: python3 bench/peers/compare.py

Sets up PyTorch in a virtual environment (target/peers), builds examples/training_step.rs, and runs both programs in turn,
each round in processes of their own, so that whatever else the machine does meets both. Prints target tokens per second
(the median over all rounds' steps but the first of each process), the ratio, and the peak of memory, and writes every
step's time to target/peers/results.json.
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
WORK = ROOT / "target" / "peers"
TORCH = "torch==2.15.0"

MODELS = {
    "tiny": dict(d_model=128, d_ff=256, n_heads=4, n_layers=4, vocab=10000, batch=128, length=32, dropout=0.3),
    "small": dict(d_model=256, d_ff=1024, n_heads=4, n_layers=3, vocab=8000, batch=64, length=32, dropout=0.1),
    "base": dict(d_model=512, d_ff=2048, n_heads=8, n_layers=6, vocab=32000, batch=32, length=32, dropout=0.1),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--precisions", nargs="+", choices=["f32", "bf16"], default=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="a process")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a process is stopped")
    return parser.parse_args()


def python():
    """The virtual environment's Python, with PyTorch installed."""
    interpreter = WORK / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not interpreter.exists():
        venv.create(WORK / "venv", with_pip=True)
    known = subprocess.run([interpreter, "-c", "import torch"], capture_output=True)
    if known.returncode != 0:
        index = ["--extra-index-url", "https://download.pytorch.org/whl/cpu"]
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", TORCH, "numpy", *index], check=True)
    return interpreter


def ours():
    """The built example."""
    subprocess.run(["cargo", "build", "--release", "--example", "training_step"], cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "examples" / "training_step"


def run(command, limit):
    """Seconds of every step but the first, and the peak of memory in MB. A process past `limit` is stopped."""
    environment = dict(os.environ, OMP_NUM_THREADS=command[-1])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    start, peak = time.monotonic(), 0
    while process.poll() is None and time.monotonic() - start < limit:
        peak = max(peak, high_water_mark(process.pid))
        time.sleep(0.02)
    process.kill()
    text, _ = process.communicate()
    seconds = [float(found) for found in re.findall(r"^([\d.]+) s, loss", text, re.MULTILINE)]
    if not seconds:
        # Not even one step: all that is known is that a step takes longer.
        seconds = [limit]
    return seconds[1:] or seconds, peak


def high_water_mark(pid):
    """The process's peak of resident memory in MB, 0 where the system does not tell."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0


def machine():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    name = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if re.search(rf"\b{flag}\b", text)]
    return f"{name[1] if name else platform.machine()}, {os.cpu_count()} CPUs, {' '.join(flags)}"


def main():
    options = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    programs = {"attentive": [ours()], "pytorch": [python(), ROOT / "bench" / "peers" / "pytorch_step.py"]}
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}; {options.threads} threads; {TORCH}")
    print(f"{'model':<7}{'products':<10}{'attentive':>10}{'pytorch':>10}{'ratio':>8}{'memory':>18}{'ratio':>8}", flush=True)
    results = []
    for precision in options.precisions:
        for model in options.models:
            sizes = [text for name, value in MODELS[model].items() for text in ("--" + name.replace("_", "-"), str(value))]
            sizes += ["--bf16"] if precision == "bf16" else []
            sizes += ["--steps", str(options.steps), "--threads", str(options.threads)]
            seconds = {name: [] for name in programs}
            peaks = {name: 0 for name in programs}
            for _ in range(options.rounds):
                for name, program in programs.items():
                    times, peak = run([*map(str, program), *sizes], options.limit)
                    seconds[name] += times
                    peaks[name] = max(peaks[name], peak)
            tokens = MODELS[model]["batch"] * MODELS[model]["length"]
            speed = {name: tokens / statistics.median(times) for name, times in seconds.items()}
            print(
                f"{model:<7}{precision:<10}{speed['attentive']:>10.0f}{speed['pytorch']:>10.0f}"
                f"{speed['attentive'] / speed['pytorch']:>8.2f}"
                f"{peaks['attentive']:>8.0f} / {peaks['pytorch']:.0f} MB"
                f"{peaks['attentive'] / max(peaks['pytorch'], 1):>8.2f}",
                flush=True,
            )
            results.append(dict(model=model, precision=precision, seconds=seconds, peak_mb=peaks))
    record = dict(machine=machine(), date=time.strftime("%Y-%m-%d"), threads=options.threads, results=results)
    (WORK / "results.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    sys.exit(main())
