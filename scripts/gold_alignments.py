#!/usr/bin/env python3
"""Writes parallel text with word alignments by people: gold_alignments.py FOLDER OUT

FOLDER is the package `bible-alignments` 0.4.2 (CC-BY), unpacked:

    pip download --no-deps bible-alignments==0.4.2 && unzip bible_alignments-*.whl -d FOLDER

OUT/text.grc, OUT/text.en and OUT/gold get a line for each verse of the New Testament: Greek and English words, separated by
blanks, and the links. Then

    attentive align OUT/text.grc OUT/text.en --gold OUT/gold --output OUT/links

prints the error rate. Standard library only."""

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path


def verses(path, verse_of):
    """The words of each verse, and the place of each word in its verse."""
    words, places = defaultdict(list), {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            name = row["id"].lstrip("n")
            verse = verse_of(row, name)
            places[name] = (verse, len(words[verse]))
            words[verse].append(row["text"].replace(" ", "_"))
    return words, places


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    data = options.folder / "data"
    greek, greek_places = verses(data / "sources" / "SBLGNT.tsv", lambda row, name: name[:8])
    english, english_places = verses(data / "eng/targets/BSB/nt_BSB.tsv", lambda row, name: row["source_verse"])
    records = json.loads((data / "eng/alignments/BSB/SBLGNT-BSB-manual.json").read_text())["records"]
    links, elsewhere = defaultdict(set), 0
    for record in records:
        for source in record["source"]:
            for target in record["target"]:
                verse, src = greek_places[source.lstrip("n")]
                own, tgt = english_places[target.lstrip("n")]
                if verse == own:
                    links[verse].add((src, tgt))
                else:
                    elsewhere += 1
    options.out.mkdir(parents=True, exist_ok=True)
    names = [verse for verse in greek if verse in english and links[verse]]
    lines = {
        "text.grc": (" ".join(greek[verse]) for verse in names),
        "text.en": (" ".join(english[verse]) for verse in names),
        "gold": (" ".join(f"{src}-{tgt}" for src, tgt in sorted(links[verse])) for verse in names),
    }
    for name, text in lines.items():
        (options.out / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    print(f"{len(names)} verses, {sum(map(len, links.values()))} links; {elsewhere} between verses are left out")


if __name__ == "__main__":
    main()
