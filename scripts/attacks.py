"""Attacks on a server: requests that ask for more than they look like, and clients that do not behave.

Each attack is a function that takes a `Target` and returns what came back. It ends by itself.
"""

import concurrent.futures
import contextlib
import json
import socket
import struct
import time
import urllib.error
import urllib.request

from attack_models import lines
from serving import counted, drain, request, statuses

ATTACKS = {}
# Seconds after which an attacker gives up.
LONGEST = 90
LINES = lines()


def attack(what, decodes=False):
    """Registers an attack; `what` is the request. One that `decodes` may make others wait for that."""

    def register(function):
        ATTACKS[function.__name__] = (what, function, decodes)
        return function

    return register


class Target:
    """The server, and the address from which it is attacked."""

    def __init__(self, port, source="127.0.0.1", longest=LONGEST):
        self.port, self.source, self.longest = port, source, longest

    def connect(self, timeout=None):
        stream = socket.create_connection(("127.0.0.1", self.port), timeout or self.longest, (self.source, 0))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    def send(self, payload):
        """The status of the response to these bytes, all of which are sent before anything is read."""
        try:
            with self.connect() as stream:
                stream.sendall(payload)
                found, _ = drain_head(stream, self.longest)
                return (statuses(found) or ["no response"])[0]
        except OSError as error:
            return type(error).__name__

    def send_all(self, payloads):
        """What comes back for each of these, sent at the same time."""
        with concurrent.futures.ThreadPoolExecutor(len(payloads)) as pool:
            return counted(pool.map(self.send, payloads))

    def send_and_leave(self, payloads, after=0.3):
        """Sends these at the same time, and resets the connections a moment later."""
        streams = []
        for payload in payloads:
            with contextlib.suppress(OSError):
                stream = self.connect()
                stream.sendall(payload)
                streams.append(stream)
        time.sleep(after)
        found = []
        for stream in streams:
            stream.setblocking(False)
            with contextlib.suppress(OSError):
                found += statuses(stream.recv(65536))[:1]
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()
        return f"{len(streams)} clients that left" + (f" after {counted(found)}" if found else "")


def drain_head(stream, timeout):
    """What comes back until the end of a response's head and body, or `timeout`."""
    found, end = b"", time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0:
        stream.settimeout(left)
        part = stream.recv(1 << 20)
        # Only the beginning is of interest.
        found = (found + part)[:65536] if len(found) < 65536 else found
        if not part or ends(found, stream):
            return found, True
    return found, False


def ends(found, stream):
    """Whether a whole response has come; the rest of a long one is read."""
    head, separator, body = found.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            left = int(line.partition(b":")[2]) - len(body)
            while left > 0 and separator:
                part = stream.recv(min(left, 1 << 20))
                if not part:
                    break
                left -= len(part)
            return bool(separator)
    return bool(separator) and body.endswith(b"0\r\n\r\n")


def post(path, fields, **headers):
    return request(path, json.dumps(fields, ensure_ascii=False).encode(), headers)


def html(text):
    return post("/translate", {"q": text, "source": "en", "target": "de", "format": "html"})


@attack("27 kB of HTML: a tag with 5000 attributes")
def attributes(target):
    bomb = "<a " + 'x="y" ' * 5000 + ">b</a>"
    deepl = [{"text": [bomb], "target_lang": "DE", "tag_handling": kind} for kind in ("html", "xml")]
    return target.send_all([html(bomb), *[post("/v2/translate", fields) for fields in deepl]])


