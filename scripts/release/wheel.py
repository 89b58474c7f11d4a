"""The Python package for Linux. `ziglang` links it against an old glibc, so that it runs on older systems than this one."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from dependencies import Dependencies
from program import ROOT

TOOLS = ["maturin==1.9.6", "wheel==0.45.1", "ziglang==0.13.0.post1"]


def build(target, output):
    with tempfile.TemporaryDirectory() as folder:
        tools, wheels, unpacked = (Path(folder) / name for name in ["tools", "wheels", "unpacked"])
        venv.create(tools, with_pip=True)
        python = tools / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS], check=True)
        command = [tools / "bin" / "maturin", "build", "--release", "--strip", "--locked", "--zig"]
        command += ["--target", target.standard]
        command += ["--compatibility", "manylinux2014", "--out", wheels]
        subprocess.run(command, cwd=ROOT / "python", check=True, env=with_path(tools / "bin"))
        # maturin adds the list of the dependencies, but not their licenses.
        (wheel,) = wheels.glob("*.whl")
        subprocess.run([python, "-m", "wheel", "unpack", "--dest", unpacked, wheel], check=True)
        (root,) = unpacked.iterdir()
        (information,) = root.glob("*.dist-info")
        licenses = information / "licenses"
        licenses.mkdir(exist_ok=True)
        dependencies = Dependencies.of(ROOT / "python" / "Cargo.toml", target.standard)
        (licenses / "LICENSES-OF-DEPENDENCIES.txt").write_text(dependencies.licenses())
        for name in ["LICENSE-MIT", "LICENSE-APACHE"]:
            (licenses / name).write_bytes((ROOT / name).read_bytes())
        subprocess.run([python, "-m", "wheel", "pack", "--dest-dir", output, root], check=True)
        return output / wheel.name


def with_path(folder):
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHON": sys.executable}
