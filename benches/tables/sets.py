"""Tables to measure on."""
import json

import numpy as np
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold

NUMBERS = ("boston", "concrete", "kin8nm", "naval", "yacht")
CLASSES = ("wine", "breast-cancer", "digits", "mixed")


def numbers(data, name, split):
    """Names, training rows and test rows of a published split."""
    lines = (data / "uci" / f"{name}.csv").read_text().splitlines()
    names, rows = lines[0].split(","), [line.split(",") for line in lines[1:]]
    test = set(json.loads((data / "uci/test_rows.json").read_text())[name][split])
    return names, [row for i, row in enumerate(rows) if i not in test], [rows[i] for i in sorted(test)]


def classes(name, fold):
    """The same of one of five folds."""
    names, rows = mixed() if name == "mixed" else plain(name)
    labels = [row[-1] for row in rows]
    train, test = list(StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels))[fold]
    return names, [rows[i] for i in train], [rows[i] for i in test]


def plain(name):
    load = {"wine": datasets.load_wine, "breast-cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}[name]
    x, y = load(return_X_y=True)
    names = [f"x{j}" for j in range(x.shape[1])] + ["y"]
    return names, [[*map(str, row), f"class {label}"] for row, label in zip(x, y)]


def mixed():
    """Two classes, of five numbers (one with a long tail), three categories and a tenth of the cells missing."""
    rng = np.random.default_rng(0)
    count = 3000
    x = rng.normal(size=(count, 5))
    x[:, 4] = np.exp(2 * x[:, 4])
    kinds = [rng.integers(0, size, count) for size in (3, 8, 20)]
    weights = [rng.normal(size=size) for size in (3, 8, 20)]
    logit = x[:, 0] - 1.5 * (x[:, 1] > 0.5) * x[:, 2] + 0.5 * np.log(x[:, 4]) + sum(w[k] for w, k in zip(weights, kinds)) - 1
    label = rng.random(count) < 1 / (1 + np.exp(-logit))
    missing = rng.random((count, 8)) < 0.1
    cell = lambda i, j: str(x[i, j]) if j < 5 else f"kind {kinds[j - 5][i]}"
    rows = [["" if missing[i, j] else cell(i, j) for j in range(8)] + ["yes" if label[i] else "no"] for i in range(count)]
    return [f"x{j}" for j in range(8)] + ["y"], rows
