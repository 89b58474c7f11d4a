#!/usr/bin/env python3
"""Does markup stay around the words that it belongs to? docs/files.md has what came out.

    html_fragments.py make SRC REF OUT.html [--lines 200]     fragments with marked words that the reference has unchanged
    html_fragments.py judge SOURCE.html TRANSLATED.html       what became of the marks

A mark is an inline element around a word, such as the name of a program, that occurs once in the sentence and once in its
reference. So its place in a translation is known without gold alignments: around the same word. Standard library only."""

import argparse
import html
import random
import re
from collections import Counter
from pathlib import Path

ELEMENTS = ["<b>{}</b>", "<em>{}</em>", '<a href="https://example.org/{place}">{}</a>', '<span class="n">{}</span>']


def lines_of(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def copied(source, reference):
    """The words that both have once, without those in lower case, which may be ordinary words of both languages."""
    words = re.findall(r"(?<![\w-])[\w-]{3,}(?![\w-])", source)
    once = [word for word in words if source.count(word) == 1 and reference.count(word) == 1]
    return [word for word in once if not word.isdigit() and not word.islower()]


def make(options):
    random.seed(options.seed)
    rows = []
    for source, reference in zip(lines_of(options.src), lines_of(options.ref)):
        words = copied(source, reference)
        if words and len(source.split()) > 4 and not re.search("[<>&]", source):
            rows.append((source, random.choice(words)))
    rows = random.sample(rows, options.lines)
    fragments = []
    for place, (source, word) in enumerate(rows):
        before, after = source.split(word)
        marked = random.choice(ELEMENTS).format(html.escape(word), place=place)
        fragments.append(f"<p>{html.escape(before, quote=False)}{marked}{html.escape(after, quote=False)}</p>\n")
    options.out.write_text("".join(fragments), encoding="utf-8")
    print(f"{len(fragments)} fragments")


def fragments(path):
    return re.findall(r"<p>.*?</p>", path.read_text(encoding="utf-8"), re.DOTALL)


def tags(fragment):
    return re.findall(r"<[^>]*>", fragment)


def marked(fragment):
    """The text within the mark, without blanks around it; `None` if there is not one mark."""
    found = re.fullmatch(r"<p>[^<]*<(\w+)[^>]*>([^<]*)</\1>[^<]*</p>", fragment.strip(), re.DOTALL)
    return found and html.unescape(found[2]).strip()


def judge(options):
    before, after = fragments(options.source), fragments(options.translated)
    if len(before) != len(after):
        raise SystemExit(f"{len(before)} fragments, and {len(after)} translated ones")
    counts = Counter()
    for source, translated in zip(before, after):
        word, found, text = marked(source), marked(translated), html.unescape(re.sub("<[^>]*>", "", translated))
        counts["all"] += 1
        counts["the same tags in the same order"] += tags(source) == tags(translated)
        if word not in text:
            counts["the translation lacks the word"] += 1
        elif found == word:
            counts["around the word alone"] += 1
        elif found and word in found:
            counts["around the word and others"] += 1
        else:
            counts["elsewhere"] += 1
            if options.show:
                print(source, translated, sep="\n", end="\n\n")
    for name, count in counts.items():
        print(f"{count:4} {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make")
    command.add_argument("src", type=Path)
    command.add_argument("ref", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--lines", type=int, default=200)
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(run=make)
    command = commands.add_parser("judge")
    command.add_argument("source", type=Path)
    command.add_argument("translated", type=Path)
    command.add_argument("--show", action="store_true", help="print those whose mark is elsewhere")
    command.set_defaults(run=judge)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
