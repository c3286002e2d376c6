"""Tables: `sngp train` with its defaults beside scikit-learn.

    python3 benches/tables/run.py DATA SNGP [--only yacht,wine] [--splits 20] [--docs docs]

DATA has uci/*.csv (the last column, `y`, is the target) and uci/test_rows.json, the published test rows; SNGP is the
binary. Every training sees the training rows of its split alone. What is measured is kept in DOCS/results/tables.json
after every split, with DOCS/results/tables.md made of it, and a later start goes on from there; when crates/ has a newer
commit, everything is measured anew. Needs numpy and scikit-learn.
"""
import argparse
import csv
import itertools
import json
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from peers import classifiers, regressor
from sets import CLASSES, NUMBERS, classes, numbers

# Test RMSE and NLL: the better one of dropout (Gal and Ghahramani 2016) and deep ensembles (Lakshminarayanan et al. 2017).
PUBLISHED = {
    "boston": (2.97, 2.41),
    "concrete": (5.23, 3.04),
    "kin8nm": (0.09, -1.20),
    "naval": (0.001, -5.6),
    "yacht": (1.02, 1.18),
}


def command(*words):
    return subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True).stdout


def write(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def ours(sngp, task, names, train, test, folder):
    """Figures of `sngp evaluate`, and what `sngp train` says."""
    write(folder / "train.csv", names, train)
    write(folder / "test.csv", names, test)
    model = folder / "model"
    started = time.perf_counter()
    said = command(sngp, "train", "--data", folder / "train.csv", "--label", "y", "--task", task, "--kind", "table",
                   "--out", model, "--force", "--json", "--quiet")
    seconds = time.perf_counter() - started
    found = json.loads(command(sngp, "evaluate", model, "--data", folder / "test.csv", "--out", folder / "report", "--json",
                               "--quiet"))
    wanted = {"rmse", "nll", "interval_coverage", "interval_width", "accuracy", "ece"}
    figures = {row["name"]: row["value"] for row in found["metrics"] if row["set"] == "test" and row["name"] in wanted}
    return {**figures, "seconds": seconds, "fit": json.loads(said)["training"]["fit"]}


def measured(sngp, data, name, split):
    with tempfile.TemporaryDirectory() as folder:
        if name in NUMBERS:
            names, train, test = numbers(data, name, split)
            return {"sngp": ours(sngp, "regression", names, train, test, Path(folder)),
                    "hist gradient boosting": regressor(train, test)}
        names, train, test = classes(name, split)
        return {"sngp": ours(sngp, "classification", names, train, test, Path(folder)), **classifiers(train, test)}


def mean(rows, method, figure):
    """`mean +- standard error`, or nothing."""
    values = [row[method][figure] for row in rows if row[method].get(figure) is not None]
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.4g}"
    error = np.std(values, ddof=1) / len(values) ** 0.5
    digits = min(7, 1 - int(np.floor(np.log10(max(error, 1e-7)))))
    return f"{np.mean(values):.{max(digits, 0)}f} ± {error:.{max(digits, 0)}f}"


def page(kept):
    head = kept["about"]
    text = [
        "# Tables",
        "",
        f"`{head['command']}`, commit {head['commit']}, {head['cpu']}, other work beside it: seconds are an upper bound.",
        "Means over the splits measured so far, with their standard errors; the same command goes on with the others.",
        "",
        "## Numbers: the published splits",
        "",
        "Published: the better one of dropout and deep ensembles. Hist gradient boosting's NLL and intervals are those of a",
        "normal with the deviation, and of the conformal quantile, of its five-fold cross-validated errors.",
        "",
        "| set | splits | method | RMSE | NLL | 90 % interval: coverage | width | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in NUMBERS:
        rows = kept["splits"].get(name, {}).values()
        if not rows:
            continue
        rmse, nll = PUBLISHED[name]
        text.append(f"| {name} | 20 | published | {rmse} | {nll} | – | – | – |")
        for method in ("sngp", "hist gradient boosting"):
            figures = ("rmse", "nll", "interval_coverage", "interval_width", "seconds")
            cells = " | ".join(mean(rows, method, figure) for figure in figures)
            text.append(f"| {name} | {len(rows)} | {method} | {cells} |")
    text += [
        "",
        "Which model `sngp train` kept:",
        "",
        *(f"- {name}: {fits(kept['splits'][name].values())}" for name in NUMBERS if kept["splits"].get(name)),
        "",
        "## Classes: five folds",
        "",
        "Scikit-learn: scaled and one-hot encoded for logistic regression, ordinal categories for boosting, defaults but",
        "1,000 iterations. `mixed` is made by the script: categories, missing cells and a long tail.",
        "",
        "| set | method | accuracy | NLL | seconds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in CLASSES:
        rows = kept["splits"].get(name, {}).values()
        for method in ("sngp", "logistic regression", "hist gradient boosting") if rows else ():
            cells = " | ".join(mean(rows, method, figure) for figure in ("accuracy", "nll", "seconds"))
            text.append(f"| {name} | {method} | {cells} |")
    return "\n".join(text) + "\n"


def fits(rows):
    kinds = [row["sngp"]["fit"].split(",")[0].split(";")[0] for row in rows]
    return ", ".join(f"{kind} ({kinds.count(kind)})" for kind in sorted(set(kinds)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("sngp", type=Path)
    parser.add_argument("--only", default=",".join([*NUMBERS, *CLASSES]))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    args = parser.parse_args()
    sngp = args.sngp.resolve()
    path = args.docs / "results/tables.json"
    kept = json.loads(path.read_text()) if path.exists() else {"splits": {}}
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    commit = command("git", "log", "-1", "--format=%h", "--", "crates").strip()
    if kept.get("about", {}).get("commit") != commit:
        kept["splits"] = {}
    kept["about"] = {"command": "python3 benches/tables/run.py DATA SNGP", "commit": commit, "cpu": cpu}
    # A split of every set before the next one: what is there when it is stopped is of all of them.
    for split, name in itertools.product(range(args.splits), args.only.split(",")):
        done = kept["splits"].setdefault(name, {})
        if str(split) in done or (name in CLASSES and split >= 5):
            continue
        done[str(split)] = measured(sngp, args.data, name, split)
        path.write_text(json.dumps(kept, indent=1) + "\n")
        path.with_suffix(".md").write_text(page(kept))
        shown = {k: round(v, 5) for k, v in done[str(split)]["sngp"].items() if isinstance(v, float)}
        print(name, split, shown, flush=True)
    path.with_suffix(".md").write_text(page(kept))


main()
