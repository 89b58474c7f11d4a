#!/usr/bin/env python3
"""Lists the direct dependencies of the program with what they cost: the number of crates that would be gone without them, and
the processor time of compiling these crates.

    scripts/dependencies.py

It builds the program in a new folder, which takes minutes. Processor time, unlike the times of `cargo build --timings`, does
not depend on what else the machine does. The table in docs/development/dependencies.md is from here."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

LOG = "ATTENTIVE_COMPILER_LOG"


def compile_and_log(command):
    """Runs a compiler in place of cargo or of a build script, and logs the package and the processor time."""
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    _, status, usage = os.wait4(child, 0)
    package = [os.environ.get(f"CARGO_PKG_{part}", "") for part in ("NAME", "VERSION")]
    with open(os.environ[LOG], "a") as log:
        log.write(json.dumps([" v".join(package), usage.ru_utime + usage.ru_stime]) + "\n")
    return os.waitstatus_to_exitcode(status)


def build():
    """The seconds of each package."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        this = os.path.abspath(__file__)
        names = {"RUSTC_WRAPPER": this, "CC": this, "CARGO_TARGET_DIR": folder, LOG: log}
        subprocess.run(["cargo", "build", "--release"], env=os.environ | names, check=True)
        seconds = collections.Counter()
        with open(log) as lines:
            for package, time in map(json.loads, lines):
                seconds[package] += time
        return seconds


def tree(*options):
    """The packages that each package needs, and those of the workspace."""
    command = ["cargo", "tree", "--prefix=depth", "--no-dedupe", "--format= {p}", *options]
    needs, above, own = collections.defaultdict(set), [], set()
    for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines():
        depth, package, folder = re.match(r"(\d+) (\S+ \S+)(?: \(proc-macro\))?( \(/.*\))?", line).groups()
        above = above[: int(depth)] + [package]
        needs[package] |= set()
        if len(above) > 1:
            needs[above[-2]].add(package)
        if folder:
            own.add(package)
    return needs, own


def reached(needs, own, without=None):
    """The packages that the workspace needs if it does not use `without` itself."""
    found, left = set(), [package for package in own]
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            left += [other for other in needs[package] if not (package in own and other == without)]
    return found


def main():
    if LOG in os.environ:
        arguments = sys.argv[1:]
        is_rustc = bool(arguments) and os.path.basename(arguments[0]).startswith(("rustc", "clippy-driver"))
        sys.exit(compile_and_log(arguments if is_rustc else ["cc", *arguments]))
    needs, own = tree("--edges=normal,build")
    seconds = build()
    everything = reached(needs, own)
    rows = []
    for package in set().union(*(needs[one] for one in own)) - own:
        alone = everything - reached(needs, own, package)
        rows.append((sum(seconds[one] for one in alone), seconds[package], len(alone), package))
    print("package\tcrates alone\tseconds of these\tseconds of the package")
    for of_alone, of_package, count, package in sorted(rows, reverse=True):
        print(f"{package}\t{count}\t{of_alone:.1f}\t{of_package:.1f}")
    others = everything - own
    print(f"all {len(others)} dependencies\t\t{sum(seconds[one] for one in others):.1f}")
    print(f"the {len(own)} crates of the workspace\t\t{sum(seconds[one] for one in own):.1f}")


if __name__ == "__main__":
    main()
