#!/usr/bin/env python3
"""Damages text, and says which damage was found. docs/cleaning.md has what came out.

    noise.py corpus SRC TGT OUT [--share 0.3] [--seed 1]    OUT/src, OUT/tgt, OUT/kinds: what each line got; the original text
    noise.py judge OUT CLEAN-SRC CLEAN-TGT DROPPED          what `attentive clean` found and mended of it
    noise.py rank OUT SCORED DROPPED                        how many of the pairs with the worst scores are damaged
    noise.py inputs SRC REF OUT [--seed 1]                  OUT/KIND and OUT/KIND.ref: a test set as tired users type it

Standard library only."""

import argparse
import html
import random
from collections import Counter, defaultdict
from pathlib import Path

# Sentences in languages that are neither English nor German.
FOREIGN = [
    "Una mujer con un abrigo rojo espera el autobús delante de la estación.",
    "Il bambino gioca con una palla gialla nel parco vicino al fiume.",
    "Deux hommes réparent le toit d'une vieille maison au bord de la mer.",
    "Mężczyzna w kapeluszu czyta gazetę na ławce.",
    "Kvinnan cyklar längs en smal väg genom skogen.",
    "Nous partons demain.",
]


def lines_of(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return lines if lines[-1] else lines[:-1]


def damages(sources, targets, place):
    """Eleven ways in which a pair can be wrong."""
    src, tgt = sources[place], targets[place]
    words = tgt.split()

    def nonsense(lines):
        return " ".join(random.choice(random.choice(lines).split() or ["a"]) for _ in range(400))

    def entities(text):
        return "".join(html.escape(c) if ord(c) < 128 else f"&#{ord(c)};" for c in text)

    return {
        "no source": lambda: ("", tgt),
        "no target": lambda: (src, " "),
        "copied": lambda: (src, src),
        "exchanged": lambda: (tgt, src),
        "other language": lambda: (src, random.choice(FOREIGN)),
        "markup": lambda: (f"<p>{entities(src)}</p>", entities(tgt)),
        "mojibake": lambda: (src, tgt.encode().decode("latin-1")),
        "nonsense": lambda: (nonsense(sources), nonsense(targets)),
        "truncated": lambda: (src, " ".join(words[: max(1, len(words) // 3)])),
        "repeated": lambda: (src, " ".join(words[:2] * 12)),
        "shifted": lambda: (src, targets[(place + 5) % len(targets)]),
    }


def corpus(options):
    random.seed(options.seed)
    sources, targets = lines_of(options.src), lines_of(options.tgt)
    pairs, kinds = list(zip(sources, targets, strict=True)), [""] * len(sources)
    for place in random.sample(range(len(pairs)), round(len(pairs) * options.share)):
        ways = damages(sources, targets, place)
        kinds[place] = random.choice(list(ways))
        pairs[place] = ways[kinds[place]]()
    options.out.mkdir(parents=True, exist_ok=True)
    damaged = [list(side) for side in zip(*pairs)]
    names = ("src", "tgt", "original.src", "original.tgt", "kinds")
    for name, lines in zip(names, (*damaged, sources, targets, kinds)):
        (options.out / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(Counter(kinds))


def judge(options):
    kinds, *original = (lines_of(options.out / name) for name in ("kinds", "original.src", "original.tgt"))
    found, dropped_lines = defaultdict(Counter), set()
    for line in lines_of(options.dropped):
        number, rule = line.split("\t")[:2]
        found[rule][kinds[int(number) - 1]] += 1
        dropped_lines.add(int(number) - 1)
    kept = (place for place in range(len(kinds)) if place not in dropped_lines)
    clean = zip(lines_of(options.clean_src), lines_of(options.clean_tgt))
    as_before = Counter()
    for place, pair in zip(kept, clean, strict=True):
        if all(text == " ".join(side[place].split()) for text, side in zip(pair, original)):
            as_before[kinds[place]] += 1
    total, dropped = Counter(kinds), sum(found.values(), Counter())
    print("rule\tdropped\tdamaged\tprecision\tmost of them")
    for rule, of in sorted(found.items(), key=lambda item: -item[1].total()):
        damaged = of.total() - of[""]
        most = ", ".join(f"{kind or 'not damaged'} {n}" for kind, n in of.most_common(4))
        print(f"{rule}\t{of.total()}\t{damaged}\t{damaged / of.total():.1%}\t{most}")
    print("\nkind\tpairs\tdropped\trecall\tkept with the original text")
    for kind, n in sorted(total.items()):
        print(f"{kind or 'not damaged'}\t{n}\t{dropped[kind]}\t{dropped[kind] / n:.1%}\t{as_before[kind]}")


def rank(options):
    kinds = lines_of(options.out / "kinds")
    dropped = {int(line.split("\t")[0]) - 1 for line in lines_of(options.dropped)}
    kept = [kind for place, kind in enumerate(kinds) if place not in dropped]
    scores = [float(line.rsplit("\t", 1)[1]) for line in lines_of(options.scored)]
    worst = [kind for _, kind in sorted(zip(scores, kept, strict=True), key=lambda pair: pair[0])]
    # What was mended is no longer damaged.
    damaged = Counter(kind for kind in worst if kind not in ("", "markup", "mojibake"))
    print("share\tpairs\tdamaged\tprecision\trecall\t" + "\t".join(f"{kind} ({n})" for kind, n in damaged.most_common()))
    for share in (0.01, 0.02, 0.03, 0.05, 0.1):
        found = Counter(worst[: round(share * len(worst))])
        n, right = found.total(), sum(found[kind] for kind in damaged)
        recalls = "\t".join(f"{found[kind] / of:.1%}" for kind, of in damaged.most_common())
        print(f"{share:.0%}\t{n}\t{right}\t{right / n:.1%}\t{right / damaged.total():.1%}\t{recalls}")


def typo(word):
    """A word with two letters exchanged."""
    at = random.randrange(len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def inputs(options):
    random.seed(options.seed)
    sources, references = lines_of(options.src), lines_of(options.ref)

    def misspelt(line):
        words = line.split()
        long = [at for at, word in enumerate(words) if len(word) > 3]
        for at in random.sample(long, min(len(long), max(1, len(words) // 6))):
            words[at] = typo(words[at])
        return " ".join(words)

    kinds = {
        "as-is": (lambda line: line, lambda line: line),
        "upper-case": (str.upper, str.upper),
        "lower-case": (str.lower, lambda line: line),
        "unpunctuated": (lambda line: line.rstrip(".!? "), lambda line: line.rstrip(".!? ")),
        "misspelt": (misspelt, lambda line: line),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (of_source, of_reference) in kinds.items():
        for path, change, lines in ((name, of_source, sources), (f"{name}.ref", of_reference, references)):
            (options.out / path).write_text("".join(f"{change(line)}\n" for line in lines), encoding="utf-8")
    words = Counter(word.strip(".,!?\"'()").lower() for line in sources for word in line.split())
    one_word = [word for word, _ in words.most_common(200) if word]
    (options.out / "one-word").write_text("".join(f"{word}\n" for word in one_word), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    judged = "out clean_src clean_tgt dropped"
    for run, names in ((corpus, "src tgt out"), (judge, judged), (rank, "out scored dropped"), (inputs, "src ref out")):
        command = commands.add_parser(run.__name__)
        command.set_defaults(run=run)
        for name in names.split():
            command.add_argument(name, type=Path)
        if run in (corpus, inputs):
            command.add_argument("--seed", type=int, default=1)
        if run is corpus:
            command.add_argument("--share", type=float, default=0.3)
    options = parser.parse_args()
    options.run(options)


main()
