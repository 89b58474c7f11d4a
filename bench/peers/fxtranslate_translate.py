"""Translates with Mozilla's engine (the package fxtranslate), one line at a time: python fxtranslate_translate.py TASK

TASK is a JSON file with the files of the model and the lines. Prints the translations and the times as JSON.
"""

import json
import pathlib
import sys
import time

started = time.perf_counter()
import fxtranslate  # noqa: E402

task = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
read = lambda path: pathlib.Path(path).read_bytes()
vocabularies = [read(path) for path in (task["vocabularies"] * 2)[:2]]
translator = fxtranslate.Translator(read(task["model"]), *vocabularies, read(task["shortlist"]))
translator.translate(task["lines"][0])
start = time.perf_counter() - started
begun, before = time.perf_counter(), time.process_time()
lines = [translator.translate(line) for line in task["lines"]]
seconds, cpu = time.perf_counter() - begun, time.process_time() - before
print(json.dumps(dict(start=start, seconds=seconds, cpu=cpu, lines=lines, backend=translator.backend())))
