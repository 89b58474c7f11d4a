"""The program without shared libraries, and the files that every package of it contains."""

import gzip
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dependencies import Dependencies

ROOT = Path(__file__).resolve().parents[2]
MUSL = "x86_64-unknown-linux-musl"
GNU = "x86_64-unknown-linux-gnu"


@dataclass
class Program:
    """A built program."""

    version: str
    target: str
    binary: Path
    dependencies: Dependencies

    @classmethod
    def build(cls):
        """Compiles the program for musl if its standard library is installed, and else with a static glibc."""
        target = MUSL if has_target(MUSL) else GNU
        # Random numbers come from the kernel even where there is no `/dev`.
        flags = [os.environ.get("RUSTFLAGS", ""), "-C target-feature=+crt-static", '--cfg getrandom_backend="linux_getrandom"']
        environment = {
            **os.environ,
            "RUSTFLAGS": " ".join(flags).strip(),
        }
        command = ["cargo", "build", "--release", "--locked", "--target", target]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        dependencies = Dependencies.of(ROOT / "Cargo.toml", target)
        binary = folder / target / "release" / "attentive"
        return cls(dependencies.version, target, binary, dependencies)

    @property
    def epoch(self):
        """The time of the last commit, which all files of the packages have, so that two builds give the same bytes."""
        command = ["git", "log", "-1", "--format=%ct"]
        return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    def documents(self):
        """The files beside the program, by their paths in `share`: pairs of path and bytes."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.binary, "man", folder], check=True)
            for page in sorted(Path(folder).iterdir()):
                yield f"man/man1/{page.name}.gz", gzip.compress(page.read_bytes(), mtime=0)
        for shell, path in {
            "bash": "bash-completion/completions/attentive",
            "zsh": "zsh/vendor-completions/_attentive",
            "fish": "fish/vendor_completions.d/attentive.fish",
        }.items():
            script = subprocess.run([self.binary, "completions", shell], check=True, capture_output=True)
            yield path, script.stdout
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]:
            yield f"doc/attentive/{name}", (ROOT / name).read_bytes()
        yield "doc/attentive/LICENSES-OF-DEPENDENCIES.txt", self.dependencies.licenses().encode()
        yield "doc/attentive/sbom.cdx.json", self.dependencies.sbom("attentive").encode()


def has_target(target):
    """True if Rust's standard library for `target` is installed."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.returncode == 0 and Path(found.stdout.strip()).is_dir()
