#!/usr/bin/env python3
"""Sends random and damaged requests to `attentive serve`:

    python3 scripts/serve_fuzz.py --model runs/multi30k --requests 1000000 --clients 64 --language-model runs/shakespeare

The requests follow from the seed. None may be answered with a status of 500, close the connection without a reason, or make the
server panic, and after every 5000 of them a translation must be what it was at the beginning. Prints how many of each kind were
answered with which status.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import random
import sys
import threading
import time
import urllib.parse

from serving import Failure, Server, check, program_of, table

CLIENTS = 24
# Statuses that say what is wrong with a request, or that it is fine.
ALLOWED = {200, 201, 204, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 417, 421, 422, 429, 431, 456, 501, 503, 505}
# Seconds to wait for the answer to a request that may be incomplete, and to any other.
SHORT, LONG = 0.1, 30
WORDS = [
    "A dog runs .",
    "<b>Two</b> men &amp; a cat",
    "",
    " ",
    "\0",
    "\ud800",
    "ä" * 50,
    "<p",
    "</p></p>",
    "x" * 500,
    "a\nb\r\nc",
    "🐕" * 9,
    "&#x110000;",
]
FIELDS = {
    "/translate": {"q": 0, "source": "en", "target": "de", "format": "html", "alternatives": 1, "api_key": "k"},
    "/detect": {"q": 0},
    "/v2/translate": {"text": [0], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"},
    "/v2/languages": {"type": "target"},
    "/v2/glossaries": {"name": 0, "source_lang": "en", "target_lang": "de", "entries": "dog\tHund", "entries_format": "tsv"},
    "/v1/completions": {
        "model": "en-de",
        "prompt": 0,
        "max_tokens": 3,
        "temperature": 0.5,
        "stream": True,
        "n": 1,
        "stop": ["a"],
    },
    "/v1/chat/completions": {
        "model": "en-de",
        "messages": [{"role": "system", "content": "Translate."}, {"role": "user", "content": "A dog runs ."}],
        "max_completion_tokens": 3,
        "temperature": 0.5,
        "stream": True,
        "n": 1,
        "stop": ["a"],
        "metadata": {"a": "b"},
    },
    "/v1/embeddings": {"model": "en-de", "input": 0, "encoding_format": "float"},
    "/api/translate": {
        "text": 0,
        "beam_width": 2,
        "n_best": 2,
        "prefix": "Ein",
        "max_new_tokens": 3,
        "alignments": True,
        "stream": True,
    },
    "/api/generate": {"prompt": 0, "max_new_tokens": 3, "temperature": 0.5, "stream": True},
    "/api/fill": {"text": 0, "count": 2},
    "/api/tag": {"text": 0},
    "/api/classify": {"text": 0},
    "/api/embed": {"text": 0},
    "/api/explain": {"text": 0, "target": "Ein Hund"},
}
PATHS = [
    *FIELDS,
    "/",
    "/livez",
    "/readyz",
    "/health",
    "/metrics",
    "/openapi.json",
    "/languages",
    "/frontend/settings",
    "/v1/models",
    "/v2/usage",
    "/v2/glossary-language-pairs",
    "/api/models",
]


class Fuzzer:
    """Makes requests."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def value(self, depth=0):
        """Any JSON value."""
        draw = self.draw
        kind = draw.randrange(10 if depth < 4 else 8)
        if kind < 3:
            return draw.choice(WORDS)
        if kind < 5:
            return draw.choice([0, 1, -1, 2, 10**6, 2**53, 2**64, -(2**63), 10**400, 0.5, -0.5, 1e308, 1e-308])
        if kind < 8:
            return draw.choice([None, True, False])
        if kind == 8:
            return [self.value(depth + 1) for _ in range(draw.randrange(4))]
        return {draw.choice(WORDS): self.value(depth + 1) for _ in range(draw.randrange(4))}

    def fields(self, path):
        """Fields that fit the path, some of them with values that do not."""
        draw, known = self.draw, FIELDS.get(path, {})
        fields = {
            name: draw.choice(WORDS) if value in (0, [0]) else value for name, value in known.items() if draw.random() < 0.8
        }
        for _ in range(draw.choice([0, 1, 1, 2])):
            name = draw.choice([*known, "model", draw.choice(WORDS)])
            fields[name] = self.value()
        return fields

    def shaped(self):
        """JSON or a form with odd values."""
        path = self.draw.choice(list(FIELDS))
        fields = self.fields(path)
        if self.draw.random() < 0.2:
            body = urllib.parse.urlencode(fields, doseq=True, errors="surrogatepass").encode()
            return self.request(path, body, "application/x-www-form-urlencoded"), LONG
        return self.request(path, json.dumps(fields).encode()), LONG

    def damaged_json(self):
        """A JSON body with damaged bytes and the right length."""
        path = self.draw.choice(list(FIELDS))
        return self.request(path, self.damage(json.dumps(self.fields(path)).encode())), LONG

    def damaged(self):
        """A whole request with damaged bytes, so that its end may be anywhere."""
        path = self.draw.choice(list(FIELDS))
        return self.damage(self.request(path, json.dumps(self.fields(path)).encode())), SHORT

    def headers(self):
        """Odd methods, paths and headers."""
        draw = self.draw
        method = draw.choice(
            ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "A" * 100, ""]
        )
        path = draw.choice(PATHS) + draw.choice(
            ["", "", "/", "?", "?q=%ff", "?q=a&q=b&source=en", "#x", "/../..", "%2e%2e", "\x7f", "?" + "a" * 9000]
        )
        names = [
            "Content-Type",
            "Authorization",
            "Accept",
            "Origin",
            "Expect",
            "Connection",
            "Upgrade",
            "Range",
            "Accept-Encoding",
            "Cookie",
            "X-" + "a" * 300,
        ]
        values = [
            "",
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            "Bearer k",
            "DeepL-Auth-Key",
            "100-continue",
            "close",
            "h2c",
            "bytes=0-",
            "\t",
            "ä",
            "x" * 4000,
        ]
        lines = [f"{draw.choice(names)}: {draw.choice(values)}" for _ in range(draw.randrange(6))]
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode(), SHORT

    def noise(self):
        """Random bytes."""
        return self.draw.randbytes(self.draw.randrange(1, 300)) + self.draw.choice([b"", b"\r\n\r\n"]), SHORT

    def damage(self, text):
        """Changes, inserts, removes and repeats bytes."""
        draw, text = self.draw, bytearray(text)
        for _ in range(draw.randrange(1, 6)):
            place, length = draw.randrange(len(text) + 1), draw.choice([1, 1, 1, 2, 8, 40])
            part = text[place : place + length]
            new = draw.choice(
                [
                    draw.randbytes(length),
                    b"",
                    part * 2,
                    draw.choice([b"\0", b'"', b"{", b"[", b"\\u", b"\r\n", b"e999", b"-", b"\xf0\x9f"]),
                ]
            )
            text[place : place + length] = new
        return bytes(text)

    @staticmethod
    def request(path, body, kind="application/json"):
        return (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )


