"""Writes a translation model of Attentive in CTranslate2's format: python ctranslate2_export.py MODEL OUT [--to int8]

Covers Transformers with sinusoidal positions and layer norms; other models end with an error. Tokens that the configuration
bars (`model.suppress_tokens`) are not part of CTranslate2's format, so there the model may generate them.
"""

import argparse
import json
import pathlib
import re
import tomllib

import numpy as np
from ctranslate2.converters import Converter
from ctranslate2.converters.utils import ConfigurationChecker, fuse_linear
from ctranslate2.specs import TransformerSpec, common_spec
from safetensors.numpy import load_file

# Values of `[model]` that CTranslate2's Transformer has. A key that the file lacks has this value.
REQUIRED = {
    "family": "transformer",
    "encoder": "transformer",
    "decoder": "transformer",
    "decoder_mixing": "attention",
    "n_kv_heads": 0,
    "d_head": 0,
    "norm": "layer",
    "embedding_norm": False,
    "feed_forward_gate": False,
    "attention_scale": None,
    "logit_scale": 1.0,
    "forced_bos_token": None,
    "forced_eos_token": None,
}
ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_tanh": common_spec.Activation.GELUTanh,
    "silu": common_spec.Activation.SWISH,
}


class AttentiveConverter(Converter):
    """Converts a model directory of Attentive."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def _load(self):
        model = tomllib.loads((self.folder / "config.toml").read_text(encoding="utf-8"))["model"]
        check_supported(model)
        pre_norm = model["norm_position"] == "pre"
        weights = Weights(load_file(self.folder / "model.safetensors"))
        spec = TransformerSpec.from_config(
            (model["n_encoder_layers"], model["n_decoder_layers"]),
            model["n_heads"],
            pre_norm=pre_norm,
            no_final_norm=not model.get("final_norm", pre_norm),
            activation=ACTIVATIONS[model["activation"]],
        )
        table = sinusoids(model["positions"], model["max_len"], model["d_model"])
        for stack in spec.encoder, spec.decoder:
            stack.scale_embeddings = model["scale_embeddings"]
            stack.position_encodings.encodings = table
        set_embeddings(spec, model, weights)
        set_stack(spec.encoder, weights, "encoder")
        set_stack(spec.decoder, weights, "decoder")
        weights.check_used()

        src, tgt = vocabularies(self.folder)
        spec.register_source_vocabulary(src)
        spec.register_target_vocabulary(tgt)
        spec.config.decoder_start_token = model.get("decoder_start_token", "<s>")
        spec.config.layer_norm_epsilon = model.get("norm_epsilon", 1e-5)
        return spec


def check_supported(model):
    """Raises an error that lists what CTranslate2 does not have."""
    check = ConfigurationChecker()
    for key, value in REQUIRED.items():
        found = model.get(key, value)
        check(found == value, f"`model.{key}` is {found!r}; supported is {value!r}")
    check(model["activation"] in ACTIVATIONS, f"`model.activation` is {model['activation']!r}")
    check(model["positions"].startswith("sinusoidal_"), f"`model.positions` is {model['positions']!r}")
    pre_norm = model["norm_position"] == "pre"
    check(pre_norm or not model.get("final_norm"), "`model.final_norm` is true although the norms are post-norms")
    check.validate()


class Weights:
    """The tensors of a model by name, and which of them were read."""

    def __init__(self, tensors):
        self.tensors = dict(tensors)
        self.unused = set(self.tensors)

    def get(self, name):
        """The tensor, `None` if the model does not have it."""
        self.unused.discard(name)
        return self.tensors.get(name)

    def linear(self, spec, name):
        spec.weight = self.tensors[f"{name}.weight"]
        self.unused.discard(f"{name}.weight")
        bias = self.get(f"{name}.bias")
        if bias is not None:
            spec.bias = bias

    def fused(self, spec, name, parts):
        """The linear maps `parts` of the attention `name` as one."""
        layers = [common_spec.LinearSpec() for _ in parts]
        for layer, part in zip(layers, parts):
            self.linear(layer, f"{name}.{part}")
        fuse_linear(spec, layers)

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.get(f"{name}.gain"), self.get(f"{name}.bias")

    def check_used(self):
        if self.unused:
            raise ValueError(f"weights without a place in CTranslate2's model: {', '.join(sorted(self.unused))}")


def set_embeddings(spec, model, weights):
    """The embeddings of both sides, and the output projection."""
    tied = model["tie_embeddings"]
    src = weights.get("src.embedding.weight")
    tgt = src if tied == "all" else weights.get("tgt.embedding.weight")
    spec.encoder.embeddings[0].weight = src
    spec.decoder.embeddings.weight = tgt
    spec.decoder.projection.weight = weights.get("head.weight") if tied == "none" else tgt
    if model["output_bias"]:
        spec.decoder.projection.bias = weights.get("head.bias")


def set_stack(spec, weights, stack):
    if hasattr(spec, "layer_norm"):
        weights.norm(spec.layer_norm, f"{stack}.norm")
    for number, layer in enumerate(spec.layer):
        name = f"{stack}.layers.{number}"
        attention = layer.self_attention
        weights.fused(attention.linear[0], f"{name}.self_attention", ["query", "key", "value"])
        weights.linear(attention.linear[1], f"{name}.self_attention.output")
        weights.norm(attention.layer_norm, f"{name}.self_attention_residual.norm")
        if stack == "decoder":
            attention = layer.attention
            weights.linear(attention.linear[0], f"{name}.cross_attention.query")
            weights.fused(attention.linear[1], f"{name}.cross_attention", ["key", "value"])
            weights.linear(attention.linear[2], f"{name}.cross_attention.output")
            weights.norm(attention.layer_norm, f"{name}.cross_attention_residual.norm")
        weights.linear(layer.ffn.linear_0, f"{name}.feed_forward.inner")
        weights.linear(layer.ffn.linear_1, f"{name}.feed_forward.outer")
        weights.norm(layer.ffn.layer_norm, f"{name}.feed_forward_residual.norm")


def sinusoids(positions, rows, d_model):
    """The table of `model.positions`, `[rows, d_model]`."""
    half = d_model // 2
    exponents = np.arange(half) / (max(half, 2) - 1 if positions == "sinusoidal_tensor2tensor" else half)
    angles = np.arange(rows)[:, None] * 10000.0**-exponents
    parts = np.sin(angles), np.cos(angles)
    interleaved = positions == "sinusoidal_interleaved"
    table = np.stack(parts, axis=2).reshape(rows, d_model) if interleaved else np.concatenate(parts, axis=1)
    return table.astype(np.float32)


def vocabularies(folder):
    """The tokens of both sides in the order of their ids."""
    shared = folder / "tokenizer.json"
    sides = [shared, shared] if shared.exists() else [folder / f"tokenizer.{side}.json" for side in ("src", "tgt")]
    return [tokens(json.loads(path.read_text(encoding="utf-8"))) for path in sides]


def tokens(tokenizer):
    ids = tokenizer["model"]["vocab"] | {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    ordered = sorted(ids, key=ids.get)
    if [ids[token] for token in ordered] != list(range(len(ids))):
        raise ValueError("the ids of the vocabulary have gaps")
    return ordered


def main():
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__)[0])
    parser.add_argument("model", help="model directory of Attentive")
    parser.add_argument("out", help="directory to write")
    parser.add_argument("--to", default="float32", help="type of the stored weights: float32, int8, ...")
    options = parser.parse_args()
    AttentiveConverter(options.model).convert(options.out, quantization=options.to, force=True)


if __name__ == "__main__":
    main()
