#!/usr/bin/env python3
"""Compares what the program prints and computes with the golden set in `expected/`, byte by byte.

    golden.py check [--attentive BINARY] [--only NAME]...
    golden.py write [--attentive BINARY] [--only NAME]...

`check` prints what differs, and exits with status 1 if anything does. `write` replaces the golden set, which is done only on
purpose: the commit says what changed, and why. The set has these parts:

- `help/`: `--help` of every command; `man.sha256`: the manual pages
- `openapi.json`, `metrics.txt` (names, types and help), `console.sha256`: what a server says of itself
- `schema.json`, `reference.md`: the configuration
- `models/`: the outputs of all families, of the small models in `tests/fixtures`; pages by their SHA-256
- `equality.sha256`: weights, logs and outputs of the configurations in `scripts/equality` after 50 updates

All is computed with the instruction set `portable` and one thread, so that every machine gives the same bits. Standard library only.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXPECTED = HERE / "expected"
sys.path.insert(0, str(ROOT / "scripts" / "equality"))
import equality  # noqa: E402

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("ATTENTIVE_", "RUST_"))}
ENVIRONMENT |= {"ATTENTIVE_ISA": "portable", "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def output(binary, *arguments, cwd=ROOT, stdin=None):
    """What a command prints; it must succeed."""
    command = [str(binary), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, stdin=stdin or subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return done.stdout


def digest(content):
    return hashlib.sha256(content).hexdigest()


def subcommands(text):
    """The commands that a help page lists."""
    listed = text.partition("Commands:\n")[2].partition("\n\n")[0]
    names = re.findall(r"(?m)^  (\w[\w-]*) ", listed)
    return [name for name in names if name != "help"]


def helps(binary):
    """`--help` of the program, of its commands, and of theirs."""
    found, left = {}, [()]
    while left:
        command = left.pop()
        text = output(binary, *command, "--help")
        found[f"help/{'-'.join(('attentive', *command))}.txt"] = text
        left += [(*command, name) for name in subcommands(text.decode())]
    return found


def manual(binary):
    """The hashes of all manual pages."""
    with tempfile.TemporaryDirectory() as folder:
        output(binary, "man", folder)
        pages = sorted(Path(folder).rglob("*.1"))
        lines = [f"{digest(page.read_bytes())}  {page.name}\n" for page in pages]
    return {"man.sha256": "".join(lines).encode()}


def configuration(binary):
    return {
        "schema.json": output(binary, "config", "schema"),
        "reference.md": output(binary, "config", "reference"),
    }


def server(binary):
    """The description of the API, the names of the metrics, and the page."""
    model = ROOT / "tests/fixtures/runs/transformer-post/run"
    command = [str(binary), "serve", f"en-de={model}", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = process.stdout.readline().strip()

        def get(path):
            with urllib.request.urlopen(address + path, timeout=60) as response:
                return response.read()

        description = json.dumps(json.loads(get("/openapi.json")), indent=1, ensure_ascii=False) + "\n"
        about = [line for line in get("/metrics").decode().splitlines() if line.startswith("# ")]
        return {
            "openapi.json": description.encode(),
            "metrics.txt": "".join(f"{line}\n" for line in about).encode(),
            "console.sha256": f"{digest(get('/'))}\n".encode(),
        }
    finally:
        process.terminate()
        process.wait()


def models(binary):
    """The outputs of each fixture's commands, and a page of those that can be explained."""
    found = {}
    for commands in sorted(ROOT.glob("tests/fixtures/runs/*/commands")):
        name = f"models/{commands.parent.name}"
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder) / "work"
            shutil.copytree(commands.parent, work)
            for line in commands.read_text().splitlines():
                to, arguments = line.split(" ", 1)
                if to == "int8":
                    continue  # tests/it/stored.rs compares these to the bit
                text = output(binary, *arguments.split(), "--threads", "1", cwd=work).decode()
                found[f"{name}/{to}"] = equality.normalized(text).encode()
            explained = ["explain", "run", "1 2 3", "--output", "page.html", "--threads", "1"]
            done = subprocess.run([str(binary), *explained], cwd=work, env=ENVIRONMENT, capture_output=True)
            page = work / "page.html"
            what = digest(page.read_bytes()) if done.returncode == 0 else done.stderr.decode().splitlines()[0]
            found[f"{name}/page"] = f"{what}\n".encode()
    return found


def trained(binary):
    """The hashes of everything that the configurations of `scripts/equality` give."""
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        equality.run(binary, folder, 1, [])
        lines = []
        for run in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
            files = [*sorted(run.glob("*.out")), *sorted((run / "run").rglob("model.safetensors"))]
            parts = [(str(path.relative_to(folder)), path.read_bytes()) for path in files]
            log = json.dumps(equality.metrics(run / "run/metrics.jsonl"), sort_keys=True)
            parts.append((f"{run.name}/metrics", log.encode()))
            lines += [f"{digest(content)}  {name}\n" for name, content in parts]
    return {"equality.sha256": "".join(lines).encode()}


PARTS = {"help": helps, "man": manual, "config": configuration, "serve": server, "models": models, "equality": trained}


def differences(name, expected, found):
    """A few lines about what differs."""
    if expected is None or found is None:
        return [f"{name} is {'new' if expected is None else 'gone'}"]
    before, after = (text.decode(errors="replace").splitlines() for text in (expected, found))
    lines = list(difflib.unified_diff(before, after, name, name, lineterm="", n=0))
    return lines[:12] + ([f"… and {len(lines) - 12} more lines"] if len(lines) > 12 else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "write"])
    parser.add_argument("--attentive", type=Path, default=ROOT / "target/release/attentive", help="the program")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="parts of the set [default: all]")
    options = parser.parse_args()
    binary, wrong = options.attentive.resolve(), 0
    for part in options.only or PARTS:
        found = PARTS[part](binary)
        roots = {name.partition("/")[0] for name in found}
        kept = [path for root in roots for path in [EXPECTED / root, *(EXPECTED / root).rglob("*")] if path.is_file()]
        expected = {str(path.relative_to(EXPECTED)): path.read_bytes() for path in kept}
        if options.action == "write":
            for root in roots:
                shutil.rmtree(EXPECTED / root, ignore_errors=True)
            for name, content in found.items():
                (EXPECTED / name).parent.mkdir(parents=True, exist_ok=True)
                (EXPECTED / name).write_bytes(content)
            print(f"{part}: {len(found)} files written")
            continue
        names = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        print(f"{part}: {len(found) - len(names)} equal, {len(names)} different", flush=True)
        wrong += len(names)
        for name in names:
            print("\n".join(differences(name, expected.get(name), found.get(name))))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
