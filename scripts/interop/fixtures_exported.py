#!/usr/bin/env python3
"""Compares what the models of tests/fixtures/hf/ compute in `transformers` with what they compute there after import and export.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==4.57.1
    venv/bin/python scripts/interop/fixtures_exported.py PROGRAM

PROGRAM is `attentive`. Prints the largest difference of a logit for each kind of model that can be exported; fails for tensors that
`transformers` misses or does not know. Version 5.24.0 gives the same.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "hf"
KINDS = [
    "marian", "bart", "bart_uneven", "mbart", "m2m_100", "t5", "t5_gated", "mt5", "t5_v5", "t5_gated_v5", "mt5_v5", "llama", "llama3", "bert", "bert_encoder", "distilbert", "gpt2", "gpt2_untied", "roberta", "xlm_roberta_encoder", "camembert", "mpnet",
    "mpnet_encoder", "bert_classifier", "roberta_classifier", "mpnet_classifier", "distilbert_classifier", "bert_tagger",
    "xlm_roberta_tagger", "mpnet_tagger", "distilbert_tagger",
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    program = arguments.parse_args().program
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            own, theirs = Path(folder) / "own", Path(folder) / "theirs"
            quiet = dict(check=True, stdout=subprocess.DEVNULL)
            subprocess.run([program, "import", FIXTURES / kind, "--output", own], **quiet)
            subprocess.run([program, "export", own, "--to", "hf", "--output", theirs], **quiet)
            name = json.loads((theirs / "config.json").read_text())["architectures"][0]
            model, loading = getattr(transformers, name).from_pretrained(theirs, output_loading_info=True)
            model.eval()
            # Vectors of whole texts do not need BERT's pooler.
            loading["missing_keys"] = [key for key in loading["missing_keys"] if not key.startswith("pooler.")]
            assert not any(loading.values()), loading
            transformers.AutoTokenizer.from_pretrained(theirs)
        expected = load_file(FIXTURES / kind / "logits.safetensors")
        worst = 0.0
        with torch.no_grad():
            for number in range(5):
                inputs = {"input_ids": expected[f"{number}.input"].long()}
                if f"{number}.decoder" in expected:
                    inputs["decoder_input_ids"] = expected[f"{number}.decoder"].long()
                found = model(**inputs)[0][0]
                differences = (found - expected[f"{number}.logits"]).abs()
                # Where probabilities are to be renormalized, an import gives barred tokens the probability 0.
                worst = max(worst, float(differences[found > -100].max()))
        print(f"{kind}: {worst:.1e}")


if __name__ == "__main__":
    main()
