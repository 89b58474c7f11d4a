#!/usr/bin/env python3
"""Compares small models of Hugging Face's `transformers` with what they become after an import and an export.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==4.57.1
    venv/bin/python scripts/interop/reexported.py PROGRAM [FIXTURES]

PROGRAM is `attentive`, FIXTURES the folder `tests/fixtures/hf`; `transformers` 5.24.0 was tried, too. Each model that can be exported reads random tokens before and
after; prints the largest difference of the logits, and fails for one that is not 0, or for tensors that `transformers` does not
know or misses.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

CLASSES = {
    AutoModelForSeq2SeqLM: ["bart", "mbart", "m2m_100", "marian", "t5", "t5_gated", "mt5"],
    AutoModelForCausalLM: ["llama", "llama3", "gpt2", "gpt2_untied"],
}


def load(kind, folder):
    model, info = kind.from_pretrained(folder, output_loading_info=True, torch_dtype=torch.float32)
    surplus = {name: keys for name, keys in info.items() if keys}
    return model.eval(), surplus


def logits(model, tokens):
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            return model(input_ids=tokens[0], decoder_input_ids=tokens[1]).logits
        return model(input_ids=tokens[0]).logits


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("fixtures", nargs="?", default="tests/fixtures/hf", type=Path)
    options = arguments.parse_args()
    failed = False
    for kind, names in CLASSES.items():
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                ours, back = Path(folder) / "ours", Path(folder) / "back"
                run = lambda *words: subprocess.run([options.program, *words], check=True, capture_output=True)
                run("import", options.fixtures / name, "--output", ours)
                run("export", ours, "--to", "hf", "--output", back)
                (before, _), (after, surplus) = load(kind, options.fixtures / name), load(kind, back)
                tokens = torch.randint(4, before.config.vocab_size, (2, 3, 7), generator=torch.Generator().manual_seed(1))
                before_export, after_export = logits(before, tokens), logits(after, tokens)
                # Tokens that are never generated have a bias of -1000, where `transformers` has a list.
                compared = after_export > -900
                difference = (before_export - after_export)[compared].abs().max().item()
                settings = [{key: value for key, value in model.generation_config.to_dict().items() if "token_id" in key} for model in (before, after)]
                print(f"{name:12} {difference:.1e}  {surplus or ''}")
                for key in ["eos_token_id", "decoder_start_token_id", "forced_bos_token_id"]:
                    if settings[0].get(key) != settings[1].get(key):
                        print(f"    {key}: {settings[0].get(key)} before, {settings[1].get(key)} after")
                failed |= difference > 0 or bool(surplus)
    sys.exit(failed)


if __name__ == "__main__":
    main()
