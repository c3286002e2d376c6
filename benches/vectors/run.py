"""`sngp train` on vectors beside logistic regression whose C is tuned, on the same rows.

    python3 benches/vectors/run.py DATA [--sngp target/release/sngp] [--only NAMES] [--docs docs]
    python3 benches/vectors/run.py DATA --development [--options "--budget 0"] ..

DATA holds clinc, banking77, snips, stackoverflow, embeddings, models/all-MiniLM-L6-v2 and, for the image sets,
models/onnx/efficientnet-lite0 (which needs onnx, onnxruntime and pillow). The first form writes
docs/results/vectors.{md,json}, where --only keeps the rows of the other sets. The second never looks at a test row: a
third of the training rows takes their place, and nothing is written. Needs numpy and scikit-learn.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sets import known, split
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).resolve().parent.parent.parent
LARGE = 2000
STRENGTHS = np.logspace(-3, 3, 7)

PREAMBLE = f"""# Vectors: one command beside tuned logistic regression

The same training rows for both. `sngp train` with its defaults sets some of them aside for its threshold; logistic
regression learns from all. Its C is chosen by five-fold cross-validation (`LogisticRegressionCV`, ten values) on sets of
up to {LARGE} rows, and by the likelihood of one fifth of the rows, seven values, on larger ones, which takes less time
than cross-validation does. It is fitted to the vectors as they are, and to standardized columns.

Seconds: of `sngp` the search for settings and the fit with its posterior; of logistic regression the search and the fit.
"""


def tuned(x, y, standardized):
    """Logistic regression with C chosen; the model and what it is called."""
    first = [StandardScaler()] if standardized else []
    if len(x) <= LARGE:
        return make_pipeline(*first, LogisticRegressionCV(Cs=10, cv=5, max_iter=1000)).fit(x, y)
    inner, held, inner_y, held_y = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
    losses = []
    for strength in STRENGTHS:
        model = make_pipeline(*first, LogisticRegression(C=strength, max_iter=300)).fit(inner, inner_y)
        losses.append(log_loss(held_y, model.predict_proba(held), labels=model.classes_))
        if len(losses) > 2 and losses[-1] > losses[-2] > losses[-3]:
            break  # weaker priors take longest and are worse
    best = STRENGTHS[int(np.argmin(losses))]
    return make_pipeline(*first, LogisticRegression(C=best, max_iter=300)).fit(x, y)


def measure_peer(train, test, standardized):
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    warnings.simplefilter("ignore", UserWarning)
    started = time.perf_counter()
    model = tuned(*train, standardized)
    seconds = time.perf_counter() - started
    return {"accuracy": float(np.mean(model.predict(test[0]) == test[1])), "seconds": seconds}


def call(command, folder):
    done = subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measure(sngp, options, train, test, ood, folder):
    arrays = {"train_x": train[0], "train_y": train[1], "test_x": test[0], "test_y": test[1]}
    np.savez(folder / "set.npz", **arrays, **({} if ood is None else {"ood_x": ood}))
    fitted = call([sngp, "train", "--data", "set.npz:train_x:train_y", "--out", "model", "--force", "--json", *options], folder)
    strange = [] if ood is None else ["--ood", "set.npz:ood_x"]
    found = call([sngp, "evaluate", "model", "--data", "set.npz:test_x:test_y", "--json", *strange], folder)
    row = {"seconds": fitted.get("search_seconds", 0.0) + fitted["fit_seconds"], "whole": fitted["seconds"]}
    for metric in found["metrics"]:
        if metric["set"] == "test" and metric["name"] in ("accuracy", "ece", "nll"):
            row[metric["name"]] = metric["value"]
        if metric["name"].startswith("auroc") and metric.get("by") in ("combined", "variance"):
            row[f"ood auroc by {metric['by']}"] = metric["value"]
    chosen = [remark for remark in fitted["remarks"] if remark.startswith("chosen by")]
    return row | {"chosen": chosen[0].split("tried: ")[1] if chosen else ""}


def page(report):
    head = ["set", "rows x width, classes", "sngp", "LR", "LR, standardized", "sngp s", "LR s", "LR, standardized s",
            "sngp's choice"]
    lines = [PREAMBLE, f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for name, entry in report["sets"].items():
        own, raw, scaled = (entry["rows"][who] for who in ("sngp", "LR", "LR, standardized"))
        cells = [name, entry["size"], *(f"{row['accuracy']:.4f}" for row in (own, raw, scaled)),
                 *(f"{row['seconds']:.2f}" for row in (own, raw, scaled)), own["chosen"]]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "What the sets are:", ""]
    lines += [f"- {name}: {entry['about']}; {entry['test']} test rows" for name, entry in report["sets"].items()]
    origins = dict.fromkeys(f"commit {entry['commit']}; CPU: {entry['cpu']}" for entry in report["sets"].values())
    return "\n".join([*lines, "", f"Command: `{report['command']}`; {'; '.join(origins)}.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--sngp", type=Path, default=ROOT / "target/release/sngp")
    parser.add_argument("--encode", type=Path, default=ROOT / "target/release/examples/encode")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "sngp-vectors")
    parser.add_argument("--only", type=lambda names: names.split(";"), help="names of sets, separated by semicolons")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--development", action="store_true", help="a third of the training rows instead of the test rows")
    parser.add_argument("--options", type=shlex.split, default=[], help="of `sngp train`, in development")
    parser.add_argument("--own", action="store_true", help="without logistic regression, in development")
    args = parser.parse_args()
    for name in ("OMP", "OPENBLAS", "RAYON"):
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    args.cache.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    origin = {"commit": commit.stdout.strip(), "cpu": f"{cpu}, {args.threads} threads"}
    sets = known(args.data.resolve(), args.cache, args.encode.resolve())
    if not set(args.only or []) <= set(sets):
        parser.error(f"--only: known are {'; '.join(sets)}")
    path = args.docs / "results/vectors.json"
    done = json.loads(path.read_text())["sets"] if args.only and path.exists() else {}
    for name in args.only or sets:
        about, make = sets[name]
        train, test, ood = make()
        if args.development:
            train, test = split(*train, 1 / 3)
        rows = {}
        with tempfile.TemporaryDirectory() as folder:
            options = args.options if args.development else []
            rows["sngp"] = measure(args.sngp.resolve(), options, train, test, ood, Path(folder))
        if not (args.development and args.own):
            rows["LR"], rows["LR, standardized"] = (measure_peer(train, test, scaled) for scaled in (False, True))
        print(name, json.dumps(rows), file=sys.stderr, flush=True)
        size = f"{len(train[0])} x {train[0].shape[1]}, {len(np.unique(train[1]))}"
        done[name] = {"about": about, "size": size, "test": len(test[0]), **origin, "rows": rows}
        if not args.development:
            report = {"command": "python3 benches/vectors/run.py DATA", "sets": {k: done[k] for k in sets if k in done}}
            path.write_text(json.dumps(report, indent=2) + "\n")
            path.with_suffix(".md").write_text(page(report))


if __name__ == "__main__":
    main()
