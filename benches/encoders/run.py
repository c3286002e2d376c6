"""Frozen ONNX encoders, one command each: accuracy, calibration, OOD detection, time.

    python3 run.py DATA SNGP FOLDER texts|images|table  # DATA as laid out by prepare.py, with gte, minilm-onnx, efficientnet

Texts: CLINC (its validation rows held out, its sentences out of scope as OOD) and BANKING77 (rows of ten classes as OOD,
the last by the alphabet), by gte-small and MiniLM. Images: 5,000 training images of CIFAR-10 in folders, 2,000 test
images, 2,000 of SVHN and of CIFAR-100 as OOD, by EfficientNet-Lite0, beside the small network from scratch, and beside
scikit-learn's logistic regression on the encoder's vectors (by ONNX Runtime, of images resized by Pillow). Every model is
`sngp train` with its defaults. Figures are kept in FOLDER/figures.json; `table` prints them. Needs numpy, pillow, scipy;
for logistic regression scikit-learn and onnxruntime.
"""
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TRAIN, TEST = 5000, 2000
NAMES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def texts(data, folder):
    """Files by set: train, validation where there is one, test, ood."""
    clinc = json.loads((data / "clinc/data_full.json").read_text())
    parts = {"train": "train", "validation": "val", "test": "test", "ood": "oos_test"}
    for part, name in parts.items():
        write(folder / f"clinc-{part}.csv", clinc[name])
    read = lambda part: list(csv.reader(open(data / f"banking77/{part}.csv", newline="", encoding="utf-8")))[1:]
    left_out = sorted({label for _, label in read("test")})[-10:]
    keep = lambda rows, known: [row for row in rows if (row[1] not in left_out) == known]
    write(folder / "banking77-train.csv", keep(read("train"), True))
    write(folder / "banking77-test.csv", keep(read("test"), True))
    write(folder / "banking77-ood.csv", keep(read("test"), False))


