#!/usr/bin/env python3
"""Checks what `attentive serve` does with hostile clients, kills and signals:

    python3 scripts/serve_faults.py --model runs/multi30k

Needs a release build of the program and a model that translates English into German. Prints what was sent and what came back,
and ends with a status other than 0 if the server panics, hangs, loses a request that it has accepted, or answers another way
than before. Some minutes; `--only` runs some of the checks, `--fuzz` sets the number of fuzzed requests (see serve_fuzz.py).
"""

import argparse
import contextlib
import json
import random
import socket
import struct
import sys
import time

from serve_fuzz import fuzz
from serve_signals import inherited, killed, reloaded, terminated
from serving import LINE, Failure, Server, answer, check, counted, drain, program_of, request, statuses, table

BIG = 100_000_000
DEEP = 100_000


def vanishing(options):
    """Clients that go away: in the middle of a request, right after it, and while the answer is streamed."""
    draw, text = random.Random(1), " ".join([LINE] * 3)
    plain = request(body=json.dumps({"q": text, "source": "en", "target": "de"}).encode())
    stream = request("/api/translate", json.dumps({"text": [text] * 4, "stream": True}).encode())
    with Server(options.attentive, {"en-de": options.model}) as server:
        before = server.memory()
        rows = []
        for what, payload, part in [
            ("in the middle of a head", plain, 40),
            ("in the middle of a body", plain, len(plain) - 10),
            ("right after the request", plain, len(plain)),
            ("while the answer is streamed", stream, len(stream)),
        ]:
            for number in range(options.clients // 4):
                connection = server.connect()
                connection.sendall(payload[:part])
                if what.startswith("while"):
                    connection.recv(100)
                elif draw.random() < 0.5:
                    time.sleep(draw.random() / 50)
                if number % 2:
                    # A reset instead of an orderly end.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            started = time.monotonic()
            server.check_well()
            rows.append(
                [
                    f"{options.clients // 4} clients that vanish {what}",
                    f"all rows free {time.monotonic() - started:.1f} s later",
                ]
            )
        abandoned = server.metric("attentive_requests_abandoned_total")
        rows.append(["", f"{abandoned:.0f} requests counted as abandoned, memory {before:.0f} → {server.memory():.0f} MB"])
    return rows


def slow(options):
    """Clients that send a byte now and then, or do not read."""
    rows = []
    with Server(options.attentive, {"en-de": options.model}) as server:
        head, whole = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", request()
        for what, count, begin, drip in [
            ("send their head a byte a second", options.slow, head, b"x"),
            ("stop in the middle of the body", 100, whole[:-20], b""),
            # More than buffers of the system hold.
            ("ask 500 times for the description and do not read", 50, request("/openapi.json", b"", method="GET") * 500, b""),
        ]:
            connections = [server.connect() for _ in range(count)]
            for connection in connections:
                connection.settimeout(1)
                # A server that writes in vain does not read on.
                with contextlib.suppress(OSError):
                    connection.sendall(begin)
            slowest, most = 0, 0
            for _ in range(8):
                asked = time.monotonic()
                check(server.translate(LINE) == server.answer, "another answer")
                slowest, most = max(slowest, time.monotonic() - asked), max(most, server.memory())
                time.sleep(1)
                for connection in connections if drip else []:
                    with contextlib.suppress(OSError):
                        connection.sendall(drip)
            # Ours is one of them.
            left = server.metric("attentive_connections") - 1
            check(left <= 0, f"{left:.0f} of {count} clients that {what} are still connected")
            answered = [status for connection in connections for status in statuses(drain(connection, 1)[0])[:1] or ["closed"]]
            for connection in connections:
                connection.close()
            server.check_well()
            came = f"{counted(answered)} within 8 s; others waited at most {1000 * slowest:.0f} ms; at most {most:.0f} MB"
            rows.append([f"{count} clients that {what}", came])
    return rows


def unfair(options):
    """A client that asks for very much, and another one that asks for a line."""
    rows = []
    with Server(options.attentive, {"en-de": options.model}) as server:
        many = json.dumps(
            {"q": [LINE.replace("dog", f"dog {number}") for number in range(1000)], "source": "en", "target": "de"}
        )
        with server.connect() as greedy:
            greedy.sendall(request(body=many.encode()))
            time.sleep(0.5)
            waits = []
            while server.metric("attentive_queue_jobs") > 0:
                started = time.monotonic()
                with server.connect(source="127.0.0.2") as modest:
                    modest.sendall(request())
                    check(answer(modest, server.answer)[0] == "right", "another answer")
                waits.append(time.monotonic() - started)
            check(len(waits) > 1, "the list of lines was over before the line came")
            outcome = statuses(drain(greedy, 5)[0])
            check(outcome == [200], f"the list of lines: {outcome}")
        waits.sort()
        median, most = 1000 * waits[len(waits) // 2], 1000 * waits[-1]
        rows.append(
            [
                "a list of 1000 lines, and single lines of another client",
                f"{len(waits)} lines: median {median:.0f} ms, most {most:.0f} ms",
            ]
        )
    return rows


def large(options):
    """Bodies of 100 MB."""
    rows = []
    with Server(options.attentive, {"en-de": options.model}) as server:
        before = server.memory()
        chunk = b"%x\r\n" % 1_000_000 + b"x" * 1_000_000 + b"\r\n"
        chunked = {"Content-Length": None, "Transfer-Encoding": "chunked"}
        for what, head, parts in [
            ("declared", request(body=b"", headers={"Content-Length": BIG}), [b"x" * 1_000_000] * 100),
            (
                "announced with Expect: 100-continue",
                request(body=b"", headers={"Content-Length": BIG, "Expect": "100-continue"}),
                [],
            ),
            ("in chunks", request(body=b"", headers=chunked), [chunk] * 100),
        ]:
            with server.connect(10) as connection:
                connection.sendall(head)
                sent = 0
                try:
                    for part in parts:
                        connection.sendall(part)
                        sent += len(part)
                except OSError:
                    pass
                found, closed = drain(connection, 10)
            check(statuses(found) in ([413], []), f"{what}: {found[:200]!r}")
            came = f"{counted(statuses(found))}, {'closed' if closed else 'open'} after {sent / 1e6:.0f} MB"
            rows.append([f"a body of 100 MB, {what}", came])
        server.check_well()
        check(server.memory() < before + 40, f"memory {before:.0f} → {server.memory():.0f} MB")
        rows.append(["", f"memory {before:.0f} → {server.memory():.0f} MB"])
    return rows


def malformed(options):
    """Text that is not UTF-8, JSON of 100,000 levels."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    nested = b'{"q":' * DEEP + b"1" + b"}" * DEEP
    cases = [
        ("JSON that is not UTF-8", request(body=b'{"q":"\xff\xfe","source":"en","target":"de"}'), 400),
        ("half of a surrogate pair", request(body=b'{"q":"\\ud800","source":"en","target":"de"}'), 400),
        ("a form that is not UTF-8", request(body=b"q=%ff&source=en&target=de", headers=form), 400),
        ("a form with raw bytes", request(body=b"q=\xff&source=en&target=de", headers=form), 400),
        ("a path that is not UTF-8", b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", (400, 404)),
        (f"{DEEP} lists in lists", request(body=b"[" * DEEP), (400, 422)),
        (f"{DEEP} lists in `q`", request(body=b'{"source":"en","target":"de","q":' + b"[" * DEEP), (400, 422)),
        (f"{DEEP} objects in objects", request(body=nested), (400, 422)),
        (f"{DEEP} objects in an unknown field", request(body=b'{"a":' * DEEP), (400, 422)),
        ("an empty body", request(body=b""), (400, 422)),
        ("a head of 1 MB", request(headers={"X-Large": "x" * 1_000_000}), (400, 431)),
        ("10,000 headers", request(headers={f"X-{number}": number for number in range(10_000)}), (400, 431)),
        ("a path of 100 kB", request("/" + "x" * 100_000), (400, 414, 431)),
        ("NUL in a text", request(body=b'{"q":"a\\u0000b","source":"en","target":"de"}'), (200, 400)),
    ]
    paths = ["/api/translate", "/api/generate", "/v1/completions", "/v2/translate", "/api/fill", "/v1/embeddings"]
    cases += [(f"{DEEP} lists for {path}", request(path, b'{"text":' + b"[" * DEEP), (400, 422)) for path in paths]
    rows = []
    with Server(options.attentive, {"en-de": options.model}) as server:
        for what, payload, expected in cases:
            found, _ = server.exchange(payload, 2)
            status = statuses(found)
            allowed = expected if isinstance(expected, tuple) else (expected,)
            check(status and status[0] in allowed, f"{what}: expected {allowed}, found {found[:300]!r}")
            rows.append([what, counted(status)])
        server.check_well()
    return rows


def smuggling(options):
    """Requests whose end a proxy might see elsewhere. The request behind them must not be answered as one of its own."""
    hidden = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
    valid = json.dumps({"q": LINE, "source": "en", "target": "de"}).encode()
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(valid), valid) + hidden

    def shape(*headers, body=chunks, first=b"POST /translate HTTP/1.1"):
        return b"\r\n".join([first, b"Host: localhost", b"Content-Type: application/json", *headers, b"", b""]) + body

    long, chunked = b"Content-Length: %d" % len(chunks), b"Transfer-Encoding: chunked"
    both = {
        "length and chunks": shape(long, chunked),
        "chunks and length": shape(chunked, long),
        "two lengths": shape(b"Content-Length: 5", long),
        "a list of lengths": shape(b"Content-Length: 5, %d" % len(chunks)),
        "a length with a sign": shape(b"Content-Length: +5"),
        "a negative length": shape(b"Content-Length: -1"),
        "a length in hexadecimal": shape(b"Content-Length: 0x5"),
        "a length of 2^64 + 5": shape(b"Content-Length: %d" % (2**64 + 5)),
        "chunked, twice": shape(chunked, chunked, long),
        "chunked, identity": shape(b"Transfer-Encoding: chunked, identity", long),
        "an unknown coding": shape(b"Transfer-Encoding: xchunked", long),
        "a coding behind a tab": shape(b"Transfer-Encoding:\tchunked", long),
        "a coding in quotes": shape(b'Transfer-Encoding: "chunked"', long),
        "a space before the colon": shape(b"Transfer-Encoding : chunked", long),
        "a folded header": shape(b"Transfer-Encoding:\r\n chunked", long),
        "a vertical tab": shape(b"Transfer-Encoding: \x0bchunked", long),
        "a NUL in a header": shape(b"X-A: a\x00b", long),
        "a bare CR in a header": shape(b"X-A: a\rTransfer-Encoding: chunked", long),
        "bare line feeds": shape(b"X: y\nTransfer-Encoding: chunked", long),
        "a size of a chunk with a sign": shape(chunked, body=b"+0\r\n\r\n" + hidden),
        "a size of a chunk that is too long": shape(chunked, body=b"f" * 17 + b"\r\n\r\n" + hidden),
        "a size of a chunk in 0x": shape(chunked, body=b"0x0\r\n\r\n" + hidden),
        "a chunk that ends wrongly": shape(chunked, body=b"1\r\nxx\r\n0\r\n\r\n" + hidden),
        "a line feed within a chunk extension": shape(chunked, body=b"0;a\n\r\n\r\n" + hidden),
        "a chunk extension of 1 MB": shape(chunked, body=b"0;" + b"a" * 1_000_000 + b"\r\n\r\n"),
        "trailers of 1 MB": shape(chunked, body=b"0\r\n" + b"a: b\r\n" * 200_000 + b"\r\n"),
        "chunks in HTTP/1.0": shape(chunked, long, first=b"POST /translate HTTP/1.0"),
        "HTTP/2 by prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a second request in the request line": b"GET /livez HTTP/1.1\nHost: localhost\n\n GET /hidden HTTP/1.1\r\n\r\n",
    }
    both["length and chunks behind a first request"] = (
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" + both["length and chunks"]
    )
    # Their first end is the only one; the request behind is one of its own.
    clear = {
        "a request and another": shape(chunked),
        "a length and another": shape(b"Content-Length: 5", body=b"0\r\n\r\n" + hidden),
    }
    rows = []
    with Server(options.attentive, {"en-de": options.model}) as server:
        for what, payload in both.items():
            found, closed = server.exchange(payload, 5)
            came = statuses(found)
            judged = came[1:] if payload.startswith(b"GET /livez") else came
            # With both lengths, it is read by its chunks, and the connection is closed.
            alone = len(judged) <= 1 and set(judged) <= {200, 400, 413, 431, 501, 505}
            check(alone, f"{what}: the hidden request is answered: {found[:400]!r}")
            check(closed, f"{what}: the connection is still open after {came}")
            rows.append([what, f"{counted(came)}, closed"])
        for what, payload in clear.items():
            came = statuses(server.exchange(payload, 2)[0])
            check(len(came) == 2 and came[1] == 404, f"{what}: {came}")
            rows.append([what, counted(came)])
        server.check_well()
    return rows


def fuzzed(options):
    """Fuzzed requests."""
    with Server(options.attentive, {"en-de": options.model}) as server:
        return fuzz(server, options.fuzz, options.seed)


CHECKS = dict(
    vanishing=vanishing,
    slow=slow,
    unfair=unfair,
    large=large,
    malformed=malformed,
    smuggling=smuggling,
    killed=killed,
    terminated=terminated,
    inherited=inherited,
    reloaded=reloaded,
    fuzzed=fuzzed,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program_of(parser)
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=list(CHECKS))
    parser.add_argument("--clients", type=int, default=1000, help="clients that vanish")
    parser.add_argument("--slow", type=int, default=500, help="clients that send slowly")
    parser.add_argument("--fuzz", type=int, default=100_000, help="fuzzed requests")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = []
    for name in options.only:
        print(f"## {CHECKS[name].__doc__.splitlines()[0]}\n", flush=True)
        started = time.monotonic()
        try:
            table(["sent", "came back"], CHECKS[name](options))
        except Failure as failure:
            failed.append(name)
            print(f"FAILED: {failure}\n", flush=True)
        print(f"{time.monotonic() - started:.0f} s\n", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
