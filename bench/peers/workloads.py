"""The models and sentences that translate.py measures."""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from common import MODELS_FILE, ROOT

# Multi30k's longest translations have about 50 tokens; the limit stops those that repeat themselves.
TINY_LIMIT = 64
BASE_LENGTH = 32
N_SPECIAL = 4
BASE_CONFIG = """
[data]
train = {{ src = "base.src", tgt = "base.tgt" }}
max_len = 64
[tokenizer]
kind = "word"
vocab_size = {vocab}
min_frequency = 1
[model]
d_model = {d_model}
d_ff = {d_ff}
n_heads = {n_heads}
n_encoder_layers = {n_layers}
n_decoder_layers = {n_layers}
max_len = 64
tie_embeddings = "all"
suppress_tokens = ["<pad>", "<s>", "</s>"] # so that every translation reaches the limit
[train]
max_steps = 1
batch_tokens = 256
precision = "f32"
validate_every = 0
[decode]
max_new_factor = 0.0
max_new_extra = {forced}
"""


@dataclass
class Workload:
    """A model and sentences to translate with it."""

    name: str
    # A model directory of Attentive.
    model: pathlib.Path
    lines: list[str]
    # Their translations; none if the weights are random.
    references: list[str]
    # Maximum number of tokens of a translation, including `</s>`; if `forced`, all have as many, and no `</s>`.
    limit: int
    forced: bool
    # The line whose translation ends the start-up, and the maximum number of tokens of its translation.
    first: str
    first_limit: int
    # Number of sentences for a batch size and a beam width; the lines are repeated if there are more.
    counts: dict[tuple[int, int], int]
    # The model by precision.
    models: dict[str, pathlib.Path] = field(default_factory=dict)

    def text(self, work, count):
        """A file with the first `count` sentences."""
        path = work / f"{self.name}.{count}.txt"
        repeated = (self.lines[number % len(self.lines)] for number in range(count))
        path.write_text("".join(f"{line}\n" for line in repeated), encoding="utf-8")
        return path


def without_checksum(provenance):
    """The text of a provenance that does not know the checksum of the configuration, which is about to change."""
    known = json.loads(provenance.read_text(encoding="utf-8"))
    known.get("sha256", {}).pop("config.toml", None)
    return json.dumps(known)


def tiny(model, data, work):
    """The trained model, with one limit for all sentences, since CTranslate2 has no limit that grows with the source."""
    if not (model / "config.toml").exists():
        sys.exit(f"no model in {model}: train one with `attentive train configs/multi30k.toml`, or name one with --model")
    lines, references = (
        (data / f"test_2016_flickr.{language}").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for language in ("en", "de")
    )
    folder = work / "tiny"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in [model / "model.safetensors", *model.glob("tokenizer*.json")]:
        shutil.copyfile(path, folder / path.name)
    config = (model / "config.toml").read_text(encoding="utf-8")
    config = re.sub(r"(?m)^max_new_factor = .*", "max_new_factor = 0.0", config)
    config = re.sub(r"(?m)^(max_new_extra|max_new_tokens) = .*", rf"\1 = {TINY_LIMIT}", config)
    (folder / "config.toml").write_text(config, encoding="utf-8")
    (folder / "provenance.json").write_text(without_checksum(model / "provenance.json"), encoding="utf-8")
    counts = {(32, 1): 3 * len(lines), (32, 5): len(lines), (1, 1): 300, (1, 5): 200}
    return Workload("tiny", folder, lines, references, TINY_LIMIT, False, lines[0], TINY_LIMIT, counts)


def base(attentive, work):
    """The base model of `attentive bench` with random weights: after one update with a very small learning rate."""
    models = {model["name"]: model for model in json.loads(MODELS_FILE.read_text())}
    shape = models["base"]
    words = [f"w{number}" for number in range(shape["vocab"] - N_SPECIAL)]
    folder = work / "base"
    if not (folder / "model.safetensors").exists():
        length = BASE_LENGTH - 1
        corpus = "".join(" ".join(words[first : first + length]) + "\n" for first in range(0, len(words), length))
        for side in "src", "tgt":
            (work / f"base.{side}").write_text(corpus)
        (work / "base.toml").write_text(BASE_CONFIG.format(forced=BASE_LENGTH, **shape))
        command = [attentive, "train", work / "base.toml", "--set", f"data.dir={work}", "--output", folder, "--force"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder / "checkpoints")
    return random_workload("base", folder, words)


def marian(attentive, work, interpreter):
    """An imported model of the shape of OPUS-MT, with random weights (marian_model.py)."""
    theirs, folder = work / "marian-hf", work / "marian"
    if not (folder / "model.safetensors").exists():
        shutil.rmtree(theirs, ignore_errors=True)
        subprocess.run([interpreter, pathlib.Path(__file__).with_name("marian_model.py"), theirs], check=True)
        subprocess.run([attentive, "import", theirs, "--output", folder], check=True, stdout=subprocess.DEVNULL)
    # All translations have as many tokens as the limit, which does not count the first input of the decoder; CTranslate2
    # cannot force `</s>` at the end.
    config = (folder / "config.toml").read_text(encoding="utf-8")
    config = re.sub(r"(?m)^forced_eos_token = .*\n", "", config)
    config, n_limits = re.subn(r"(?m)^max_new_extra = .*", f"max_new_extra = {BASE_LENGTH}", config)
    if n_limits != 1:
        sys.exit(f"no `max_new_extra` in {folder}/config.toml")
    (folder / "config.toml").write_text(config, encoding="utf-8")
    provenance = folder / "provenance.json"
    provenance.write_text(without_checksum(provenance), encoding="utf-8")
    tokens = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    return random_workload("marian", folder, [token for token in tokens if token.startswith("w")])


def random_workload(name, folder, words):
    """Random sentences for a model with random weights."""
    draw = random.Random(2)
    lines = [" ".join(draw.choices(words, k=BASE_LENGTH - 1)) for _ in range(128)]
    counts = {(32, 1): 128, (32, 5): 128, (1, 1): 16, (1, 5): 16}
    first = " ".join(lines[0].split()[:4])
    return Workload(name, folder, lines, [], BASE_LENGTH, True, first, 4, counts)
