"""Same folder, same rows: Python and the command line agree."""

import csv
import subprocess

import numpy as np
import pytest
import sngp
from sngp import GPHead, SNGPClassifier


def predict_by_command(command, folder, data, out):
    arguments = [command, "predict", folder, "--data", data, "--probabilities", "--out", out]
    subprocess.run([str(a) for a in arguments], check=True, capture_output=True)
    with open(out, newline="") as file:
        return list(csv.DictReader(file))


def assert_same(model, X, rows):
    answers = model.answer(X, probabilities=True)
    labels = model.pipeline_.labels
    assert [row["decision"] for row in rows] == answers["decision"]
    assert [row["reason"] or None for row in rows] == answers["reason"]
    for name in ("probability", "uncertainty"):
        told = np.array([float(row[name]) for row in rows])
        np.testing.assert_allclose(answers[name], told, atol=1e-6, rtol=1e-6)
    told = np.array([[float(row[f"probability of {label}"]) for label in labels] for row in rows])
    np.testing.assert_allclose(answers["probabilities"], told, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), told[:, model._order], atol=1e-6)


def test_a_model_of_python_answers_the_same_by_command(command, blobs, tmp_path):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X, y)
    model.save(tmp_path / "model")
    rows = np.vstack([X[:50], X[:10] * 80])
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x1", "x2"])
        writer.writerows([[repr(float(v)) for v in row] for row in rows])
    told = predict_by_command(
        command, tmp_path / "model", tmp_path / "rows.csv", tmp_path / "o.csv"
    )
    assert_same(model, rows, told)


def test_a_model_of_the_command_answers_the_same_in_python(command, data, tmp_path):
    arrays = np.load(data / "embeddings" / "clinc_minilm.npz")
    X, y = arrays["train_x"][:3000], arrays["train_y"][:3000]
    np.savez(tmp_path / "train.npz", x=X, y=y)
    test = arrays["test_x"][:500]
    np.savez(tmp_path / "test.npz", x=test)
    subprocess.run(
        [command, "train", "--data", f"{tmp_path}/train.npz:x:y", "--label", "y"]
        + ["--features", "256", "--out", str(tmp_path / "model")],
        check=True,
        capture_output=True,
    )
    place = f"{tmp_path}/test.npz:x"
    told = predict_by_command(command, tmp_path / "model", place, tmp_path / "o.csv")
    assert_same(sngp.load(tmp_path / "model"), test, told)
    # The same rows, options and seed give the same model in Python.
    own = GPHead(features=256).fit(X, y)
    loaded = sngp.load(tmp_path / "model")
    np.testing.assert_allclose(own.predict_proba(test), loaded.predict_proba(test), atol=1e-6)


def test_sentences_of_the_signature(blobs):
    model = SNGPClassifier(features=32).fit(*blobs)
    names = {field["name"] for field in model.pipeline_.signature()["outputs"]} - {"logits"}
    answers = model.answer(blobs[0][:3], probabilities=True)
    assert names <= set(answers), names - set(answers)
    assert pytest.approx(1.0) == answers["probabilities"][0].sum()
