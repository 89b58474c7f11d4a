#!/usr/bin/env python3
"""Compares one process of two threads with two processes of one thread: speed, memory, time in exchanges.

    bench/scale/processes.py PROGRAM CONFIG [--set KEY=VALUE]... [--updates 40] [--rounds 3]

PROGRAM is `attentive`, built with `--features mpi`. Both compute the same updates, of two micro-batches, and end with the
same weights, which is checked. Rounds alternate. Speed is that of the updates after the first quarter, from `metrics.jsonl`;
memory is the peak of each process (VmHWM), read while it runs.
"""

import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def peaks(program, seen):
    """The peak memory of all running processes of the program, in MB."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "exe").resolve() != program:
                continue
            found = re.search(r"VmHWM:\s+(\d+) kB", (entry / "status").read_text())
        except OSError:
            continue
        if found:
            seen[entry.name] = max(seen.get(entry.name, 0), int(found[1]) / 1000)


def measure(program, launcher, threads, arguments, out):
    command = [*launcher, str(program), "train", arguments.config, "--output", str(out), "--threads", str(threads)]
    settings = ["train.micro_batches_per_update=2", f"train.max_steps={arguments.updates}", "train.log_every=1"]
    settings += ["train.validate_every=0", "train.best_by=loss", "train.patience=0", "train.save_every=1000000", *arguments.set]
    for setting in settings:
        command += ["--set", setting]
    running = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    memory = {}
    while running.poll() is None:
        peaks(program, memory)
        time.sleep(0.1)
    message = running.stderr.read()
    if running.returncode:
        sys.exit(message)
    steps = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    steps = [step for step in steps if step["kind"] == "step"][arguments.updates // 4 :]
    tokens = sum(step["tgt_tokens"] for step in steps)
    seconds = sum(step["tgt_tokens"] / step["tokens_per_second"] for step in steps)
    exchanged = re.search(r"(\d+) updates in (\d+) s, of which process 0 of \d+ spent ([\d.]+) s", message)
    share = float(exchanged[3]) / float(exchanged[2]) if exchanged else 0.0
    digest = hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
    return tokens / seconds, memory.values(), share, digest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("config")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    program = Path(arguments.program).resolve()
    kinds = {"1 process, 2 threads": ([], 2), "2 processes, 1 thread": (["mpirun", "-n", "2"], 1)}
    results = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            for kind, (launcher, threads) in kinds.items():
                out = Path(folder) / f"{number}-{threads}"
                results[kind].append(measure(program, launcher, threads, arguments, out))
    digests = {digest for rounds in results.values() for *_, digest in rounds}
    if len(digests) != 1:
        sys.exit("the weights differ")
    for kind, rounds in results.items():
        speeds = [speed for speed, *_ in rounds]
        memory = " + ".join(f"{peak:.0f}" for peak in sorted(rounds[-1][1]))
        exchanges = statistics.median(share for _, _, share, _ in rounds)
        print(
            f"{kind}: {statistics.median(speeds):.0f} tokens/s ({min(speeds):.0f} to {max(speeds):.0f}), "
            f"{memory} MB, {100 * exchanges:.0f} % of the time in exchanges"
        )
    first, second = (statistics.median(speed for speed, *_ in rounds) for rounds in results.values())
    print(f"ratio {second / first:.2f}, the same weights")


if __name__ == "__main__":
    main()
