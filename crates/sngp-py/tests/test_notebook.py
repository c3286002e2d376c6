"""The notebook runs from top to bottom."""

import pytest
from conftest import ROOT

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")


def test_the_notebook_runs():
    notebook = nbformat.read(ROOT / "docs" / "notebooks" / "sngp.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    pages = [out.data.get("text/html", "") for out in shown if "data" in out]
    assert any(page.startswith("<iframe") for page in pages)
