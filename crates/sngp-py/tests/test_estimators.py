"""Estimators in the hands of scikit-learn's users."""

import pickle

import numpy as np
import pytest
import sngp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sngp import GPHead, SNGPClassifier, SNGPRegressor, SNGPTextClassifier


def test_classes_keep_their_names_and_order(blobs):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X, y)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    probabilities = model.predict_proba([[0, 0], [5, 0], [0, 5]])
    assert probabilities.argmax(axis=1).tolist() == [2, 1, 0]
    assert model.predict([[5, 0]]).tolist() == ["green"]
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    "classes", [[10, 9, 2], [1.0, -2.0, 10.0], [True, False], ["b", "a", "10"]]
)
def test_classes_of_any_type_survive_a_folder(blobs, tmp_path, classes):
    X, y = blobs
    _, numbers = np.unique(y, return_inverse=True)
    numbers = numbers % len(classes)
    labels = np.array(classes)[numbers]
    model = SNGPClassifier(features=32).fit(X, labels)
    model.save(tmp_path / "model")
    loaded = SNGPClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    assert loaded.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_far_rows_are_not_answered(blobs):
    X, y = blobs
    model = SNGPClassifier(features=128).fit(X, y)
    found = model.predict_or_abstain([[0, 0], [300, -800]])
    assert found.tolist() == ["red", None]
    answers = model.answer([[300, -800]])
    assert answers["decision"] == ["abstain"] and answers["reason"] == ["far_from_data"]
    near, far = model.score_samples([[0, 0], [300, -800]])
    assert near > far
    marked = model.predict_or_abstain([[0, 0], [300, -800]], abstain="unknown")
    assert marked.tolist() == ["red", "unknown"]


def test_pickle_and_clone(blobs):
    X, y = blobs
    model = SNGPClassifier(features=64, l2=0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict_or_abstain(X).tolist() == model.predict_or_abstain(X).tolist()
    fresh = clone(model)
    assert fresh.l2 == 0.1 and not hasattr(fresh, "pipeline_")


def test_search_and_pipeline(blobs):
    X, y = blobs
    search = GridSearchCV(SNGPClassifier(features=32, tune=False), {"l2": [0.01, 1.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.85
    scaled = make_pipeline(StandardScaler(), SNGPClassifier(features=32, tune=False))
    assert cross_val_score(scaled, X, y, cv=2, n_jobs=2).min() > 0.85


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_by_column_name(library):
    module = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    size = rng.normal(size=200)
    colour = [["red", "blue", None][i % 3] for i in range(200)]
    label = ["big" if s > 0 else "small" for s in size]
    columns = {"size": size, "colour": colour}
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    table = getattr(module, make)(columns)
    model = SNGPClassifier(features=64).fit(table, label)
    assert model.score(table, label) > 0.9
    assert list(model.feature_names_in_) == ["size", "colour"]
    described = {c["name"] for c in model.pipeline_.describe()["card"]["recipe"]["columns"]}
    assert described == {"size", "colour"}
    odd = getattr(module, make)({"size": [1.0], "colour": ["mauve"]})
    assert model.answer(odd)["reason"] == ["unseen_category: column `colour`"]


def test_pandas_with_an_index_and_categories():
    pandas = pytest.importorskip("pandas")
    size = np.random.default_rng(0).normal(size=100)
    frame = pandas.DataFrame({"size": size, "kind": pandas.Categorical(["a", "b"] * 50)})
    frame.index = [f"row {i}" for i in range(100)]
    model = SNGPClassifier(features=32).fit(frame, size > 0)
    names = [c["name"] for c in model.pipeline_.describe()["card"]["recipe"]["columns"]]
    assert names == ["size", "kind"]
    assert model.score(frame, size > 0) > 0.9


def test_columns_for_others(blobs):
    pandas = pytest.importorskip("pandas")
    X, y = blobs
    frame = pandas.DataFrame(X, columns=["a", "b"])
    chain = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])), SNGPClassifier(features=32)
    )
    assert chain.fit(frame, y).score(frame, y) > 0.9


def test_layouts_give_the_same(blobs):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X, y)
    expected = model.predict_proba(X)
    for same in [np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist()]:
        np.testing.assert_allclose(model.predict_proba(same), expected, atol=1e-9)


