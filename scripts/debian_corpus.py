#!/usr/bin/env python3
"""Writes parallel text of Debian's package descriptions: debian_corpus.py OUT LANGUAGE...

Debian and Ubuntu have translations of these descriptions for apt. Load them first, as root:

    apt-get update -o Acquire::Languages= -o Acquire::Languages::=en -o Acquire::Languages::=it

Then OUT/en-it/ gets train, valid and test, each as two aligned files (`.en` and `.it`), and mono.en: paragraphs that nobody
has translated. All files are compressed. Paragraphs are paired by their place if both descriptions have as many; otherwise only
the summaries are. All packages of one source package are in the same part, by a checksum of its name, and a line of `valid` or
`test` that `train` has, too, is left out. Lines have 2 to 80 words. Standard library only."""

import argparse
import gzip
import hashlib
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

PARTS = ("train", "valid", "test")
MOST_OF_A_SMALL_PART = 1000


def stanzas(lists, ending):
    """The stanzas of all indexes whose names end so: there is one for each component, such as `main` and `universe`."""
    texts = []
    for path in sorted(lists.iterdir()):
        name = re.sub(r"\.(lz4|gz|xz|zst)$", "", unquote(path.name))
        if name.endswith(ending) and not re.search("security|updates|backports", name):
            command = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
            texts.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if not texts:
        raise SystemExit(f"{lists} has no index …{ending}: load it with apt-get update, as the beginning of this file says")
    return re.split(r"\n{2,}", "\n\n".join(texts))


def fields(stanza):
    """The fields of a stanza, with their continuation lines."""
    return dict(re.findall(r"^([\w-]+): ?(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE))


def sources(lists):
    """The source package of each binary package."""
    found = {}
    for stanza in stanzas(lists, "_Packages"):
        entry = fields(stanza)
        if "Package" in entry:
            found[entry["Package"]] = entry.get("Source", entry["Package"]).split(" ")[0]
    return found


def segments(description):
    """The summary of a description, and its paragraphs and list items."""
    summary, *lines = description.split("\n")
    found, current = [" ".join(summary.split())], []
    for line in [*lines, " ."]:
        text = line.strip()
        is_verbatim = line.startswith("  ")
        begins = text == "." or is_verbatim and (not current or text[:1] in "*-+o")
        if begins and current:
            found.append(" ".join(" ".join(current).split()))
            current = []
        if text != ".":
            current.append(text)
    return found


def descriptions(lists, language):
    """The package and the segments of each description, by the checksum of the English text."""
    found = {}
    for stanza in stanzas(lists, f"_i18n_Translation-{language}"):
        entry = fields(stanza)
        text = entry.get(f"Description-{language}") or entry.get("Description")
        if text and "Description-md5" in entry and "Package" in entry:
            found[entry["Description-md5"].strip()] = (entry["Package"].strip(), segments(text))
    return found


def part_of(package, source_of):
    """The part to which a package belongs: 2 % each for validation and test."""
    checksum = hashlib.sha256(source_of.get(package, package).encode()).digest()
    return {0: "test", 1: "valid"}.get(int.from_bytes(checksum[:4], "big") % 50, "train")


def is_usable(text):
    return 2 <= len(text.split()) <= 80


def pairs(english, theirs, source_of):
    """The pairs of each part."""
    found, seen = {part: [] for part in PARTS}, set()
    for checksum, (package, translated) in theirs.items():
        original = english.get(checksum, (package, []))[1]
        n = len(original) if len(original) == len(translated) else min(1, len(original))
        for pair in zip(original[:n], translated[:n]):
            if all(map(is_usable, pair)) and pair[0] != pair[1] and pair not in seen:
                seen.add(pair)
                found[part_of(package, source_of)].append(pair)
    trained = {side for pair in found["train"] for side in pair}
    for part in PARTS[1:]:
        unseen = [pair for pair in found[part] if not trained.intersection(pair)]
        unseen.sort(key=lambda pair: hashlib.sha256("\t".join(pair).encode()).digest())
        found[part] = unseen[:MOST_OF_A_SMALL_PART]
    return found


def untranslated(english, theirs, source_of):
    """The English segments without a translation, of packages that are not in the small parts."""
    found = {}
    for checksum, (package, texts) in english.items():
        if checksum not in theirs and part_of(package, source_of) == "train":
            found.update(dict.fromkeys(filter(is_usable, texts)))
    return list(found)


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write("".join(line + "\n" for line in lines).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("languages", nargs="+", metavar="language")
    parser.add_argument("--lists", type=Path, default=Path("/var/lib/apt/lists"), help="apt's folder of indexes")
    options = parser.parse_args()
    source_of = sources(options.lists)
    english = descriptions(options.lists, "en")
    for language in options.languages:
        theirs = descriptions(options.lists, language)
        folder = options.out / f"en-{language}"
        for part, found in pairs(english, theirs, source_of).items():
            write(folder / f"{part}.en.gz", [src for src, _ in found])
            write(folder / f"{part}.{language}.gz", [tgt for _, tgt in found])
            print(f"en-{language} {part}: {len(found):,} pairs")
            if not found:
                raise SystemExit(f"no description in {options.lists} has a translation into `{language}`")
        alone = untranslated(english, theirs, source_of)
        write(folder / "mono.en.gz", alone)
        print(f"en-{language} mono: {len(alone):,} lines")


if __name__ == "__main__":
    main()
