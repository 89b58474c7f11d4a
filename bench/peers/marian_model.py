"""Writes a MarianMT model with random weights in the format of `transformers`: python marian_model.py OUT

Its shape is that of OPUS-MT: 6 + 6 layers of 512 features, 8 heads, swish, and 58,101 tokens, here made-up words. It never generates
`</s>`, so that every translation reaches the limit. Used by translate.py, which imports it.
"""

import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

VOCAB, WIDTH, INNER, LAYERS, LIMIT = 58101, 512, 2048, 6, 32
END, UNKNOWN, PADDING = 0, 1, VOCAB - 1
CONFIG = {
    "model_type": "marian",
    "is_encoder_decoder": True,
    "vocab_size": VOCAB,
    "decoder_vocab_size": VOCAB,
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": INNER,
    "decoder_ffn_dim": INNER,
    "max_position_embeddings": 512,
    "activation_function": "swish",
    "scale_embedding": True,
    "static_position_embeddings": True,
    "pad_token_id": PADDING,
    "decoder_start_token_id": PADDING,
    "eos_token_id": END,
    "bos_token_id": END,
    "bad_words_ids": [[PADDING], [END]],
    "max_length": LIMIT,
}


def weights():
    random = np.random.default_rng(20261122)
    draw = lambda *shape: (random.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)
    tensors = {"model.shared.weight": draw(VOCAB, WIDTH), "final_logits_bias": np.zeros((1, VOCAB), np.float32)}

    def linear(name, rows, columns):
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = draw(rows, columns), np.zeros(rows, np.float32)

    def norm(name):
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    for stack, attentions in ("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"]):
        for number in range(LAYERS):
            layer = f"model.{stack}.layers.{number}"
            for attention in attentions:
                for part in ["q_proj", "k_proj", "v_proj", "out_proj"]:
                    linear(f"{layer}.{attention}.{part}", WIDTH, WIDTH)
                norm(f"{layer}.{attention}_layer_norm")
            linear(f"{layer}.fc1", INNER, WIDTH)
            linear(f"{layer}.fc2", WIDTH, INNER)
            norm(f"{layer}.final_layer_norm")
    return tensors


def tokenizer():
    vocabulary = {"</s>": END, "<unk>": UNKNOWN, "<pad>": PADDING} | {f"w{id}": id for id in range(2, PADDING)}
    special = lambda token: {
        "id": vocabulary[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": False, "special": True,
    }
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special(token) for token in ("</s>", "<unk>", "<pad>")],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, end],
            "pair": [],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [END], "tokens": ["</s>"]}},
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True)
    save_file(weights(), out / "model.safetensors", {"format": "pt"})
    (out / "tokenizer.json").write_text(json.dumps(tokenizer()), encoding="utf-8")
    (out / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")


if __name__ == "__main__":
    main()
