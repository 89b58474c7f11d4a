"""Scores equal sacreBLEU's."""

from __future__ import annotations

import random

import pytest
from attentive import DataError, Error, metrics

CHANCE = random.Random(3)
WORDS = "the a cat dog sat on mat, it's 3.5 % of Köln . ! runs".split()
REFERENCES = [[" ".join(CHANCE.choices(WORDS, k=9)) for _ in range(40)] for _ in range(2)]
HYPOTHESES = [" ".join(word for word in line.split() if CHANCE.random() < 0.8) for line in REFERENCES[0]]
OTHERS = [" ".join(word for word in line.split() if CHANCE.random() < 0.6) for line in REFERENCES[0]]


def test_scores_equal_those_of_sacrebleu() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    for ours, theirs in [
        (metrics.bleu(HYPOTHESES, REFERENCES), sacrebleu.BLEU()),
        (metrics.bleu(HYPOTHESES, REFERENCES, tokenize="intl", lowercase=True), sacrebleu.BLEU(tokenize="intl", lowercase=True)),
        (metrics.chrf(HYPOTHESES, REFERENCES), sacrebleu.CHRF()),
        (metrics.chrf(HYPOTHESES, REFERENCES, word_order=2), sacrebleu.CHRF(word_order=2)),
        (metrics.ter(HYPOTHESES, REFERENCES), sacrebleu.TER()),
    ]:
        theirs_score = theirs.corpus_score(HYPOTHESES, REFERENCES)
        assert ours.value == pytest.approx(theirs_score.score, abs=1e-9)
        assert ours.name == theirs_score.name
        assert ours.signature.split("|version")[0] == str(theirs.get_signature()).split("|version")[0]
    for line, score in enumerate(metrics.sentence_bleu(HYPOTHESES, REFERENCES)):
        references = [stream[line] for stream in REFERENCES]
        assert score.value == pytest.approx(sacrebleu.sentence_bleu(HYPOTHESES[line], references).score, abs=1e-9)


def test_intervals_and_paired_tests() -> None:
    score = metrics.bleu(HYPOTHESES, REFERENCES, resamples=200)
    assert score.interval is not None and score.interval.lower <= score.interval.mean <= score.interval.upper
    assert "bs:200" in score.signature and " (μ = " in str(score)
    for test in ("bootstrap", "randomization"):
        paired = metrics.compare(OTHERS, HYPOTHESES, REFERENCES, test=test, resamples=200, trials=500)  # type: ignore[arg-type]
        assert paired.difference.value == pytest.approx(paired.system.value - paired.baseline.value)
        assert 0 < paired.p_value < 0.05
    assert metrics.compare(OTHERS, OTHERS, REFERENCES, metric="chrf", resamples=50).p_value == 1


def test_other_numbers_of_lines_are_refused() -> None:
    for call in (metrics.bleu, metrics.chrf, metrics.ter, metrics.sentence_bleu, metrics.sentence_chrf, metrics.sentence_ter):
        with pytest.raises(DataError, match="2 translations, but 1 reference"):
            call(["a", "b"], ["a"])
    with pytest.raises(DataError, match="1 translation, but 0 references"):
        metrics.bleu(["a"], [])
    with pytest.raises(Error, match='"13a"'):
        metrics.bleu(["a"], ["a"], tokenize="13b")  # type: ignore[arg-type]
    with pytest.raises(Error):
        metrics.compare(["a"], ["a"], ["a"], resamples=0)
    with pytest.raises(TypeError):
        metrics.bleu([5], ["a"])  # type: ignore[list-item]
