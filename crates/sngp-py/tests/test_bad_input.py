"""The exceptions that scikit-learn's users know, with our sentences."""

import numpy as np
import pytest
import sngp
from sklearn.exceptions import NotFittedError
from sngp import GPHead, Rows, SNGPClassifier, SNGPRegressor, SNGPTextClassifier


@pytest.fixture
def model(blobs):
    return SNGPClassifier(features=32).fit(*blobs)


@pytest.mark.parametrize(
    "bad, error, words",
    [
        ([[np.nan, 0]], ValueError, "NaN"),
        ([[np.inf, 0]], ValueError, "infinity"),
        ([[1, 2, 3]], ValueError, "3 features, but SNGPClassifier is expecting 2"),
        (np.empty((0, 2)), ValueError, "0 sample"),
        ([1, 2], ValueError, "Expected 2D array"),
        ([["a", "b"]], ValueError, "could not convert string"),
        (np.array([[{}, {}]], dtype=object), TypeError, "float"),
    ],
)
def test_rows_that_cannot_be_used(model, bad, error, words):
    for ask in (model.predict, model.predict_proba, model.answer, model.score_samples):
        with pytest.raises(error, match=words):
            ask(bad)


def test_targets_that_cannot_be_used(blobs):
    X, y = blobs
    for bad, words in [
        (None, "requires y"),
        (y[:5], "inconsistent numbers of samples"),
        (np.full(len(X), "one"), "one class"),
        (X[:, 0], "continuous"),
    ]:
        with pytest.raises(ValueError, match=words):
            SNGPClassifier(features=32).fit(X, bad)
    with pytest.raises(ValueError, match="the same"):
        SNGPRegressor(features=32).fit(X, np.ones(len(X)))


def test_nothing_is_answered_before_a_fit(tmp_path):
    for model in (SNGPClassifier(), SNGPRegressor(), GPHead()):
        with pytest.raises(NotFittedError):
            model.predict([[0.0, 0.0]])
        with pytest.raises(NotFittedError):
            model.save(tmp_path / "model")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"features": 0}, "features is 0"),
        ({"method": "snpg"}, "unknown method `snpg`"),
        ({"length_scale": -1.0}, "length scale is -1"),
        ({"l2": -1.0}, "l2 is -1"),
        ({"features": 10_000_000}, "features is 10000000"),
    ],
)
def test_options_that_cannot_be(blobs, options, words):
    with pytest.raises(ValueError, match=words):
        SNGPClassifier(**options).fit(*blobs)


def test_another_kind_of_model(model, vectors, tmp_path):
    model.save(tmp_path / "table")
    with pytest.raises(ValueError, match="predicts classes from a table"):
        GPHead.load(tmp_path / "table")
    with pytest.raises(ValueError, match="use sngp.load"):
        SNGPRegressor.load(tmp_path / "table")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sngp.load(tmp_path / "nowhere")
    (tmp_path / "table" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="config.json"):
        sngp.load(tmp_path / "table")
    head = GPHead(features=32).fit(*vectors[:2])
    with pytest.raises(ValueError):
        head.pipeline_.predict(Rows.texts(["a text"]))


def test_a_column_that_is_missing(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7})
    model = SNGPClassifier(features=32).fit(frame, np.arange(40) % 2)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["a"]])


def test_texts_that_are_none():
    texts = [f"{a} {i}" for i in range(20) for a in ("pay the bill", "play a song")]
    model = SNGPTextClassifier(features=32).fit(texts, ["a", "b"] * 20)
    for bad in ("a text alone", [1, 2], [None]):
        with pytest.raises(TypeError, match="sequence of str"):
            model.predict(bad)


def test_options_by_a_wrong_name(blobs):
    with pytest.raises(TypeError, match="no option `featurs`"):
        sngp.Pipeline.fit(Rows.numbers(blobs[0], None, list(blobs[1])), featurs=3)


def test_a_damaged_pickle_is_refused(model):
    state = dict(model.pipeline_.__reduce__()[1][0])
    state["../escaped"] = b"x"
    with pytest.raises(ValueError, match="no name of a file"):
        sngp.Pipeline._restore(state)
    with pytest.raises(ValueError):
        sngp.Precision.merge([b"not a precision"])
