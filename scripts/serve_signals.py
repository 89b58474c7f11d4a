"""What `attentive serve` does when it is killed, stopped, started and told to read its models again; part of serve_faults.py."""

import shutil
import socket
import tempfile
import time
from pathlib import Path

from serving import Clients, Failure, Server, answer, check, counted, request


def killed(options):
    """kill -9 and a new server on the same port."""
    rows, port = [], 0
    for _ in range(3):
        with Server(options.attentive, {"en-de": options.model}, port) as server:
            port, clients = server.port, Clients(server)
            time.sleep(1)
            server.process.kill()
            server.process.wait()
            with Server(options.attentive, {"en-de": options.model}, port) as second:
                time.sleep(1)
                outcomes = clients.end()
                check(second.answer == server.answer, "another answer after the restart")
                check("wrong" not in [outcome for _, outcome in outcomes], "a wrong answer")
                second.check_well()
                came = counted(outcome for _, outcome in outcomes)
                rows.append(["kill -9 under load, restart on the same port", f"ready in {second.start_up:.2f} s; {came}"])
    return rows


def terminated(options):
    """SIGTERM under load."""
    rows = []
    for _ in range(3):
        with Server(options.attentive, {"en-de": options.model}) as server:
            clients = Clients(server, 64)
            time.sleep(2)
            moment = time.monotonic()
            server.send_signal("SIGTERM")
            status = server.process.wait(60)
            took = time.monotonic() - moment
            outcomes = clients.end()
            before = [outcome for sent, outcome in outcomes if sent < moment]
            after = [outcome for sent, outcome in outcomes if sent >= moment]
            check(status == 0, f"exit status {status}")
            check(set(before) == {"right"}, f"requests from before SIGTERM: {counted(before)}")
            check("wrong" not in after, "a wrong answer")
            check(not server.panics(), f"panics: {server.panics()[:3]}")
            rows.append(
                [
                    "SIGTERM under load of 64 clients",
                    f"sent before: {counted(before)}; after: {counted(after)}; ended after {took:.1f} s",
                ]
            )
    return rows


def inherited(options):
    """A socket of systemd: clients that come while no server runs are answered by the next one."""
    rows = []
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        for _ in range(3):
            connections = [socket.create_connection(listener.getsockname()) for _ in range(50)]
            for connection in connections:
                connection.sendall(request())
            with Server(options.attentive, {"en-de": options.model}, listener=listener) as server:
                # Until models are loaded, requests are refused.
                came = [answer(connection, server.answer)[0] for connection in connections]
                check(set(came) <= {"right", "503"}, f"clients that waited: {counted(came)}")
                server.check_well()
            rows.append(["50 clients that connect before the server starts", counted(came)])
    return rows


def reloaded(options):
    """SIGHUP under load, with models that are as before, and with damaged ones."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        model.mkdir()
        for path in options.model.iterdir():
            if path.is_file():
                shutil.copyfile(path, model / path.name)
        with Server(options.attentive, {"en-de": model}) as server:
            before = server.memory()
            clients = Clients(server, 32)
            for damage in [None, "cut off", "noise", "missing", None]:
                file, saved = model / "model.safetensors", model / "saved"
                if damage:
                    file.rename(saved)
                    if damage != "missing":
                        (model / "new").write_bytes(saved.read_bytes()[:-1000] if damage == "cut off" else bytes(1_000_000))
                        (model / "new").rename(file)
                counts = [reload(server) for _ in range(5)]
                if damage:
                    saved.rename(file)
                failed = sum(not well for well in counts)
                check(failed == (5 if damage else 0), f"{failed} of 5 reloads failed with weights: {damage or 'whole'}")
                rows.append(
                    [
                        f"SIGHUP × 5 under load of 32 clients, weights {damage or 'whole'}",
                        f"{5 - failed} reloaded, {failed} kept the old model",
                    ]
                )
            outcomes = clients.end()
            came = counted(outcome for _, outcome in outcomes)
            check({outcome for _, outcome in outcomes} == {"right"}, f"requests under SIGHUP: {came}")
            server.check_well()
            rows.append(["their clients", f"{came}; memory {before:.0f} → {server.memory():.0f} MB"])
    return rows


def reload(server):
    """Whether the server has read its models again."""

    def counts():
        return [server.metric(rf'attentive_reloads_total{{result="{result}"}}') for result in ("success", "failure")]

    before = counts()
    server.send_signal("SIGHUP")
    for _ in range(600):
        now = counts()
        if now != before:
            return now[0] > before[0]
        time.sleep(0.05)
    raise Failure("SIGHUP had no effect in 30 seconds")
