"""Compares `attentive trace` with NumPy: computes a model again from its weights alone, and compares every value by name.

Knows Transformers with layer norm (pre or post), sinusoidal positions, ReLU; and recurrent encoder-decoders of one layer with
LSTM, GRU or RNN cells, without attention, with Bahdanau's, and with input feeding and additive scores of the current state.

Run with: pip install numpy==2.3.5 safetensors==0.8.0
          python scripts/trace_numpy.py target/release/attentive MODEL 'A sentence.'
"""

import json
import math
import pathlib
import subprocess
import sys
import tomllib

import numpy as np
from safetensors.numpy import load_file

TOLERANCE = 1e-5


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Model:
    def __init__(self, folder):
        self.keys = tomllib.loads((folder / "config.toml").read_text())["model"]
        self.weights = {name: w.astype(np.float64) for name, w in load_file(folder / "model.safetensors").items()}
        self.found = {}
        self.position = None

    def keep(self, name, value):
        self.found[name, self.position] = value
        return value

    def linear(self, x, name, kept=None):
        y = x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)
        return self.keep(kept or name, y)

    def norm(self, x, name):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + self.keys["norm_epsilon"])
        return self.keep(name, scaled * self.weights[f"{name}.gain"] + self.weights[f"{name}.bias"])

    def embed(self, ids, side):
        table = self.weights.get(f"{side}.embedding.weight", self.weights.get("src.embedding.weight"))
        scale = math.sqrt(self.keys["d_model"]) if self.keys["scale_embeddings"] else 1
        return self.keep(f"{side}.embedding", table[ids] * scale)

    # Transformers

    def positions(self, x, side):
        n, d = x.shape
        i = np.arange(d // 2)
        angle = np.arange(n)[:, None] / 10000 ** (2 * i / d)
        table = np.zeros((n, d))
        if self.keys["positions"] == "sinusoidal_interleaved":
            table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
        else:
            table[:, : d // 2], table[:, d // 2 :] = np.sin(angle), np.cos(angle)
        return self.keep(f"{side}.input", x + self.keep(f"{side}.positions", table))

    def attention(self, x, memory, name, causal):
        heads = self.keys["n_heads"]
        split = lambda y: y.reshape(len(y), heads, -1).transpose(1, 0, 2)
        q = split(self.linear(x, f"{name}.query"))
        k, v = split(self.linear(memory, f"{name}.key")), split(self.linear(memory, f"{name}.value"))
        scores = self.keep(f"{name}.scores", q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]))
        if causal:
            mask = self.keep(f"{name}.mask", np.tril(np.ones(scores.shape[1:])))
            scores = np.where(mask == 1, scores, -np.inf)
        weights = self.keep(f"{name}.weights", softmax(scores))
        contexts = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
        return self.linear(self.keep(f"{name}.contexts", contexts), f"{name}.output")

    def feed_forward(self, x, name):
        hidden = self.keep(f"{name}.activation", np.maximum(0, self.linear(x, f"{name}.inner")))
        return self.linear(hidden, f"{name}.outer")

    def residual(self, x, name, sublayer):
        if self.keys["norm_position"] == "pre":
            return self.keep(f"{name}.sum", x + sublayer(self.norm(x, f"{name}.norm")))
        return self.norm(self.keep(f"{name}.sum", x + sublayer(x)), f"{name}.norm")

    def stack(self, x, side, memory=None):
        name, layers = ("decoder", "n_decoder_layers") if memory is not None else ("encoder", "n_encoder_layers")
        for number in range(self.keys[layers]):
            at = f"{name}.layers.{number}"
            own = f"{at}.self_attention"
            x = self.residual(x, f"{own}_residual", lambda y: self.attention(y, y, own, memory is not None))
            if memory is not None:
                cross = f"{at}.cross_attention"
                x = self.residual(x, f"{cross}_residual", lambda y: self.attention(y, memory, cross, False))
            x = self.residual(x, f"{at}.feed_forward_residual", lambda y: self.feed_forward(y, f"{at}.feed_forward"))
        return self.norm(x, f"{name}.norm") if f"{name}.norm.gain" in self.weights else x

    # Recurrent networks

    def cell(self, projected, states, at):
        """One position; states are h, then c."""
        kind, d = self.keys["recurrent"]["cell"], states[0].shape[-1]
        u = self.linear(states[0], f"{at}.hidden")
        part = lambda y, gate: y[..., gate * d : (gate + 1) * d]
        both = lambda gate: part(projected, gate) + part(u, gate)
        if kind == "rnn":
            return [np.tanh(both(0))]
        if kind == "gru":
            r = self.keep(f"{at}.reset_gate", sigmoid(both(0)))
            z = self.keep(f"{at}.update_gate", sigmoid(both(1)))
            n = self.keep(f"{at}.candidate", np.tanh(part(projected, 2) + r * part(u, 2)))
            return [(1 - z) * n + z * states[0]]
        i = self.keep(f"{at}.input_gate", sigmoid(both(0)))
        f = self.keep(f"{at}.forget_gate", sigmoid(both(1)))
        g = self.keep(f"{at}.candidate", np.tanh(both(2)))
        o = self.keep(f"{at}.output_gate", sigmoid(both(3)))
        c = self.keep(f"{at}.c", f * states[1] + i * g)
        return [o * np.tanh(c), c]

    def direction(self, x, at, d, backward):
        n_states = 2 if self.keys["recurrent"]["cell"] == "lstm" else 1
        projected = self.linear(x, f"{at}.input")
        states, rows, kept = [np.zeros((1, d))] * n_states, {}, {}
        for row in reversed(range(len(x))) if backward else range(len(x)):
            before = dict(self.found)
            states = self.cell(projected[row : row + 1], states, at)
            new = [key for key in self.found if key not in before and key[0].startswith(f"{at}.")]
            for key in new:
                kept.setdefault(key, {})[row] = self.found.pop(key)
            rows[row] = states[0]
        together = lambda parts: np.concatenate([parts[row] for row in range(len(x))])
        for key, parts in kept.items():
            self.found[key] = together(parts)
        self.keep(f"{at}.final", np.concatenate(states, -1))
        return self.keep(f"{at}.h", together(rows)), states

    def recurrent_encoder(self, x):
        at, keys = "encoder.layers.0", self.keys["recurrent"]
        if not keys["bidirectional"]:
            return self.direction(x, f"{at}.forward", keys["d_hidden"], False)
        half = keys["d_hidden"] // 2
        (forward, last), (backward, first) = (
            self.direction(x, f"{at}.{name}", half, name == "backward") for name in ("forward", "backward")
        )
        states = [np.concatenate([a, b], -1) for a, b in zip(last, first)]
        self.keep(f"{at}.final", np.concatenate(states, -1))
        return self.keep(f"{at}.h", np.concatenate([forward, backward], -1)), states

    def additive(self, h, keys, memory):
        at = "decoder.attention"
        q = self.linear(h, f"{at}.query")
        v = self.weights[f"{at}.score"].reshape(-1)
        scores = self.keep(f"{at}.scores", (np.tanh(q + keys) @ v)[None])
        return self.keep(f"{at}.contexts", self.keep(f"{at}.weights", softmax(scores)) @ memory)

    def recurrent_decoder(self, x, memory, states):
        at, keys = "decoder.layers.0", self.keys["recurrent"]
        attention = keys.get("attention", "none")
        of_memory = self.linear(memory, "decoder.attention.key") if attention in ("additive", "concat") else None
        context, outputs = np.zeros((1, memory.shape[1])), []
        for position, y in enumerate(x):
            self.position = position
            y = y[None]
            if keys.get("input_feeding", "none") == "context":
                y = self.keep("tgt.embedding.joined", np.concatenate([y, context], -1))
            if attention == "additive":
                context = self.additive(states[0], of_memory, memory)
                of_context = self.linear(context, "decoder.attention.context", "decoder.attention.context_input")
                projected = self.keep(f"{at}.input_and_context", self.linear(y, f"{at}.input") + of_context)
            else:
                projected = self.linear(y, f"{at}.input")
            states = self.cell(projected, states, at)
            self.keep(f"{at}.h", states[0])
            if attention == "concat":
                context = self.additive(states[0], of_memory, memory)
            read = states[0]
            if attention != "none":
                read = self.keep(f"{at}.h.joined", np.concatenate([read, context], -1))
            if keys["readout"]:
                read = self.keep("decoder.readout.tanh", np.tanh(self.linear(read, "decoder.readout")))
            outputs.append(read)
        self.position = None
        return self.keep("decoder.output", np.concatenate(outputs))

    def run(self, src, tgt):
        if self.keys["encoder"] == "transformer":
            memory = self.stack(self.positions(self.embed(src, "src"), "src"), "src")
            x = self.stack(self.positions(self.embed(tgt, "tgt"), "tgt"), "tgt", memory)
        else:
            memory, states = self.recurrent_encoder(self.embed(src, "src"))
            x = self.recurrent_decoder(self.embed(tgt, "tgt"), memory, states)
        table = next(self.weights[name] for name in ("head.weight", "tgt.embedding.weight", "src.embedding.weight") if name in self.weights)
        logits = self.keep("head.logits", x @ table.T + self.weights.get("head.bias", 0))
        self.keep("head.probabilities", softmax(logits))


