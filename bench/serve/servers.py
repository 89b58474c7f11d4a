"""The two servers that compare.py measures. Both have `name`, `settings` (those worth trying, first the one that is usually
best) and `start`, a context with a `Running` server."""

import contextlib
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
# Seconds in which a server must be ready.
PATIENCE = 120


@dataclass(frozen=True)
class Setting:
    """How a server uses the machine."""

    workers: int
    # Of each worker.
    threads: int
    # Most hypotheses that a thread of ours decodes together, or sentences that a worker of the peer does.
    batch: int

    def __str__(self):
        return f"{self.workers} × {self.threads}, batch {self.batch}"


@dataclass
class Running:
    """A server that answers."""

    url: str
    pid: int
    setting: Setting


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def running(command, url, setting, log):
    """Starts a server, waits until it is ready, and stops it in the end."""
    with log.open("w") as errors:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=errors)
    try:
        wait(process, url, log)
        yield Running(url, process.pid, setting)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def wait(process, url, log):
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        if process.poll() is not None:
            sys.exit(f"exit status {process.returncode}: {' '.join(process.args)}\n{log.read_text()}")
        with contextlib.suppress(OSError, urllib.error.HTTPError):
            urllib.request.urlopen(f"{url}/readyz", timeout=1).close()
            return
        time.sleep(0.05)
    sys.exit(f"not ready after {PATIENCE} s: {' '.join(process.args)}")


class AttentiveServer:
    """`attentive serve`."""

    name = "attentive"

    def __init__(self, options):
        self.options = options

    def settings(self, threads):
        return [Setting(1, threads, batch) for batch in (32, 160)]

    def start(self, case, setting):
        port = free_port()
        command = [self.options.attentive, "--threads", setting.threads, "serve", f"en-de={case.folder}"]
        command += ["--listen", f"127.0.0.1:{port}", "--max-queue", self.options.queue, "--max-batch", setting.batch]
        command += ["--precision", case.precision]
        return running(command, f"http://127.0.0.1:{port}", setting, case.folder.with_suffix(".attentive.log"))


class PeerServer:
    """CTranslate2 behind FastAPI and uvicorn."""

    name = "ctranslate2"

    def __init__(self, options, interpreter, converted):
        self.options, self.interpreter, self.converted = options, interpreter, converted

    def settings(self, threads):
        shapes = [(1, threads), (threads, 1)]
        return [Setting(*shape, batch) for batch in (32, 64) for shape in shapes]

    def start(self, case, setting):
        port, workload = free_port(), case.workload
        kind = {"f32": "float32"}.get(case.precision, case.precision)
        command = [self.interpreter, HERE / "ctranslate2_server.py", self.converted.model(workload, case.precision)]
        command += ["--tokenizer", workload.model, "--port", port, "--compute-type", kind]
        command += ["--inter", setting.workers, "--intra", setting.threads, "--max-batch", setting.batch]
        command += ["--queue", self.options.queue, "--beam", case.beam, "--limit", workload.limit]
        command += ["--forced"] if workload.forced else []
        return running(command, f"http://127.0.0.1:{port}", setting, case.folder.with_suffix(".ctranslate2.log"))
