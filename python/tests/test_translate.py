"""Translation: the rule for inputs, options, and what goes wrong."""

from __future__ import annotations

import itertools
import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attentive
import pytest

from small_models import PAIRS

SOURCES = [source for source, _ in PAIRS]
TARGETS = [target for _, target in PAIRS]


def test_a_text_gives_one_result_a_sequence_a_list_and_any_other_iterable_an_iterator(model: attentive.Model) -> None:
    assert model.translate(SOURCES[0]) == TARGETS[0]
    assert model.translate(SOURCES) == TARGETS
    assert model.translate(tuple(SOURCES)) == TARGETS
    found = model.translate(source for source in SOURCES)
    assert isinstance(found, Iterator) and list(found) == TARGETS
    assert model.translate([]) == [] and list(model.translate(iter([]))) == []
    assert model.translate("") == ""


def test_a_stream_is_read_as_far_as_needed(model: attentive.Model) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        for source in itertools.cycle(SOURCES):
            read += 1
            yield source

    found = list(itertools.islice(model.translate(endless(), batch_size=4), 30))
    assert found == list(itertools.islice(itertools.cycle(TARGETS), 30))
    assert read <= 4 + 8 + 16 + 32


def test_results_before_a_failure_of_a_stream_are_given(model: attentive.Model) -> None:
    def failing() -> Iterator[str]:
        yield from SOURCES[:3]
        raise RuntimeError("the database is gone")

    found = []
    with pytest.raises(RuntimeError, match="database"):
        for translation in model.translate(failing()):
            found.append(translation)
    assert found == TARGETS[:3]


def test_candidates_have_scores(model: attentive.Model) -> None:
    best = model.translate("a dog runs", n_best=3)
    assert [best, *best.hypotheses[1:]] == best.hypotheses and len(best.hypotheses) == 3
    scores = [found.score for found in best.hypotheses]
    assert scores == sorted(scores, reverse=True, key=float)
    assert best.tokens == ["ein", "Hund", "rennt"] and best.finished
    assert best.token_log_probs is not None and len(best.token_log_probs) == 4
    assert best.log_prob == pytest.approx(sum(best.token_log_probs), abs=1e-5)
    page = best._repr_html_()
    assert "ein Hund rennt" in page and f"{best.score:.4f}" in page
    assert model.translate("a dog runs").score is None
    assert model.translate("a dog runs", return_scores=True).score == best.score


def test_candidates_are_escaped(model: attentive.Model) -> None:
    assert "<b>" not in model.translate("<b>")._repr_html_()


def test_prefixes_and_constraints_belong_to_all_texts_or_to_each(model: attentive.Model) -> None:
    assert model.translate("a dog runs", prefix="ein Vogel") == "ein Vogel rennt"
    assert model.translate(["a dog runs", "a bird runs"], prefix="ein Vogel") == ["ein Vogel rennt"] * 2
    found = model.translate(["a dog runs", "a bird sleeps"], prefix=["zwei", ""])
    assert found[0].startswith("zwei ") and found[1] == "ein Vogel schläft"
    one = model.translate(SOURCES[:2], constraints=["Katzen"], beam_width=10)
    assert all("Katzen" in found or found.unmet == ["Katzen"] for found in one)
    each = model.translate(SOURCES[:2], constraints=[["Katzen"], []], beam_width=10)
    assert ("Katzen" in each[0] or each[0].unmet == ["Katzen"]) and each[1] == TARGETS[1]
    with pytest.raises(attentive.DataError, match="text 2"):
        model.translate(SOURCES[:2], prefix=["ein"])
    with pytest.raises(attentive.DataError, match="more"):
        model.translate(SOURCES[:1], prefix=["ein", "ein"])
    with pytest.raises(TypeError, match="list of phrases"):
        model.translate("a dog runs", constraints="Hund")


def test_terms_of_a_glossary_take_their_places(model: attentive.Model, tmp_path: Path) -> None:
    terms = {"bird": "Hund", "horses": "Katzen"}
    assert model.translate("a bird runs", glossary=terms) == "ein Hund rennt"
    assert model.translate(["two horses run", "two cats sleep"], glossary=terms) == ["zwei Katzen rennen", "zwei Katzen schlafen"]
    file = tmp_path / "terms.csv"
    file.write_text("bird,Hund\nhorses,Katzen\n")
    found = list(model.translate(iter(["a bird runs"] * 3), glossary=file, batch_size=1))
    assert found == ["ein Hund rennt"] * 3
    lacking = model.translate("a bird runs", glossary={"bird": "Pudel"})
    assert lacking == "ein Vogel rennt" and "the term `Pudel` cannot be written" in lacking.warnings[0]
    with pytest.raises(attentive.UsageError, match="glossary"):
        model.translate("a bird runs", glossary=terms, prefix="ein")
    with pytest.raises(attentive.DataError, match="the term ` ` has nothing as its source term"):
        model.translate("a bird runs", glossary={" ": "a"})
    file.write_text("a,b,c\n")
    with pytest.raises(attentive.DataError, match="line 1 has 3 fields"):
        model.translate("a bird runs", glossary=file)


def test_samples_depend_on_the_seed_and_the_place_alone(model: attentive.Model) -> None:
    drawn = attentive.Sampling(temperature=3.0, seed=7)
    all_at_once = model.translate(SOURCES, sampling=drawn)
    assert all_at_once != TARGETS
    for batch_size in [0, 2]:
        assert list(model.translate(iter(SOURCES), sampling=drawn, batch_size=batch_size)) == all_at_once
    assert model.translate(SOURCES[0], sampling=drawn, n_best=3).hypotheses[0] == all_at_once[0]


