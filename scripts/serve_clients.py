#!/usr/bin/env python3
"""Checks `attentive serve` with the clients that people use: the Python packages libretranslatepy, deepl and openai.

    python3 scripts/serve_clients.py --translation runs/multi30k --language-model runs/shakespeare

Needs Python 3.11, a release build of the program, a model that translates English into German, and a language model. Installs
the packages in a virtual environment (target/serve/clients), starts servers without and with keys, and compares every answer
with that of `attentive translate` and `attentive generate`. Ends with a status other than 0 if any differs.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = {"libretranslatepy": "2.1.4", "deepl": "1.32.0", "openai": "3.54.0"}
KEY = "a-key-of-this-check"
LINES = [
    "A dog runs through the snow.",
    "Two men are playing guitar on a stage.",
    "A little girl in a pink dress is climbing a ladder.",
    "People are waiting for the train.",
]
PROMPT = "KING"
NEW_TOKENS = 40


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attentive", type=pathlib.Path, default=ROOT / "target" / "release" / "attentive", help="the program")
    parser.add_argument("--translation", type=pathlib.Path, default=ROOT / "runs" / "multi30k", help="an English-German model")
    parser.add_argument("--language-model", type=pathlib.Path, default=ROOT / "runs" / "shakespeare")
    return parser.parse_args()


def inside():
    """Goes on with the Python of the virtual environment, which is made if necessary."""
    folder = ROOT / "target" / "serve" / "clients"
    interpreter = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    if not interpreter.exists():
        venv.create(folder, with_pip=True)
    wanted = [f"{name}=={version}" for name, version in PACKAGES.items()]
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *wanted], check=True)
    os.execv(interpreter, [interpreter, *sys.argv])


class Unusable(Exception):
    """The server cannot be checked."""


class Report:
    """What was checked, and what is not as it should be."""

    checks, differences = 0, []

    def add(self, what, expected, found):
        self.differences.append(f"{what}\n  expected {expected}\n  found    {found}")


REPORT = Report()


def same(what, found, expected):
    REPORT.checks += 1
    if found != expected:
        REPORT.add(what, repr(expected), repr(found))


@contextlib.contextmanager
def works(what):
    """Nothing may be raised."""
    try:
        yield
    except Unusable:
        raise
    except Exception as error:
        REPORT.add(what, "no error", repr(error))


@contextlib.contextmanager
def raises(what, kind, words=""):
    """The client must raise this very type."""
    REPORT.checks += 1
    expected = f"{kind.__name__} with {words!r}"
    try:
        yield
    except Exception as error:
        if type(error) is not kind or words not in str(error):
            REPORT.add(what, expected, repr(error))
    else:
        REPORT.add(what, expected, "no error")


@contextlib.contextmanager
def server(options, *more):
    """The URL of a server with both models."""
    models = [f"en-de={options.translation}", f"shakespeare={options.language_model}"]
    command = [options.attentive, "serve", *models, "--listen", "127.0.0.1:0", *more]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            url = process.stdout.readline().strip()
            if not url:
                log.seek(0)
                raise Unusable(f"the server does not start\n{log.read()}")
            wait(url)
            yield url
        finally:
            process.terminate()
            process.wait(60)
        log.seek(0)
        same("exit status of the server", process.returncode, 0)
        same("panics in the log", [line for line in log if "panicked" in line], [])


def wait(url):
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/readyz").close()
            return
        time.sleep(0.05)
    raise Unusable("the server is not ready after 30 seconds")


def translated(options, lines):
    """What the program says to each line."""
    command = [options.attentive, "translate", options.translation]
    text = "".join(f"{line}\n" for line in lines)
    run = subprocess.run(list(map(str, command)), input=text, check=True, stdout=subprocess.PIPE, text=True)
    return run.stdout.splitlines()


def generated(options, *more):
    command = [options.attentive, "generate", options.language_model, "--prompt", PROMPT, "--max-new-tokens", NEW_TOKENS]
    run = subprocess.run(list(map(str, [*command, "--json", *more])), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout.splitlines()[0])


def libretranslate(url, expected, key):
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(url, key)
    languages = {each["code"]: each["targets"] for each in client.languages()}
    same("libretranslatepy: languages", languages, {"de": [], "en": ["de"]})
    same("libretranslatepy: detect", client.detect(" ".join(LINES))[0]["language"], "en")
    for line, translation in expected.items():
        same("libretranslatepy: translate", client.translate(line, "en", "de"), translation)
        same("libretranslatepy: translate from auto", client.translate(line, "auto", "de"), translation)
    joined = "\n".join(expected)
    same("libretranslatepy: lines", client.translate(joined, "en", "de"), "\n".join(expected.values()))
    with raises("libretranslatepy: unknown language", urllib.error.HTTPError, "400"):
        client.translate("x", "en", "fr")
    # What the package cannot send: lists, and HTML.
    asked = {"q": list(expected), "source": "en", "target": "de", "api_key": key}
    same("LibreTranslate: a list", post(url, asked)["translatedText"], list(expected.values()))
    first = LINES[0]
    asked |= {"q": f"<p>{first}</p>", "format": "html"}
    same("LibreTranslate: HTML", post(url, asked)["translatedText"], f"<p>{expected[first]}</p>")


def post(url, body):
    request = urllib.request.Request(f"{url}/translate", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def deepl_client(url, key):
    import deepl

    # Errors at once, without attempts.
    deepl.http_client.max_network_retries = 0
    return deepl, deepl.DeepLClient(key, server_url=url, send_platform_info=False)


def deepl_api(url, expected, key):
    deepl, client = deepl_client(url, key)
    same("deepl: source languages", [each.code for each in client.get_source_languages()], ["EN"])
    same("deepl: target languages", [each.code for each in client.get_target_languages()], ["DE"])
    found = client.translate_text(list(expected), source_lang="EN", target_lang="DE")
    same("deepl: a list", [each.text for each in found], list(expected.values()))
    for line, translation in expected.items():
        found = client.translate_text(line, target_lang="DE")
        same("deepl: a text", (found.text, found.detected_source_lang), (translation, "EN"))
    first = LINES[0]
    found = client.translate_text(f"<p>{first}</p>", target_lang="DE", tag_handling="html")
    same("deepl: HTML", found.text, f"<p>{expected[first]}</p>")
    same("deepl: usage", client.get_usage().any_limit_reached, False)
    with raises("deepl: unknown language", deepl.DeepLException, "target_lang"):
        client.translate_text("x", target_lang="FR")


def deepl_glossaries(url, key):
    deepl, client = deepl_client(url, key)
    pair = dict(source_lang="EN", target_lang="DE")
    pairs = [(each.source_lang, each.target_lang) for each in client.get_glossary_languages()]
    same("deepl: languages of glossaries", pairs, [("en", "de")])
    terms = {"dog": "Mann", "snow": "Wasser"}
    made = client.create_glossary("terms", entries=terms, **pair)
    same("deepl: a glossary", (made.name, made.ready, made.entry_count), ("terms", True, 2))
    same("deepl: its languages", (made.source_lang, made.target_lang), ("EN", "DE"))
    same("deepl: glossaries", [each.glossary_id for each in client.list_glossaries()], [made.glossary_id])
    same("deepl: its time", client.get_glossary(made.glossary_id).creation_time, made.creation_time)
    same("deepl: its entries", client.get_glossary_entries(made), terms)
    found = client.translate_text("A dog runs through the snow.", glossary=made, **pair).text
    same(f"deepl: terms in {found!r}", [term in found for term in terms.values()], [True, True])
    with_csv = client.create_glossary_from_csv("csv", csv_data='"a, b",c,en,de\nd,e\n', **pair)
    same("deepl: entries of CSV", client.get_glossary_entries(with_csv), {"a, b": "c", "d": "e"})
    for each in (made, with_csv):
        client.delete_glossary(each)
    with raises("deepl: a glossary that is gone", deepl.GlossaryNotFoundException, "no such glossary"):
        client.get_glossary(made.glossary_id)
    with raises("deepl: wrong languages", deepl.DeepLException, "language pair"):
        client.create_glossary("terms", "DE", "EN", terms)


def openai_api(url, options, key):
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key or "none", max_retries=0)
    same("openai: models", sorted(each.id for each in client.models.list()), ["en-de", "shakespeare"])
    same("openai: a model", client.models.retrieve("shakespeare").object, "model")
    asked = dict(model="shakespeare", prompt=PROMPT, max_tokens=NEW_TOKENS)
    greedy = generated(options, "--greedy")
    for sampling, more in [
        (dict(temperature=0), ["--greedy"]),
        (dict(temperature=0.9, top_p=0.8, seed=7), ["--temperature", 0.9, "--top-p", 0.8, "--seed", 7]),
    ]:
        expected = generated(options, *more)["text"]
        found = client.completions.create(**asked, **sampling)
        same(f"openai: completion with {sampling}", found.choices[0].text, continuation(expected))
        same("openai: usage", found.usage.completion_tokens, NEW_TOKENS)
        same("openai: finish reason", found.choices[0].finish_reason, "length")
        chunks = list(client.completions.create(**asked, **sampling, stream=True, stream_options={"include_usage": True}))
        text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
        same(f"openai: stream with {sampling}", text, continuation(expected))
        same("openai: usage of a stream", chunks[-1].usage.completion_tokens, NEW_TOKENS)
    echoed = client.completions.create(**asked, temperature=0, echo=True).choices[0].text
    same("openai: echo", echoed, PROMPT + continuation(greedy["text"]))
    stopped = client.completions.create(**asked, temperature=0, stop=["\n"]).choices[0]
    same("openai: stop", stopped.text, continuation(greedy["text"]).partition("\n")[0])
    with raises("openai: unknown model", openai.NotFoundError, "no-such-model"):
        client.completions.create(model="no-such-model", prompt="x")
    with raises("openai: a value that cannot be", openai.BadRequestError, "temperature"):
        client.completions.create(model="shakespeare", prompt="x", temperature=-1)


def too_large(url, key):
    """A text that is too large raises what the client has for it, though clients send all of it before they read."""
    import requests
    from libretranslatepy import LibreTranslateAPI

    deepl, client = deepl_client(url, key or "any")
    text = "A dog runs. " * 300_000
    for _ in range(25):
        with raises("libretranslatepy: too large", urllib.error.HTTPError, "413"):
            LibreTranslateAPI(url, key).translate(text, "en", "de")
        with raises("deepl: too large", deepl.DeepLException, "413"):
            client.translate_text(text, target_lang="DE")
        with works("requests: too large"):
            same("requests: too large", requests.post(f"{url}/translate", json={"q": text}).status_code, 413)


def continuation(text):
    """What was added to the prompt."""
    return text.removeprefix(PROMPT)


def keys(url, expected):
    """A wrong key raises what the client has for it."""
    import openai
    from libretranslatepy import LibreTranslateAPI

    line = LINES[0]
    same("libretranslatepy: a key", LibreTranslateAPI(url, KEY).translate(line, "en", "de"), expected[line])
    with raises("libretranslatepy: a wrong key", urllib.error.HTTPError, "403"):
        LibreTranslateAPI(url, "wrong").translate(line, "en", "de")
    with raises("libretranslatepy: no key", urllib.error.HTTPError, "400"):
        LibreTranslateAPI(url).translate(line, "en", "de")
    deepl, client = deepl_client(url, "wrong")
    with raises("deepl: a wrong key", deepl.AuthorizationException):
        client.translate_text(line, target_lang="DE")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    with raises("openai: a wrong key", openai.AuthenticationError):
        client.completions.create(model="shakespeare", prompt="x")


def busy(options, expected):
    """A full queue raises what the client has for it."""
    with server(options, "--max-queue", 2) as url:
        deepl, client = deepl_client(url, "any")

        def ask(_):
            try:
                client.translate_text(list(expected)[:2], target_lang="DE")
            except deepl.TooManyRequestsException:
                return "refused"
            return "answered"

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            outcomes = sorted(set(pool.map(ask, range(200))))
        same("deepl: too many requests", outcomes, ["answered", "refused"])


def main():
    options = arguments()
    inside()
    for path in (options.attentive, options.translation, options.language_model):
        if not path.exists():
            sys.exit(f"{path} does not exist: see --help")
    expected = dict(zip(LINES, translated(options, LINES), strict=True))
    try:
        with server(options) as url:
            everything(url, options, expected, None)
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
            file.write(f"# the keys\n{KEY}\n")
            file.flush()
            with server(options, "--api-key-file", file.name) as url:
                everything(url, options, expected, KEY)
                keys(url, expected)
        busy(options, expected)
    except Unusable as problem:
        sys.exit(str(problem))
    packages = ", ".join(f"{name} {version}" for name, version in PACKAGES.items())
    for difference in REPORT.differences:
        print(f"DIFFERENCE: {difference}")
    print(f"{REPORT.checks} checks with {packages}: {len(REPORT.differences)} differences")
    sys.exit(bool(REPORT.differences))


def everything(url, options, expected, key):
    """What all three packages ask."""
    with works("libretranslatepy"):
        libretranslate(url, expected, key)
    with works("deepl"):
        deepl_api(url, expected, key or "any")
        deepl_glossaries(url, key or "any")
    with works("openai"):
        openai_api(url, options, key)
    too_large(url, key)


if __name__ == "__main__":
    main()
