"""A server with a model of every kind, and what `sngp predict` says to the same rows."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

import numpy as np
import pytest
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[3]
SNGP = os.environ.get("SNGP", str(ROOT / "target/release/sngp"))
DATA = ROOT / "docs/guide/data"


def sngp(*arguments, folder):
    done = subprocess.run([SNGP, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def predicted(model, data, folder):
    """The rows of `sngp predict` as dictionaries."""
    return list(csv.DictReader(io.StringIO(sngp("predict", model, "--data", data, folder=folder))))


class Server:
    """`sngp serve` on free ports, with everything that it writes."""

    def __init__(self, *arguments, environment=None):
        command = [SNGP, "serve", *map(str, arguments), "--port", "0", "--log", "json"]
        if "--no-grpc" not in command:
            command += ["--grpc-port", "0"]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            if '"serving"' in line:
                break
        else:
            raise AssertionError("".join(self.lines))
        event = json.loads(line)
        self.url = re.sub(r"^https?://", "", event["http"])
        self.grpc = event["grpc"]
        # What nobody reads would fill the pipe and stop the server.
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def rss(self):
        """Resident bytes."""
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def stop(self, sent=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sent)
        return self.process.wait(60)


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """A folder with a model of texts, a table, numbers, vectors and images."""
    folder = tmp_path_factory.mktemp("desk")
    for name in DATA.glob("*.csv"):
        shutil.copy(name, folder)
    train = lambda *more: sngp("train", "--quiet", "--features", "128", *more, folder=folder)
    train("--data", "intents.csv", "--label", "intent", "--out", "intents")
    train("--data", "trees.csv", "--label", "kind", "--out", "trees")
    train("--data", "houses.csv", "--label", "price", "--task", "regression", "--out", "houses")
    draw = np.random.default_rng(1)
    centres = draw.normal(size=(3, 16))
    labels = np.arange(300) % 3
    vectors = (centres[labels] + 0.2 * draw.normal(size=(300, 16))).astype(np.float32)
    np.save(folder / "vectors.npy", vectors)
    (folder / "labels.txt").write_text("\n".join("abc"[label] for label in labels))
    train("--data", "vectors.npy", "--label", "labels.txt", "--out", "vectors")
    for index in range(60):
        kind = ["dark", "light"][index % 2]
        (folder / "pictures" / kind).mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 100, (12, 12, 3)) + (index % 2) * 150
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"pictures/{kind}/{index}.png")
    train("--data", "pictures", "--image-size", "12", "--epochs", "10", "--out", "pictures-model")
    return folder


@pytest.fixture(scope="session")
def server(desk):
    started = Server(
        desk / "intents", desk / "trees", desk / "houses", desk / "vectors",
        f"pictures={desk / 'pictures-model'}",
    )
    yield started
    assert started.stop() == 0
