"""Translates the lines of standard input: `python translate.py MODEL < in.en > out.de`."""

import sys

import attentive

model = attentive.load(sys.argv[1], precision="int8")
for translation in model.translate(line.rstrip("\n") for line in sys.stdin):
    print(translation)
