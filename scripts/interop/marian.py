#!/usr/bin/env python3
"""Runs exported models in Marian and in Firefox's engine, and compares their translations with ours, line by line:

    python3 -m venv venv && venv/bin/pip install pymarian==1.12.42 fxtranslate==0.5.0 sacrebleu==2.6.0
    venv/bin/python scripts/interop/marian.py runs/student --src test.en --ref test.de --calibrate val.en \\
        --shortlist train.en train.de

Every line is translated by itself. In f32, Marian and we have the same settings. In 8-bit integers, Firefox's engine rounds inputs
by the scales of the file, and we round each row by itself, so lines differ; BLEU of both is shown.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--attentive", default="target/release/attentive")
    parser.add_argument("--src", required=True, type=pathlib.Path)
    parser.add_argument("--ref", required=True, type=pathlib.Path)
    parser.add_argument("--shortlist", nargs=2, help="text from which the shortlist for Firefox is learned")
    parser.add_argument("--calibrate", required=True, help="sentences for the scales of 8-bit products, not those of --src")
    parser.add_argument("--lines", type=int, default=300)
    return parser.parse_args()


def lines(path, count=None):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")[:count]


def bleu(system, references):
    import sacrebleu

    return sacrebleu.corpus_bleu(system, [references], force=True).score


def marian(folder, text):
    """Translations by the program itself, one line at a time."""
    import pymarian

    config = folder / "decoder.yml"
    translator = pymarian.Translator(f"--config {config} --cpu-threads 1 --mini-batch 1 --maxi-batch 1 --quiet --quiet-translation")
    return [translator.translate(line) for line in text]


def firefox(folder, text):
    import fxtranslate

    one = lambda pattern: next(folder.glob(pattern)).read_bytes()
    if list(folder.glob("vocab.*.spm")):
        vocabularies = [one("vocab.*.spm")] * 2
    else:
        vocabularies = [one("srcvocab.*.spm"), one("trgvocab.*.spm")]
    translator = fxtranslate.Translator(one("model.*.bin"), *vocabularies, one("lex.*.bin"))
    return [translator.translate(line) for line in text]


def ours(attentive, model, text, *options):
    command = [attentive, "translate", model, "--batch-size", "1", *options]
    found = subprocess.run(list(map(str, command)), input="\n".join(text) + "\n", capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit(found.stderr)
    return found.stdout.removesuffix("\n").split("\n")


def compare(name, theirs, our, references):
    equal = sum(a == b for a, b in zip(theirs, our, strict=True))
    print(f"{name}: {equal} of {len(our)} lines equal; BLEU {bleu(theirs, references):.2f} there, {bleu(our, references):.2f} here")
    for a, b in list((a, b) for a, b in zip(theirs, our) if a != b)[:3]:
        print(f"  there: {a!r}\n  here:  {b!r}")


def main():
    options = arguments()
    text, references = lines(options.src, options.lines), lines(options.ref, options.lines)
    for model in options.models:
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            to_marian, to_firefox = work / "marian", work / "firefox"
            export = [options.attentive, "export", model, "--calibrate", options.calibrate, "--to"]
            subprocess.run(list(map(str, [*export, "marian", "--output", to_marian])), check=True)
            compare(f"{model}, Marian, f32", marian(to_marian, text), ours(options.attentive, model, text), references)
            if options.shortlist:
                command = [*export, "firefox", "--output", to_firefox, "--languages", "xx-yy", "--shortlist", *options.shortlist]
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{model}: not for Firefox: {done.stderr}")
                    continue
                print(done.stdout, end="")
                back = work / "back"
                imported = [options.attentive, "import", to_firefox, "--output", back]
                subprocess.run(list(map(str, imported)), check=True, stdout=subprocess.DEVNULL)
                theirs = firefox(to_firefox, text)
                compare(f"{model}, Firefox, int8", theirs, ours(options.attentive, back, text, "--precision", "int8"), references)
                shutil.rmtree(back)


if __name__ == "__main__":
    main()