@attack("480 kB of HTML that are one tag, one nesting, one entity, one comment")
def markup(target):
    size = 480_000
    texts = [
        "<a " + 'x="y" ' * (size // 6) + ">b</a>",
        "<b>" * (size // 3),
        "<b>" * (size // 7) + "</b>" * (size // 7),
        "&" + "a" * size,
        "&#" + "9" * size + ";",
        "<!--" + "-" * size,
        '<a x="' + "y" * size,
        "<" * size,
        "</" + "a" * size + ">",
        "<a " + "x " * (size // 2),
        "<script>" + "<!--<script>" * (size // 12),
        "<![CDATA[" * (size // 9),
    ]
    return target.send_all([html(text) for text in texts])


@attack("8 MiB of HTML in a body that is too large")
def large_markup(target):
    return target.send_all([html("<b>" * ((8 << 20) // 3))])


@attack("2048 texts, each with the same 30,000 phrases (1.9 MB)")
def phrases_times_texts(target):
    phrases = [f"{number:05d}{'x' * 50}" for number in range(30_000)]
    return target.send_all([post("/api/translate", {"text": ["a"] * 2048, "phrases": phrases})])


@attack("200 texts, each with 650,000 empty phrases (2.0 MB)")
def empty_phrases(target):
    body = json.dumps({"text": ["a"] * 200, "phrases": [""] * 650_000}, separators=(",", ":")).encode()
    return target.send_all([request("/api/translate", body)])


@attack("1000 texts, each with the same prefix of 1.8 MB (as text, and as tokens)")
def prefix_times_texts(target):
    texts = ["a"] * 1000
    tokens = ["a"] * 350_000
    return target.send_all(
        [
            post("/api/translate", {"text": texts, "prefix": "ein " * 450_000}),
            post("/api/translate", {"text": texts, "prefix": "ein " * 100_000}),
            post("/api/translate", {"text": texts, "prefix_tokens": tokens}),
        ]
    )


@attack("2000 prompts, each with the same 40,000 strings `stop`, or 4 of 400 kB")
def stops(target):
    prompts = ["a"] * 2000
    lists = [[f"stop {number}" for number in range(40_000)], ["x" * 100_000] * 4, [""] * 600_000]
    fields = [{"model": "lm", "prompt": prompts, "max_tokens": 1, "stop": stop} for stop in lists]
    generate = [{"prompt": "a", "max_new_tokens": 10, "stop": stop} for stop in lists]
    return target.send_all([post("/v1/completions", one) for one in fields] + [post("/api/generate", one) for one in generate])


@attack("three requests with 40,000 phrases of 10 letters each (589 kB)")
def distinct_phrases(target):
    phrases = [f"{number:010d}" for number in range(40_000)]
    return target.send_all([post("/api/translate", {"text": "a dog", "phrases": phrases})] * 3)


@attack("eight requests of 480,000 characters: one word, no blanks, all digits, all emoji, only blanks", decodes=True)
def long_words(target):
    size = 480_000
    texts = ["a" * size, "1" * size, "🐕" * size, " " * size, "a\n" * (size // 2), "ä́" * (size // 2), ". " * (size // 2), "\0" * size]
    return target.send_all([post("/translate", {"q": text, "source": "en", "target": "de"}) for text in texts])


def texts_of(characters, count=2048):
    """`count` texts of so many characters in all."""
    text = " ".join(LINES)[: characters // count]
    return [text] * count


@attack("gaps of 2048 texts filled (490,000 characters) for three clients that leave")
def fills(target):
    texts = [f"{text[:200]} <mask> {number}" for number, text in enumerate(texts_of(440_000))]
    return target.send_and_leave([post("/api/fill", {"text": texts})] * 3, 1)


@attack("vectors of 2048 texts (490,000 characters) for three clients that leave, and one that stays")
def vectors(target):
    payload = post("/api/embed", {"model": "mlm", "text": texts_of(490_000)})
    left = target.send_and_leave([payload] * 3, 1)
    return f"{left}, {target.send_all([payload])}"


@attack("explanations of 450, 2000 and 100,000 words")
def explanations(target):
    def text(count):
        return " ".join([" ".join(LINES)] * (1 + count // 2000)).split(" ")[:count]

    sizes = [450, 2000, 100_000]
    found = [{"model": model, "text": " ".join(text(size))} for size in sizes for model in ("en-de", "lm", "mlm")]
    for size in sizes:
        found.append({"model": "en-de", "text": " ".join(text(size)), "target": " ".join(text(size))})
    return target.send_all([post("/api/explain", fields) for fields in found])


@attack("explanations of 450 words for 60 clients that do not read them")
def unread_explanations(target):
    text = " ".join((" ".join(LINES[:100])).split(" ")[:450])
    return target.send_and_leave([post("/api/explain", {"model": "en-de", "text": text, "target": text})] * 60, 15)


@attack("bodies of 3, 8 and 60 MB, 25 of each, by urllib, which sends before it reads")
def large_bodies(target):
    url, outcomes = f"http://127.0.0.1:{target.port}/translate", []
    for size in (3, 8, 60):
        asked = urllib.request.Request(url, b"x" * (size * 1_000_000), {"Content-Type": "application/json"})
        for _ in range(25 if size < 60 else 3):
            try:
                urllib.request.urlopen(asked, timeout=target.longest).close()
                outcomes.append(200)
            except urllib.error.HTTPError as error:
                outcomes.append(error.code)
            except OSError as error:
                outcomes.append(type(error).__name__)
    if set(outcomes) != {413}:
        raise AssertionError(f"expected 413 only, got {counted(outcomes)}")
    return counted(outcomes)


@attack("500 bodies of 2 MiB that never end")
def unfinished_bodies(target):
    head = request(body=b"", headers={"Content-Length": 2 << 20})
    piece, streams = b"x" * ((2 << 20) - 10), []

    def hold(_):
        with contextlib.suppress(OSError):
            stream = target.connect(10)
            streams.append(stream)
            stream.sendall(head + piece)

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(pool.map(hold, range(500)))
    time.sleep(3)
    found = [(statuses(drain(stream, 0.001)[0]) or ["no response"])[0] for stream in streams]
    for stream in streams:
        stream.close()
    return counted(found)


@attack("64 bodies of 490,000 characters at the same time", decodes=True)
def many_bodies(target):
    texts = [text[:200] for text in texts_of(490_000)]
    return target.send_all([post("/translate", {"q": texts, "source": "en", "target": "de"})] * 64)


@attack("1500 connections that say nothing, and new ones all the time")
def connections(target):
    streams, end = [], time.monotonic() + 8
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            streams.append(target.connect(1))
        if len(streams) > 1500:
            streams.pop(0).close()
            time.sleep(0.002)
    for stream in streams:
        stream.close()
    return f"{len(streams)} connections"


@attack("long sentences, each as long as the model reads, one after the other from eight clients", decodes=True)
def long_sentences(target):
    text = " ".join(LINES[0].rstrip(".") for _ in range(120))
    payload = post("/api/translate", {"text": [text[: 2000 - number] for number in range(8)], "beam_width": 4})
    return target.send_all([payload] * 8)


@attack("200 texts of 480 tokens, 16 hypotheses, 150 phrases", decodes=True)
def heavy_searches(target):
    # Without full stops: each text is one sentence.
    words = [word for line in LINES for word in line.rstrip(".").split()]
    texts = [" ".join(words[number : number + 400]) for number in range(200)]
    phrases = sorted(set(words))[:150]
    fields = {"text": texts, "beam_width": 16, "n_best": 10, "phrases": phrases, "split_sentences": False}
    return target.send_and_leave([post("/api/translate", fields)], 15)


@attack("2048 lines from each of four clients", decodes=True)
def many_lines(target):
    lines = (LINES * 6)[:2048]
    return target.send_and_leave([post("/translate", {"q": lines, "source": "en", "target": "de"})] * 4, 15)


@attack("continuations of 4000 tokens in all: 10 of 8 of each of 50 prompts, 10 of 400, one of 4000, by three clients each", decodes=True)
def continuations(target):
    """As many tokens as a request may ask for, in many short texts and in few long ones; one token more is refused."""
    kinds = [(50, 10, 8), (1, 10, 400), (1, 1, 4000)]
    fields = [{"model": "lm", "prompt": ["the dog"] * prompts, "n": n, "max_tokens": most} for prompts, n, most in kinds]
    found = target.send_and_leave([post("/v1/completions", one) for one in fields] * 3, 15)
    too_many = target.send(post("/v1/completions", {"model": "lm", "prompt": "the dog", "n": 10, "max_tokens": 410}))
    if too_many != 400 or "400" in found:
        raise AssertionError(f"expected 200 and, for 4100 tokens, 400; got {found} and {too_many}")
    return f"{found}, {too_many} for 4100"


@attack("streams of 2048 lines and of 4096 tokens that nobody reads", decodes=True)
def unread_streams(target):
    lines = (LINES * 6)[:2048]
    translate = post("/api/translate", {"text": lines, "stream": True, "alignments": True})
    generate = post("/v1/completions", {"model": "lm", "prompt": "the dog", "max_tokens": 4096, "stream": True})
    return target.send_and_leave([translate] * 4 + [generate] * 20, 15)


@attack("one line again and again, from clients that leave at once", decodes=True)
def vanishing(target):
    payload = post("/translate", {"q": LINES[0], "source": "en", "target": "de"})
    for _ in range(50):
        target.send_and_leave([payload] * 10, 0.02)
    return "500 clients that left"


@attack("JSON of 600,000 levels, of 650,000 numbers, of 300,000 unknown fields, of 250,000 objects in a field that is ignored")
def shapes(target):
    bodies = [
        b"[" * 600_000,
        b'{"q":' * 300_000,
        b'{"text":[' + b"1," * 650_000 + b"1]}",
        b"{" + b",".join(b'"%d":0' % number for number in range(180_000)) + b"}",
        b'{"text":"' + b"\\u0041" * 300_000 + b'"}',
        b'{"model":"en-de","messages":[{"role":"user","content":"a dog"}],"metadata":{"a":[' + b'{"":0},' * 250_000 + b"0]}}",
    ]
    paths = ["/translate", "/v2/translate", "/v1/completions", "/v1/chat/completions", "/api/translate", "/api/fill", "/api/explain"]
    return target.send_all([request(path, body) for path in paths for body in bodies])


@attack("forms of 2 MB: repeated fields, percent signs")
def forms(target):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    bodies = [b"q=a&" * 500_000, b"q=" + b"%41" * 650_000, b"=&" * 900_000, b"q=a&source=en&target=de&" + b"x%d=&" * 300_000]
    return target.send_all([request(path, body, kind) for path in ("/translate", "/v2/translate") for body in bodies])


@attack("requests of other sites: foreign names, bodies without a type, compressed bodies")
def foreign(target):
    body = json.dumps({"text": "a dog", "model": "en-de"}).encode()
    cases = [
        (request("/api/translate", body, {"Host": "rebound.example.com"}), 421),
        (request("/api/translate", body, {"Content-Type": None}), 415),
        (request("/api/translate", body, {"Content-Type": "text/plain"}), 415),
        (request("/api/translate", body, {"Content-Encoding": "gzip"}), 415),
        (request("/api/translate", body), 200),
    ]
    for payload, expected in cases:
        if (found := target.send(payload)) != expected:
            raise AssertionError(f"{payload[:150]!r}: expected {expected}, got {found}")
    return ", ".join(str(expected) for _, expected in cases)