KINDS = {
    "odd values": Fuzzer.shaped,
    "damaged JSON": Fuzzer.damaged_json,
    "damaged requests": Fuzzer.damaged,
    "odd heads": Fuzzer.headers,
    "noise": Fuzzer.noise,
}
SHARES = [4, 4, 4, 2, 1]


class Connection:
    """A connection that lives as long as the server lets it."""

    def __init__(self, server):
        self.server, self.stream = server, None

    def status(self, payload, patience):
        """The status of the (first) response; `None` if the server waits for more, "closed" if it closes the connection."""
        fresh = self.stream is None
        stream = self.stream or self.server.connect()
        self.stream = None
        try:
            stream.settimeout(patience)
            stream.sendall(payload)
            found = self.read(stream)
        except TimeoutError:
            stream.close()
            if patience == LONG:
                raise Failure(f"no answer in {LONG} s to {payload[:2000]!r}") from None
            return "waits for more"
        except OSError:
            found = None
        if found is None:
            stream.close()
            # A connection that was kept may have been closed by then.
            return "closed" if fresh else self.status(payload, patience)
        status, is_kept = found
        if is_kept and patience == LONG:
            self.stream = stream
        else:
            # What belongs to damaged requests may still come.
            stream.close()
        return status

    @staticmethod
    def read(stream):
        """Status of a response, and whether the connection can be used again; `None` if there is no response."""
        file = stream.makefile("rb")
        first = file.readline().split(b" ")
        if len(first) < 2 or not first[1].isdigit():
            return None
        head = b""
        while (line := file.readline()) not in (b"\r\n", b""):
            head += line.lower()
        if b"chunked" in head:
            while size := int(file.readline() or b"0", 16):
                file.read(size + 2)
            file.readline()
        else:
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
            file.read(int(length or 0))
        return int(first[1]), b"connection: close" not in head


def fuzz(server, requests, seed, clients=CLIENTS):
    """Sends requests from so many clients at the same time; the rows of the table of what came back."""
    counts, errors, lock = collections.Counter(), [], threading.Lock()
    numbers = iter(range(requests))

    def work():
        connection = Connection(server)
        while not errors:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            fuzzer = Fuzzer(seed * 10**9 + number)
            kind = fuzzer.draw.choices(list(KINDS), SHARES)[0]
            payload, patience = KINDS[kind](fuzzer)
            try:
                status = connection.status(payload, patience)
                check(
                    not isinstance(status, int) or status in ALLOWED,
                    f"request {number} ({kind}): status {status} to {payload[:2000]!r}",
                )
                if number % 5000 == 4999:
                    check(server.translate("A dog runs through the snow.") == server.answer, "another answer than before")
            except Exception as error:
                errors.append(error)
                return
            with lock:
                counts[kind, status] += 1

    before, started = server.memory(), time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - started
    if errors:
        with contextlib.suppress(OSError):
            check(server.process.poll() is None, f"the server has ended with {server.process.poll()} after: {errors[0]}")
        raise errors[0]
    server.check_well()
    rows = []
    for kind in KINDS:
        of_kind = {status: count for (name, status), count in counts.items() if name == kind}
        came = ", ".join(f"{count} × {status}" for status, count in sorted(of_kind.items(), key=str))
        rows.append([f"{sum(of_kind.values())} requests: {kind}", came])
    total = sum(counts.values())
    return [
        *rows,
        [f"{total} in all, {total / seconds:.0f} a second", f"no panic; memory {before:.0f} → {server.memory():.0f} MB"],
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program_of(parser)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language-model", type=pathlib.Path, help="a language model to serve as well")
    parser.add_argument("--masked-model", type=pathlib.Path, help="a masked language model to serve as well")
    options = parser.parse_args()
    models = {"en-de": options.model, "lm": options.language_model, "mlm": options.masked_model}
    models = {name: model for name, model in models.items() if model}
    try:
        with Server(options.attentive, models) as server:
            table(["sent", "came back"], fuzz(server, options.requests, options.seed, options.clients))
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")


if __name__ == "__main__":
    main()
