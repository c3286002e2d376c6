"""Evaluations, their page and their table."""

import numpy as np
import pytest
from sngp import SNGPClassifier, SNGPRegressor, evaluate
from sngp.metrics import accuracy


def test_an_evaluation_shows_itself(blobs, tmp_path):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X[:200], y[:200])
    found = evaluate(model, X[200:], y[200:], ood={"far": X[:40] * 70, "other": X[:40] + 90})
    p = model.predict_proba(X[200:])
    numbers = np.searchsorted(model.classes_, y[200:])
    assert found["accuracy"] == pytest.approx(accuracy(p, numbers))
    assert {row["name"] for row in found.at_threshold["ood"]} == {"far", "other"}
    assert "accuracy" in repr(found)
    page = found.to_html()
    assert page.lower().startswith("<!doctype html>")
    shown = found._repr_html_()
    assert shown.startswith("<iframe") and "sandbox" in shown and "<script" not in shown
    found.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    with pytest.raises(KeyError, match="accuracy"):
        found["nonsense"]


def test_an_evaluation_is_a_table(blobs):
    pytest.importorskip("pandas")
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X[:200], y[:200])
    frame = evaluate(model, X[200:], y[200:], ood=X[:40] * 70).to_frame()
    assert {"set", "name", "value", "low", "high"} <= set(frame.columns)
    own = frame[(frame.name == "accuracy") & (frame.set == "test")]
    assert (own.low <= own.value).all() and (own.value <= own.high).all()


def test_regression_is_measured_too():
    X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    y = np.sin(X[:, 0])
    model = SNGPRegressor(features=64).fit(X[:300], y[:300])
    found = evaluate(model, X[300:], y[300:])
    assert found["rmse"] < 0.3


def test_unknown_labels_are_said(blobs):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X[:200], y[:200])
    labels = y[200:].astype(object)
    labels[0] = "violet"
    assert any("violet" in warning for warning in evaluate(model, X[200:], labels).warnings)
    with pytest.raises(ValueError, match="violet"):
        evaluate(model, X[200:], labels, strict=True)
