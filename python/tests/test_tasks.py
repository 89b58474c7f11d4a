"""What models do other than translating, and what is known about them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import attentive
import pytest

from small_models import GERMAN, PAIRS, QUESTIONS

np = pytest.importorskip("numpy")


def test_texts_are_generated(models: Path) -> None:
    model = attentive.load(models / "stories")
    pieces: list[str] = []
    text = model.generate("ein Hund", temperature=0, on_text=pieces.append)
    assert "".join(pieces) == text == " rennt" or text == " schläft"
    assert (text.prompt, text.ending) == ("ein Hund", "end_of_text")
    several = model.generate(["ein", "zwei"], seed=3)
    assert several == list(model.generate(iter(["ein", "zwei"]), seed=3))
    samples = {model.generate("", temperature=2.0, number=number) for number in range(8)}
    assert len(samples) > 1
    assert model.generate("ein Hund", temperature=0, stop="nn").ending in ("stopped", "end_of_text")
    assert len(model.generate("", max_new_tokens=1).tokens) == 1


def test_an_exception_of_a_callback_ends_the_text(models: Path) -> None:
    def failing(piece: str) -> None:
        raise LookupError(piece)

    with pytest.raises(LookupError):
        attentive.load(models / "stories").generate("ein Hund", on_text=failing)


def test_gaps_are_filled(models: Path) -> None:
    model = attentive.load(models / "gaps")
    filled = model.fill("ein <mask> rennt", top=3)
    assert filled in GERMAN and len(filled.gaps) == 1 and len(filled.gaps[0]) == 3
    assert filled.gaps[0][0].token in filled and 0 < filled.gaps[0][0].probability <= 1
    assert model.fill(["", "ein <mask> rennt"], top=3) == ["", filled]
    assert model.tokenizer.mask == "<mask>"
    with pytest.raises(attentive.UsageError, match="<mask>"):
        model.fill("ein Hund")


def test_texts_are_tagged(models: Path) -> None:
    model = attentive.load(models / "tagger")
    tagged = model.tag("a dog runs")
    assert tagged == [("a", "DET"), ("dog", "NOUN"), ("runs", "VERB")]
    assert tagged.tags == ["DET", "NOUN", "VERB"] and tagged[1].tag == "NOUN" and tagged.unknown == 0
    assert model.tag(["", "a dog runs"]) == [[], tagged]


def test_texts_are_classified(models: Path) -> None:
    model = attentive.load(models / "classifier")
    texts, labels = zip(*QUESTIONS)
    assert model.classify(list(texts)) == list(labels)
    label = model.classify("does a dog run", top=9)
    assert label.probability == label.labels[0].probability > 0.5
    assert sum(share for _, share in label.labels) == pytest.approx(1)
    blank = model.classify(" ")
    assert blank == "" and math.isnan(blank.probability) and blank.labels == []


def test_texts_have_vectors(models: Path) -> None:
    model = attentive.load(models / "en-de")
    texts = [source for source, _ in PAIRS]
    vectors = model.embed(texts)
    assert vectors.shape == (len(texts), 32) and vectors.dtype == np.float32 and vectors.flags.writeable
    assert (model.embed(texts[0]) == vectors[0]).all()
    assert all((one == other).all() for one, other in zip(model.embed(iter(texts)), vectors))
    assert model.embed([]).shape == (0, 32)
    assert np.isnan(model.embed(["", "a dog"])).any(axis=1).tolist() == [True, False]
    stream = itertools.islice(model.embed(itertools.cycle(texts)), 3)
    assert np.array_equal(np.stack(list(stream)), vectors[:3])
    with pytest.raises(attentive.UsageError, match="no text encoder"):
        attentive.load(models / "stories").embed("ein Hund")


def test_a_trace_has_every_operation_and_gradients(models: Path) -> None:
    model = attentive.load(models / "en-de")
    trace = model.trace("a dog runs", "ein Vogel", unweighted=True, backward=1)
    assert trace.source == ["a", "dog", "runs", "</s>"] and trace.target == ["<s>", "ein", "Vogel"]
    weights = trace["decoder.layers.0.cross_attention.weights"]
    assert np.allclose(weights, model.attention("a dog runs", "ein Vogel").cross[0], atol=1e-5)
    x, mask = trace["src.input"], trace["decoder.layers.0.self_attention.mask"]
    assert np.allclose(trace["src.input.unweighted.scores"], x @ x.T, rtol=1e-4, atol=1e-4)
    assert (mask == np.tril(np.ones((3, 3)))).all()
    assert trace.loss is not None and trace.loss > 0
    assert len(trace.gradients["src"]) == 4 and trace.gradients["tgt"][2] == 0
    assert trace.operations[0].name == "src.embedding" and "table" not in repr(trace)
    assert trace.html is not None and "<iframe" in (trace._repr_html_() or "")
    assert model.trace("a dog").gradients == {}
    with pytest.raises(KeyError):
        trace["nothing"]
    with pytest.raises(attentive.UsageError):
        model.trace("a dog", "ein", backward=9)


def test_attention_has_numbers_and_a_picture(models: Path) -> None:
    attention = attentive.load(models / "en-de").attention("a dog runs", "ein Vogel")
    assert attention.source == ["a", "dog", "runs", "</s>"] and attention.target == ["<s>", "ein", "Vogel"]
    assert [one.site for one in attention.maps] == ["encoder_self", "decoder_self", "cross"]
    assert attention.cross.shape == (1, 2, 3, 4)
    assert np.allclose(attention.cross.sum(axis=-1), 1, atol=1e-5)
    html = attention._repr_html_()
    assert html.startswith("<iframe srcdoc=") and "http" not in html.replace("http-equiv", "")
    assert "Vogel" in attention.html and "<script" in attention.html
    with pytest.raises(attentive.UsageError, match="blank"):
        attentive.load(models / "en-de").attention(" ")


def test_a_tokenizer_knows_where_tokens_come_from(models: Path) -> None:
    tokenizer = attentive.load(models / "en-de").target_tokenizer
    text = "ein Vogel schläft"
    ids = tokenizer.encode(text)
    assert [text[start:end] for start, end in tokenizer.offsets(text)] == tokenizer.tokens(ids) == text.split()
    assert tokenizer.ids(tokenizer.tokens(ids)) == ids and tokenizer.decode(ids) == text
    assert max(ids) < len(tokenizer)
    with pytest.raises(attentive.UsageError, match="ids are below"):
        tokenizer.tokens([len(tokenizer)])
    with pytest.raises(attentive.DataError):
        tokenizer.ids(["zebra"])


def test_weights_are_read_where_they_are(models: Path, tmp_path: Path) -> None:
    model = attentive.load(models / "en-de")
    weights = model.state_dict()
    assert sum(array.size for array in weights.values()) == model._native.n_weights
    assert all(array.dtype == np.float32 and not array.flags.writeable for array in weights.values())
    table = weights["src.embedding.weight"]
    del weights, model
    assert np.isfinite(table).all() and table.std() > 0
    attentive.quantize(models / "en-de", tmp_path / "int8")
    rounded = attentive.load(tmp_path / "int8").state_dict()["src.embedding.weight"]
    assert rounded.shape == table.shape and np.abs(rounded - table).max() < np.abs(table).max() / 50


def test_a_copy_is_the_same_model(models: Path, tmp_path: Path) -> None:
    model = attentive.load(models / "en-de")
    model.save(tmp_path / "copy")
    copy = attentive.load(tmp_path / "copy")
    assert copy.config == model.config and copy.task == "translate"
    for name, array in copy.state_dict().items():
        assert np.array_equal(array, model.state_dict()[name])
    assert not (tmp_path / "copy" / "checkpoints").exists()
    with pytest.raises(attentive.UsageError, match="exists"):
        model.save(tmp_path / "copy")
    checkpoint = attentive.load(models / "en-de" / "checkpoints" / "step-00000150")
    checkpoint.save(tmp_path / "of checkpoint")
    assert attentive.load(tmp_path / "of checkpoint").translate("a dog runs") == "ein Hund rennt"


def test_models_are_evaluated(models: Path) -> None:
    result = attentive.evaluate(models / "en-de", PAIRS, beam_width=1)
    assert result["exact_match"] == {"correct": len(PAIRS), "total": len(PAIRS)}
    assert result["chrf"]["value"] == pytest.approx(100) and result["translations"] == [tgt for _, tgt in PAIRS]
    other = attentive.evaluate(
        models / "en-de", {"src": [PAIRS[0][0]], "tgt": ["x"]}, references=[[PAIRS[0][1]]]
    )
    assert other["bleu"]["signature"].startswith("nrefs:2")
    assert attentive.evaluate(models / "classifier", QUESTIONS)["accuracy"]["correct"] == len(QUESTIONS)
    assert attentive.evaluate(models / "stories", GERMAN)["perplexity"] < 4
    assert attentive.evaluate(models / "gaps", GERMAN)["texts"] == len(GERMAN)
    tags = [("a dog runs", "DET NOUN VERB")]
    assert attentive.evaluate(models / "tagger", tags)["accuracy"] == {"correct": 3, "total": 3}
    with pytest.raises(TypeError, match="beam_widht"):
        attentive.evaluate(models / "en-de", PAIRS, beam_widht=1)  # type: ignore[call-arg]
    with pytest.raises(attentive.DataError, match="needs texts"):
        attentive.evaluate(models / "stories", PAIRS)


def test_models_are_quantized(models: Path, tmp_path: Path) -> None:
    test = ([source for source, _ in PAIRS], [target for _, target in PAIRS])
    report = attentive.quantize(
        models / "en-de", tmp_path / "int8", cache_precision="bf16", test=test, shortlist=test, max_drop=5
    )
    assert report["lines"] == len(PAIRS) and report["bytes"]["after"] < report["bytes"]["before"]
    assert report["cache_precision"] == {"before": "f32", "after": "bf16"}
    assert attentive.load(tmp_path / "int8").config["decode"]["cache_precision"] == "bf16"
    with pytest.raises(attentive.UsageError, match="written by `quantize` already"):
        attentive.quantize(tmp_path / "int8", tmp_path / "again")
    # Models of other tasks, too; `f32` changes nothing.
    texts = ["the dog sees a cat ."]
    for precision in ("int8", "f32"):
        attentive.quantize(models / "tagger", tmp_path / precision / "tagger", precision=precision)
        stored = attentive.load(tmp_path / precision / "tagger")
        assert stored.tag(texts) == attentive.load(models / "tagger", precision=precision).tag(texts)
        assert set(stored.state_dict()) == set(attentive.load(models / "tagger").state_dict())


def test_models_go_out_and_come_back(models: Path, tmp_path: Path) -> None:
    with pytest.raises(attentive.UsageError, match="Marian models translate"):
        attentive.export(models / "tagger", tmp_path / "marian", format="marian")
    with pytest.raises(attentive.UsageError, match="with the program"):
        attentive.export(models / "en-de", tmp_path / "firefox", format="firefox")  # type: ignore[arg-type]
    with pytest.raises(attentive.UsageError, match='"hf"'):
        attentive.export(models / "en-de", tmp_path / "x", format="onnx")  # type: ignore[arg-type]
    out = attentive.import_model(models / "opus-mt", tmp_path / "imported")
    assert attentive.load(out).task == "translate"
    assert attentive.export(out, tmp_path / "exported") == "MarianMT"
