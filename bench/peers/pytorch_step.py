"""Times PyTorch training steps of an encoder-decoder of `attentive bench` on random tokens without padding.

Prints the time and the loss of each step.
"""

import argparse
import json
import time

import torch
from torch import nn

from common import MODELS_FILE, QUICK


class Transformer(nn.Module):
    """nn.Transformer with separate embeddings and output projection."""

    def __init__(self, options):
        super().__init__()
        self.src_embedding = nn.Embedding(options.vocab, options.d_model)
        self.tgt_embedding = nn.Embedding(options.vocab, options.d_model)
        self.transformer = nn.Transformer(
            options.d_model,
            options.n_heads,
            options.n_layers,
            options.n_layers,
            options.d_ff,
            options.dropout,
            batch_first=True,
        )
        self.projection = nn.Linear(options.d_model, options.vocab)

    def forward(self, src, tgt):
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
        hidden = self.transformer(
            self.src_embedding(src), self.tgt_embedding(tgt), tgt_mask=causal, tgt_is_causal=True
        )
        return self.projection(hidden)


class Lstm(nn.Module):
    """nn.LSTM in both directions; a decoder with additive attention, whose context is an input of its LSTM; and a readout.

    The decoder's products with the inputs of all positions are made at once, and one product a position does the rest.
    """

    def __init__(self, options):
        super().__init__()
        d = options.d_model
        self.src_embedding = nn.Embedding(options.vocab, d)
        self.tgt_embedding = nn.Embedding(options.vocab, d)
        self.dropout = nn.Dropout(options.dropout)
        self.encoder = nn.LSTM(d, d // 2, options.n_layers, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * d, 2 * d)
        self.key, self.query = nn.Linear(d, d), nn.Linear(d, d, bias=False)
        self.score = nn.Linear(d, 1, bias=False)
        self.input, self.recurrent = nn.Linear(d, 4 * d), nn.Linear(2 * d, 4 * d)
        self.readout = nn.Linear(2 * d, d)
        self.projection = nn.Linear(d, options.vocab)

    def forward(self, src, tgt):
        memory, finals = self.encoder(self.dropout(self.src_embedding(src)))
        keys = self.key(memory)
        finals = torch.cat([torch.cat([final[-2], final[-1]], -1) for final in finals], -1)
        hidden, cell = torch.tanh(self.bridge(finals)).chunk(2, -1)
        outputs = []
        for gates in self.input(self.dropout(self.tgt_embedding(tgt))).unbind(1):
            scores = self.score(torch.tanh(self.query(hidden).unsqueeze(1) + keys))
            context = (torch.softmax(scores, 1) * memory).sum(1)
            gates = gates + self.recurrent(torch.cat([hidden, context], -1))
            into, forget, candidate, out = gates.chunk(4, -1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(candidate)
            hidden = torch.sigmoid(out) * torch.tanh(cell)
            outputs.append(torch.cat([hidden, context], -1))
        return self.projection(self.dropout(torch.tanh(self.readout(torch.stack(outputs, 1)))))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    models = {model["name"]: model for model in json.loads(MODELS_FILE.read_text())}
    parser.add_argument("--model", choices=models, required=True, help="a model of `attentive bench`")
    parser.add_argument("--length", type=int, help="tokens of a sentence; a batch has as many tokens as with the default")
    parser.add_argument("--quick", action="store_true", help="batches of 4 sentences of 4 tokens")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    options = parser.parse_args()
    model = models[options.model]
    if options.length:
        model |= dict(batch=max(1, model["batch"] * model["length"] // options.length), length=options.length)
    if options.quick:
        model |= dict(batch=QUICK, length=QUICK)
    return argparse.Namespace(**(vars(options) | model))


def main():
    options = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    kind = Transformer if "n_heads" in options else Lstm
    model = kind(options).train().to(options.device)
    step_model = torch.compile(model) if options.compile else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    shape = (options.batch, options.length)
    src, tgt_in, tgt_out = (torch.randint(options.vocab, shape).to(options.device) for _ in range(3))
    for _ in range(options.steps):
        start = time.perf_counter()
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.bf16):
            logits = step_model(src, tgt_in)
            loss = criterion(logits.flatten(0, 1).float(), tgt_out.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if options.device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        tokens = options.batch * options.length / seconds
        print(f"{seconds:.4f} s, loss {loss.item():.3f}, {tokens:.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
