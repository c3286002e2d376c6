"""A head from sums does not depend on how rows are spread."""

import numpy as np
import pytest
from sngp import GPHead, Precision
from sngp.sums import fit_head, loss_of, precision_of


def spread(parts, vectors, *, features=128):
    """The head of rows in several parts, and its precision."""
    X, y, held_x, held_y = vectors
    places = np.array_split(np.random.default_rng(len(parts)).permutation(len(X)), len(parts))
    shards = [(X[some], y[some]) for some in places]
    kept = []

    def accumulate(plan):
        kept.append(Precision.merge([precision_of(plan, part[0]) for part in shards]))
        return kept[0]

    head = fit_head(
        accumulate,
        lambda plan, weights: sum(loss_of(plan, weights, *part) for part in shards),
        classes=np.unique(y),
        sample=(X[:256], y[:256]),
        held_out=(held_x, held_y),
        features=features,
    )
    return head, kept[0]


def test_the_same_model_however_rows_are_spread(vectors):
    one, single = spread([0], vectors)
    X = vectors[2]
    for count in (2, 7, 40):
        many, precision = spread(range(count), vectors)
        difference = np.abs(Precision.matrix(precision) - Precision.matrix(single)).max()
        assert difference < 1e-9 * np.abs(Precision.matrix(single)).max()
        np.testing.assert_allclose(many.predict_proba(X), one.predict_proba(X), atol=1e-6)
        assert many.posterior_rows_ == len(vectors[0])


def test_it_is_as_good_as_a_head_of_rows_at_hand(vectors):
    X, y, held_x, held_y = vectors
    summed, _ = spread(range(5), vectors)
    usual = GPHead(features=128).fit(X, y)
    assert summed.score(held_x, held_y) >= usual.score(held_x, held_y) - 0.02
    assert np.mean(summed.answer(held_x)["accepted"]) > 0.8
    noise = np.random.default_rng(5).normal(size=(200, 16))
    assert np.mean(summed.answer(noise)["accepted"]) < 0.5


def test_the_gradient_is_that_of_the_loss(vectors):
    X, y, *_ = vectors
    plan = (16, ["0", "1", "2"], 32, 1.0, 0.1, 0)
    weights = np.random.default_rng(0).normal(size=(32, 3))
    rows, loss, *gradient = loss_of(plan, weights, X, y)
    assert rows == len(X)
    for place in (0, 17, 95):
        step = np.zeros(96)
        step[place] = 1e-5
        step = step.reshape(32, 3)
        up, down = (loss_of(plan, weights + s * step, X, y)[1] for s in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(gradient[place], rel=1e-5, abs=1e-5)
    assert loss > 0


def test_what_does_not_belong_together_is_refused(vectors):
    X = vectors[0]
    plan = (16, ["0", "1", "2"], 32, 1.0, 0.1, 0)
    other = (16, ["0", "1", "2"], 32, 2.0, 0.1, 0)
    with pytest.raises(ValueError, match="feature maps differ"):
        Precision.merge([precision_of(plan, X), precision_of(other, X)])
    with pytest.raises(ValueError, match="none of the 3 classes"):
        loss_of(plan, np.zeros((32, 3)), X[:1], ["7"])
    with pytest.raises(ValueError, match="numbers of a vector"):
        precision_of(plan, X[:, :3])
    with pytest.raises(ValueError, match="not finite"):
        precision_of(plan, np.full((1, 16), np.nan))


def test_errors_of_an_engine_come_through(vectors):
    X, y, held_x, held_y = vectors

    def fail(plan, weights):
        raise ConnectionError("the cluster is gone")

    with pytest.raises(ConnectionError, match="the cluster is gone"):
        fit_head(
            lambda plan: precision_of(plan, X),
            fail,
            classes=np.unique(y),
            sample=(X[:100], y[:100]),
            held_out=(held_x, held_y),
            features=32,
        )


def test_a_precision_of_a_fitted_head(vectors):
    X, y, more, _ = vectors
    head = GPHead(features=64).fit(X, y)
    precision = Precision(head)
    parts = [precision.accumulate(part) for part in np.array_split(more, 3)]
    merged = Precision.merge(parts)
    assert Precision.rows(merged) == len(more)
    assert precision.finish(merged).posterior_rows_ == len(more)
