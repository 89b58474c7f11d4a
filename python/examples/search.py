"""Finds the lines of a file that are most similar to a sentence: `python search.py MODEL FILE SENTENCE`."""

import sys

import attentive
import numpy as np

model = attentive.load(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    lines = [line.strip() for line in file if line.strip()]
vectors = model.embed(lines)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
similarity = vectors @ model.embed(sys.argv[3])
for index in np.argsort(-similarity)[:5]:
    print(lines[index])
