"""Times PyTorch training steps of an encoder-decoder Transformer of `attentive bench` on random tokens without padding.

Prints the time and the loss of each step.
"""

import argparse
import json
import time

import torch
from torch import nn

from common import MODELS_FILE


class Model(nn.Module):
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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    models = {model["name"]: model for model in json.loads(MODELS_FILE.read_text())}
    parser.add_argument("--model", choices=models, required=True, help="a model of `attentive bench`")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    options = parser.parse_args()
    return argparse.Namespace(**models[options.model], **vars(options))


def main():
    options = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    model = Model(options).train().to(options.device)
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
