#!/usr/bin/env python3
"""Computes, not measures, what many machines would gain: a table for docs/development/performance.md.

    bench/scale/efficiency.py --parameters 60e6 --seconds 8 --backward 5 [--bf16]

`--parameters` is the number of parameters (`attentive info`), `--seconds` the time that one machine takes to compute its
micro-batches of an update, as measured with one process (`train --profile`), and `--backward` the part of it that the backward
pass of one micro-batch takes.

Every process sends the gradients of all parameters but its own part, and then its own part of the new parameters to all
others: 2 · 4 · P · (n - 1) / n bytes, or three quarters of that if gradients are sent in bfloat16. It receives as much at the
same time. Gradients are sent in buckets during the backward pass of the last micro-batch, which takes `--backward` seconds. Those
of the embeddings and the first layers are complete only at its end (`--late`, the share of the bytes; 0.35 for the model of
docs/development/performance.md). Nothing else overlaps. Each message that nothing hides is assumed to take 50 µs in
addition, and the network to give each machine its full rate, which few networks do when many machines send at once.
"""

import argparse

MACHINES = [2, 4, 8, 16, 32, 64]
RATES = [10, 25, 100]
# Losses, gradients, norm, parameters, signal: the exchanges of an update.
ROUNDS, LATENCY = 5, 50e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--backward", type=float, required=True)
    parser.add_argument("--late", type=float, default=0.35)
    parser.add_argument("--bf16", action="store_true")
    arguments = parser.parse_args()
    each = 2 if arguments.bf16 else 4
    print("| machines | MB sent by each | " + " | ".join(f"{rate} Gbit/s" for rate in RATES) + " |")
    print("|---:|---:|" + "---:|" * len(RATES))
    for n in MACHINES:
        share = arguments.parameters * (n - 1) / n
        gradients, parameters = each * share, 4 * share
        cells = []
        for rate in RATES:
            sending = 8 * gradients / (rate * 1e9)
            exposed = max(arguments.late * sending, sending - arguments.backward)
            exchange = exposed + 8 * parameters / (rate * 1e9) + ROUNDS * n * LATENCY
            cells.append(f"{100 * arguments.seconds / (arguments.seconds + exchange):.0f} %")
        print(f"| {n} | {(gradients + parameters) / 1e6:.0f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
