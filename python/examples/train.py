"""Trains a translator on a table of pairs and measures it: `python train.py pairs.tsv DIR`."""

import csv
import sys

import attentive

with open(sys.argv[1], encoding="utf-8", newline="") as file:
    pairs = [(source, target) for source, target in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
held_out = len(pairs) // 10


def show(event: attentive.Event) -> None:
    if isinstance(event, attentive.Validation):
        print(f"update {event.step}: loss {event.loss:.3f}")


config = {"model": {"d_model": 128, "n_heads": 4}, "train": {"max_steps": 2000, "validate_every": 500}}
run = attentive.train(
    config, out=sys.argv[2], train_data=pairs[held_out:], valid_data=pairs[:held_out], callbacks=show, existing="resume"
)
print(attentive.evaluate(run.model(), pairs[:held_out])["bleu"]["value"])
