"""A notebook runs without a browser, and shows translations and attention."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_notebook_shows_translations_and_attention(models: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "attention.ipynb", as_version=4)
    run = preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3")
    run.preprocess(notebook, {"metadata": {"path": str(models)}})
    table, picture = (cell.outputs[0].data["text/html"] for cell in notebook.cells)
    assert "<table>" in table and "ein Hund rennt" in table
    assert picture.startswith("<iframe srcdoc=") and "cross" in picture
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert page.count("srcdoc=") == 1
