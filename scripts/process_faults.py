#!/usr/bin/env python3
"""Kills and stops processes of a training run under MPI, at random, and checks what is left.

    scripts/process_faults.py PROGRAM [--kills 100] [--processes 2 4]

PROGRAM is `attentive`, built with `--features mpi`. First, one process trains without disturbance. Then a run is
started with some processes, one of which is killed after a random time, again and again, with `--resume`, until it is
finished. After every kill:

- all processes have ended, with an exit code that is not 0, and the launcher's message names the killed process;
- the last checkpoint can be resumed.

At the end the weights are those of the undisturbed run, to the bit. Last, a process is stopped (SIGSTOP), and the disk
of the first process is full; each has its message.
"""

import argparse
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = """
[model]
d_model = 64
d_ff = 128
n_heads = 4
n_encoder_layers = 1
n_decoder_layers = 1
max_len = 32
dropout = 0.1
[data]
max_len = 32
train = { builtin = "grammar", pairs = 2000 }
valid = { builtin = "grammar", pairs = 50 }
[tokenizer]
kind = "word"
[train]
max_steps = STEPS
micro_batches_per_update = 4
batch_tokens = 512
validate_every = 50
validate_sentences = 10
save_every = 5
keep_last = 2
schedule = { warmup_steps = 20 }
"""
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def command(program, n, config, out, *more):
    launcher = ["mpirun", "-n", str(n)] if n > 1 else []
    train = [program, "train", str(config), "--output", str(out), "--threads", "1", "--resume"]
    return launcher + train + list(more)


def children(launcher):
    """The processes of the program, by their number."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError, ValueError):
            continue
        if parent != launcher:
            continue
        for variable in variables:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(variable.split(b"=")[1])] = int(entry.name)
    return found


def weights(out):
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()


def start(*arguments):
    return subprocess.Popen(
        command(*arguments), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def interfere(running, n, chosen, with_signal, after):
    """Sends the signal to one of the processes after some seconds; returns its PID, or None if the run had ended."""
    deadline = time.time() + after
    while time.time() < deadline and running.poll() is None:
        time.sleep(0.005)
    processes = children(running.pid)
    if running.poll() is not None or chosen not in processes:
        return None
    os.kill(processes[chosen], with_signal)
    return processes[chosen]


def kills(program, config, folder, counts, n_kills, steps):
    alone = folder / "alone"
    begin = time.time()
    subprocess.run(command(program, 1, config, alone), env=ENVIRONMENT, check=True, capture_output=True)
    print(f"one process, undisturbed: {time.time() - begin:.1f} s", flush=True)
    out, done, finished, slowest = folder / "killed", 0, 0, 0.0
    while done < n_kills:
        n = random.choice(counts)
        running = start(program, n, config, out)
        chosen = random.randrange(n)
        killed = interfere(running, n, chosen, signal.SIGKILL, random.uniform(0.3, 4))
        begin = time.time()
        message = running.communicate(timeout=60)[1]
        if killed is None:
            if running.returncode:
                sys.exit(f"undisturbed, but it failed:\n{message}")
        else:
            done += 1
            slowest = max(slowest, time.time() - begin)
            named = re.search(rf"process rank {chosen} with PID \d+ on node \S+ exited on signal 9", message)
            if running.returncode == 0 or not named:
                sys.exit(f"exit code {running.returncode}, process {chosen} was killed:\n{message}")
            if done % 10 == 0:
                print(f"{done} kills, the slowest end after {slowest:.2f} s; finished {finished} times", flush=True)
        if running.returncode == 0:
            finished += 1
            if weights(out) != weights(alone):
                sys.exit("the weights differ from those of the undisturbed run")
            subprocess.run(["rm", "-r", str(out)], check=True)
    n = counts[-1]
    subprocess.run(command(program, n, config, out), env=ENVIRONMENT, check=True, capture_output=True)
    if weights(out) != weights(alone):
        sys.exit("the weights differ from those of the undisturbed run")
    print(f"{done} kills: all ended within {slowest:.2f} s, each named; {finished + 1} finished runs have the same weights")


def stopped(program, config, folder, n):
    running = start(program, n, config, folder / "stopped", "--process-timeout", "3")
    chosen = n - 1
    pid = interfere(running, n, chosen, signal.SIGSTOP, 1.5)
    begin = time.time()
    message = running.communicate(timeout=60)[1]
    expected = f"no answer from process {chosen} (PID {pid} on "
    if expected not in message or running.returncode == 0:
        sys.exit(f"exit code {running.returncode}, expected {expected!r}:\n{message}")
    line = next(line for line in message.splitlines() if expected in line)
    print(f"SIGSTOP to process {chosen}: ended after {time.time() - begin:.1f} s: {line}")


def full_disk(program, config, folder, n):
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        print("full disk: not tried, as a small disk could not be mounted")
        return
    try:
        running = start(program, n, config, disk / "run")
        message = running.communicate(timeout=120)[1]
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    errors = [line for line in message.splitlines() if line.startswith("error:")]
    if running.returncode == 0 or len(errors) != 1 or "the disk is full" not in errors[0]:
        sys.exit(f"exit code {running.returncode}:\n{message}")
    print(f"full disk: {errors[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        config = folder / "config.toml"
        config.write_text(CONFIG.replace("STEPS", str(arguments.steps)))
        most = max(arguments.processes)
        stopped(arguments.program, config, folder, most)
        full_disk(arguments.program, config, folder, most)
        kills(arguments.program, config, folder, arguments.processes, arguments.kills, arguments.steps)


if __name__ == "__main__":
    main()
