"""What the comparisons share: the folder they work in, virtual environments, the machine, and memory."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The models of `attentive bench`.
MODELS_FILE = ROOT / "crates" / "cli" / "src" / "commands" / "bench" / "models.json"

# Sentences per batch and tokens per sentence with `attentive bench --quick`.
QUICK = 4

VERSIONS = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"


def target():
    """Cargo's target directory."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(json.loads(found.stdout)["target_directory"])


def python(folder, packages, *options):
    """The Python of the virtual environment `folder`, which is made if necessary, with `packages`, a dictionary from names to
    versions; and their installed versions. `options` are passed to pip."""
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not interpreter.exists():
        venv.create(folder, with_pip=True)
    if [version.partition("+")[0] for version in versions(interpreter, packages)] != list(packages.values()):
        wanted = [f"{name}=={version}" for name, version in packages.items()]
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *wanted, *options], check=True)
    return interpreter, versions(interpreter, packages)


def versions(interpreter, packages):
    """The installed versions of `packages`; empty if one is missing."""
    command = [interpreter, "-c", VERSIONS, *packages]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()


def gpu(program):
    """The name and the driver of the GPU that `attentive --device gpu` uses."""
    found = json.loads(subprocess.run([program, "devices", "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    if not found["gpus"]:
        sys.exit("`attentive devices` lists no GPU")
    first = found["gpus"][0]
    return f"{first['name']}, {first['backend']}, driver {first['driver']}"


def high_water_mark(pid):
    """The peak resident memory of the process in MB, `None` if the system does not report it."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else None


def machine(instructions):
    """The CPU's name, the number of CPUs, and those of `instructions` that it has."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    name = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    flags = [flag for flag in instructions if re.search(rf"\b{flag}\b", text)]
    return f"{name[1] if name else platform.machine()}, {os.cpu_count()} CPUs, {' '.join(flags)}"
