#!/usr/bin/env python3
"""Compares programs that run the files of Firefox on this machine, each on one thread, with the same 8-bit model and shortlist:

    python3 bench/peers/firefox.py runs/student --src test.en --ref test.de --calibrate val.en --shortlist train.en train.de

Needs Python 3.11, a release build of the program, node and npm. Exports the model, and sets up Mozilla's engine (the package
fxtranslate of PyPI, a generic build for x86-64, which picks its instructions when it runs) and Bergamot's in WebAssembly (the npm
package, with the products that it brings; Firefox has faster ones), and ours if `scripts/web` has built it. Prints Markdown tables: one line at a time, and in batches.

Ours quantizes the weights of the exported files row by row, and inputs as they come; the others have one scale for each matrix.
Bergamot divides a line into sentences, and its candidates are those of a batch, so its lines differ. Tokens are those of the
vocabulary, with `</s>`.
"""

import argparse
import shutil
import subprocess
import sys
import time

import students
from common import machine, python, target
from programs import HERE

PACKAGES = {"fxtranslate": "0.5.0", "tokenizers": "0.23.3"}
BERGAMOT = "@browsermt/bergamot-translator"
BERGAMOT_VERSION = "0.4.9"
INSTRUCTIONS = ["avx2", "avx_vnni", "avx512f", "avx512_vnni", "amx_int8"]


def bergamot(work):
    """The folder of the npm package; `None` without npm."""
    folder = work / "node_modules" / BERGAMOT
    if not folder.exists():
        if shutil.which("npm") is None:
            return None
        install = ["npm", "install", "--silent", "--prefix", work, f"{BERGAMOT}@{BERGAMOT_VERSION}"]
        subprocess.run(list(map(str, install)), check=True)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = students.arguments(parser).parse_args()
    options.attentive = options.attentive or target() / "release" / "attentive"
    work = target() / "peers" / "firefox"
    work.mkdir(parents=True, exist_ok=True)
    lines = students.read_lines(options.src, options.lines)
    references = students.read_lines(options.ref, options.lines) if options.ref else None
    interpreter, (version, _) = python(work / "venv", PACKAGES)
    package = bergamot(work)

    exported, own, packed = work / "exported", work / "imported", work / "int8"
    for folder in exported, own, packed:
        shutil.rmtree(folder, ignore_errors=True)
    export = [options.attentive, "export", options.model, "--to", "firefox", "--languages", "xx-yy", "--output", exported]
    export += ["--calibrate", options.calibrate, "--shortlist", *options.shortlist]
    subprocess.run(list(map(str, export)), check=True)
    for command in ["import", exported, "--output", own], ["quantize", own, "--precision", "int8", "--output", packed]:
        subprocess.run([str(options.attentive), *map(str, command)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    site = work / "site"
    shutil.rmtree(site, ignore_errors=True)
    if (target() / "web" / "attentive.wasm").exists():
        export = [options.attentive, "export", packed, "--to", "web", "--engine", target() / "web", "--output", site]
        subprocess.run(list(map(str, export)), check=True, stdout=subprocess.DEVNULL)
    files = dict(
        model=str(next(exported.glob("model.*.bin"))),
        shortlist=str(next(exported.glob("lex.*.bin"))),
        vocabularies=sorted(map(str, exported.glob("*vocab.*.spm"))),
        lines=lines,
    )
    print(f"\n{machine(INSTRUCTIONS)}; {time.strftime('%Y-%m-%d')}; one thread; fxtranslate {version}; Bergamot {BERGAMOT_VERSION}")
    for name, batch in ("one line at a time", 1), (f"batches of {options.batch}", options.batch):
        print(f"\n{len(lines)} lines, {name}:\n")
        programs = {"Attentive": lambda: students.attentive(options.attentive, packed, lines, work, batch)}
        if batch == 1:
            fxtranslate = [interpreter, HERE / "fxtranslate_translate.py"]
            programs["fxtranslate"] = lambda: students.task(fxtranslate, work, **files)
        web = target() / "web"
        if (web / "attentive.wasm").exists():
            node = ["node", HERE / "attentive_web.mjs", web]
            programs["Attentive, WebAssembly"] = lambda: students.task(node, work, site=str(site), lines=lines, batch=batch)
        if package:
            bergamot_node = ["node", HERE / "bergamot.mjs", package]
            programs["Bergamot"] = lambda: students.task(bergamot_node, work, batch=batch, **files)
        students.compare(programs, options, references, work, interpreter)


if __name__ == "__main__":
    sys.exit(main())
