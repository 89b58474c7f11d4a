# models.py
"""The models of `attentive demo --ladder` in NumPy.

python3 models.py MODEL 'source tokens' 'target tokens'
"""

import json
import sys
import tomllib
import unicodedata
from pathlib import Path

import numpy as np


class Model:
    """A model directory: the section [model] of its configuration, the ids of its tokens, its weights."""

    def __init__(self, folder):
        folder = Path(folder)
        self.config = tomllib.loads((folder / "config.toml").read_text("utf-8"))["model"]
        self.ids = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        self.weights = read_safetensors(folder / "model.safetensors")

    def tokens(self, sentence):
        """The words of the sentence; those that the vocabulary lacks become <unk>."""
        words = unicodedata.normalize("NFKC", sentence).split()
        return [word if word in self.ids else "<unk>" for word in words]

    def embed(self, tokens):
        """√d times the row of each token in E."""
        table = self.weights["src.embedding.weight"]
        return table[[self.ids[token] for token in tokens]] * np.sqrt(table.shape[1])

    def linear(self, name, x):
        """x Wᵀ + b, without b if the layer has none."""
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0.0)


def read_safetensors(path):
    """All tensors of the file, by name: a length, a header in JSON, and the numbers."""
    data = Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, not F32")
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(data[start + begin : start + end], "<f4")
        tensors[name] = numbers.reshape(entry["shape"]).astype(float)
    return tensors


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    """Of each row; the largest number of a row is subtracted first, so that exp cannot overflow."""
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


# Recurrent networks


def rnn_cell(model, name, x, h):
    """tanh(W x + U h), each map with its bias."""
    return np.tanh(model.linear(f"{name}.input", x) + model.linear(f"{name}.hidden", h))


def lstm_cell(model, name, x, h, c, context=0.0):
    """The new h and c; context is added to what the gates read."""
    gates = model.linear(f"{name}.input", x) + context + model.linear(f"{name}.hidden", h)
    i, f, g, o = np.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, c


def rnn(model, source, target):
    """A plain recurrent network that reads in both directions, and one that writes."""
    x = model.embed(source)
    finals = []
    for direction, inputs in ("forward", x), ("backward", x[::-1]):
        h = np.zeros(model.config["recurrent"]["d_hidden"] // 2)
        for x_t in inputs:
            h = rnn_cell(model, f"encoder.layers.0.{direction}", x_t, h)
        finals.append(h)
    h = np.concatenate(finals)
    rows = []
    for y_t in model.embed(target):
        h = rnn_cell(model, "decoder.layers.0", y_t, h)
        rows.append(np.tanh(model.linear("decoder.readout", h)))
    return np.array(rows)


def lstm_attention(model, source, target):
    """LSTMs in place of the plain networks, and additive attention."""
    x = model.embed(source)
    d = model.config["recurrent"]["d_hidden"] // 2
    read, finals = [], []
    for direction, step in ("forward", 1), ("backward", -1):
        h, c, states = np.zeros(d), np.zeros(d), []
        for x_t in x[::step]:
            h, c = lstm_cell(model, f"encoder.layers.0.{direction}", x_t, h, c)
            states.append(h)
        read.append(states[::step])
        finals.append((h, c))
    H = np.concatenate(read, axis=1)
    h, c = (np.concatenate(both) for both in zip(*finals))
    rows = []
    for y_t in model.embed(target):
        context = additive_attention(model, h, H) @ H
        gates = model.linear("decoder.attention.context", context)
        h, c = lstm_cell(model, "decoder.layers.0", y_t, h, c, gates)
        rows.append(np.tanh(model.linear("decoder.readout", np.concatenate([h, context]))))
    return np.array(rows)


def additive_attention(model, s, H):
    """softmax(vᵀ tanh(W s + U h)), a weight for each row h of H."""
    query = model.linear("decoder.attention.query", s)
    keys = model.linear("decoder.attention.key", H)
    return softmax(np.tanh(query + keys) @ model.weights["decoder.attention.score"])


# The Transformer


def positions(n, d):
    """Sines in the even columns, cosines in the odd ones."""
    angles = np.arange(n)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(n, d)


def norm(model, name, x):
    centered = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + model.config["norm_epsilon"])
    return model.weights[f"{name}.gain"] * centered / deviation + model.weights[f"{name}.bias"]


