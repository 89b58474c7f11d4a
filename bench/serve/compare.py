#!/usr/bin/env python3
"""Compares `attentive serve` with CTranslate2 behind FastAPI and uvicorn on this machine, with the same weights:

    python3 bench/serve/compare.py --attentive target/release/attentive --model runs/multi30k

Needs Python 3.11, a release build of the program, a model trained with configs/multi30k.toml, and Multi30k's test set. Builds
the clients (load/, the example `serve_load`), sets up the peer in a virtual environment (target/peers/ctranslate2), converts the
model, prints Markdown tables and writes every measurement to target/serve/compare.jsonl. Several minutes; `--quick` takes fewer
seconds and one round.

Clients, server and models share one machine; the clients take little of it (CPU time is recorded). First, clients that wait for
each answer before they ask again, from 1 to 256 of them: one gives the time of a lone request, and 16 and more the capacity, as
the median of their rates, since the best of several rates would be the one that the machine favored.
Then requests that arrive at random moments (a Poisson process) at 0.5, 0.8, 1 and 2 times the server's own capacity, whether or
not earlier ones have been answered; a latency counts from the arrival. Both servers have the same queue, and refuse what does
not fit into it. Each answer is compared with that of `attentive translate` for the line, the peer's with its own answer to the
line alone: with other sentences beside it, CTranslate2 may round in another way, so a few differ.

The servers run in alternation, in a new process each round; a number is the median over the rounds. The peer gets its best
setting: workers × threads and the largest batch are tried first. Both search alike (length penalty, limit of the length, width
of the beam). Memory is resident memory; `--soak 600` adds ten minutes at 0.8 times the capacity. Run it on an idle machine.
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

import workloads  # noqa: E402
from common import ROOT, machine, python, target  # noqa: E402
from programs import Attentive, CTranslate2, measure  # noqa: E402
from servers import AttentiveServer, PeerServer  # noqa: E402

PACKAGES = {
    "ctranslate2": "4.8.5",
    "numpy": "2.4.6",
    "safetensors": "0.8.0",
    "tokenizers": "0.23.3",
    "fastapi": "0.165.0",
    "uvicorn": "0.54.0",
    "uvloop": "0.23.0",
    "httptools": "0.9.0",
}
INSTRUCTIONS = ["avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"]
CLIENTS = [1, 4, 16, 64, 256]
SHARES = [0.5, 0.8, 1.0, 2.0]
# With random arrivals: more than can wait, so that whatever arrives is sent at once.
CONNECTIONS = 700
TIMEOUT = 30


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, help="the program [default: target/release/attentive]")
    parser.add_argument("--clients-program", type=pathlib.Path, help="a build of the example serve_load [default: built first]")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "runs" / "multi30k", help="the trained model")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "multi30k")
    parser.add_argument("--models", nargs="+", choices=["tiny", "base"], default=["tiny"])
    parser.add_argument("--precisions", nargs="+", choices=["f32", "int8"], default=["f32", "int8"])
    parser.add_argument("--beams", nargs="+", type=int, default=[5])
    parser.add_argument("--servers", nargs="+", choices=["attentive", "ctranslate2"], default=["attentive", "ctranslate2"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="time of each measurement")
    parser.add_argument("--threads", type=int, default=2, help="the most that either server computes with")
    parser.add_argument("--queue", type=int, default=512, help="the most sentences that wait")
    parser.add_argument("--soak", type=float, default=0, help="seconds at 0.8 times the capacity, for memory")
    parser.add_argument("--quick", action="store_true", help="one round of short measurements, without a sweep")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, min(options.seconds, 5)
    return options


def table(head, rows):
    """Prints a Markdown table."""
    for cells in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(map(str, cells)) + " |")
    print(flush=True)


def number(value, digits=0):
    return "–" if value is None else f"{value:.{digits}f}"


def at(found, *path):
    """The value at a path of keys; `None` if there is none."""
    for key in path:
        found = found and found.get(key)
    return found


def median(runs, *path):
    values = [value for value in (at(run, *path) for run in runs) if value is not None]
    return statistics.median(values) if values else None


def total(runs, key):
    values = [sum(run[key].values()) if key == "failed" else run[key] for run in runs]
    return sum(values)


class Case:
    """A model at a precision, searched with a beam: what both servers serve."""

    def __init__(self, comparison, workload, precision, beam):
        self.workload, self.precision, self.beam = workload, precision, beam
        self.name = f"{workload.name} {precision}, beam {beam}"
        work = comparison.work
        self.lines = work / f"{workload.name}.lines.txt"
        self.lines.write_text("".join(f"{line}\n" for line in workload.lines), encoding="utf-8")
        # Answers to each line, by server.
        self.expected = {}
        # The model's own search options are those of its server.
        self.folder = work / f"{workload.name}-{precision}-beam{beam}"
        self.folder.mkdir(exist_ok=True)
        for path in workload.models[precision].iterdir():
            linked = self.folder / path.name
            linked.unlink(missing_ok=True)
            if path.name == "config.toml":
                config = path.read_text(encoding="utf-8")
                config = re.sub(r"(?m)^beam_width = .*\n|^length_penalty(_formula)? = .*\n", "", config)
                search = f'[decode]\nbeam_width = {beam}\nlength_penalty_formula = "length"\nlength_penalty = 0.6\n'
                linked.write_text(config.replace("[decode]\n", search), encoding="utf-8")
            elif path.name == "provenance.json":
                linked.write_text(workloads.without_checksum(path), encoding="utf-8")
            elif path.is_file():
                os.link(path, linked)


class Comparison:
    """Both servers, what they serve, and what was measured."""

    def __init__(self, options, work, interpreter, load, log):
        self.options, self.work, self.load, self.log = options, work, load, log
        ours, theirs = Attentive(options.attentive, work), CTranslate2(interpreter, work)
        self.servers = [AttentiveServer(options), PeerServer(options, interpreter, theirs)]
        self.servers = [server for server in self.servers if server.name in options.servers]
        self.cases = []
        for name in options.models:
            made = (
                workloads.tiny(options.model.resolve(), options.data, work)
                if name == "tiny"
                else workloads.base(options.attentive, work)
            )
            for precision in options.precisions:
                made.models[precision] = ours.convert(made, precision)
                theirs.convert(made, precision)
                self.cases += [Case(self, made, precision, beam) for beam in options.beams]

    def expect(self, case, server, running):
        """Finds the right answers of the server."""
        if server.name in case.expected:
            return
        path = self.work / f"{case.folder.name}.{server.name}.txt"
        if server.name == "attentive":
            command = [self.options.attentive, "translate", case.folder, "--precision", case.precision, case.lines]
            path.write_text(measure(command, stdout=subprocess.PIPE).written, encoding="utf-8")
        else:
            self.send(case, running, "--record", path)
        case.expected[server.name] = path

    def send(self, case, running, *more):
        """What the clients measured."""
        command = [self.load, f"{running.url}/translate", "--lines", case.lines, "--pid", running.pid, *more]
        return json.loads(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout)

    def measure(self, kind, case, server, running, *more, seconds=None):
        """Runs the clients and writes down what they measured."""
        self.expect(case, server, running)
        seconds = seconds or self.options.seconds
        times = ["--seconds", seconds, "--warm-up", min(2, seconds / 4), "--timeout", TIMEOUT]
        found = self.send(case, running, "--expected", case.expected[server.name], *times, *more)
        facts = dict(case=case.name, server=server.name, setting=str(running.setting), load=os.getloadavg()[0])
        self.log.write(json.dumps(dict(kind=kind, **facts, **found)) + "\n")
        self.log.flush()
        return found

    def sweep(self):
        """Chooses the setting of each server for each case."""
        chosen, rows = {}, []
        for case in self.cases:
            for server in self.servers:
                settings = server.settings(self.options.threads)
                tried = {}
                for setting in settings[:1] if self.options.quick else settings:
                    if len(settings) > 1 and not self.options.quick:
                        with server.start(case, setting) as running:
                            found = self.measure(
                                "sweep", case, server, running, "--clients", 64, seconds=self.options.seconds / 2
                            )
                            tried[setting] = found["throughput"]
                    else:
                        tried[setting] = 0
                chosen[case, server] = max(tried, key=tried.get)
                if len(tried) > 1:
                    rows.append([case.name, server.name, ", ".join(f"{key}: {rate:.0f}" for key, rate in tried.items())])
        if rows:
            print("Settings that were tried, in sentences per second with 64 clients\n")
            table(["case", "server", "settings"], rows)
        return chosen

    def rounds(self, chosen):
        """Measures every case in every round."""
        closed, opened, capacity = {}, {}, {}
        for round_number in range(self.options.rounds):
            for case in self.cases:
                for server in self.servers if round_number % 2 == 0 else self.servers[::-1]:
                    with server.start(case, chosen[case, server]) as running:
                        for clients in CLIENTS:
                            found = self.measure("closed", case, server, running, "--clients", clients)
                            closed.setdefault((case, server, clients), []).append(found)
                        many = [median(closed[case, server, clients], "throughput") for clients in CLIENTS if clients >= 16]
                        # The first round decides, so that the rates are the same in all.
                        rate = capacity.setdefault((case, server), statistics.median(many))
                        for share in SHARES:
                            options = ["--clients", CONNECTIONS, "--rate", share * rate, "--seed", round_number + 1]
                            found = self.measure("open", case, server, running, *options)
                            opened.setdefault((case, server, share), []).append(found)
        return closed, opened, capacity

    def print_closed(self, closed):
        print("Clients that wait for their answers\n")
        rows = []
        for case in self.cases:
            for clients in CLIENTS:
                runs = [closed.get((case, server, clients), []) for server in self.servers]
                rates = [median(each, "throughput") for each in runs]
                cells = [number(rate, 1) for rate in rates]
                if len(rates) == 2:
                    cells.append(f"{rates[0] / rates[1]:.2f}")
                for each in runs:
                    cells += [number(median(each, "latency", key)) for key in ("p50", "p99")]
                rows.append([case.name, clients, *cells])
        names = [server.name for server in self.servers]
        ratio = ["ratio"] if len(names) == 2 else []
        times = [f"{name}: {key} ms" for name in names for key in ("p50", "p99")]
        table(["case", "clients", *(f"{name}: sentences/s" for name in names), *ratio, *times], rows)

    def print_open(self, closed, opened, capacity):
        print("Requests that arrive at random moments, and refusals within the time-out\n")
        rows = []
        for case in self.cases:
            for server in self.servers:
                lone = median(closed[case, server, 1], "latency", "p99")
                for share in SHARES:
                    runs = opened[case, server, share]
                    latencies = [median(runs, "latency", key) for key in ("p50", "p99")]
                    cells = [number(share * capacity[case, server], 1), number(median(runs, "throughput"), 1)]
                    cells += [*map(number, latencies), number(latencies[1] and latencies[1] / lone, 1)]
                    refused = [total(runs, "refused"), number(median(runs, "latency_of_refusals", "p99"))]
                    bad = [total(runs, key) for key in ("wrong", "unanswered", "failed")]
                    rows.append([case.name, server.name, share, *cells, total(runs, "sent"), *refused, *bad])
        times = ["arrivals/s", "answers/s", "p50 ms", "p99 ms", "p99 / p99 of a lone request"]
        counts = ["sent", "refused", "p99 ms of refusals", "wrong", "unanswered", "failed"]
        table(["case", "server", "× capacity", *times, *counts], rows)

    def print_costs(self, opened):
        print("CPU time per request at 0.8 times the capacity, and memory\n")
        rows = []
        for case in self.cases:
            for server in self.servers:
                runs = opened[case, server, 0.8]
                per_request = [1000 * run["cpu"] / max(run["right"], 1) for run in runs]
                clients = [1000 * run["cpu_of_clients"] / max(run["sent"], 1) for run in runs]
                most = max(run["memory"]["most"] or 0 for run in opened[case, server, 2.0])
                rows.append(
                    [
                        case.name,
                        server.name,
                        number(statistics.median(per_request), 2),
                        number(statistics.median(clients), 2),
                        number(most),
                    ]
                )
        table(["case", "server", "CPU ms", "CPU ms of the clients", "MB"], rows)

    def soak(self, chosen, capacity):
        """Memory over a long time."""
        rows = []
        for case in self.cases:
            for server in self.servers:
                with server.start(case, chosen[case, server]) as running:
                    options = ["--clients", CONNECTIONS, "--rate", 0.8 * capacity[case, server]]
                    found = self.measure("soak", case, server, running, *options, seconds=self.options.soak)
                memory = found["memory"]
                change = memory["minute"] and f"{100 * (memory['end'] / memory['minute'] - 1):+.1f} %"
                sizes = [number(memory[key], 1) for key in ("start", "minute", "end", "most")]
                rows.append([case.name, server.name, found["sent"], *sizes, change])
        print(f"Memory in MB over {self.options.soak:.0f} seconds at 0.8 times the capacity\n")
        table(["case", "server", "requests", "start", "after 1 minute", "end", "most", "change since minute 1"], rows)


def main():
    options = arguments()
    cargo_target = target()
    options.attentive = (options.attentive or cargo_target / "release" / "attentive").resolve()
    if not options.attentive.exists():
        sys.exit(f"no program {options.attentive}: run `cargo build --release`, or name one with --attentive")
    work = cargo_target / "serve"
    work.mkdir(parents=True, exist_ok=True)
    interpreter, installed = python(cargo_target / "peers" / "ctranslate2", PACKAGES)
    load = options.clients_program
    if load is None:
        subprocess.run(["cargo", "build", "--release", "--example", "serve_load"], cwd=ROOT, check=True)
        load = cargo_target / "release" / "examples" / "serve_load"
    version = subprocess.run([options.attentive, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    packages = [f"{name} {found}" for name, found in zip(PACKAGES, installed)]
    facts = [machine(INSTRUCTIONS), time.strftime("%Y-%m-%d"), version, *packages, f"Python {platform.python_version()}"]
    print("; ".join(facts) + "\n", flush=True)
    with (work / "compare.jsonl").open("w", encoding="utf-8") as log:
        log.write(json.dumps(dict(kind="environment", facts=facts, load=os.getloadavg())) + "\n")
        comparison = Comparison(options, work, interpreter, load, log)
        chosen = comparison.sweep()
        closed, opened, capacity = comparison.rounds(chosen)
        comparison.print_closed(closed)
        comparison.print_open(closed, opened, capacity)
        comparison.print_costs(opened)
        if options.soak:
            comparison.soak(chosen, capacity)
    print("Load of the machine at the end: " + " ".join(f"{load:.2f}" for load in os.getloadavg()))


if __name__ == "__main__":
    sys.exit(main())
