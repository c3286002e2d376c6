"""Vector sets: of text and image encoders, raw columns, and awkward ones derived from them.

Every set is a pair of parts, train and test, each `(vectors, labels)`, and OOD vectors or None.
"""
import csv
import json
import subprocess
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split


def split(x, y, share, seed=0):
    a, b, c, d = train_test_split(x, y, test_size=share, random_state=seed, stratify=y)
    return (a, c), (b, d)


def columns(name):
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (*split(x.astype("f4"), y, 0.3), None)


def changed(parts, change):
    """The same change of every vector."""
    train, test, ood = parts
    return (change(train[0]), train[1]), (change(test[0]), test[1]), ood


def wild(x):
    return (x * 10 ** np.random.default_rng(0).uniform(-4, 4, x.shape[1])).astype("f4")


def with_constant(x):
    return np.hstack([x, np.full((len(x), 1), 7, "f4")])


def twice(parts):
    (x, y), test, ood = parts
    return (np.repeat(x, 2, axis=0), np.repeat(y, 2)), test, ood


def few(parts, each, classes=None):
    """So many training rows of every class, of some classes or of all."""
    (x, y), (test, truth), ood = parts
    chance = np.random.default_rng(0)
    kept = chance.permutation(np.unique(y))[:classes]
    rows = np.concatenate([chance.permutation(np.flatnonzero(y == label))[:each] for label in kept])
    known = np.isin(truth, kept)
    return (x[rows], y[rows]), (test[known], truth[known]), ood


def table(path, delimiter):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=delimiter))[1:]
    return [row[0] for row in rows], [row[1] for row in rows]


def texts(data, name):
    """Texts and labels of both parts."""
    if name == "banking77":
        return [table(data / f"banking77/{part}.csv", ",") for part in ("train", "test")]
    if name == "stackoverflow":
        return [table(data / f"stackoverflow/{part}.tsv", "\t") for part in ("train", "test")]
    read = [[(data / f"snips/{part}.{end}").read_text("utf-8").splitlines() for end in ("seq.in", "label")]
            for part in ("train", "test")]
    return [tuple(part) for part in read]


def sentences(data, cache, encode, name):
    parts = []
    for part, (rows, labels) in zip(("train", "test"), texts(data, name)):
        file = cache / f"{name}-{part}.txt"
        if not file.with_suffix(".npy").exists():
            file.write_text("\n".join(" ".join(row.split()) or "-" for row in rows) + "\n", encoding="utf-8")
            subprocess.run([encode, data / "models/all-MiniLM-L6-v2", file], check=True, stdout=subprocess.DEVNULL)
        parts.append((np.load(file.with_suffix(".npy")), np.array(labels)))
    return (*parts, None)


def clinc(data):
    arrays = np.load(data / "embeddings/clinc_minilm.npz")
    return *((arrays[f"{part}_x"], arrays[f"{part}_y"]) for part in ("train", "test")), arrays["oos_test_x"]


def pictures(data, name, part):
    """Pixels `[rows, 32, 32, 3]` and labels of CIFAR-10 or CIFAR-100."""
    names = {"cifar10": ("data_batch_1", "test_batch", "cifar-10-batches-bin", 1),
             "cifar100": ("train", "test", "cifar-100-binary", 2)}
    train, test, folder, labels = names[name]
    file = data / folder / f"{train if part == 'train' else test}.bin"
    rows = np.fromfile(file, np.uint8).reshape(-1, 3072 + labels)
    return rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, labels - 1]


def images(data, cache, name, rows=(4000, 1500)):
    """Vectors of EfficientNet-Lite0: the input of its last product."""
    parts = []
    for part, count in zip(("train", "test"), rows):
        file = cache / f"{name}-{part}.npz"
        if not file.exists():
            pixels, labels = pictures(data, name, part)
            np.savez(file, x=embedded(data, pixels[:count]), y=labels[:count].astype(np.int64))
        arrays = np.load(file)
        parts.append((arrays["x"], arrays["y"]))
    return (*parts, None)


def embedded(data, pixels):
    import onnx
    import onnxruntime
    from PIL import Image

    model = onnx.load(data / "models/onnx/efficientnet-lite0/model.onnx")
    hidden = [node for node in model.graph.node if node.op_type == "Gemm"][-1].input[0]
    model.graph.output.append(onnx.helper.make_tensor_value_info(hidden, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    vectors = []
    for start in range(0, len(pixels), 50):
        resized = [Image.fromarray(image).resize((224, 224), Image.BICUBIC) for image in pixels[start : start + 50]]
        batch = (np.stack(resized).astype("f4") - 127) / 128
        vectors.append(session.run([hidden], {"pixel_values": batch.transpose(0, 3, 1, 2)})[0])
    return np.concatenate(vectors)


def known(data, cache, encode):
    """Sets by name: what they are, and a function that makes them."""
    text = lambda name: sentences(data, cache, encode, name)  # noqa: E731
    return {
        "wine": ("13 raw columns", lambda: columns("wine")),
        "breast-cancer": ("30 raw columns", lambda: columns("breast_cancer")),
        "digits": ("64 raw columns", lambda: columns("digits")),
        "wine, constant": ("`wine` and a column of sevens", lambda: changed(columns("wine"), with_constant)),
        "breast-cancer, wild": ("every column times 10 to a power in [-4, 4]",
                                lambda: changed(columns("breast_cancer"), wild)),
        "digits, twice": ("every training row twice", lambda: twice(columns("digits"))),
        "clinc": ("all-MiniLM-L6-v2", lambda: clinc(data)),
        "clinc, few": ("four rows of every class", lambda: few(clinc(data), 4)),
        "banking77": ("all-MiniLM-L6-v2", lambda: text("banking77")),
        "banking77, few": ("ten classes, ten rows each", lambda: few(text("banking77"), 10, 10)),
        "snips": ("all-MiniLM-L6-v2", lambda: text("snips")),
        "snips, few": ("seven rows of every class", lambda: few(text("snips"), 7)),
        "stackoverflow": ("all-MiniLM-L6-v2", lambda: text("stackoverflow")),
        "stackoverflow, few": ("ten rows of every class", lambda: few(text("stackoverflow"), 10)),
        "cifar10": ("EfficientNet-Lite0", lambda: images(data, cache, "cifar10")),
        "cifar100": ("EfficientNet-Lite0", lambda: images(data, cache, "cifar100", (5000, 1500))),
    }