def pictures(data):
    """CIFAR-10's first training and test images, and images of two other sets: [n, 32, 32, 3]."""
    from scipy.io import loadmat

    def cifar(path, labels):
        rows = np.fromfile(path, np.uint8).reshape(-1, labels + 3072)
        return rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, labels - 1]

    train, train_y = cifar(data / "cifar-10-batches-bin/data_batch_1.bin", 1)
    test, test_y = cifar(data / "cifar-10-batches-bin/test_batch.bin", 1)
    balanced = np.concatenate([np.flatnonzero(train_y == label)[: TRAIN // 10] for label in range(10)])
    svhn = loadmat(data / "svhn/test_32x32.mat")["X"].transpose(3, 0, 1, 2)
    return {
        "train": (train[balanced], train_y[balanced]), "test": (test[:TEST], test_y[:TEST]),
        "svhn": (svhn[:TEST], None), "cifar100": (cifar(data / "cifar-100-binary/test.bin", 2)[0][:TEST], None),
    }


def lay_out(sets, folder):
    from PIL import Image

    for part, (images, labels) in sets.items():
        for index, image in enumerate(images):
            place = folder / part / (NAMES[labels[index]] if labels is not None else "any")
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(place / f"{index:05}.png")


def run(*command):
    started = time.perf_counter()
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout), time.perf_counter() - started


def measured(sngp, train, test, ood, model):
    """The figures of one `sngp train` and one `sngp evaluate`."""
    _, seconds = run(sngp, "train", *train, "--out", model, "--force", "--json", "--quiet")
    ood = [part for name, place in ood.items() for part in ("--ood", f"{name}={place}")]
    found, evaluated = run(sngp, "evaluate", model, "--data", test, *ood, "--json", "--quiet", "--out", f"{model}-report")
    figures = {"seconds to train": seconds, "seconds to evaluate": evaluated}
    for row in found["metrics"]:
        if row["set"] == "test" and row["name"] in ("accuracy", "ece"):
            figures[row["name"]] = row["value"]
        if row["name"] in ("auroc by combined", "auroc by max_probability") and row["set"] != "misclassification":
            figures[f"{row.get('ood') or row['set']} {row['name']}"] = row["value"]
    return figures


def regression(model, sets):
    """scikit-learn's logistic regression on the vectors of the encoder in a model's folder."""
    import onnxruntime
    from PIL import Image
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import StandardScaler

    card = json.loads((model / "card.json").read_text())["recipe"]["takes"]
    session = onnxruntime.InferenceSession(str(model / "encoder.onnx"))
    name = session.get_inputs()[0].name

    def vectors(images):
        made = []
        for start in range(0, len(images), 16):
            some = [Image.fromarray(i).resize((card["width"], card["height"]), Image.BICUBIC) for i in images[start:start + 16]]
            pixels = np.stack([np.asarray(i) for i in some]).astype(np.float32) * card["factor"]
            pixels = (pixels - np.float32(card["mean"])) / np.float32(card["scale"])
            made.append(session.run(None, {name: pixels.transpose(0, 3, 1, 2).astype(np.float32)})[0])
        return np.concatenate(made)

    scaler = StandardScaler()
    x = scaler.fit_transform(vectors(sets["train"][0]))
    model = LogisticRegression(max_iter=1000).fit(x, sets["train"][1])
    shares = {part: model.predict_proba(scaler.transform(vectors(images))) for part, (images, _) in sets.items() if part != "train"}
    top, right = shares["test"].max(1), shares["test"].argmax(1) == sets["test"][1]
    bins = np.minimum((top * 15).astype(int), 14)
    gaps = [abs(top[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in set(bins)]
    figures = {"accuracy": right.mean(), "ece": sum(gaps)}
    for part in ("svhn", "cifar100"):
        truth = np.r_[np.zeros(len(top)), np.ones(len(shares[part]))]
        figures[f"{part} auroc by max_probability"] = roc_auc_score(truth, -np.r_[top, shares[part].max(1)])
    return {key: float(value) for key, value in figures.items()}


def table(known):
    columns = list(dict.fromkeys(key for figures in known.values() for key in figures))
    print("| model | " + " | ".join(columns) + " |\n" + "| --- " * (len(columns) + 1) + "|")
    for name, figures in known.items():
        cells = [f"{figures[key]:.4g}" if key in figures else "–" for key in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    data, sngp, folder, what = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), Path(sys.argv[3]), sys.argv[4]
    folder.mkdir(exist_ok=True, parents=True)
    kept = folder / "figures.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}

    def keep(name, figures):
        if name not in known:
            known[name] = figures()
            kept.write_text(json.dumps(known, indent=1))
        print(name, known[name], flush=True)

    graphs = data / "models/onnx"
    if what == "texts":
        texts(data, folder)
        for name in ("clinc", "banking77"):
            for encoder in ("all-MiniLM-L6-v2", "gte-small"):
                train = ["--data", folder / f"{name}-train.csv", "--text", "text", "--encoder", graphs / encoder]
                if name == "clinc":
                    train += ["--validation", folder / "clinc-validation.csv"]
                keep(f"{name}, {encoder}", lambda: measured(
                    sngp, train, folder / f"{name}-test.csv", {"ood": folder / f"{name}-ood.csv"}, folder / f"{name}-{encoder}"))
    if what == "images":
        sets = pictures(data)
        if not (folder / "cifar100").exists():
            lay_out(sets, folder)
        ood = {part: folder / part for part in ("svhn", "cifar100")}
        train = ["--data", folder / "train"]
        encoder = graphs / "efficientnet-lite0/model.onnx"
        keep("cifar10, efficientnet-lite0", lambda: measured(
            sngp, [*train, "--encoder", encoder], folder / "test", ood, folder / "cifar10-encoder"))
        keep("cifar10, logistic regression on its vectors", lambda: regression(folder / "cifar10-encoder", sets))
        keep("cifar10, network from scratch", lambda: measured(sngp, train, folder / "test", ood, folder / "cifar10-scratch"))
    if what == "table":
        table(known)


if __name__ == "__main__":
    main()
