#!/usr/bin/env python3
"""Runs test suites of other projects against `attentive serve`: of the official DeepL clients for Python and Node, and of LibreTranslate.

    python3 scripts/serve_suites.py [--only deepl-python|deepl-node|libretranslate] [--checkouts FOLDER]

Needs Python 3.11, git, a release build of the program and, for Node's suite, npm. Fetches the projects (target/serve/suites), trains
tiny models that know the texts of DeepL's suites by heart, serves them, and runs the suites. Ends with a status other than 0 if a
test fails that is not in `EXPECTED`, which says why.
"""

import argparse
import ast
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "target" / "serve" / "suites"
PROJECTS = {
    "deepl-python": ("https://github.com/DeepLcom/deepl-python", "v1.30.0", 129),
    "deepl-node": ("https://github.com/DeepLcom/deepl-node", "v1.27.0", 122),
    "libretranslate": ("https://github.com/LibreTranslate/LibreTranslate", "v1.9.6", 14),
}
"""The address, the version, and the number of tests that pass at least."""
PACKAGES = ["pydantic==1.10.26", "pytest==8.4.2", "pytest-timeout==2.4.0", "requests==2.32.5", "click==8.3.1", "keyring==25.7.0"]
KEY = "a-key-of-this-check"

FORMALITY = "no model here has a formality: DeepL's own have one for German"
MODEL = "the expected words are those of DeepL's own models"
WORD = "a single word, which is taken for one of the other languages that are served"
WRITE = "rephrasing is not translation, and is refused"
STYLE = "style rules are instructions for DeepL's own models, and are refused"
ARABIC = "no model here translates into Arabic"
ROOT_USER = "it expects an error that the user `root` does not get"

EXPECTED = {
    "deepl-python": {
        "test_general.py::test_language": FORMALITY,
        "test_translate_text.py::test_formality": FORMALITY,
        "test_translate_document.py::test_translate_document_formality": FORMALITY,
        "test_general.py::test_mixed_direction_text": ARABIC,
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
    },
    "deepl-node": {
        "general lists source and target languages": FORMALITY,
        "translate text should translate with formality": FORMALITY,
        "translate document should translate using formality": FORMALITY,
        "general handles mixed text-direction tests": ARABIC,
        "translate using glossaries should translate text sentence using glossaries": MODEL,
        "Multilingual Glossary Tests testGlossaryTranslateTextSentence": MODEL,
        "Multilingual Glossary Tests testGlossaryTranslateTextBasic": MODEL,
        "translate text should translate using specified XML tags": MODEL,
        "translate text should translate using specified HTML tags": MODEL,
        "translate text should translate with custom instructions": MODEL,
        "translate text should translate with tag_handling_version option": WORD,
        "translate document should handle document failure": WORD,
        "client tests log debug with rephrase text": WRITE,
        "rephrase text should rephrase a single text": WRITE,
        "rephrase text should rephrase a single text without a target language": WRITE,
        "rephrase text should throw an error for unsupported languages": WRITE,
        "rephrase text should throw an error for unsupported tone": WRITE,
        "rephrase text should throw an error for unsupported writing_style parameter": WRITE,
        "rephrase text should throw an error if both style and tone are provided": WRITE,
        "rephrase text should return success if style is default and tone is provided": WRITE,
        "rephrase text should return success if style is provided and tone is default": WRITE,
        "rephrase text should return success if both style and tone are not provided": WRITE,
        "rephrase text should rephrase with style and tone": WRITE,
        "Style Rules Tests test style rule CRUD": STYLE,
    }
    | (
        {"DocumentMinifier helperMethods exportMediaToMediaDirAndReplace should throw DocumentMinificationError on file operation error": ROOT_USER}
        if os.geteuid() == 0
        else {}
    ),
    "libretranslate": {},
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

LIBRETRANSLATE_CLIENT = '''
"""In place of LibreTranslate's own application: a client of a server that runs."""

import os

import pytest
import requests


class Response:
    def __init__(self, response):
        self.status_code = response.status_code
        self.data = response.content
        self._response = response

    @property
    def json(self):
        return self._response.json()


class Client:
    def get(self, path):
        return Response(requests.get(os.environ["SERVER"] + path))

    def post(self, path, data=None, json=None):
        return Response(requests.post(os.environ["SERVER"] + path, data=data, json=json))


@pytest.fixture()
def client():
    return Client()
'''


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, default=ROOT / "target" / "release" / "attentive", help="the program")
    parser.add_argument("--only", choices=PROJECTS, help="run this suite alone")
    parser.add_argument("--checkouts", type=pathlib.Path, default=FOLDER, help="where the projects are, by name, or go to")
    return parser.parse_args()