def attend(q, k, v, visible=True):
    """softmax(q kᵀ / √d) v, where only visible keys count."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(visible, scores, -np.inf)) @ v


def split(rows, heads):
    """The columns of each head: an array [heads, rows, columns of a head]."""
    return rows.reshape(len(rows), heads, -1).swapaxes(0, 1)


def multi_head(model, name, x, memory, visible=True):
    """Queries from x; keys and values from memory."""
    heads = model.config["n_heads"]
    q = split(model.linear(f"{name}.query", x), heads)
    k = split(model.linear(f"{name}.key", memory), heads)
    v = split(model.linear(f"{name}.value", memory), heads)
    contexts = attend(q, k, v, visible).swapaxes(0, 1).reshape(len(x), -1)
    return model.linear(f"{name}.output", contexts)


def feed_forward(model, name, x):
    return model.linear(f"{name}.outer", np.maximum(0, model.linear(f"{name}.inner", x)))


def transformer(model, source, target):
    """A pre-norm Transformer: x + sublayer(norm(x)) around each sublayer."""
    config = model.config
    x = model.embed(source) + positions(len(source), config["d_model"])
    for layer in range(config["n_encoder_layers"]):
        at = f"encoder.layers.{layer}"
        y = norm(model, f"{at}.self_attention_residual.norm", x)
        x = x + multi_head(model, f"{at}.self_attention", y, y)
        y = norm(model, f"{at}.feed_forward_residual.norm", x)
        x = x + feed_forward(model, f"{at}.feed_forward", y)
    memory = norm(model, "encoder.norm", x)
    x = model.embed(target) + positions(len(target), config["d_model"])
    earlier = np.tri(len(target), dtype=bool)
    for layer in range(config["n_decoder_layers"]):
        at = f"decoder.layers.{layer}"
        y = norm(model, f"{at}.self_attention_residual.norm", x)
        x = x + multi_head(model, f"{at}.self_attention", y, y, earlier)
        y = norm(model, f"{at}.cross_attention_residual.norm", x)
        x = x + multi_head(model, f"{at}.cross_attention", y, memory)
        y = norm(model, f"{at}.feed_forward_residual.norm", x)
        x = x + feed_forward(model, f"{at}.feed_forward", y)
    return norm(model, "decoder.norm", x)


# All of them

ALL = dict(tie_embeddings="all", scale_embeddings=True, output_bias=False, logit_scale=1.0)
RECURRENT = ALL | dict(encoder="recurrent", decoder="recurrent", n_encoder_layers=1, n_decoder_layers=1)
RECURRENT |= dict(bidirectional=True, readout=True, input_feeding="none")
ATTENTIVE = ALL | dict(encoder="transformer", decoder="transformer", decoder_mixing="attention")
ATTENTIVE |= dict(norm="layer", norm_position="pre", positions="sinusoidal_interleaved")
ATTENTIVE |= dict(activation="relu", feed_forward_gate=False, embedding_norm=False)
NETWORKS = [
    (rnn, RECURRENT | dict(cell="rnn", attention="none")),
    (lstm_attention, RECURRENT | dict(cell="lstm", attention="additive")),
    (transformer, ATTENTIVE),
]


def network(model):
    """The function whose settings the model has; models with other settings are refused."""
    settings = model.config | model.config["recurrent"]
    for function, expected in NETWORKS:
        if expected.items() <= settings.items():
            return function
    raise ValueError("models.py has no function for this kind of model")


def log_probs(model, source, target, function=None):
    """The target's tokens, </s> at the end, and the log-probability of each."""
    source, target = model.tokens(source) + ["</s>"], model.tokens(target) + ["</s>"]
    rows = (function or network(model))(model, source, ["<s>"] + target[:-1])
    probabilities = softmax(rows @ model.weights["src.embedding.weight"].T)
    chosen = [model.ids[token] for token in target]
    return target, np.log(probabilities[np.arange(len(target)), chosen])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    for token, log_prob in zip(*log_probs(Model(sys.argv[1]), *sys.argv[2:])):
        print(f"{token:6}{log_prob:9.4f}")
