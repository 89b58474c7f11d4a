"""Text to tokens and back with a model's tokenizers: python tokens.py encode|decode|count MODEL INPUT OUTPUT; used by translate.py
and students.py.

`encode` reads lines and writes a JSON list of token lists, each ending with `</s>`; `decode` does the opposite. `count` writes the
number of tokens of translations, `</s>` included.
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer

END = "</s>"


def encode(tokenizer, text):
    lines = text.removesuffix("\n").split("\n")
    return json.dumps([tokenizer.encode(line, add_special_tokens=False).tokens + [END] for line in lines])


def decode(tokenizer, text):
    ids = tokenizer.get_vocab()
    lines = [tokenizer.decode([ids[token] for token in tokens]) for tokens in json.loads(text)]
    return "".join(f"{line}\n" for line in lines)


def count(tokenizer, text):
    return str(sum(map(len, json.loads(encode(tokenizer, text)))))


def main():
    task, model, source, output = sys.argv[1:]
    of_side = "tokenizer.src.json" if task == "encode" else "tokenizer.tgt.json"
    shared = pathlib.Path(model) / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(shared if shared.exists() else shared.with_name(of_side)))
    text = pathlib.Path(source).read_text(encoding="utf-8")
    pathlib.Path(output).write_text({"encode": encode, "decode": decode, "count": count}[task](tokenizer, text), encoding="utf-8")


if __name__ == "__main__":
    main()
