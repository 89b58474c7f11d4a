#!/usr/bin/env python3
"""Computes, not measures, what many machines would gain: a table for docs/scale.md.

    bench/scale/efficiency.py --parameters 60e6 --seconds 8 [--bf16]

`--parameters` is the number of parameters (`attentive info`), `--seconds` the time that one machine takes to compute its
micro-batches of an update, as measured with one process (`train --profile`).

Every process sends the gradients of all parameters but its own part, and then its own part of the new parameters to all
others: 2 · 4 · P · (n - 1) / n bytes, or three quarters of that if gradients are sent in bfloat16. It receives as much at the
same time. Computing and exchanging do not overlap. Each message is assumed to take 50 µs in addition, and the network to
give each machine its full rate, which few networks do when many machines send at once.
"""

import argparse

MACHINES = [2, 4, 8, 16, 32, 64]
RATES = [10, 25, 100]
# Status, gradients, norm, parameters, signal: the exchanges of an update.
ROUNDS, LATENCY = 5, 50e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--bf16", action="store_true")
    arguments = parser.parse_args()
    each = 6 if arguments.bf16 else 8
    print("| machines | MB sent by each | " + " | ".join(f"{rate} Gbit/s" for rate in RATES) + " |")
    print("|---:|---:|" + "---:|" * len(RATES))
    for n in MACHINES:
        sent = each * arguments.parameters * (n - 1) / n
        cells = []
        for rate in RATES:
            exchange = 8 * sent / (rate * 1e9) + ROUNDS * n * LATENCY
            cells.append(f"{100 * arguments.seconds / (arguments.seconds + exchange):.0f} %")
        print(f"| {n} | {sent / 1e6:.0f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
