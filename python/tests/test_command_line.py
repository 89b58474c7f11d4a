"""Python and the command line give the same bytes. The program is `ATTENTIVE_PROGRAM`, or the one in the package."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import attentive
import pytest

from small_models import PAIRS

PROGRAM = [os.environ["ATTENTIVE_PROGRAM"]] if "ATTENTIVE_PROGRAM" in os.environ else [sys.executable, "-m", "attentive"]


def run(*arguments: object, text: str = "", program: list[str] = PROGRAM) -> "subprocess.CompletedProcess[str]":
    command = [*program, *map(str, arguments)]
    return subprocess.run(command, input=text, text=True, capture_output=True, encoding="utf-8", check=False)


def sentences(count: int) -> list[str]:
    """Sentences, known and unknown, short, long and blank."""
    words = [word for source, _ in PAIRS for word in source.split()] + ["zebra", "Ärger", "🐕", "<mask>"]
    chance = random.Random(7)
    return [" ".join(chance.choices(words, k=chance.randrange(12))) for _ in range(count)]


@pytest.mark.parametrize("options", [{}, {"beam_width": 1}, {"beam_width": 4, "length_penalty": 0.6, "max_new_tokens": 9}])
def test_translations_are_those_of_the_command_line(models: Path, options: dict[str, Any]) -> None:
    texts = sentences(500)
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    expected = run("translate", models / "en-de", *flags, text="\n".join(texts) + "\n")
    assert expected.returncode == 0, expected.stderr
    model = attentive.load(models / "en-de")
    assert "".join(f"{found}\n" for found in model.translate(texts, **options)) == expected.stdout
    assert "".join(f"{found}\n" for found in model.translate(iter(texts), **options)) == expected.stdout


def test_scores_are_those_of_the_command_line(models: Path) -> None:
    texts = sentences(100)
    lines = run("translate", models / "en-de", "--n-best", 3, "--json", "--alignments", text="\n".join(texts) + "\n")
    found = attentive.load(models / "en-de").translate(texts, n_best=3, alignments=True)
    for line, translation in zip(lines.stdout.splitlines(), found, strict=True):
        expected = json.loads(line)
        assert expected["warnings"][: len(translation.warnings)] == translation.warnings
        for one, other in zip(expected["translations"], translation.hypotheses, strict=True):
            assert (one["text"], one["score"], one["log_prob"]) == (other, other.score, other.log_prob)
            assert (one["tokens"], one["finished"]) == (other.tokens, other.finished)
            assert one["alignment"] == [list(pair) for pair in other.alignment or []]


def test_vectors_are_those_of_the_command_line(models: Path) -> None:
    np = pytest.importorskip("numpy")
    texts = [text for text in sentences(200) if text.strip()]
    lines = run("embed", models / "en-de", text="\n".join(texts) + "\n").stdout.splitlines()
    expected = np.array([json.loads(line)["vector"] for line in lines], dtype=np.float32)
    assert np.array_equal(attentive.load(models / "en-de").embed(texts), expected)


def test_other_tasks_are_those_of_the_command_line(models: Path) -> None:
    texts = [source for source, _ in PAIRS]
    lines = "\n".join(texts) + "\n"
    labels = run("classify", models / "classifier", text=lines).stdout.splitlines()
    assert attentive.load(models / "classifier").classify(texts) == labels
    tags = run("tag", models / "tagger", text=lines).stdout.splitlines()
    assert [" ".join(found.tags) for found in attentive.load(models / "tagger").tag(texts)] == tags
    written = run("generate", models / "stories", "--prompt", "ein Hund", "--seed", 5).stdout
    assert "ein Hund" + attentive.load(models / "stories").generate("ein Hund", seed=5) + "\n" == written


def test_evaluations_are_those_of_the_command_line(models: Path, tmp_path: Path) -> None:
    (tmp_path / "src").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    (tmp_path / "tgt").write_text("".join(f"{target}\n" for _, target in PAIRS))
    arguments = ("--src", tmp_path / "src", "--ref", tmp_path / "tgt", "--json")
    expected = json.loads(run("evaluate", models / "en-de", *arguments).stdout)
    found = attentive.evaluate(models / "en-de", PAIRS)
    del expected["seconds"], found["seconds"], found["translations"]
    assert found == expected


def test_training_gives_the_weights_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    (tmp_path / "my.toml").write_text(
        f"[data]\ntrain = {{ tsv = '{tmp_path / 'pairs.tsv'}' }}\n[tokenizer]\nkind = 'word'\n[model]\nd_model = 16\n"
        "n_heads = 2\nd_ff = 32\nn_encoder_layers = 1\nn_decoder_layers = 1\n[train]\nmax_steps = 8\nbatch_tokens = 128\n"
    )
    done = run("train", tmp_path / "my.toml", "--output", tmp_path / "program")
    assert done.returncode == 0, done.stderr
    attentive.train(tmp_path / "my.toml", out=tmp_path / "python", threads=1)
    for name in ("model.safetensors", "tokenizer.json", "config.toml"):
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "program" / name).read_bytes(), name


def test_the_package_has_the_command_line() -> None:
    module = [sys.executable, "-m", "attentive"]
    version = run("--version", program=module)
    assert version.stdout == f"attentive {attentive.__version__}\n" and version.returncode == 0
    script = shutil.which("attentive", path=str(Path(sys.executable).parent))
    assert script is not None and run("--version", program=[script]).stdout == version.stdout
    wrong = run("translate", "nowhere", program=module)
    assert wrong.returncode == 1 and wrong.stderr.startswith("error: ") and wrong.stdout == ""
    assert run("translat", program=module).returncode == 2
    assert "Usage: attentive translate" in run("translate", "--help", program=module).stdout


def test_a_closed_pipe_and_an_interrupt_end_the_command(models: Path, tmp_path: Path) -> None:
    module = [sys.executable, "-m", "attentive"]
    (tmp_path / "many").write_text("a dog runs\n" * 50_000)
    command = [*module, "translate", str(models / "en-de"), str(tmp_path / "many")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ein Hund rennt\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0