def ids(table, scale, embedding):
    """The ids of tokens: the rows of the table that the trace has as embeddings."""
    return [int(np.abs(table * scale - row).max(-1).argmin()) for row in embedding]


def main(binary, folder, sentence):
    command = [binary, "trace", folder, sentence, "--json", "--values"]
    trace = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    model = Model(pathlib.Path(folder))
    theirs = {(one["name"], one["position"]): np.array(one["values"]).reshape(one["shape"]) for one in trace["operations"]}
    scale = math.sqrt(model.keys["d_model"]) if model.keys["scale_embeddings"] else 1
    read = {}
    for side in ("src", "tgt"):
        table = model.weights.get(f"{side}.embedding.weight", model.weights.get("src.embedding.weight"))
        read[side] = ids(table, scale, theirs[f"{side}.embedding", None])
    model.run(read["src"], read["tgt"])
    unknown = theirs.keys() - model.found.keys()
    worst = 0.0
    for key, value in theirs.items():
        if key in model.found:
            ours = model.found[key].reshape(value.shape)
            difference = np.abs(ours - value) / np.maximum(1, np.abs(ours))
            worst = max(worst, difference.max(initial=0))
            if not np.allclose(ours, value, rtol=TOLERANCE, atol=TOLERANCE):
                sys.exit(f"{key}: {difference.max():.2e}")
    print(f"{folder}: {len(theirs) - len(unknown)} of {len(theirs)} operations compared, largest difference {worst:.1e}")
    if unknown:
        sys.exit(f"not compared: {sorted(name for name, _ in unknown)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
