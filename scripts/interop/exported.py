#!/usr/bin/env python3
"""Compares the greedy translations of a model with those of its export in Hugging Face's `transformers`.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==4.57.1
    venv/bin/python scripts/interop/exported.py PROGRAM MODEL FILE [--lines 1000]

PROGRAM is `attentive`, MODEL a model directory, FILE has sentences. Prints how many lines differ, and the first of them.
"""

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

BATCH = 32
LONGEST = 100


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("model")
    arguments.add_argument("file")
    arguments.add_argument("--lines", type=int, default=1000)
    options = arguments.parse_args()
    lines = Path(options.file).read_text().splitlines()[: options.lines]

    folder = tempfile.TemporaryDirectory()
    out, copy = Path(folder.name) / "exported", Path(folder.name) / "copy"
    subprocess.run([options.program, "export", options.model, "--to", "hf", "--output", out], check=True)
    # The limit must not depend on the source, as in `transformers`.
    copy.mkdir()
    for file in filter(Path.is_file, Path(options.model).iterdir()):
        shutil.copy(file, copy)
    config = (copy / "config.toml").read_text()
    config = re.sub(r"max_new_factor = .*", "max_new_factor = 0.0", config)
    (copy / "config.toml").write_text(re.sub(r"max_new_extra = .*", f"max_new_extra = {LONGEST}", config))
    # The checksum of the original.
    provenance = json.loads((copy / "provenance.json").read_text())
    provenance.get("sha256", {}).pop("config.toml", None)
    (copy / "provenance.json").write_text(json.dumps(provenance))
    command = [options.program, "translate", copy, "--beam-width", "1"]
    ours = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    ours = ours.stdout.splitlines()

    tokenizer = AutoTokenizer.from_pretrained(out)
    model = AutoModelForSeq2SeqLM.from_pretrained(out).eval()
    theirs = []
    with torch.no_grad():
        for first in range(0, len(lines), BATCH):
            batch = tokenizer(lines[first : first + BATCH], return_tensors="pt", padding=True)
            found = model.generate(**batch, num_beams=1, do_sample=False, max_length=LONGEST + 1)
            theirs += tokenizer.batch_decode(found, skip_special_tokens=True)
    differing = [pair for pair in zip(lines, ours, theirs) if pair[1] != pair[2].strip()]
    print(f"{len(differing)} of {len(lines)} lines differ")
    for line, our, their in differing[:5]:
        print(f"  {line}\n    {our}\n    {their}")


if __name__ == "__main__":
    main()