def test_words_are_aligned(model: attentive.Model) -> None:
    alignment = model.translate("a dog runs", alignments=True).alignment
    assert alignment is not None and all(0 <= i < 3 and 0 <= j < 3 for i, j in alignment)
    assert model.translate("a dog runs").alignment is None


def test_probabilities_of_given_translations(model: attentive.Model) -> None:
    good = model.rescore("a dog runs", "ein Hund rennt")
    assert good.log_prob == pytest.approx(model.translate("a dog runs", return_scores=True).log_prob, abs=1e-4)
    assert good.tokens == ["ein", "Hund", "rennt", "</s>"]
    assert model.rescore(["a dog runs"], ["ein Hund rennt"]) == [good]
    with pytest.raises(attentive.DataError):
        model.rescore(["a dog runs", "a bird runs"], ["ein Hund rennt"])


def test_problems_with_texts_are_logged(model: attentive.Model, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "attentive"):
        found = model.translate(["a dog runs", "a zebra runs"])
    assert found[0].warnings == [] and "zebra" in found[1].warnings[0]
    assert [record.getMessage() for record in caplog.records] == [f"text 2: {found[1].warnings[0]}"]


@pytest.mark.parametrize("texts", [5, None, [5], ["a", None], [b"a"], iter([5])])
def test_anything_but_text_is_refused(model: attentive.Model, texts: Any) -> None:
    with pytest.raises(TypeError):
        list(model.translate(texts))


def test_unsuitable_options_are_refused(model: attentive.Model) -> None:
    for options, kind, words in [
        ({"beam_width": 0}, attentive.UsageError, "1 or more"),
        ({"n_best": 9, "beam_width": 2}, attentive.UsageError, "`n_best`"),
        ({"early_stopping": "soon"}, attentive.UsageError, "`never`"),
        ({"length_penalty": float("nan")}, attentive.Error, "length_penalty"),
        ({"sampling": attentive.Sampling(top_p=2)}, attentive.ConfigError, "top_p"),
    ]:
        with pytest.raises(kind, match=words):
            model.translate("a dog runs", **options)
    for wrong in [{"beam_width": "5"}, {"n_best": -1}, {"beam": 5}, {"beam_width": 2**80}]:
        with pytest.raises((TypeError, OverflowError)):
            model.translate("a dog runs", **wrong)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        model.translate("\ud800")


def test_a_model_of_another_task_names_the_right_method(models: Path) -> None:
    with pytest.raises(attentive.UsageError, match="hint: use its method `classify`"):
        attentive.load(models / "classifier").translate("a dog runs")


def test_missing_and_damaged_models_are_named(models: Path, tmp_path: Path) -> None:
    with pytest.raises(attentive.FileError) as missing:
        attentive.load(tmp_path / "nowhere")
    assert missing.value.filename.name == "nowhere" and missing.value.errno == 2
    with pytest.raises(attentive.ModelError, match="hint"):
        attentive.load(tmp_path)
    copy = tmp_path / "copy"
    attentive.load(models / "en-de").save(copy)
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:-1])
    with pytest.raises(attentive.ModelError, match="not a complete safetensors file"):
        attentive.load(copy)
    with pytest.raises(attentive.UsageError, match='"int8"'):
        attentive.load(models / "en-de", "int4")  # type: ignore[arg-type]
    with pytest.raises(attentive.UsageError, match="0 threads"):
        attentive.load(models / "en-de", threads=0)


def test_models_and_results_are_pickled(model: attentive.Model) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert again.translate(SOURCES) == TARGETS
    found = pickle.loads(pickle.dumps(model.translate("a dog runs", n_best=2)))
    assert found == "ein Hund rennt" and len(found.hypotheses) == 2


def test_precisions_and_threads(models: Path) -> None:
    for precision in ("f32", "bf16", "int8"):
        for threads in (1, 3):
            loaded = attentive.load(models / "en-de", precision, threads)  # type: ignore[arg-type]
            assert loaded.threads == threads
            assert loaded.translate(SOURCES) == TARGETS


def test_keys_and_values_are_kept_in_bfloat16(models: Path) -> None:
    exact = attentive.load(models / "en-de")
    rough = attentive.load(models / "en-de", cache_precision="bf16")
    assert (exact.config["decode"]["cache_precision"], rough.config["decode"]["cache_precision"]) == ("f32", "bf16")
    for loaded in rough, pickle.loads(pickle.dumps(rough)):
        assert loaded.translate(SOURCES) == TARGETS
        scores = [model.translate("a dog runs", return_scores=True).score for model in (exact, loaded)]
        assert scores[0] != scores[1] and abs(scores[0] - scores[1]) < 0.01
    with pytest.raises(attentive.UsageError, match="cache_precision"):
        attentive.load(models / "en-de", cache_precision="int8")  # type: ignore[arg-type]
    with pytest.raises(attentive.UsageError, match="keeps no keys and values"):
        attentive.load(models / "tagger", cache_precision="bf16")


def test_a_bar_shows_the_texts(model: attentive.Model, bars: list[Any]) -> None:
    model.translate(SOURCES * 500, progress=True, batch_size=16)
    [bar] = bars
    assert (bar.total, bar.unit, bar.done, bar.closed) == (500 * len(SOURCES), "texts", bar.total, True)
    model.translate(SOURCES * 500, progress=False)
    assert len(bars) == 1
