#!/usr/bin/env python3
"""Checks that no sentence of a text is lost: by all APIs of `attentive serve`, its page in a browser, and by
`attentive translate --split-sentences`.

    python3 scripts/serve_sentences.py --attentive target/release/attentive

Needs Python 3.11, the program, and Chromium with its driver (`--no-page` does without). Trains a small model that copies its input
(a few minutes, once, in target/serve/sentences), writes 500 paragraphs of several sentences in five languages, with a marker word
in each sentence and with blanks and line breaks of many kinds between them, and has them translated. Every answer must be the
translations of the single sentences with the blanks of the source, and every marker must be in it once. Ends with a status other
than 0 if anything differs.
"""

import argparse
import html
import json
import pathlib
import random
import re
import subprocess
import sys
import urllib.request

from browser import Browser
from serving import Failure, Server, check

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "target" / "serve" / "sentences"
# Words, among them abbreviations and numbers whose full stops end no sentence, ends of sentences, and what joins words.
LANGUAGES = {
    "en": ("The A house dog sees 3.14 green Mr. Smith Dr. J. R. Brown e.g. trees No. 5 quickly", [".", "!", "?", "...", ".”", "!)"], " "),
    "de": ("Der Hund sieht grüne z. B. Häuser Nr. 7 am 3. Oktober Dr. Müller ca. zwölf Bäume", [".", "!", "?", "!“", ".)"], " "),
    "fr": ("Le chien voit M. Dupont cf. une maison verte Mme. Curie bientôt été", [".", " !", " ?", ". »", "…"], " "),
    "ru": ("Собака видит А. С. Пушкин дом ул. Ленина т. е. быстро зелёный дерево", [".", "!", "?", "!»"], " "),
    "zh": ("我 看见 一 只 狗 绿色 房子 元 今天 学生 喜欢", ["。", "！", "？", "。”"], ""),
}
BLANKS = [" ", "  ", "\n", "\n\n", "\r\n", " \n\t", "\u00a0 ", "\n \n"]
# Between the texts that the page is given as one: nothing else has as many line breaks.
BETWEEN = "\n" * 5
CONFIG = """
seed = 1
[data]
train = {{ src = "{folder}/train", tgt = "{folder}/train" }}
valid = {{ src = "{folder}/valid", tgt = "{folder}/valid" }}
[tokenizer]
kind = "bpe"
vocab_size = 700
vocabulary = "shared"
[model]
d_model = 96
d_ff = 192
n_heads = 4
n_encoder_layers = 2
n_decoder_layers = 2
norm_position = "pre"
dropout = 0.0
[train]
max_steps = {steps}
batch_tokens = 2048
label_smoothing = 0.0
validate_every = 200
save_every = 400
keep_last = 1
[train.optimizer]
learning_rate = 0.003
[train.schedule]
kind = "cosine"
warmup_steps = 100
[decode]
beam_width = 1
"""


def words_of(language):
    """The words of a language; those that end in a full stop stay with the next one."""
    words = []
    for word in LANGUAGES[language][0].split():
        joins = words and (words[-1].endswith(".") or words[-1] == "am")
        words = [*words[:-1], f"{words[-1]} {word}"] if joins else [*words, word]
    return words


def sentence(chance, language, marker):
    """A sentence with the marker. It begins with a letter, a capital one where the language has them, and does not end in what may
    be an initial: nobody could tell where such sentences end."""
    words, ends, blank = words_of(language), LANGUAGES[language][1], LANGUAGES[language][2]
    chosen = [chance.choice(words) for _ in range(chance.randint(2, 6))]
    if not chosen[0][0].isalpha() or chosen[-1] == "A":
        return sentence(chance, language, marker)
    chosen.insert(chance.randint(1, len(chosen)), marker)
    text = blank.join(chosen)
    return text[0].upper() + text[1:] + chance.choice(ends)


def paragraph(chance, language, first):
    """The sentences of a paragraph with the blanks before each, and its markers."""
    markers = [f"q{first + number}" for number in range(chance.randint(2, 7))]
    parts = []
    for number, marker in enumerate(markers):
        before = "" if number == 0 else "" if language == "zh" and chance.random() < 0.7 else chance.choice(BLANKS)
        parts.append((before, sentence(chance, language, marker)))
    return parts, markers


