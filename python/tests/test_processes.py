"""Threads, forks, interrupts, and memory over many calls."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attentive
import pytest

from small_models import PAIRS

CALLS = int(os.environ.get("ATTENTIVE_TEST_CALLS", "3000"))
"""The number of calls over which memory must not grow; 100000 for the long check."""

SOURCES = [source for source, _ in PAIRS]
TARGETS = [target for _, target in PAIRS]


def script(models: Path, code: str) -> "subprocess.Popen[str]":
    """A process that runs `code` with a model, and says when it begins."""
    start = f"import attentive, sys, time\nmodel = attentive.load({str(models / 'en-de')!r})\nmodel.translate('a dog')\n"
    ready = "print('ready', flush=True)\n"
    # A shell starts what runs in its background with interrupts ignored.
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", heard + start + ready + textwrap.dedent(code)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_several_threads_use_one_model(models: Path) -> None:
    model = attentive.load(models / "en-de")
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(model.translate, SOURCES) for _ in range(16)]
        # The representation for whole sequences is made by the first of them.
        other = [pool.submit(model.rescore, SOURCES, TARGETS) for _ in range(8)]
        assert all(job.result() == TARGETS for job in jobs)
        assert len({tuple(one.log_prob for one in job.result()) for job in other}) == 1


def test_other_threads_run_while_a_model_works(models: Path) -> None:
    model, ticks, done = attentive.load(models / "en-de"), 0, threading.Event()

    def work() -> None:
        model.translate(SOURCES * 300, beam_width=8)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.005):
        ticks += 1
    thread.join()
    assert ticks > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_model_works_in_a_forked_process(models: Path) -> None:
    model = attentive.load(models / "en-de", threads=2)
    assert model.translate(SOURCES) == TARGETS
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(model.translate, [SOURCES] * 4).get(60) == [TARGETS] * 4
        scores = pool.apply_async(model.rescore, (SOURCES, TARGETS)).get(60)
    assert [one.log_prob for one in scores] == [one.log_prob for one in model.rescore(SOURCES, TARGETS)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map_async(model.translate, [SOURCES]).get(120) == [TARGETS]


def test_an_interrupt_ends_a_translation_at_once(models: Path) -> None:
    code = """
        try:
            model.translate(["a dog runs"] * 1_000_000, beam_width=16)
        except KeyboardInterrupt:
            print("interrupted", model.translate("a dog runs"))
    """
    with script(models, code) as process:
        time.sleep(1.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert out == "interrupted ein Hund rennt\n", errors
        assert time.monotonic() - start < 10


def test_an_interrupt_saves_a_run(models: Path, tmp_path: Path) -> None:
    code = f"""
        pairs = [("a dog", "ein Hund"), ("a cat", "eine Katze")] * 50
        config = {{"tokenizer": {{"kind": "word"}}, "train": {{"max_steps": 1_000_000}}, "model": {{"d_model": 16, "n_heads": 2}}}}
        try:
            attentive.train(config, out={str(tmp_path / "run")!r}, train_data=pairs, progress=False)
        except KeyboardInterrupt as stopped:
            print(stopped)
    """
    with script(models, code) as process:
        while not (tmp_path / "run" / "metrics.jsonl").exists():
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert "is saved in" in out and 'existing="resume"' in out, errors
    assert list((tmp_path / "run" / "checkpoints").glob("step-*"))


def test_a_signal_handler_decides_what_is_raised(models: Path) -> None:
    code = """
        import signal
        def leave(number, frame):
            raise TimeoutError("too slow")
        signal.signal(signal.SIGALRM, leave)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            model.translate(["a dog runs"] * 1_000_000)
        except TimeoutError as error:
            print(error)
    """
    with script(models, code) as process:
        out, errors = process.communicate(timeout=60)
    assert out == "too slow\n", errors


def resident() -> int:
    """The RAM of this process in KiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow(models: Path) -> None:
    model = attentive.load(models / "en-de", threads=1)
    options = {"n_best": 2, "prefix": "ein", "alignments": True}

    def call(count: int) -> None:
        for _ in range(count):
            model.translate("a dog runs")
            model.translate(["a dog runs"], **options)  # type: ignore[arg-type]
            model.tokenizer.encode("a dog runs")
            with pytest.raises(attentive.UsageError):
                model.translate("a dog", n_best=99)

    call(CALLS // 5)
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    references = sys.getrefcount(model)
    call(CALLS)
    gc.collect()
    growth, more_objects = resident() - before, len(gc.get_objects()) - objects
    more_references = sys.getrefcount(model) - references
    assert growth < 4096 and more_objects < 100 and more_references == 0
