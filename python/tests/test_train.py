"""Training: data in RAM, callbacks, and what goes wrong."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import attentive
import pytest

from small_models import GERMAN, PAIRS, QUESTIONS, config

SHORT = config("transformer", max_steps=6)


def weights(run: Path, step: int = 6) -> bytes:
    return (run / "checkpoints" / f"step-{step:08}" / "model.safetensors").read_bytes()


def test_lines_files_and_tables_give_the_same_weights(tmp_path: Path) -> None:
    src, tgt = ([pair[side] for pair in PAIRS] for side in (0, 1))
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    of_files = {**SHORT, "data": {"train": {"tsv": tmp_path / "pairs.tsv"}}}
    attentive.train(of_files, out=tmp_path / "file")

    class Table:
        """Like a data set or a data frame."""

        column_names = ["src", "tgt", "id"]

        def __getitem__(self, name: str) -> list[str]:
            return {"src": src, "tgt": tgt}[name]

    for number, data in enumerate([PAIRS, iter(PAIRS), {"src": src, "tgt": tuple(tgt)}, Table(), [list(pair) for pair in PAIRS]]):
        run = attentive.train(SHORT, out=tmp_path / str(number), train_data=data)
        assert weights(run.path) == weights(tmp_path / "file")


def test_a_data_frame_is_a_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(PAIRS, columns=["src", "tgt"])
    run = attentive.train(SHORT, out=tmp_path / "run", train_data=table, valid_data=table.head(3))
    assert run.best is not None
    assert run.model().translate(table["src"]) == run.model().translate(list(table["src"]))


def test_callbacks_get_events(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    events: list[attentive.Event] = []
    wanted = {**SHORT, "train": {**SHORT["train"], "validate_every": 3, "log_every": 2, "average_last": 2, "save_every": 3}}
    with caplog.at_level(logging.INFO, "attentive"):
        run = attentive.train(
            wanted, out=tmp_path / "run", train_data=PAIRS, valid_data=PAIRS[:2], callbacks=[events.append, lambda event: None]
        )
    assert [type(event).__name__ for event in events] == [
        *["Start", "Log", "Log", "Validation", "Checkpoint", "Log", "Log", "Validation", "Checkpoint", "Average"]
    ]
    start, first = events[:2]
    assert isinstance(start, attentive.Start) and (start.step, start.max_steps, start.n_examples) == (0, 6, len(PAIRS))
    assert isinstance(first, attentive.Log) and first.step == 1 and first.loss > 0
    validation = next(event for event in events if isinstance(event, attentive.Validation))
    assert validation.step == 3 and validation.bleu is not None and validation.samples[0].reference == PAIRS[0][1]
    checkpoint = next(event for event in events if isinstance(event, attentive.Checkpoint))
    assert attentive.load(checkpoint.path).task == "translate"
    assert run.step == 6 and run.stopped == "max_steps" and run.best is not None and run.path == tmp_path / "run"
    steps = [line["step"] for line in run.history if "tgt_tokens" in line]
    assert steps == [1, 2, 4, 6]
    assert any("training data" in record.getMessage() for record in caplog.records)


def test_a_callback_may_use_the_model(tmp_path: Path) -> None:
    found: list[str] = []

    def translate(event: attentive.Event) -> None:
        if isinstance(event, attentive.Checkpoint):
            found.extend(attentive.load(event.path, threads=1).translate([PAIRS[0][0]] * 3))

    attentive.train(SHORT, out=tmp_path / "run", train_data=PAIRS, callbacks=translate, threads=1)
    assert len(found) == 3


def test_an_exception_of_a_callback_saves_and_ends_the_run(tmp_path: Path) -> None:
    def failing(event: attentive.Event) -> None:
        if isinstance(event, attentive.Log):
            raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        attentive.train(SHORT, out=tmp_path / "run", train_data=PAIRS, callbacks=failing)
    run = attentive.train(SHORT, out=tmp_path / "run", train_data=PAIRS, existing="resume")
    assert run.resumed_at == 1
    whole = attentive.train(SHORT, out=tmp_path / "whole", train_data=PAIRS)
    assert weights(run.path) == weights(whole.path)


def test_a_run_directory_is_not_overwritten_by_mistake(tmp_path: Path) -> None:
    out = tmp_path / "run"
    attentive.train(SHORT, out=out, train_data=PAIRS)
    with pytest.raises(attentive.RunExistsError, match='`existing="resume"` continues it'):
        attentive.train(SHORT, out=out, train_data=PAIRS)
    with pytest.raises(attentive.DataError, match="has changed"):
        attentive.train(SHORT, out=out, train_data=PAIRS[::-1], existing="resume")
    assert attentive.train(SHORT, out=out, train_data=PAIRS[::-1], existing="overwrite").resumed_at is None
    with pytest.raises(attentive.UsageError, match='"refuse", "resume", "overwrite"'):
        attentive.train(SHORT, out=out, train_data=PAIRS, existing="replace")  # type: ignore[arg-type]


def test_mistakes_in_configurations_are_named(tmp_path: Path) -> None:
    def refused(change: dict[str, Any], words: str) -> None:
        with pytest.raises(attentive.ConfigError, match=words):
            attentive.train({**SHORT, **change}, out=tmp_path / "run", train_data=PAIRS)

    refused({"model": {"d_modell": 8}}, "hint: .*d_model")
    refused({"train": {"max_steps": -1}}, "`train.max_steps`")
    refused({"train": {"max_steps": "many"}}, "a value of the configuration")
    refused({"modell": {"d_model": 8}}, "modell")
    with pytest.raises(attentive.ConfigError, match="data.train"):
        attentive.train(SHORT, out=tmp_path / "run")
    with pytest.raises(TypeError, match="train.max_steps is object"):
        attentive.train({"train": {"max_steps": object()}}, out=tmp_path / "run")
    with pytest.raises(attentive.FileError):
        attentive.train("nowhere.toml", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_configuration_file_is_read_and_changed(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[model]\nd_model = 16\nn_heads = 2\n[data]\ntrain = { tsv = 'gone.tsv' }\n")
    changes = {"tokenizer": {"kind": "word"}, "train": {"max_steps": 2}}
    run = attentive.train(tmp_path / "my.toml", out=tmp_path / "run", train_data=PAIRS, overrides=changes)
    stored = run.model().config
    assert stored["model"]["d_model"] == 16 and run.step == 2
    assert stored["data"]["train"] == {"in_memory": len(PAIRS)}


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ([], attentive.DataError, "empty"),
        (GERMAN, attentive.DataError, "`src` and `tgt`"),
        ({"src": ["a"], "tgt": []}, attentive.DataError, "differ in length"),
        ({"source": ["a"]}, attentive.DataError, "`src` and `tgt`"),
        ([("a", "b"), "c"], TypeError, "line 2"),
        ([("a", "b", "c")], TypeError, "3 parts"),
        ([1, 2], TypeError, "int"),
        ([("a", 5)], TypeError, "int"),
        ("train.tsv", TypeError, "single text"),
        ([("", "")] * 3, attentive.DataError, "no usable data"),
    ],
)
def test_unsuitable_data_are_refused(tmp_path: Path, data: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        attentive.train(SHORT, out=tmp_path / "run", train_data=data)
    assert not (tmp_path / "run").exists()


def test_labels_and_tags_are_checked(tmp_path: Path) -> None:
    with pytest.raises(attentive.DataError, match="line 1 of the given corpus: the label `a b`"):
        attentive.train(config("classifier", 2), out=tmp_path / "run", train_data=[("text", "a b")])
    with pytest.raises(attentive.DataError, match="line 2 of the given corpus"):
        attentive.train(config("tagger", 2), out=tmp_path / "run", train_data=[(["a"], ["X"]), (["a"], ["X", "Y"])])
    run = attentive.train(config("classifier", 2), out=tmp_path / "run", train_data=QUESTIONS)
    with pytest.raises(attentive.DataError):
        attentive.evaluate(run.path, [("text", "a b")])


def test_a_generator_that_raises_ends_before_training(tmp_path: Path) -> None:
    def failing() -> Any:
        yield PAIRS[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        attentive.train(SHORT, out=tmp_path / "run", train_data=failing())


def test_a_loss_that_is_not_finite_is_reported(tmp_path: Path) -> None:
    wild = {**SHORT, "train": {**SHORT["train"], "max_steps": 200, "clip_norm": 0, "optimizer": {"learning_rate": 1e18}}}
    with pytest.raises(attentive.NotFiniteError, match="hint: start over with another `out`"):
        attentive.train(wild, out=tmp_path / "run", train_data=PAIRS)


def test_a_bar_shows_the_updates(tmp_path: Path, bars: list[Any]) -> None:
    attentive.train(SHORT, out=tmp_path / "run", train_data=PAIRS, progress=True)
    [bar] = bars
    assert (bar.total, bar.unit, bar.done, bar.closed) == (6, "updates", 6, True)
    attentive.train(SHORT, out=tmp_path / "other", train_data=PAIRS, progress=False)
    assert len(bars) == 1


def test_the_history_is_the_log(tmp_path: Path) -> None:
    run = attentive.train(SHORT, out=tmp_path / "run", train_data=PAIRS)
    assert run.history == [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
