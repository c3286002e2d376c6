"""Every score on every set: OOD detection, misclassification detection, failure detection.

    python3 run.py DATA SNGP ENCODE OUT.md      # DATA as laid out by prepare.py; the two binaries; needs numpy

Sets: texts as MiniLM vectors and the tables that come with scikit-learn, with classes left out (OOD are the test rows
of those classes, several random choices of them) or with rows of another set. Every model is `sngp train` with its
defaults on the training rows alone; every figure is `sngp evaluate`'s.
"""
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CHOICES = 5
LEFT_OUT = 0.25


def lines(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def table(path, delimiter):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=delimiter))[1:]
    return [row[0] for row in rows], [row[1] for row in rows]


def texts(data):
    """Texts and labels by set and part."""
    clinc = json.loads((data / "clinc/data_full.json").read_text())
    intents = {part: tuple(map(list, zip(*clinc[part]))) for part in ("train", "test", "oos_test")}
    return {
        "clinc": intents,
        "banking77": {part: table(data / f"banking77/{part}.csv", ",") for part in ("train", "test")},
        "stackoverflow": {part: table(data / f"stackoverflow/{part}.tsv", "\t") for part in ("train", "test")},
        "snips": {
            part: (lines(data / f"snips/{part}.seq.in"), lines(data / f"snips/{part}.label")) for part in ("train", "test")
        },
    }


def encoded(data, encode, folder):
    """The same as vectors."""
    sets = texts(data)
    files = {}
    for name, parts in sets.items():
        for part, (rows, _) in parts.items():
            files[name, part] = folder / f"{name}-{part}.txt"
            files[name, part].write_text("\n".join(" ".join(row.split()) or "-" for row in rows) + "\n", encoding="utf-8")
    missing = [str(path) for path in files.values() if not path.with_suffix(".npy").exists()]
    if missing:
        subprocess.run([encode, data / "models/all-MiniLM-L6-v2", *missing], check=True, stdout=subprocess.DEVNULL)
    vectors = {key: np.load(path.with_suffix(".npy")) for key, path in files.items()}
    return {
        name: {part: (vectors[name, part], np.array(labels)) for part, (_, labels) in parts.items()}
        for name, parts in sets.items()
    }


def small():
    """Tables that come with scikit-learn, two thirds for training."""
    from sklearn import datasets

    for name, load in (("wine", datasets.load_wine), ("digits", datasets.load_digits)):
        x, y = load(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(x))
        cut = 2 * len(x) // 3
        parts = {"train": order[:cut], "test": order[cut:]}
        yield name, {part: (x[rows].astype("f4"), y[rows].astype(str)) for part, rows in parts.items()}


def settings(vectors):
    """Name, training rows, test rows and OOD rows of every set."""
    oos = vectors["clinc"]["oos_test"][0]
    yield "clinc, out of scope", vectors["clinc"]["train"], vectors["clinc"]["test"], oos
    yield "banking77, clinc", vectors["banking77"]["train"], vectors["banking77"]["test"], vectors["clinc"]["test"][0]
    yield "snips, clinc out of scope", vectors["snips"]["train"], vectors["snips"]["test"], oos
    yield "stackoverflow, snips", vectors["stackoverflow"]["train"], vectors["stackoverflow"]["test"], vectors["snips"]["test"][0]
    for name, parts in [*vectors.items(), *small()]:
        (x, y), (test, truth) = parts["train"], parts["test"]
        classes = np.unique(y)
        for choice in range(CHOICES):
            count = max(1, round(LEFT_OUT * len(classes)))
            out = np.random.default_rng(choice).permutation(classes)[:count]
            kept, known = ~np.isin(y, out), ~np.isin(truth, out)
            yield f"{name}, classes left out", (x[kept], y[kept]), (test[known], truth[known]), test[~known]


def run(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measured(sngp, train, test, ood, folder):
    """Figures by (what, score)."""
    arrays = folder / "set.npz"
    np.savez(arrays, train_x=train[0], train_y=train[1], test_x=test[0], test_y=test[1], ood_x=ood)
    model = folder / "model"
    run([sngp, "train", "--data", f"{arrays}:train_x:train_y", "--out", model, "--force", "--json", "--quiet"])
    found = run([sngp, "evaluate", model, "--data", f"{arrays}:test_x:test_y", "--ood", f"{arrays}:ood_x", "--json", "--quiet",
                 "--out", folder / "report"])
    figures = {}
    for row in found["metrics"]:
        if row.get("by"):
            figures[row["set"], row["name"].split(" by ")[0], row["by"]] = row["value"]
    return figures


def main():
    data, sngp, encode, out = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve(), Path(sys.argv[4])
    cache = Path(tempfile.gettempdir()) / "sngp-scores"
    cache.mkdir(exist_ok=True)
    kept = cache / "figures.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    names = []
    for index, (name, train, test, ood) in enumerate(settings(encoded(data, encode, cache))):
        names.append(name)
        key = f"{index} {name}"
        if key not in known:
            with tempfile.TemporaryDirectory() as folder:
                figures = measured(sngp, train, test, ood, Path(folder))
            known[key] = ["|".join(k) + f"|{v}" for k, v in figures.items()]
            kept.write_text(json.dumps(known))
        print(key, flush=True)
    out.write_text(page(names, [known[f"{index} {name}"] for index, name in enumerate(names)]))


def page(names, rows):
    """The tables: a column a set, the mean of its choices of classes."""
    values = {}
    for name, figures in zip(names, rows):
        for figure in figures:
            where, metric, score, value = figure.rsplit("|", 3)
            values.setdefault((where, metric), {}).setdefault(score, {}).setdefault(name, []).append(float(value))
    sets = list(dict.fromkeys(names))
    text = []
    for (where, metric), scores in values.items():
        if metric not in ("auroc", "aupr", "aurc", "average_precision"):
            continue
        text += [f"\n## {where}: {metric}\n", "| score | " + " | ".join(sets) + " | mean |", "| --- " * (len(sets) + 2) + "|"]
        means = {s: [float(np.mean(by[n])) if n in by else float("nan") for n in sets] for s, by in scores.items()}
        for score in sorted(means, key=lambda s: -np.nanmean(means[s])):
            cells = " | ".join(f"{v:.4f}" for v in means[score])
            text.append(f"| {score} | {cells} | {np.nanmean(means[score]):.4f} |")
    return "# Scores\n" + __doc__.split("\n\n")[0] + "\n" + "\n".join(text) + "\n"


main()
