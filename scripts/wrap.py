#!/usr/bin/env python3
"""Wraps comments in Rust and prose in Markdown: python3 scripts/wrap.py [FILE ...]

A paragraph with a line of more than 110 columns is filled again; others stay as they are, and so do code, tables, headings and
lines that cannot be broken. Without files, all of the repository are read. `rustfmt` does the same for code, but not for comments.
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 110
# Written by `attentive config reference`, and what it is written from.
GENERATED = ("docs/configuration.md", "crates/config/src/reference/", "scripts/golden/expected/")

# A comment that has a line of its own: its indentation with the marker, and its text.
COMMENT = re.compile(r"^(\s*//[/!]?)(?: (.*))?$")
# What begins a paragraph of its own: a list item, with its marker.
ITEM = re.compile(r"^(\s*(?:[-*+]|\d+[.)]) +)(.*)$")
# Headings, tables, definitions of links, HTML, and rules.
FIXED = re.compile(r"^\s*(#{1,6} |\||\[[^\]]+\]: |<|---|\$|>|\{\{)")
FENCE = re.compile(r"^\s*(```|~~~)")
# What no line may begin with, since Markdown would take it for something else.
MARKER = re.compile(r"^([-+*#>|=]+|\d+[.)])$")
# Words that stay together: code and links with blanks.
UNIT = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|[^\s`\[]|`|\[)+")


def filled(words, first, rest):
    """Lines of at most WIDTH columns, the first of which begins with `first` and the others with `rest`."""
    lines, line = [], []

    def text(words):
        return (rest if lines else first) + " ".join(words)

    for word in words:
        if line and len(text([*line, word])) > WIDTH:
            kept = []
            while len(line) > 1 and MARKER.match(kept[0] if kept else word):
                kept.insert(0, line.pop())
            lines.append(text(line))
            line = kept
        line.append(word)
    return [*lines, text(line)]


def wrapped(lines, prefix=""):
    """`lines` of Markdown, each of which follows `prefix`, wrapped."""
    out, paragraph, in_code = [], [], False
    first = rest = prefix

    def end():
        if any(len(prefix + line) > WIDTH for line in paragraph):
            text = " ".join([paragraph[0][len(first) - len(prefix) :], *(line.strip() for line in paragraph[1:])])
            out.extend(filled(UNIT.findall(text), first, rest))
        else:
            out.extend((prefix + line).rstrip() for line in paragraph)
        paragraph.clear()

    for line in lines:
        item = ITEM.match(line)
        indented = len(line) - len(line.lstrip())
        if FENCE.match(line):
            end()
            in_code = not in_code
            out.append(prefix + line)
        elif in_code or FIXED.match(line) or not line.strip():
            end()
            out.append((prefix + line).rstrip())
        elif item:
            end()
            first = prefix + item[1]
            rest = prefix + " " * len(item[1])
            paragraph.append(line)
        elif paragraph:
            paragraph.append(line)
        elif indented >= 4:
            out.append(prefix + line)
        else:
            first = rest = prefix + " " * indented
            paragraph.append(line)
    end()
    return out


def comments_wrapped(lines):
    """Lines of Rust with their comments wrapped."""
    out, block, marker = [], [], None

    def end():
        if block:
            out.extend(line.rstrip() for line in wrapped(block, marker + " "))
        block.clear()

    for line in lines:
        match = COMMENT.match(line)
        if not match:
            end()
            out.append(line)
            continue
        if match[1] != marker:
            end()
            marker = match[1]
        block.append(match[2] or "")
    end()
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="[default: all of the repository]")
    files = parser.parse_args().files
    if not files:
        listed = subprocess.run(["git", "ls-files", "*.rs", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
        files = [ROOT / name for name in listed.stdout.split() if not name.startswith(GENERATED)]
    for file in files:
        text = file.read_text(encoding="utf-8")
        lines = text.split("\n")
        now = "\n".join(comments_wrapped(lines) if file.suffix == ".rs" else wrapped(lines))
        if now != text:
            file.write_text(now, encoding="utf-8")
            print(file)


if __name__ == "__main__":
    main()
