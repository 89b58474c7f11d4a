"""The Python package for Linux. `ziglang` links it against an old glibc, so that it runs on older systems than this one."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from program import ROOT

TOOLS = ["maturin==1.9.6", "ziglang==0.13.0.post1"]


def build(output):
    with tempfile.TemporaryDirectory() as folder:
        tools, wheels = Path(folder) / "tools", Path(folder) / "wheels"
        venv.create(tools, with_pip=True)
        python = tools / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS], check=True)
        command = [tools / "bin" / "maturin", "build", "--release", "--strip", "--locked", "--zig"]
        command += ["--compatibility", "manylinux2014", "--out", wheels]
        subprocess.run(command, cwd=ROOT / "python", check=True, env=with_path(tools / "bin"))
        (wheel,) = wheels.glob("*.whl")
        file = output / wheel.name
        file.write_bytes(wheel.read_bytes())
    return file


def with_path(folder):
    import os

    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHON": sys.executable}
