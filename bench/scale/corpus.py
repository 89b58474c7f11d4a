#!/usr/bin/env python3
"""Writes a large generated corpus of sentence pairs:

    python3 bench/scale/corpus.py --pairs 20000000 --out target/scale

`text.src` has lines of 4 to 24 words, drawn with Zipf's frequencies from a vocabulary of 30,000 made-up words; `text.tgt` has their
translations, word by word and in reverse order. The same arguments give the same files. Needs numpy.
"""

import argparse
import pathlib

import numpy

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
# Lines that are made at a time.
LINES = 100_000


def words(random, count, ending):
    found = set()
    while len(found) < count:
        found.add("".join(random.choice(SYLLABLES, random.integers(1, 5))) + ending)
    return numpy.array(sorted(found, key=lambda word: (len(word), word)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--words", type=int, default=30_000, help="size of the vocabulary of each side")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the folder")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    src, tgt = words(random, options.words, ""), words(random, options.words, "n")
    frequencies = 1 / numpy.arange(1, options.words + 1)
    frequencies /= frequencies.sum()
    bounds = numpy.cumsum(frequencies)
    with (options.out / "text.src").open("w") as src_file, (options.out / "text.tgt").open("w") as tgt_file:
        for first in range(0, options.pairs, LINES):
            lengths = random.integers(4, 25, min(LINES, options.pairs - first))
            ids = numpy.searchsorted(bounds, random.random(lengths.sum())).clip(max=options.words - 1)
            for line in numpy.split(ids, numpy.cumsum(lengths)[:-1]):
                src_file.write(" ".join(src[line]) + "\n")
                tgt_file.write(" ".join(tgt[line[::-1]]) + "\n")


if __name__ == "__main__":
    main()