def train(options):
    """The model that copies."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    for name, count in [("train", 30000), ("valid", 200)]:
        lines = [sentence(chance, chance.choice(list(LANGUAGES)), f"q{chance.randrange(10000)}") for _ in range(count)]
        (FOLDER / name).write_text("".join(f"{line}\n" for line in lines))
    config = FOLDER / "copy.toml"
    config.write_text(CONFIG.format(folder=FOLDER, steps=options.steps))
    run(options, "train", config, "--output", FOLDER / "copy", "--force")
    return FOLDER / "copy"


def run(options, *arguments, text=None):
    command = list(map(str, [options.attentive, *arguments]))
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE).stdout


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def own(url, text):
    result = json.loads(post(url, "/api/translate", {"model": "copy", "text": text}))["results"][0]
    for part in ["source", "translation"]:
        joined = "".join(one["before"] + one[part] for one in result["sentences"]) + result["after"]
        check(joined == (text if part == "source" else result["translations"][0]["text"]), f"{part}: {result}")
    return result["translations"][0]["text"]


def streamed(url, text):
    events = post(url, "/api/translate", {"model": "copy", "text": text, "stream": True}).split("\n\n")
    results = [event.partition("data: ")[2] for event in events if event.startswith("event: result")]
    return json.loads(results[0])["translations"][0]["text"]


def chat(url, text, stream=False):
    body = {"model": "copy", "messages": [{"role": "user", "content": text}], "stream": stream}
    answer = post(url, "/v1/chat/completions", body)
    if not stream:
        return json.loads(answer)["choices"][0]["message"]["content"]
    events = [event.removeprefix("data: ") for event in answer.split("\n\n") if event.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for event in events for choice in json.loads(event)["choices"])


def libretranslate(url, text, form="text"):
    answer = post(url, "/translate", {"q": text, "source": "en", "target": "de", "format": form})
    return json.loads(answer)["translatedText"]


def deepl(url, text, **more):
    answer = post(url, "/v2/translate", {"text": [text], "source_lang": "EN", "target_lang": "DE", **more})
    return json.loads(answer)["translations"][0]["text"]


def shown(url, texts, size=20):
    """What the page shows for these texts, which are given to it in groups, as paragraphs of longer texts."""
    found = []
    with Browser() as browser:
        for start in range(0, len(texts), size):
            group = [text.replace("\r\n", "\n") for text in texts[start : start + size]]
            found += browser.translation(url, BETWEEN.join(group)).split(BETWEEN)
    check(len(found) == len(texts), f"the page shows {len(found)} paragraphs for {len(texts)}")
    return found


def rendered(markup):
    """Markup with the runs of blanks that a browser shows as one, and with other blanks as characters."""
    return re.sub("[ \\t\\r\\n]+", " ", markup.replace("&#160;", "\u00a0"))


def markers_of(text, markers):
    """How often each marker is in the text as a word of its own."""
    found = [word.strip() for word in "".join(c if c.isascii() and c.isalnum() else " " for c in text).split()]
    return [found.count(marker) for marker in markers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, default=ROOT / "target" / "release" / "attentive", help="the program")
    parser.add_argument("--model", type=pathlib.Path, help="a model that copies, trained before by this script")
    parser.add_argument("--steps", type=int, default=1200, help="updates of the training")
    parser.add_argument("--no-page", dest="page", action="store_false", help="do without a browser")
    parser.add_argument("--paragraphs", type=int, default=500)
    options = parser.parse_args()
    model = options.model or train(options)
    chance, paragraphs, first = random.Random(2), [], 0
    for number in range(options.paragraphs):
        language = list(LANGUAGES)[number % len(LANGUAGES)]
        paragraphs.append((language, *paragraph(chance, language, first)))
        first += len(paragraphs[-1][2])
    print(f"{len(paragraphs)} paragraphs, {first} sentences")

    # What the model makes of each sentence by itself.
    lines = [text for _, parts, _ in paragraphs for _, text in parts]
    alone = iter(run(options, "translate", model, text="".join(f"{line}\n" for line in lines).encode()).decode().split("\n"))
    expected = ["".join(before + next(alone) for before, _ in parts) for _, parts, _ in paragraphs]
    sources = ["".join(before + text for before, text in parts) for _, parts, _ in paragraphs]
    copied = sum(count == 1 for text, (_, _, markers) in zip(expected, paragraphs) for count in markers_of(text, markers))
    print(f"the model copies {copied} of {first} markers of single sentences")

    failures = 0

    def report(name, found, right):
        """Compares with what is `right`, if that is known, and counts the markers."""
        nonlocal failures
        right = right and list(right)
        check(len(found) == len(paragraphs), f"{name}: {len(found)} paragraphs for {len(paragraphs)}")
        differ = [pair for pair in zip(found, right or found) if pair[0] != pair[1]]
        counts = [markers_of(text, markers) for text, (_, _, markers) in zip(found, paragraphs)]
        missing = [
            (text, marker)
            for text, alone, these, (_, _, markers) in zip(found, expected, counts, paragraphs)
            for count, once, marker in zip(these, markers_of(alone, markers), markers)
            if once == 1 and count != 1
        ]
        failures += len(differ) + len(missing)
        print(f"{name}: {len(differ)} paragraphs differ, {len(missing)} markers missing")
        if differ:
            print(f"  {differ[0][0]!r}, expected\n  {differ[0][1]!r}")
        if missing:
            print(f"  no {missing[0][1]} in {missing[0][0]!r}")

    with Server(options.attentive, {"copy": model, "en-de": model}) as server:
        url = server.url
        report("LibreTranslate", [libretranslate(url, text) for text in sources], expected)
        report("DeepL", [deepl(url, text) for text in sources], expected)
        report("DeepL, nonewlines", [deepl(url, text, split_sentences="nonewlines") for text in sources], None)
        report("/api/translate", [own(url, text) for text in sources], expected)
        report("/api/translate, stream", [streamed(url, text) for text in sources], expected)
        report("/v1/chat/completions", [chat(url, text) for text in sources], expected)
        report("/v1/chat/completions, stream", [chat(url, text, True) for text in sources], expected)
        marked, right = [[f"<div><p>{html.escape(text)}</p></div>" for text in texts] for texts in (sources, expected)]
        report("LibreTranslate, HTML", [rendered(libretranslate(url, text, "html")) for text in marked], map(rendered, right))
        report("DeepL, XML", [rendered(deepl(url, text, tag_handling="xml")) for text in marked], map(rendered, right))
        if options.page:
            # A text field has one kind of line break.
            lines = [text.replace("\r\n", "\n") for text in expected]
            report("the page", shown(url, sources), lines)
        server.check_well()

    # Files have one paragraph a line.
    rows = [text.replace("\r", " ").replace("\n", " ") for text in sources]
    found = run(options, "translate", model, "--split-sentences", text="".join(f"{row}\n" for row in rows).encode())
    right = [text.replace("\r", " ").replace("\n", " ") for text in expected]
    report("attentive translate --split-sentences", found.decode().removesuffix("\n").split("\n"), right)
    sys.exit(bool(failures))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"error: {failure}")
