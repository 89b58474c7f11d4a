"""The systems for which packages are built: what compiles for them, and what runs their programs here."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from shutil import which


@dataclass(frozen=True)
class Target:
    """A system, by Rust's name for its processor."""

    processor: str
    is_windows: bool
    # Debian's names of the processor, and of its C compiler.
    debian: str
    compiler: str
    # Runs a program for it on another system.
    emulator: str

    @classmethod
    def named(cls, name):
        name = name or (platform.machine() if platform.system() == "Linux" else "")
        if name not in TARGETS:
            raise SystemExit(f"this machine is none of {', '.join(TARGETS)}: choose one with --target")
        return TARGETS[name]

    @property
    def standard(self):
        """The target to which a Python package is linked."""
        return f"{self.processor}-{'pc-windows-gnu' if self.is_windows else 'unknown-linux-gnu'}"

    @property
    def static(self):
        """The target of a program without shared libraries: musl, for this processor, if its standard library is
        installed, and else a static glibc."""
        musl = f"{self.processor}-unknown-linux-musl"
        return musl if self.is_native and has_library(musl) else self.standard

    @property
    def is_native(self):
        return not self.is_windows and (platform.system(), platform.machine()) == ("Linux", self.processor)

    def environment(self, target):
        """The environment of cargo: with the cross compiler of Debian, where the user has chosen none."""
        if self.is_native or which(self.compiler) is None:
            return dict(os.environ)
        name = target.replace("-", "_")
        compilers = {f"CARGO_TARGET_{name.upper()}_LINKER": self.compiler, f"CC_{name}": self.compiler}
        return {**compilers, **os.environ}

    def run(self, program, *arguments):
        """Runs a program of the target, and returns its output."""
        emulator = [] if self.is_native else [self.emulator]
        return subprocess.run([*emulator, program, *arguments], check=True, capture_output=True).stdout


TARGETS = {
    "x86_64": Target("x86_64", False, "amd64", "x86_64-linux-gnu-gcc", "qemu-x86_64"),
    "aarch64": Target("aarch64", False, "arm64", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "windows": Target("x86_64", True, "", "x86_64-w64-mingw32-gcc", ""),
}


def has_library(target):
    """True if Rust's standard library for `target` is installed."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.returncode == 0 and Path(found.stdout.strip()).is_dir()
