"""Models of every kind that is exported, and `sngp predict` beside ONNX Runtime."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image

import encoders

ROOT = pathlib.Path(__file__).resolve().parents[3]
SNGP = os.environ.get("SNGP", str(ROOT / "target/release/sngp"))
DATA = ROOT / "docs/guide/data"


def sngp(*arguments, folder, fails=False):
    done = subprocess.run([SNGP, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def predicted(model, data, folder):
    """What `sngp predict` says, by column; what it leaves empty is no number or no text."""
    out = sngp("predict", model, "--data", data, "--probabilities", "--quiet", folder=folder)
    rows = list(csv.DictReader(io.StringIO(out)))
    # A class may be called like a column of the data: those of the answer come last.
    texts = {name: [row[name] for row in rows] for name in ("predicted", "decision", "reason")}
    number = lambda text: float(text) if text else np.nan
    numbers = {name: np.array([number(row[name]) for row in rows]) for name in ("probability", "uncertainty")}
    classes = [name for name in rows[0] if name.startswith("probability of ")]
    probabilities = np.array([[number(row[name]) for name in classes] for row in rows])
    return {**texts, **numbers, "probabilities": probabilities}


class Graph:
    """An exported model in ONNX Runtime."""

    def __init__(self, model, folder):
        self.path = folder / f"{model}.onnx"
        sngp("export", model, "--out", self.path, "--force", folder=folder)
        onnx.checker.check_model(str(self.path), full_check=True)
        self.session = onnxruntime.InferenceSession(str(self.path), providers=["CPUExecutionProvider"])
        self.metadata = self.session.get_modelmeta().custom_metadata_map
        self.labels = json.loads(self.metadata["sngp.labels"])

    def __call__(self, **inputs):
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, inputs)))


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """A folder with data and a model of every kind that is exported."""
    folder = tmp_path_factory.mktemp("desk")
    for name in DATA.glob("*.csv"):
        shutil.copy(name, folder)
    train = lambda *more: sngp("train", "--quiet", "--features", "128", *more, folder=folder)

    draw = np.random.default_rng(1)
    centres = draw.normal(size=(4, 24))
    labels = np.arange(1600) % 4
    vectors = (centres[labels] + 0.6 * draw.normal(size=(1600, 24))).astype(np.float32)
    np.savez(folder / "vectors.npz", x=vectors[:800], y=labels[:800], held=vectors[800:], held_y=labels[800:])
    train("--data", "vectors.npz:x:y", "--out", "vectors")
    # The same, but for how it decides.
    shutil.copytree(folder / "vectors", folder / "vectors-variance")
    sngp("calibrate", "vectors-variance", "--data", "vectors.npz:held:held_y", "--max-abstain", "0.1",
         "--score", "variance", folder=folder)
    for score in ("entropy", "energy", "margin", "dempster_shafer", "mahalanobis", "density", "vim"):
        shutil.copytree(folder / "vectors", folder / f"vectors-{score}")
        sngp("calibrate", f"vectors-{score}", "--data", "vectors.npz:held:held_y", "--max-abstain", "0.1",
             "--score", score, folder=folder)

    train("--data", "trees.csv", "--label", "kind", "--out", "trees")
    for method in ("deterministic", "dnn_sn", "sngp_ensemble"):
        train("--data", "trees.csv", "--label", "kind", "--method", method, "--epochs", "5",
              "--out", f"trees-{method}")

    (folder / "photos").mkdir()
    for index in range(400):
        kind = ["dark", "light"][index % 2]
        (folder / "pictures" / kind).mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 120, (12, 12, 3)) + (index % 2) * 110
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"pictures/{kind}/{index}.png")
    train("--data", "pictures", "--image-size", "12", "--epochs", "5", "--out", "pictures-model")
    # A wide residual network, as earlier versions trained them.
    shutil.copytree(ROOT / "crates/sngp-pipeline/tests/folders/models/images", folder / "wide-pictures")

    for kind in ("bert", "mpnet"):
        encoders.write(folder / kind, kind, DATA / "intents.csv")
        train("--data", "intents.csv", "--label", "intent", "--encoder", kind, "--max-tokens", "24",
              "--out", f"intents-{kind}")
    return folder
