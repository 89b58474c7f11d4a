"""What others notice of an attack: processes that ask a server again and again, and the memory that it takes."""

import contextlib
import http.client
import json
import multiprocessing
import re
import time
from pathlib import Path

# Addresses, which tell clients without keys apart: the attacker has 127.0.0.1.
CLIENT, OPERATOR = "127.0.0.2", "127.0.0.3"
PATIENCE = 60
PAUSE = 0.02


def ask(port, source, method, path, body=None, timeout=PATIENCE):
    """Status and body of the response on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=(source, 0))
    with contextlib.closing(connection):
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()


def watch(port, source, request, expected, stop, findings):
    """Asks until `stop` is set. Reports how often, the longest wait in seconds, and whatever was not `expected`."""
    count, longest, faults = 0, 0.0, []
    # One more request after the end: what is unfinished then counts, too.
    while True:
        last, started = stop.is_set(), time.monotonic()
        try:
            status, body = ask(port, source, *request)
            if status != 200 or (expected is not None and body != expected):
                faults.append(f"{status} {body[:100]!r}")
        except (OSError, http.client.HTTPException) as error:
            faults.append(repr(error))
        count, longest = count + 1, max(longest, time.monotonic() - started)
        if last or len(faults) > 100:
            break
        time.sleep(PAUSE)
    findings.put((source, count, longest, faults))


class Watched:
    """A server that others use: a client that translates a line, and an operator who asks for its health."""

    def __init__(self, server, line):
        body = json.dumps({"q": line, "source": "en", "target": "de"}).encode()
        translate = ("POST", "/translate", body)
        status, expected = ask(server.port, CLIENT, *translate)
        assert status == 200, (status, expected)
        context = multiprocessing.get_context("fork")
        self.stop, self.findings = context.Event(), context.Queue()
        requests = [(CLIENT, translate, expected), (OPERATOR, ("GET", "/health", None), None)]
        self.processes = [
            context.Process(target=watch, args=(server.port, *request, self.stop, self.findings), daemon=True)
            for request in requests
        ]
        for process in self.processes:
            process.start()

    def end(self):
        """For each address: number of requests, longest wait, faults."""
        self.stop.set()
        found = {}
        for _ in self.processes:
            source, *rest = self.findings.get(timeout=3 * PATIENCE)
            found[source] = rest
        for process in self.processes:
            process.join()
        return found


class Memory:
    """The memory of a process above what it has now, in MiB."""

    def __init__(self, process):
        self.folder = Path(f"/proc/{process}")
        self.idle = self.read("VmRSS")
        # The high-water mark begins anew.
        (self.folder / "clear_refs").write_text("5")

    def read(self, name):
        return int(re.search(rf"{name}:\s+(\d+)", (self.folder / "status").read_text())[1]) / 1024

    def peak(self):
        """The most so far; none if the process has ended."""
        with contextlib.suppress(OSError, TypeError):
            return self.read("VmHWM") - self.idle
        return None
