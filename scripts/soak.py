"""A server under more load than it can bear, with attacks mixed in; part of serve_attacks.py."""

import collections
import http.client
import json
import queue
import random
import subprocess
import threading
import time

from attack_models import lines
from attacks import ATTACKS, Target
from serving import check, counted
from watchers import Memory, ask

# Connections from which lines are sent: more than can wait, so that some are refused.
SENDERS, QUEUE = 512, 384
LIMITS = f"[limits]\nqueue = {QUEUE}\n"
# Statuses of requests that the server has no room for.
REFUSED = {429, 503}
# The attacks that take a while by themselves leave room for others.
ATTACKERS = 2
WAIT = 60


def expected(options, model):
    """What `attentive translate` makes of each line."""
    texts = lines()[:200]
    command = [options.attentive, "translate", model]
    done = subprocess.run(list(map(str, command)), input="\n".join(texts) + "\n", capture_output=True, text=True, check=True)
    return dict(zip(texts, done.stdout.splitlines(), strict=True))


def address(number):
    """That of a sender; those of attackers are others."""
    return f"127.0.{16 + number // 200}.{1 + number % 200}"


class Load:
    """Lines that are sent at random moments, whether or not earlier ones have been answered."""

    def __init__(self, port, answers, seed):
        self.port, self.answers, self.draw = port, list(answers.items()), random.Random(seed)
        self.due, self.outcomes, self.waits = queue.SimpleQueue(), collections.Counter(), []
        self.wrong = []
        self.threads = [threading.Thread(target=self.send, args=(number,), daemon=True) for number in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def send(self, number):
        source, connection = address(number), None
        while (due := self.due.get()) is not None:
            moment, (line, answer) = time.monotonic(), due
            body = json.dumps({"q": line, "source": "en", "target": "de"}).encode()
            outcome = "lost"
            # A connection that the server has closed meanwhile is opened again.
            for _ in range(2):
                fresh = connection is None
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, WAIT, (source, 0))
                try:
                    connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
                    response = connection.getresponse()
                    found = response.read()
                    outcome = response.status
                    break
                except (OSError, http.client.HTTPException) as error:
                    connection.close()
                    connection = None
                    outcome = f"lost: {error!r}"
                    if fresh:
                        break
            if outcome == 200:
                outcome = "right" if json.loads(found)["translatedText"] == answer else "wrong"
                self.waits.append(time.monotonic() - moment)
                if outcome == "wrong":
                    self.wrong.append((line, found))
            elif outcome in REFUSED:
                outcome = f"refused ({outcome})"
            self.outcomes[outcome] += 1

    def run(self, rate, seconds):
        """Sends `rate` lines a second for so long. Returns how many."""
        started, sent, moment = time.monotonic(), 0, 0.0
        while True:
            moment += self.draw.expovariate(rate)
            if moment > seconds:
                return sent
            time.sleep(max(0.0, started + moment - time.monotonic()))
            self.due.put(self.draw.choice(self.answers))
            sent += 1

    def end(self):
        for _ in self.threads:
            self.due.put(None)
        for thread in self.threads:
            thread.join(3 * WAIT)


def capacity(port, answers, seconds=10, clients=16):
    """Lines a second that clients get who wait for each answer."""
    texts, end, counts = list(answers), time.monotonic() + seconds, []

    def client(number):
        count = 0
        while time.monotonic() < end:
            body = json.dumps({"q": texts[(7 * number + count) % len(texts)], "source": "en", "target": "de"}).encode()
            status, _ = ask(port, address(number), "POST", "/translate", body)
            count += status == 200
        counts.append(count)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def attackers(port, stop, seed, counts):
    """Threads that attack in a random order until `stop`."""

    def go_on(number):
        draw = random.Random(seed + number)
        while not stop.is_set():
            name = draw.choice(list(ATTACKS))
            try:
                ATTACKS[name][1](Target(port, f"127.0.2.{number + 1}", longest=30))
            except (AssertionError, OSError):
                # Under this load some are refused in another way.
                pass
            counts[name] += 1
            stop.wait(1)

    threads = [threading.Thread(target=go_on, args=(number,), daemon=True) for number in range(ATTACKERS)]
    for thread in threads:
        thread.start()
    return threads


def soak(server, options, models):
    """Rows of a table, and what is wrong."""
    answers = expected(options, models["en-de"])
    rate = capacity(server.port, answers)
    memory = Memory(server.process.pid)
    stop, counts, samples = threading.Event(), collections.Counter(), []
    load = Load(server.port, answers, options.seed)

    def sample():
        while not stop.wait(5):
            samples.append(memory.read("VmRSS"))

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    threads = attackers(server.port, stop, options.seed, counts)
    sent = load.run(2 * rate, 60 * options.soak)
    stop.set()
    load.end()
    for thread in [sampler, *threads]:
        thread.join(120)
    check(server.process.poll() is None, f"the server has ended with {server.process.poll()}")
    server.check_well()
    lost = {outcome: count for outcome, count in load.outcomes.items() if str(outcome).startswith("lost")}
    answered = sum(load.outcomes.values())
    quarter = max(1, len(samples) // 4)
    early, late = max(samples[quarter : 2 * quarter] or samples), max(samples[-quarter:])
    waits = sorted(load.waits) or [0.0]
    rows = [
        ["capacity, lines/s", f"{rate:.0f}"],
        ["sent at twice the capacity", sent],
        ["came back", counted(load.outcomes.elements())],
        ["wait of those answered, s", f"median {waits[len(waits) // 2]:.2f}, p99 {waits[99 * len(waits) // 100]:.2f}"],
        ["attacks meanwhile", sum(counts.values())],
        ["memory, MiB", f"idle {memory.idle:.0f}, second quarter {early:.0f}, last quarter {late:.0f}, peak {memory.read('VmHWM'):.0f}"],
    ]
    wrong = [f"{sent} sent, {answered} answered, {lost}"] if answered != sent or lost else []
    wrong += [f"wrong answers, the first {load.wrong[:1]}"] if load.wrong else []
    wrong += [f"the memory grows: {early:.0f} → {late:.0f} MiB"] if late > max(1.1 * early, early + 32) else []
    return rows, wrong
