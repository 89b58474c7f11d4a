"""Builds packages that need no compiler, from a clean checkout.

    python3 scripts/release [-o DIR] [--target SYSTEM] [archive] [deb] [image] [wheel]

Without names, it builds all of them into DIR (default: dist), for Linux on the processor of this machine. SYSTEM is `x86_64`
or `aarch64` for Linux on these processors, or `windows` for Windows on x86-64, for which there is the archive alone:

- archive: the program, which needs no shared library, with manual pages, completions and licenses (.tar.gz; .zip for
  Windows);
- deb: the same for Debian and its relatives, with a systemd unit (.deb);
- image: the same program as an OCI image (.oci.tar);
- wheel: the Python package (.whl).

Each package contains the licenses of all its dependencies and a list of them (an SBOM in the format of CycloneDX). `SHA256SUMS`
has the checksums of all files in DIR.

It needs cargo with the target wasm32-wasip1, a C compiler, Python 3.10 and, for the image, Debian's `umoci`; for the wheel, it
installs maturin from PyPI into a virtual environment. For another system than this one, it also needs Rust's standard library for it, and from Debian:

- aarch64: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
- windows: gcc-mingw-w64-x86-64
"""

import argparse
import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import archive  # noqa: E402
import deb  # noqa: E402
import image  # noqa: E402
import wheel  # noqa: E402
from program import Program  # noqa: E402
from target import TARGETS, Target  # noqa: E402

PACKAGES = {"archive": archive.build, "deb": deb.build, "image": image.build}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="archive, deb, image, wheel; default: all")
    parser.add_argument("-o", "--output", type=Path, default=Path("dist"), metavar="DIR")
    parser.add_argument("--target", choices=TARGETS, metavar="SYSTEM", help=f"{', '.join(TARGETS)}; default: this machine")
    args = parser.parse_args()
    target = Target.named(args.target)
    known = ["archive"] if target.is_windows else [*PACKAGES, "wheel"]
    unknown = [name for name in args.packages if name not in known]
    if unknown:
        parser.error(f"no package `{unknown[0]}` for this system; there are {', '.join(known)}")
    wanted = args.packages or known
    args.output.mkdir(parents=True, exist_ok=True)
    if set(wanted) - {"wheel"}:
        program = Program.build(target)
        for name in wanted:
            if name in PACKAGES:
                report(PACKAGES[name](program, args.output))
    if "wheel" in wanted:
        report(wheel.build(target, args.output))
    sums = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(args.output.iterdir())
        if file.is_file() and file.name != "SHA256SUMS"
    ]
    (args.output / "SHA256SUMS").write_text("".join(sums))


def report(file):
    print(f"{file} ({file.stat().st_size / 1e6:.1f} MB)", flush=True)


if __name__ == "__main__":
    main()
