"""Examples in docstrings."""

import doctest
import importlib

import pytest

MODULES = ["", ".metrics", ".scores", ".precision", ".evaluation", ".sums", "._estimators"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(f"sngp{name}"))
    assert found.attempted > 0 and found.failed == 0


def test_stubs_name_every_metric():
    import pathlib
    import re

    import sngp

    text = pathlib.Path(sngp.__file__).with_name("metrics.pyi").read_text()
    assert re.findall(r"^def (\w+)", text, re.MULTILINE) == sngp.metrics.__all__
