"""Translates tokenized sentences with CTranslate2 and prints the time as JSON; a process of translate.py.

The argument is a JSON object, the fields of `Task`. Imports nothing but CTranslate2, whose start-up is measured too.
"""

import json
import pathlib
import sys
import time
from dataclasses import dataclass

import ctranslate2


@dataclass
class Task:
    """What to translate, and how."""

    model: str
    compute_type: str
    # `cpu` or `cuda`.
    device: str
    # Workers, and threads of each.
    inter: int
    intra: int
    # A file with a list of sentences, each a list of tokens, and how many of them to translate.
    sentences: str
    count: int
    # Sentences translated together; with 1, each is passed on its own once the one before is done.
    batch: int
    beam: int
    length_penalty: float
    # Maximum number of tokens, including `</s>`, which is also the minimum if `forced`.
    limit: int
    forced: bool
    # Sentences translated before the clock starts.
    warm_up: int
    # Where to write the translations; empty for nowhere.
    output: str = ""

    def translate(self, translator, sentences):
        """The translations of `sentences` as lists of tokens, including `</s>`."""
        chunks = [[sentence] for sentence in sentences] if self.batch == 1 else [sentences]
        results = []
        for chunk in chunks:
            results += translator.translate_batch(
                chunk,
                max_batch_size=self.batch,
                batch_type="examples",
                beam_size=self.beam,
                length_penalty=self.length_penalty,
                max_decoding_length=self.limit,
                min_decoding_length=self.limit if self.forced else 1,
                return_end_token=True,
            )
        return [result.hypotheses[0] for result in results]


def main():
    task = Task(**json.loads(sys.argv[1]))
    sentences = json.loads(pathlib.Path(task.sentences).read_text(encoding="utf-8"))[: task.count]
    started = time.perf_counter()
    translator = ctranslate2.Translator(
        task.model, device=task.device, compute_type=task.compute_type, inter_threads=task.inter, intra_threads=task.intra
    )
    loaded = time.perf_counter()
    task.translate(translator, sentences[: task.warm_up])
    warm, cpu_before = time.perf_counter(), time.process_time()
    found = task.translate(translator, sentences)
    done, cpu = time.perf_counter(), time.process_time() - cpu_before
    if task.output:
        pathlib.Path(task.output).write_text(json.dumps(found), encoding="utf-8")
    times = dict(load=loaded - started, seconds=done - warm, cpu=cpu, until_done=done - started)
    print(json.dumps(dict(times, tokens=sum(map(len, found)))), flush=True)


if __name__ == "__main__":
    main()
