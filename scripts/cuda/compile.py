#!/usr/bin/env python3
"""Compiles the kernels of `crates/cuda` by NVRTC, which needs no GPU, and stores the results in the tree.

    python3 scripts/cuda/compile.py            # writes crates/cuda/src/images
    python3 scripts/cuda/compile.py --check    # compares with what is there, and fails if a byte differs
    python3 scripts/cuda/compile.py --usage    # prints the registers and the memory of each kernel

NVRTC comes from PyPI into an environment of its own in the target directory. Its version is pinned: the version of PTX that it
writes says which drivers can read it, and another version would write other programs.
"""

import argparse
import ctypes
import gzip
import os
import pathlib
import subprocess
import sys
import venv

# CUDA 12.8 is the first that knows GPUs of 10.0 and 12.0, so every driver that knows them reads its PTX.
NVRTC = "nvidia-cuda-nvrtc-cu12==12.8.93"
ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "crates/cuda/src/kernels"
IMAGES = ROOT / "crates/cuda/src/images"
# The files, each with the GPU that it is for.
PROGRAMS = {f"sm_{kind}.cubin.gz": f"sm_{kind}" for kind in ("80", "86", "89", "90a")}
PTX = {"compute_80.ptx.gz": "compute_80"}


def nvrtc():
    """The library, installed unless it is there."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    environment = target / "nvrtc"
    if not (environment / "bin/pip").exists():
        venv.create(environment, with_pip=True)
    subprocess.run([environment / "bin/pip", "install", "--quiet", "--no-deps", NVRTC], check=True)
    [library] = environment.glob("lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    return ctypes.CDLL(str(library))


class Compilation:
    """The kernels, compiled for one kind of GPU."""

    def __init__(self, library, architecture):
        self.library = library
        headers = sorted(path for path in KERNELS.iterdir() if path.name != "kernels.cu")
        texts = (ctypes.c_char_p * len(headers))(*(path.read_bytes() for path in headers))
        names = (ctypes.c_char_p * len(headers))(*(path.name.encode() for path in headers))
        self.program = ctypes.c_void_p()
        source = (KERNELS / "kernels.cu").read_bytes()
        self.call("nvrtcCreateProgram", ctypes.byref(self.program), source, b"kernels.cu", len(headers), texts, names)
        options = [f"--gpu-architecture={architecture}", "--std=c++17", "--ptxas-options=-v"]
        arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(self.program, len(options), arguments)
        self.log = self.text("ProgramLog").rstrip(b"\0").decode()
        if status != 0 or "warning" in self.log:
            sys.exit(f"{architecture}:\n{self.log}")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            sys.exit(f"{name} failed with the status {status}")

    def text(self, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", self.program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", self.program, text)
        return text.raw


def compile_all(library, usage):
    """The contents of the files by their names."""
    images = {}
    for name, architecture in (PROGRAMS | PTX).items():
        compilation = Compilation(library, architecture)
        images[name] = compilation.text("CUBIN") if name in PROGRAMS else compilation.text("PTX").rstrip(b"\0")
        if usage:
            print(f"{architecture}:\n{compilation.log}")
    return images


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--usage", action="store_true", help="print what each kernel uses, and write nothing")
    args = parser.parse_args()
    images = compile_all(nvrtc(), args.usage)
    if args.check:
        stored = {path.name: gzip.decompress(path.read_bytes()) for path in IMAGES.iterdir()}
        differing = sorted(name for name in stored.keys() | images.keys() if stored.get(name) != images.get(name))
        if differing:
            sys.exit(f"{', '.join(differing)}: not what the kernels compile to; run scripts/cuda/compile.py")
        print(f"{len(images)} images are what the kernels compile to.")
    elif not args.usage:
        for name, image in images.items():
            (IMAGES / name).write_bytes(gzip.compress(image, mtime=0))


if __name__ == "__main__":
    main()
