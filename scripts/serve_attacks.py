#!/usr/bin/env python3
"""Attacks `attentive serve`, and measures what others notice of it:

    python3 scripts/serve_attacks.py
    python3 scripts/serve_attacks.py --model runs/multi30k --only attributes stops
    python3 scripts/serve_attacks.py --soak 10

Needs a release build of the program; trains three small models (a minute or two each) unless they are given. Each attack comes
from 127.0.0.1, at a lower priority than the others, and has a server of its own. Meanwhile a client at 127.0.0.2 translates a
line again and again, and an operator at 127.0.0.3 asks for `/health`. Prints the request, what came back, the memory above that of the idle server, and the longest wait
of both. Ends with a status other than 0 if the server ends, panics or answers others wrongly, if the memory exceeds 256 MiB, or a
wait 1 s (3 s where decoding itself takes that long) or, for `/health`, 100 ms. These are bounds for an idle machine; on a busy one
`--slack 5` multiplies the times.

`--soak MINUTES` then sends lines at twice the rate that the server can bear, from many addresses, with all attacks mixed in. No
request may be lost, each answer must be that of `attentive translate`, and the memory must stay flat.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time

import attack_models
from attacks import ATTACKS, Target
from serving import Failure, Server, check, program_of, table
from soak import LIMITS, soak
from watchers import CLIENT, OPERATOR, Memory, Watched

MEMORY, WAIT, WAIT_FOR_DECODING, WAIT_FOR_HEALTH = 256, 1.0, 3.0, 0.1
HEAD = ["request", "came back", "memory above idle, MiB", "longest wait of another client, s", "of `/health`, ms", "s"]
LINE = attack_models.lines()[7]


class Quiet(Server):
    """A server with the limits that it has by default, and whose first answer is to a line of ours."""

    def __init__(self, options, models, limits=""):
        super().__init__(options.attentive, models, limits=limits, line=LINE)


def attacked(function, target):
    """What comes back from an attack. Attackers have computers of their own, so they leave this one to the others."""

    def run():
        # Threads that it starts have the same priority.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        return function(target)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def tried(name, options, models):
    """The row of an attack, and what is wrong."""
    what, function, decodes = ATTACKS[name]
    wrong = []
    with Quiet(options, models) as server:
        watched = Watched(server, LINE)
        # What they need belongs to an idle server.
        time.sleep(1)
        memory, started = Memory(server.process.pid), time.monotonic()
        try:
            came = attacked(function, Target(server.port))
        except AssertionError as error:
            came = str(error)
            wrong.append(came)
        # What an attack leaves behind counts, too.
        time.sleep(2)
        took = time.monotonic() - started
        found = watched.end()
        peak = memory.peak()
        if (status := server.process.poll()) is not None:
            return [what, came, "-", "-", "-", f"{took:.0f}"], [f"the server has ended with {status}"]
        waits = {source: longest for source, (_, longest, _) in found.items()}
        for source, (_, _, faults) in found.items():
            wrong += [f"{source}: {len(faults)} faults, first {faults[0]}"] if faults else []
        wrong += [f"panic: {line}" for line in server.panics()[:1]]
        for what_is, value, most in [
            ("MiB", peak, MEMORY),
            ("s of another client", waits[CLIENT], options.slack * (WAIT_FOR_DECODING if decodes else WAIT)),
            ("s of `/health`", waits[OPERATOR], options.slack * WAIT_FOR_HEALTH),
        ]:
            wrong += [f"{value:.2f} {what_is}, at most {most:g}"] if value > most else []
        with contextlib.suppress(OSError):
            server.process.kill()
    return [what, came, f"{peak:.0f}", f"{waits[CLIENT]:.2f}", f"{1000 * waits[OPERATOR]:.0f}", f"{took:.0f}"], wrong


def logged(options, models):
    """A server whose log is a full disk or a closed pipe translates, and ends as it should."""
    rows = []
    for what, log in [("a full disk", open("/dev/full", "wb")), ("a closed pipe", None)]:
        command = [options.attentive, "serve", f"en-de={models['en-de']}", "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log or subprocess.PIPE, text=True, start_new_session=True
        )
        if log is None:
            process.stderr.close()
        url = process.stdout.readline().strip()
        server = Server.__new__(Server)
        server.url, server.process, server.log = url, process, pathlib.Path("/dev/null")
        try:
            server.wait_until_ready()
            answers = {server.translate(LINE, 20) for _ in range(20)}
            check(len(answers) == 1, f"a log on {what}: {answers}")
            process.terminate()
            status = process.wait(60)
            check(status == 0, f"a log on {what}: ends with {status}")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(f"a log on {what}: {error}") from error
        finally:
            process.kill()
            process.wait()
        rows.append([f"a log on {what}", "answers, and ends with 0"])
    return rows


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program_of(parser)
    parser.set_defaults(model=None)
    parser.add_argument("--language-model", type=pathlib.Path, help="a language model [default: a small one is trained]")
    parser.add_argument("--masked-model", type=pathlib.Path, help="a model that fills gaps [default: a small one is trained]")
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--work", type=pathlib.Path, default=root / "target" / "serve" / "attacks", help="where models are kept")
    parser.add_argument("--only", nargs="+", choices=[*ATTACKS, "logs"], default=[*ATTACKS, "logs"])
    parser.add_argument("--slack", type=float, default=1, help="factor of all bounds of times, for a busy machine")
    parser.add_argument("--soak", type=float, default=0, help="minutes at twice the capacity, with all attacks mixed in")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    options = arguments()
    models = attack_models.models(options)
    failed, rows = {}, []
    for name in options.only if not options.soak else []:
        try:
            if name == "logs":
                rows += [[*row, "", "", "", ""] for row in logged(options, models)]
                continue
            row, wrong = tried(name, options, models)
            rows.append(row)
        except Failure as failure:
            wrong = [str(failure)]
        if wrong:
            failed[name] = wrong
        print(f"{name}: {'; '.join(wrong) or 'well'}", file=sys.stderr, flush=True)
    if rows:
        table(HEAD, rows)
    if options.soak:
        try:
            with Quiet(options, models, LIMITS) as server:
                rows, wrong = soak(server, options, models)
                table(["what", "found"], rows)
                failed |= {"soak": wrong} if wrong else {}
        except Failure as failure:
            failed["soak"] = [str(failure)]
    for name, wrong in failed.items():
        print(f"FAILED: {name}: {'; '.join(wrong)}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
