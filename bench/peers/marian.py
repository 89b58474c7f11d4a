#!/usr/bin/env python3
"""Compares Marian itself (the package pymarian of PyPI) with Attentive on this machine, each on one thread, with the same model:

    python3 bench/peers/marian.py runs/student --src test.en --ref test.de --calibrate val.en --shortlist train.en train.de

Needs Python 3.11 and a release build of the program. Exports the model to Marian and, for the shortlist, to Firefox; translates
greedily in f32 and in 8-bit integers with the shortlist, one line at a time and in batches; and trains the same architecture for
some updates on the text of `--shortlist`. Prints Markdown tables. The package is a generic build for x86-64: its products in f32 are
those of MKL and in 8-bit integers those of FBGEMM (`packed8`) and intgemm, which pick their instructions when they run, but the
rest is compiled for AVX; a native build may gain there.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

import students
from common import machine, python, target
from programs import measure

PACKAGES = {"pymarian": "1.12.42", "tokenizers": "0.23.3"}
INSTRUCTIONS = ["avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"]
WORDS_PER_SECOND = re.compile(r"Up\. (\d+) .* ([\d.]+) words/s")


def types():
    """The types of 8-bit integers of Marian's converter for this machine. FBGEMM's are in the order of its instructions."""
    return ["packed8avx512" if "avx512f" in machine(["avx512f"]) else "packed8avx2", "intgemm8"]


def decoder(program, folder, model, batch, *options):
    vocabularies = [folder / "vocab.spm"] * 2
    if not vocabularies[0].exists():
        vocabularies = [folder / "srcvocab.spm", folder / "trgvocab.spm"]
    command = [program, "decode", "--models", model, "--vocabs", *vocabularies, "--cpu-threads", 1, "--beam-size", 1]
    command += ["--normalize", 1, "--max-length-factor", 2, "--mini-batch", batch, "--maxi-batch", 100 if batch > 1 else 1]
    command += ["--maxi-batch-sort", "src" if batch > 1 else "none", "--workspace", 512, "--quiet", "--quiet-translation"]
    return [*command, *options, "--input"]


def translation(options, work, program, interpreter, lines, references):
    exported, firefox = work / "marian", work / "firefox"
    own, packed = work / "own", work / "int8"
    for folder in exported, firefox, own, packed:
        shutil.rmtree(folder, ignore_errors=True)
    export = [options.attentive, "export", options.model, "--calibrate", options.calibrate, "--output"]
    run = lambda command: subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run([*export, exported, "--to", "marian"])
    run([*export, firefox, "--to", "firefox", "--languages", "xx-yy", "--shortlist", *options.shortlist])
    # The weights of the model, and the shortlist of Firefox's files.
    run([options.attentive, "import", firefox, "--output", own])
    run([options.attentive, "quantize", own, "--precision", "int8", "--output", packed])
    lexicon = next(firefox.glob("lex.*.bin"))
    for kind in types():
        run([program, "convert", "-f", exported / "model.npz", "-t", work / f"{kind}.bin", "-g", kind])
    for name, batch in ("one line at a time", 1), (f"batches of {options.batch}", options.batch):
        print(f"\n{len(lines)} lines, f32, all tokens, {name}:\n")
        marian = decoder(program, exported, exported / "model.npz", batch)
        compared = {
            "Attentive": lambda: students.attentive(options.attentive, options.model, lines, work, batch, "--no-shortlist"),
            "Marian": lambda: students.process(marian, lines, work),
        }
        students.compare(compared, options, references, work, interpreter)
        print(f"\n{len(lines)} lines, 8-bit integers, shortlist, {name}:\n")
        compared = {"Attentive int8": lambda: students.attentive(options.attentive, packed, lines, work, batch)}
        for kind in types():
            command = decoder(program, exported, work / f"{kind}.bin", batch, "--shortlist", lexicon, 50, 50, 0)
            compared[f"Marian {kind}"] = lambda command=command: students.process(command, lines, work)
        students.compare(compared, options, references, work, interpreter)


def training(options, work, program):
    """Target tokens per second of both in updates after the first few."""
    config = tomllib.loads((options.model / "config.toml").read_text(encoding="utf-8"))
    model, n_updates = config["model"], options.updates
    exported = work / "marian"
    vocabularies = [exported / "vocab.spm"] * 2 if (exported / "vocab.spm").exists() else [exported / "srcvocab.spm", exported / "trgvocab.spm"]
    tied = {"all": "--tied-embeddings-all", "decoder": "--tied-embeddings"}[model["tie_embeddings"]]
    theirs = [program, "train", "--type", "transformer", "--model", work / "trained.npz", "--overwrite", "--train-sets", *options.shortlist]
    theirs += ["--vocabs", *vocabularies, "--dim-emb", model["d_model"], "--transformer-dim-ffn", model["d_ff"], tied]
    theirs += ["--transformer-heads", model["n_heads"], "--enc-depth", model["n_encoder_layers"], "--dec-depth", model["n_decoder_layers"]]
    theirs += ["--transformer-decoder-autoreg", "rnn", "--dec-cell", "ssru", "--transformer-ffn-activation", "relu"]
    theirs += ["--mini-batch", 1000, "--mini-batch-words", config["train"]["batch_tokens"], "--maxi-batch", 100, "--max-length", 200]
    theirs += ["--label-smoothing", 0.1, "--transformer-dropout", model["dropout"], "--learn-rate", 0.0003, "--lr-warmup", 100]
    theirs += ["--optimizer-params", 0.9, 0.98, 1e-9, "--clip-norm", 1, "--cpu-threads", 1, "--workspace", 4000, "--seed", 1]
    theirs += ["--disp-freq", "1u", "--after", f"{n_updates}u", "--save-freq", "100000u"]
    rates = {}
    for _ in range(options.rounds):
        for precision in "f32", "bf16":
            out = work / "trained"
            shutil.rmtree(out, ignore_errors=True)
            src, tgt = (path.resolve() for path in options.shortlist)
            ours = [options.attentive, "train", options.model / "config.toml", "--threads", 1, "--output", out, "--set", f"train.max_steps={n_updates}"]
            ours += ["--set", f"train.precision={precision}", "--set", "train.validate_every=0", "--set", "train.log_every=1"]
            ours += ["--set", "train.patience=0", "--set", "train.best_by=loss"]
            # Marian's optimizer and schedule, whatever the model was trained with.
            ours += ["--set", "train.optimizer={ kind = 'adam', learning_rate = 0.0003, beta2 = 0.98, epsilon = 1e-9 }"]
            ours += ["--set", "train.schedule={ kind = 'inverse_sqrt', warmup_steps = 100 }"]
            ours += ["--set", f"data.train={{ src = '{src}', tgt = '{tgt}' }}", "--set", "train.save_every=100000"]
            done = subprocess.run(list(map(str, ours)), capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
            log = map(json.loads, (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
            found = [line["tokens_per_second"] for line in log if line.get("tokens_per_second") and line["step"] > 3]
            rates.setdefault(f"Attentive {precision}", []).extend(found)
        for trained in work.glob("trained.npz*"):
            trained.unlink()
        done = subprocess.run(list(map(str, theirs)), capture_output=True, text=True)
        found = [float(rate) for number, rate in WORDS_PER_SECOND.findall(done.stdout + done.stderr) if int(number) > 3]
        if not found:
            sys.exit((done.stdout + done.stderr)[-3000:])
        rates.setdefault("Marian f32", []).extend(found)
    print(f"\nTraining, batches of {config['train']['batch_tokens']} target tokens, {n_updates} updates:\n")
    print("| program | target tokens/s |\n|---|---|")
    for name, all_rates in rates.items():
        print(f"| {name} | {statistics.median(all_rates):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser = students.arguments(parser)
    parser.add_argument("--updates", type=int, default=12, help="of training")
    parser.add_argument("--only", choices=["translation", "training"])
    options = parser.parse_args()
    options.attentive = options.attentive or target() / "release" / "attentive"
    work = target() / "peers" / "marian"
    work.mkdir(parents=True, exist_ok=True)
    interpreter, (version, _) = python(work / "venv", PACKAGES)
    program = interpreter.with_name("pymarian")
    lines = students.read_lines(options.src, options.lines)
    references = students.read_lines(options.ref, options.lines) if options.ref else None
    print(f"{machine(INSTRUCTIONS)}; {time.strftime('%Y-%m-%d')}; one thread; pymarian {version}")
    if options.only != "training":
        translation(options, work, program, interpreter, lines, references)
    if options.only != "translation":
        if not (work / "marian").exists():
            measure([options.attentive, "export", options.model, "--to", "marian", "--output", work / "marian"])
        training(options, work, program)


if __name__ == "__main__":
    sys.exit(main())
