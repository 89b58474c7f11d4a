"""A server under test, for serve_faults.py, serve_fuzz.py and serve_attacks.py: its process, its log, its metrics, and raw requests to it."""

import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

LINE, PATIENCE = "A dog runs through the snow.", 60
# Short times, so that slow clients are cut off while we watch.
LIMITS = """
[limits]
head_timeout = 3
stall_timeout = 3
timeout = 20
drain_timeout = 20
"""


class Failure(Exception):
    """The server did what it must not do."""


def check(condition, message):
    if not condition:
        raise Failure(message)


class Server:
    """A process of `attentive serve`."""

    def __init__(self, program, models, port=0, limits=LIMITS, listener=None, line=LINE):
        self.folder = tempfile.TemporaryDirectory()
        self.log = pathlib.Path(self.folder.name) / "log"
        config = pathlib.Path(self.folder.name) / "serve.toml"
        config.write_text(limits)
        listed = [f"{name}={folder}" for name, folder in models.items()]
        command = [program, "serve", *listed, "--config", config, "--listen", f"127.0.0.1:{port}"]
        started = time.monotonic()
        with self.log.open("w") as errors:
            given = handed_over(listener) if listener else {}
            self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True, **given)
        self.url = self.process.stdout.readline().strip()
        check(self.url, f"the server does not start:\n{self.log.read_text()}")
        self.port = int(self.url.rpartition(":")[2])
        self.wait_until_ready()
        # Seconds until requests were answered.
        self.start_up = time.monotonic() - started
        self.line = line
        self.answer = self.translate(line)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
            self.process.kill()
        self.folder.cleanup()

    def wait_until_ready(self):
        for _ in range(PATIENCE * 20):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/readyz", timeout=5).close()
                return
            check(self.process.poll() is None, f"the server has ended:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.05)
        raise Failure("the server is not ready")

    def translate(self, text, timeout=PATIENCE):
        body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
        request = urllib.request.Request(f"{self.url}/translate", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)["translatedText"]

    def send_signal(self, name):
        self.process.send_signal(getattr(signal, name))

    def memory(self):
        """Resident memory in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024 / 1e6

    def metric(self, name):
        """The sum of a metric over all labels."""
        with urllib.request.urlopen(f"{self.url}/metrics") as response:
            text = response.read().decode()
        return sum(float(value) for value in re.findall(rf"(?m)^{name}(?:{{[^}}]*}})? (\S+)$", text))

    def panics(self):
        return [line for line in self.log.read_text(errors="replace").splitlines() if "panicked" in line]

    def check_well(self):
        """It answers as before, nothing is left over, and nothing has panicked."""
        check(self.translate(self.line) == self.answer, "another answer than before")
        names = ["attentive_queue_jobs", "attentive_running_jobs", "attentive_requests_in_progress"]
        for _ in range(100):
            left = {name: self.metric(name) for name in names}
            if not any(left.values()):
                break
            time.sleep(0.1)
        check(not any(left.values()), f"left over after 10 seconds: {left}")
        check(not self.panics(), f"panics: {self.panics()[:3]}")

    def connect(self, timeout=PATIENCE, source="127.0.0.1"):
        """A connection from an address, which tells clients without keys apart."""
        stream = socket.create_connection(("127.0.0.1", self.port), timeout, (source, 0))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    def exchange(self, payload, timeout=PATIENCE):
        """All that comes back for these bytes until the server closes the connection or `timeout`, and whether it closed."""
        with self.connect(timeout) as stream:
            with contextlib.suppress(OSError):
                stream.sendall(payload)
            return drain(stream, timeout)


def handed_over(listener):
    """What makes a process take over `listener`, as systemd hands over sockets: as descriptor 3, with its own process id."""

    def prepare():
        os.dup2(listener.fileno(), 3)
        # It may have been 3 before.
        os.set_inheritable(3, True)
        os.environ["LISTEN_FDS"], os.environ["LISTEN_PID"] = "1", str(os.getpid())

    return dict(preexec_fn=prepare, close_fds=False)


def drain(stream, timeout):
    """What comes back in this time, and whether the connection was closed."""
    found, end = b"", time.monotonic() + timeout
    try:
        while (left := end - time.monotonic()) > 0:
            stream.settimeout(left)
            part = stream.recv(65536)
            if not part:
                return found, True
            found += part
    except TimeoutError:
        return found, False
    except OSError:
        return found, True
    return found, False


def request(path="/translate", body=None, headers=None, method="POST"):
    """The bytes of a request; without a body, one that translates."""
    if body is None:
        body = json.dumps({"q": LINE, "source": "en", "target": "de"}).encode()
    given = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": len(body)} | (headers or {})
    lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + body


def statuses(found):
    """The statuses of all responses in what came back."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", found)]


class Clients:
    """Clients that ask one thing after another, while something happens to the server."""

    def __init__(self, server, count=16):
        self.server, self.stop = server, threading.Event()
        # (Time at which the request was sent, what came back.)
        self.outcomes = []
        self.threads = [threading.Thread(target=self.ask) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        connection = None
        while not self.stop.is_set():
            sent = None
            try:
                if connection is None:
                    connection = self.server.connect(30)
                sent = time.monotonic()
                connection.sendall(request())
                outcome, connection = answer(connection, self.server.answer)
            except ConnectionRefusedError:
                outcome, sent, connection = "connection refused", sent or time.monotonic(), None
                time.sleep(0.05)
            except OSError as error:
                outcome, sent, connection = type(error).__name__, sent or time.monotonic(), None
            self.outcomes.append((sent, outcome))

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        return self.outcomes


def answer(connection, expected):
    """What came back on a connection, and the connection if it can be used again."""
    file = connection.makefile("rb")
    status = file.readline().split(b" ")
    if len(status) < 2:
        connection.close()
        return "closed", None
    length, close = 0, False
    while (line := file.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
        close = close or (name.lower() == b"connection" and b"close" in value)
    body = file.read(length)
    outcome = status[1].decode()
    if outcome == "200":
        outcome = "right" if json.loads(body)["translatedText"] == expected else "wrong"
    if close:
        connection.close()
    return outcome, None if close else connection


def counted(found):
    """Statuses and how often each came."""
    counts = collections.Counter(found)
    return ", ".join(f"{count} × {status}" for status, count in sorted(counts.items(), key=str)) or "nothing"


def program_of(parser):
    """The options that all checks have."""
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--attentive", type=pathlib.Path, default=root / "target" / "release" / "attentive", help="the program")
    parser.add_argument("--model", type=pathlib.Path, default=root / "runs" / "multi30k", help="an English-German model")


def table(head, rows):
    """Prints a Markdown table."""
    for cells in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(map(str, cells)) + " |")
    print(flush=True)
