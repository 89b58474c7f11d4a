"""Small models for serve_attacks.py: one that translates, one that continues and one that fills gaps."""

import itertools
import subprocess
import tempfile
from pathlib import Path

SUBJECTS = ["the dog", "a young man", "two girls", "the old woman", "a brown cat", "three children", "the farmer", "a tall boy"]
VERBS = ["sees", "finds", "likes", "carries", "follows", "washes", "paints"]
OBJECTS = ["the red house", "a small boat", "the green tree", "an apple", "the heavy box", "a letter", "the bicycle"]
ROLES = ["en-de", "lm", "mlm"]

TRAIN = """
[train]
max_steps = {steps}
batch_tokens = 1024
validate_every = {steps}
save_every = {steps}
optimizer = {{ learning_rate = {rate} }}
schedule = {{ kind = "cosine", warmup_steps = 20 }}
"""
TRANSLATION = """
[data]
train = { builtin = "grammar", pairs = 20000 }
valid = { builtin = "grammar", pairs = 100 }
[tokenizer]
kind = "bpe"
vocab_size = 1500
vocabulary = "shared"
[model]
d_model = 128
d_ff = 256
n_heads = 4
n_encoder_layers = 2
n_decoder_layers = 2
max_len = 512
norm_position = "pre"
positions = "rotary"
dropout = 0.0
"""
TEXT = """
[data]
train = {{ text = "{text}" }}
hold_out = 0.05
[tokenizer]
kind = "bpe"
vocab_size = 300
[model]
family = "{family}"
d_model = 128
d_ff = 512
n_heads = 4
{layers} = 4
max_len = 512
"""


def lines():
    """Sentences."""
    return [f"{' '.join(words)}." for words in itertools.product(SUBJECTS, VERBS, OBJECTS)]


def trained(program, folder, role, steps=150):
    """The model directory for a role below `folder`, trained if it is not there."""
    out = folder / role
    if (out / "provenance.json").exists() and (out / "model.safetensors").exists():
        return out
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        text, recipe = Path(work) / "text", Path(work) / "recipe.toml"
        text.write_text("\n".join(lines()) + "\n")
        family, layers = ("decoder_only", "n_decoder_layers") if role == "lm" else ("encoder_only", "n_encoder_layers")
        config, rate = TRANSLATION, 0.004
        if role != "en-de":
            config, rate = TEXT.format(text=text, family=family, layers=layers), 0.002
        recipe.write_text(config + TRAIN.format(steps=steps, rate=rate))
        command = [program, "train", recipe, "--output", out, "--force"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return out


def models(options):
    """The model directory of each role: the one that is given, or else one of our own."""
    given = {"en-de": options.model, "lm": options.language_model, "mlm": options.masked_model}
    return {role: given[role] or trained(options.attentive, options.work, role) for role in ROLES}