def checkout(folder, name):
    """The project `name` at its version."""
    address, tag, _ = PROJECTS[name]
    place = folder / f"{name}-{tag}"
    if not place.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", "--branch", tag, address, place], check=True)
    return place.resolve()


def interpreter():
    """The Python of a virtual environment with the packages."""
    folder = FOLDER / "python"
    if not folder.exists():
        venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def examples(client):
    """The text of DeepL's suites in each language, by code."""
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
def server(program, folder, served, key=None):
    """The address of a server."""
    options = []
    if key:
        (folder / "keys").write_text(key + "\n", encoding="utf-8")
        options = ["--api-key-file", "keys"]
    named = [f"{name}={model}" for name, model in served]
    command = [program, "serve", *named, "--listen", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        # Node's suite lets requests to this name through.
        address = process.stdout.readline().strip().replace("127.0.0.1", "localhost")
        while True:
            with contextlib.suppress(urllib.error.URLError):
                if urllib.request.urlopen(f"{address}/readyz").status == 200:
                    break
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def run(command, folder, home, **environment):
    """The output of a suite. Neither DeepL's mock server nor its proxy is there: the suites skip their tests."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **environment}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)


def pytest(python, tests, folder, home, **environment):
    """What `pytest` says, and the tests that failed."""
    command = [python, "-m", "pytest", tests, "-q", "--timeout", "60", "--tb=line", "-rfE", "-p", "no:cacheprovider"]
    found = run(command, folder, home, **environment)
    failed = re.findall(r"^(?:FAILED|ERROR) (?:tests/)?(\S+)", found.stdout, re.M)
    lines = found.stdout.strip().splitlines() or ["nothing was run"]
    return lines[-1], set(failed), found.stdout + found.stderr


def jest(client, home, **environment):
    """What `jest` says, and the tests that failed. Documents of Word and PowerPoint are not translated, so that their life is not tested."""
    if not (client / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=client, check=True)
    results = home / "jest.json"
    command = ["npx", "jest", "--testPathIgnorePatterns", "documentMinification/lifecycle", "--maxWorkers=2", "--json", f"--outputFile={results}"]
    found = run(command, client, home, **environment)
    told = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"testResults": []}
    tests = [test for suite in told["testResults"] for test in suite["assertionResults"]]
    broken = {suite["name"] for suite in told["testResults"] if not suite["assertionResults"] and suite["status"] == "failed"}
    counts = {status: sum(test["status"] == status for test in tests) for status in ("passed", "failed", "pending")}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    return summary, {test["fullName"] for test in tests if test["status"] == "failed"} | broken, found.stdout + found.stderr


def report(name, summary, failed, output):
    """Says what a suite found, and returns whether it is as expected."""
    expected = EXPECTED[name]
    print(f"{name}: {summary}")
    for test in sorted(failed):
        print(f"  {'expected' if test in expected else 'UNEXPECTED'}: {test}: {expected.get(test, '')}")
    for test in sorted(set(expected) - failed):
        print(f"  now passes: {test}")
    passed = re.search(r"(\d+) passed", summary)
    is_right = failed <= set(expected) and passed is not None and int(passed[1]) >= PROJECTS[name][2]
    if not is_right:
        print(output[-6000:])
    return is_right


def main():
    args = arguments()
    wanted = [args.only] if args.only else list(PROJECTS)
    projects = {name: checkout(args.checkouts, name) for name in {*wanted, "deepl-python"}}
    python, program = interpreter(), args.attentive.resolve()
    outcomes = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        served = models(program, folder, examples(projects["deepl-python"]))
        with server(program, folder, served, KEY) as address:
            deepl = {"DEEPL_SERVER_URL": address, "DEEPL_AUTH_KEY": KEY}
            if "deepl-python" in wanted:
                outcomes.append(report("deepl-python", *pytest(python, "tests", projects["deepl-python"], folder, **deepl)))
            if "deepl-node" in wanted:
                outcomes.append(report("deepl-node", *jest(projects["deepl-node"], folder, **deepl)))
        if "libretranslate" in wanted:
            tests = folder / "libretranslate"
            shutil.copytree(projects["libretranslate"] / "libretranslate" / "tests" / "test_api", tests)
            (tests / "conftest.py").write_text(LIBRETRANSLATE_CLIENT, encoding="utf-8")
            with server(program, folder, [("en-es", "into-de"), ("es-en", "into-en")]) as address:
                outcomes.append(report("libretranslate", *pytest(python, ".", tests, folder, SERVER=address)))
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()
