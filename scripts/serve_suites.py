#!/usr/bin/env python3
"""Runs the test suite of the official DeepL client for Python against `attentive serve`.

    python3 scripts/serve_suites.py [--deepl-python CHECKOUT]

Needs Python 3.11, git and a release build of the program. Fetches the client (target/serve/suites), trains tiny models that know
the texts of its suite by heart, serves them with a key, and runs the suite. Ends with a status other than 0 if a test fails that
is not in `EXPECTED`, which says why.
"""

import argparse
import ast
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "target" / "serve" / "suites"
CLIENT = ("https://github.com/DeepLcom/deepl-python", "v1.30.0")
PACKAGES = ["pydantic==1.10.26", "pytest==8.4.2", "pytest-timeout==2.4.0", "requests==2.32.5", "click==8.3.1", "keyring==25.7.0"]
KEY = "a-key-of-this-check"

FORMALITY = "no model here has a formality: DeepL's own have one for German"
MODEL = "the expected words are those of DeepL's own models"
WORD = "a single word, which is taken for one of the other languages that are served"
WRITE = "rephrasing is not translation, and is refused"
STYLE = "style rules are instructions for DeepL's own models, and are refused"
EXPECTED = {
    "test_general.py::test_language": FORMALITY,
    "test_translate_text.py::test_formality": FORMALITY,
    "test_translate_document.py::test_translate_document_formality": FORMALITY,
    "test_general.py::test_mixed_direction_text": "no model here translates into Arabic",
    "test_glossary.py::test_glossary_translate_text_sentence": MODEL,
    "test_multilingual_glossary.py::test_glossary_translate_text_sentence": MODEL,
    "test_cli.py::test_text": WORD,
    "test_translate_document.py::test_document_failure_during_translation": WORD,
    "test_translate_text.py::test_mixed_case_languages": WORD,
    "test_translate_text.py::test_tag_handling_xml": MODEL,
    "test_translate_text.py::test_tag_handling_html": MODEL,
    "test_translate_text.py::test_custom_instructions": MODEL,
    "test_rephrase_text.py::test_single_text": WRITE,
    "test_rephrase_text.py::test_business_style": WRITE,
    "test_style_rules.py::test_style_rule_crud": STYLE,
    "test_style_rules.py::test_style_rule_accepts_style_rule_info": STYLE,
}
"""Tests that fail, and why."""

CONFIG = """
[data]
train = {{ tsv = "{name}.tsv" }}
[tokenizer]
vocab_size = 600
min_frequency = 1
[model]
d_model = 64
n_heads = 2
d_ff = 128
n_encoder_layers = 1
n_decoder_layers = 1
dropout = 0.0
[train]
max_steps = 400
batch_tokens = 2048
[train.optimizer]
learning_rate = 0.005
[train.schedule]
warmup_steps = 50
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, default=ROOT / "target" / "release" / "attentive", help="the program")
    parser.add_argument("--deepl-python", type=pathlib.Path, help="a checkout of the client, in place of a new one")
    return parser.parse_args()


def checkout():
    """The client at the version of `CLIENT`."""
    address, tag = CLIENT
    folder = FOLDER / f"deepl-python-{tag}"
    if not folder.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", "--branch", tag, address, folder], check=True)
    return folder


def interpreter():
    """The Python of a virtual environment with the packages."""
    folder = FOLDER / "python"
    if not folder.exists():
        venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def examples(client):
    """The text of the suite in each language, by code."""
    tree = ast.parse((client / "tests" / "conftest.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "example_text":
            return ast.literal_eval(node.value)
    raise SystemExit(f"{client}: tests/conftest.py has no `example_text`")


def train(program, folder, name, pairs):
    """Trains a model that knows `pairs` by heart."""
    (folder / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs) * 8, encoding="utf-8")
    (folder / f"{name}.toml").write_text(CONFIG.format(name=name), encoding="utf-8")
    subprocess.run([program, "train", f"{name}.toml", "--output", name], cwd=folder, check=True, capture_output=True)


def models(program, folder, texts):
    """Trains the models, and returns each with the pairs of languages that it serves."""
    others = {code.split("-")[0].lower(): text for code, text in texts.items()}
    languages = sorted(others)
    for name, target in [("into-en", "EN"), ("into-de", "DE"), ("into-fr", "FR")]:
        train(program, folder, name, [(text, texts[target]) for text in sorted(set(others.values()))])
    served = [(f"{code}-en", "into-en") for code in languages]
    served += [(f"{code}-de", "into-de") for code in languages if code != "de"]
    return served + [("en-fr", "into-fr")]


@contextlib.contextmanager
def server(program, folder, served):
    """The address of a server."""
    (folder / "keys").write_text(KEY + "\n", encoding="utf-8")
    named = [f"{name}={model}" for name, model in served]
    command = [program, "serve", *named, "--listen", "127.0.0.1:0", "--api-key-file", "keys"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = process.stdout.readline().strip()
        while True:
            with contextlib.suppress(urllib.error.URLError):
                if urllib.request.urlopen(f"{address}/readyz").status == 200:
                    break
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def main():
    args = arguments()
    client = args.deepl_python or checkout()
    python = interpreter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        served = models(args.attentive.resolve(), folder, examples(client))
        with server(args.attentive.resolve(), folder, served) as address:
            command = [python, "-m", "pytest", "tests", "-q", "--timeout", "60", "--tb=line", "-rfE", "-p", "no:cacheprovider"]
            # Neither the proxy nor the mock server of the suite is there: it skips their tests.
            environment = {"DEEPL_SERVER_URL": address, "DEEPL_AUTH_KEY": KEY, "PATH": "/usr/bin:/bin", "HOME": temporary}
            found = subprocess.run(command, cwd=client, env=environment, capture_output=True, text=True)
    failed = set(re.findall(r"^(?:FAILED|ERROR) tests/(\S+)", found.stdout, re.M))
    summary = found.stdout.strip().splitlines()[-1]
    print(f"DeepL's client for Python: {summary}")
    for name in sorted(failed):
        print(f"  {'expected' if name in EXPECTED else 'UNEXPECTED'}: {name}: {EXPECTED.get(name, '')}")
    for name in sorted(set(EXPECTED) - failed):
        print(f"  now passes: {name}")
    unexpected = failed - set(EXPECTED)
    if unexpected or "passed" not in summary:
        print(found.stdout[-6000:])
        sys.exit(1)


if __name__ == "__main__":
    main()
