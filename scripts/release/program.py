"""The program without shared libraries, and the files that every package of it contains."""

import gzip
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dependencies import Dependencies
from target import Target

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Program:
    """A built program."""

    version: str
    target: Target
    binary: Path
    dependencies: Dependencies

    @classmethod
    def build(cls, target):
        """Compiles the program."""
        flags = [os.environ.get("RUSTFLAGS", ""), "-C target-feature=+crt-static"]
        if not target.is_windows:
            # Random numbers come from the kernel even where there is no `/dev`.
            flags.append('--cfg getrandom_backend="linux_getrandom"')
        environment = {**target.environment(target.static), "RUSTFLAGS": " ".join(flags).strip()}
        command = ["cargo", "build", "--release", "--locked", "--target", target.static]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        dependencies = Dependencies.of(ROOT / "Cargo.toml", target.static)
        binary = folder / target.static / "release" / ("attentive.exe" if target.is_windows else "attentive")
        return cls(dependencies.version, target, binary, dependencies)

    @property
    def epoch(self):
        """The time of the last commit, which all files of the packages have, so that two builds give the same bytes."""
        command = ["git", "log", "-1", "--format=%ct"]
        return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    def documents(self):
        """The files beside the program, by their paths in `share`: pairs of path and bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.target.run(self.binary, "man", folder)
            for page in sorted(Path(folder).iterdir()):
                yield f"man/man1/{page.name}.gz", gzip.compress(page.read_bytes(), mtime=0)
        for shell, path in {
            "bash": "bash-completion/completions/attentive",
            "zsh": "zsh/vendor-completions/_attentive",
            "fish": "fish/vendor_completions.d/attentive.fish",
        }.items():
            yield path, self.target.run(self.binary, "completions", shell)
        for name, content in self.papers():
            yield f"doc/attentive/{name}", content
        yield from self.engine()

    def engine(self):
        """The engine for web pages: pairs of path in `share` and bytes."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "scripts" / "web", folder], check=True, stdout=subprocess.DEVNULL)
            for file in sorted(Path(folder).iterdir()):
                yield f"attentive/web/{file.name}", file.read_bytes()

    def papers(self):
        """What everyone should read, and the licenses: pairs of name and bytes."""
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]:
            yield name, (ROOT / name).read_bytes()
        yield "LICENSES-OF-DEPENDENCIES.txt", self.dependencies.licenses().encode()
        yield "sbom.cdx.json", self.dependencies.sbom("attentive").encode()