def test_calibration_promises(blobs):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X[:200], y[:200])
    model.calibrate(X[200:], y[200:], max_abstain=0.3)
    assert "30 %" in model.pipeline_.describe()["decision"]["basis"]
    share = 1 - model.answer(X[200:])["accepted"].mean()
    assert share <= 0.3
    with pytest.raises(ValueError, match="has learned from all"):
        model.calibrate(X[:200], y[:200], max_abstain=0.1)
    with pytest.raises(ValueError, match="say one of"):
        model.calibrate(X[200:], y[200:])


def test_regression(tmp_path):
    X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    y = 100 + 5 * np.sin(X[:, 0])
    model = SNGPRegressor(features=128).fit(X, y)
    mean, deviation = model.predict([[0.0], [90.0]], return_std=True)
    assert abs(mean[0] - 100) < 0.5 and deviation[1] > 3 * deviation[0]
    low, high = model.predict_interval(X).T
    assert np.mean((low <= y) & (y <= high)) > 0.8
    assert np.isnan(model.predict_or_abstain([[0.0], [90.0]])).tolist() == [False, True]
    model.save(tmp_path / "model")
    loaded = sngp.load(tmp_path / "model")
    assert isinstance(loaded, SNGPRegressor)
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), atol=1e-9)


def test_texts(tmp_path):
    texts = [f"{a} number {i}" for i in range(40) for a in ("pay the bill", "play a song")]
    labels = ["bank", "music"] * 40
    model = SNGPTextClassifier(features=64).fit(texts, labels)
    assert model.predict(["pay a bill", "play the song"]).tolist() == ["bank", "music"]
    assert model.answer(["", "vrrk qwzx"])["reason"] == ["empty_input", "unknown_words"]
    model.save(tmp_path / "model")
    assert sngp.load(tmp_path / "model").predict(["pay a bill"]).tolist() == ["bank"]


def test_texts_through_an_encoder(data, tmp_path):
    encoder = data / "models" / "all-MiniLM-L6-v2"
    texts = [f"{a} {i}" for i in range(20) for a in ("transfer money to", "will it rain on day")]
    model = SNGPTextClassifier(encoder=str(encoder), features=64).fit(
        texts, ["bank", "weather"] * 20
    )
    assert model.predict(["is it going to rain"]).tolist() == ["weather"]
    model.save(tmp_path / "model")
    loaded = SNGPTextClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(texts), model.predict_proba(texts), atol=1e-9)


def test_images_as_arrays_and_paths(tmp_path):
    pytest.importorskip("PIL")
    from PIL import Image
    from sngp import SNGPImageClassifier

    rng = np.random.default_rng(0)
    dark = rng.integers(0, 90, size=(30, 12, 12, 3), dtype=np.uint8)
    bright = rng.integers(160, 255, size=(30, 12, 12, 3), dtype=np.uint8)
    images = np.concatenate([dark, bright])
    labels = ["dark"] * 30 + ["bright"] * 30
    model = SNGPImageClassifier(image_size=8, features=32, epochs=30).fit(images, labels)
    assert model.score(images, labels) > 0.8
    assert model.score(list(images), labels) > 0.8
    paths = []
    for i, image in enumerate(images):
        paths.append(tmp_path / f"{i}.png")
        Image.fromarray(image).save(paths[-1])
    np.testing.assert_allclose(model.predict_proba(paths), model.predict_proba(images), atol=1e-6)


def test_head_updates_forgets_and_merges(vectors):
    X, y, more, _ = vectors
    head = GPHead(features=64).fit(X, y)
    rows = head.posterior_rows_
    before = head.posterior(more)[1].mean()
    assert head.update(more).posterior_rows_ == rows + len(more)
    assert head.posterior(more)[1].mean() < before
    head.forget(more)
    np.testing.assert_allclose(head.posterior(more)[1].mean(), before, rtol=1e-4)
    parts = [head.accumulate(part) for part in np.array_split(X, 4)]
    assert head.merge(parts).posterior_rows_ == len(X)
    with pytest.raises(ValueError, match="twice"):
        head.merge([parts[0], parts[0]])
    with pytest.raises(ValueError, match="feature maps differ"):
        other = GPHead(features=64, random_state=1).fit(X, y)
        head.merge([parts[0], other.accumulate(X)])


def test_partial_fit_updates(vectors):
    X, y, more, classes = vectors
    head = GPHead(features=64).partial_fit(X, y, classes=[0, 1, 2])
    rows = head.posterior_rows_
    assert head.partial_fit(more, classes).posterior_rows_ == rows + len(more)
    with pytest.raises(ValueError, match="no classes of the model"):
        head.partial_fit(more[:1], [7])
