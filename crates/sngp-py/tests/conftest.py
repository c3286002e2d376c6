"""Data that several tests use."""

import os
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def blobs():
    """Three classes of points in the plane, by names."""
    rng = np.random.default_rng(0)
    classes = np.arange(300) % 3
    centres = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    points = centres[classes] + rng.normal(size=(300, 2))
    return points, np.array(["red", "green", "blue"])[classes]


@pytest.fixture
def vectors():
    """Vectors whose direction tells the class, training and held-out."""
    rng = np.random.default_rng(1)
    classes = np.arange(900) % 3
    means = rng.normal(size=(3, 16)) * 2
    points = (means[classes] + rng.normal(size=(900, 16))).astype(np.float32)
    return points[:600], classes[:600], points[600:], classes[600:]


@pytest.fixture
def command():
    """The command `sngp`, where it is built."""
    path = pathlib.Path(os.environ.get("SNGP_BIN", ROOT / "target" / "release" / "sngp"))
    if not path.is_file():
        pytest.skip(f"{path} is not built")
    return str(path)


@pytest.fixture
def data():
    """The folder of real data."""
    folder = os.environ.get("SNGP_DATA")
    if not folder or not pathlib.Path(folder).is_dir():
        pytest.skip("SNGP_DATA does not point to prepared data")
    return pathlib.Path(folder)
