"""Scores, metrics and detectors beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    roc_auc_score,
)
from sngp import metrics, scores


@pytest.fixture
def predicted():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 4)) * 2
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return logits, probabilities, rng.integers(0, 4, size=200)


def test_metrics_of_classes(predicted):
    _, p, y = predicted
    found = p.argmax(axis=1)
    assert metrics.accuracy(p, y) == pytest.approx(accuracy_score(y, found))
    assert metrics.balanced_accuracy(p, y) == pytest.approx(balanced_accuracy_score(y, found))
    assert metrics.macro_f1(p, y) == pytest.approx(f1_score(y, found, average="macro"))
    assert metrics.nll(p, y) == pytest.approx(log_loss(y, p, labels=range(4)))
    assert 0 <= metrics.ece(p, y) <= 1
    for name in metrics.__all__:
        assert getattr(metrics, name).__doc__, name


def test_metrics_of_detection():
    rng = np.random.default_rng(0)
    is_ood = np.arange(300) % 3 == 0
    values = rng.normal(size=300) + is_ood
    assert metrics.auroc(values, is_ood) == pytest.approx(roc_auc_score(is_ood, values))
    assert metrics.aupr(values, is_ood) == pytest.approx(average_precision_score(is_ood, values))
    assert metrics.auroc(values.astype(np.float32), is_ood.astype(int)) > 0.5


def test_few_flags_are_false():
    flagged = metrics.false_discovery([0.01, 0.9, 0.02, 0.5], 0.05)
    assert flagged.tolist() == [True, False, True, False]
    assert not metrics.false_discovery([0.2, 0.3], 0.1).any()
    with pytest.raises(ValueError, match="false discovery rate"):
        metrics.false_discovery([0.2], 2.0)


def test_scores(predicted):
    logits, p, _ = predicted
    assert set(scores.names()) >= {"variance", "entropy", "max_probability", "dempster_shafer"}
    np.testing.assert_allclose(scores.score("max_probability", logits), 1 - p.max(axis=1))
    np.testing.assert_allclose(scores.score("entropy", logits), -(p * np.log(p)).sum(axis=1))
    evidence = 4 / (4 + np.exp(logits).sum(axis=1))
    np.testing.assert_allclose(scores.score("dempster_shafer", logits), evidence)
    variance = np.linspace(0, 5, 200)
    np.testing.assert_allclose(scores.score("variance", logits, variance), variance)
    shrunk = scores.score("max_probability", logits, np.full(200, 1e9), factor=1.0)
    np.testing.assert_allclose(shrunk, 0.75, atol=1e-3)


def test_what_cannot_be_measured(predicted):
    logits, p, y = predicted
    with pytest.raises(ValueError, match="unknown score `nonsense`"):
        scores.score("nonsense", logits)
    with pytest.raises(ValueError, match="the variance"):
        scores.score("variance", logits, np.zeros(3))
    with pytest.raises(ValueError, match="sums to"):
        metrics.accuracy(p * 2 / 1.5, y)
    with pytest.raises(TypeError, match="whole numbers"):
        metrics.accuracy(p, y.astype(str))
    with pytest.raises(ValueError, match="not finite"):
        scores.score("entropy", [[np.nan, 0.0]])


def test_detectors():
    rng = np.random.default_rng(0)
    classes = np.arange(200) % 2
    reference = rng.normal(size=(200, 5)) + 6 * classes[:, None]
    detectors = scores.Detectors(reference, np.array(["a", "b"])[classes])
    points = np.vstack([reference[:5], rng.normal(size=(5, 5)) * 50])
    for name in detectors.names:
        if name == "relative_mahalanobis":
            continue
        found = detectors.distances(name, points)
        assert found[:5].max() < found[5:].min(), name
    nearest = np.sort(np.sqrt(((points[:, None] - reference[None]) ** 2).sum(axis=2)))[:, 9]
    np.testing.assert_allclose(detectors.distances("knn", points)[5:], nearest[5:], rtol=1e-3)
    with pytest.raises(ValueError, match="unknown detector"):
        detectors.distances("nonsense", points)
    with pytest.raises(ValueError, match="numbers of a vector"):
        detectors.distances("knn", points[:, :2])
