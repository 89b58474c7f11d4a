"""Text needs no NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_text_needs_no_numpy(models: Path) -> None:
    code = f"""
import sys
sys.modules["numpy"] = None
import attentive
model = attentive.load({str(models / "en-de")!r})
assert model.translate(["a dog runs"], n_best=2, alignments=True) == ["ein Hund rennt"]
assert model.rescore("a dog runs", "ein Hund rennt").log_prob < 0
assert "<iframe" in model.attention("a dog runs")._repr_html_()
assert attentive.metrics.bleu(["a"], ["a"]).value >= 0
for needs_it in (lambda: model.embed("a dog"), model.state_dict):
    try:
        needs_it()
    except ImportError as error:
        assert "numpy" in str(error)
    else:
        raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
