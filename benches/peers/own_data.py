"""`sngp train` and `sngp evaluate` beside scikit-learn, on the same splits of small data sets.

    python3 benches/peers/own_data.py DATA [--sngp target/release/sngp] [--only NAMES] [--docs docs]
    python3 benches/peers/own_data.py DATA --fit-time

DATA holds banking77, snips, clinc, embeddings/clinc_minilm.npz and models/all-MiniLM-L6-v2. The
first form writes docs/results/own-data.{md,json}, where --only keeps the rows of the other data
sets; the second writes docs/own-data-fit.json. Needs numpy and scikit-learn.
"""

import argparse
import contextlib
import csv
import dataclasses
import json
import multiprocessing
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINS = 15

PREAMBLE = """# Your own data: one command beside scikit-learn

The same rows for every method, split once with a fixed seed, and nothing tuned: defaults all over,
but 1000 iterations for logistic regression. For scikit-learn tables are scaled and one-hot encoded,
texts are TF-IDF of words and pairs of words (for boosting reduced to 100 dimensions). Without a
`--validation` file `sngp train` sets training rows aside to calibrate on; scikit-learn learns from
all of them and is not calibrated.

ECE: 15 equal bins of the top probability. OOD AUROC: examples left out of the training against the
test rows, by the score the method abstains by (scikit-learn: the maximum probability), and by the
maximum probability. Seconds: the whole `sngp train` command, from reading the file to a saved and
calibrated model; of scikit-learn only the fit, from rows in memory.
"""


@dataclasses.dataclass
class Part:
    """Rows and their labels: a row is a list of cells, a text or a vector."""

    x: list
    y: list

    def where(self, keep):
        rows = [row for row, label in enumerate(self.y) if keep(label)]
        return Part([self.x[row] for row in rows], [self.y[row] for row in rows])


@dataclasses.dataclass
class Data:
    about: str
    kind: str  # table, text or vectors
    parts: dict  # train, test, and where there are such: validation, ood
    runs: dict  # options of `sngp train`
    columns: tuple = ("text",)
    peers: tuple = ("logistic regression", "gradient boosting")


def table(data, left_out=None, regression=False, about=""):
    """70 % to train on, 30 % to test; OOD is a class left out or, without one, the test rows shuffled."""
    labels = data.target.tolist() if regression else [str(data.target_names[label]) for label in data.target]
    rows = Part(data.data.tolist(), labels)
    inside, ood = rows.where(lambda label: label != left_out), rows.where(lambda label: label == left_out)
    classes = None if regression else inside.y
    halves = train_test_split(inside.x, inside.y, test_size=0.3, random_state=0, stratify=classes)
    parts = {"train": Part(halves[0], halves[2]), "test": Part(halves[1], halves[3])}
    if regression:
        runs, peers = {"sngp": ["--task", "regression"]}, ("ridge regression", "gradient boosting")
        return Data(about, "table", parts, runs, data.feature_names, peers)
    if left_out is None:
        chance = np.random.default_rng(0)
        shuffled = [chance.permutation(np.array(column, dtype=object)) for column in zip(*parts["test"].x)]
        ood = Part(list(zip(*shuffled)), parts["test"].y)
    source = f"all rows of `{left_out}`" if left_out else "the test rows, every column shuffled on its own"
    return Data(f"{about}OOD: {source}", "table", parts | {"ood": ood}, {"sngp": []}, data.feature_names)


def mixed_table():
    data = datasets.load_breast_cancer()
    cells = data.data.astype(object)
    for column in range(0, cells.shape[1], 3):
        terciles = np.quantile(data.data[:, column], [1 / 3, 2 / 3])
        cells[:, column] = np.array(["low", "middle", "high"])[np.digitize(data.data[:, column], terciles)]
    cells[np.random.default_rng(0).random(cells.shape) < 0.05] = None
    data.data = cells
    return table(data, about="derived from `breast-cancer`: every third column a word, 5 % of the cells deleted; ")


def texts(data, name, encoder=None):
    """The texts of some classes are left out; those of the test file are OOD."""
    pairs = {}
    if name == "clinc":
        full = json.loads((data / "clinc/data_full.json").read_text("utf-8"))
        pairs = {"train": full["train"], "validation": full["val"], "test": full["test"] + full["oos_test"]}
        left_out = ["oos"]
    elif name == "snips":
        for part, file in (("train", "train"), ("validation", "valid"), ("test", "test")):
            pairs[part] = zip(*((data / f"snips/{file}.{end}").read_text().splitlines() for end in ("seq.in", "label")))
        left_out = ["PlayMusic"]
    else:
        for part in ("train", "test"):
            with open(data / f"banking77/{part}.csv", newline="", encoding="utf-8") as file:
                pairs[part] = [(row["text"], row["category"]) for row in csv.DictReader(file)]
        left_out = sorted({label for _, label in pairs["train"]})[-10:]
    parts = {part: Part(*map(list, zip(*pairs[part]))) for part in pairs}
    inside = {part: rows.where(lambda label: label not in left_out) for part, rows in parts.items()}
    inside["ood"] = parts["test"].where(lambda label: label in left_out)
    about = f"OOD: test texts of {', '.join(f'`{label}`' for label in left_out)}"
    if encoder:  # scikit-learn's rows are those of the same texts without one
        return Data(about, "text", inside, {"sngp": ["--text", "text", "--encoder", str(encoder)]}, peers=())
    return Data(about, "text", inside, {"sngp": ["--text", "text"]})


def vectors(data):
    arrays = np.load(data / "embeddings/clinc_minilm.npz")
    splits = {"train": "train", "validation": "val", "test": "test", "ood": "oos_test"}
    parts = {part: Part(arrays[f"{split}_x"], arrays[f"{split}_y"]) for part, split in splits.items()}
    runs = {f"sngp, {count} features": ["--features", str(count)] for count in (1024, 2048)}
    return Data("`clinc` as vectors of all-MiniLM-L6-v2, for every method; OOD as there", "vectors", parts, runs)


def known(data):
    encoder = data / "models/all-MiniLM-L6-v2"
    return {
        "wine": lambda: table(datasets.load_wine(), "class_2"),
        "breast-cancer": lambda: table(datasets.load_breast_cancer()),
        "breast-cancer-mixed": mixed_table,
        "digits": lambda: table(datasets.load_digits(), "9"),
        "diabetes": lambda: table(datasets.load_diabetes(scaled=False), regression=True, about="regression"),
        "banking77": lambda: texts(data, "banking77"),
        "banking77-encoder": lambda: texts(data, "banking77", encoder),
        "snips": lambda: texts(data, "snips"),
        "snips-encoder": lambda: texts(data, "snips", encoder),
        "clinc": lambda: texts(data, "clinc"),
        "clinc-vectors": lambda: vectors(data),
    }


def write_files(data, folder):
    """The parts as files; what `sngp` is told for each."""
    folder.mkdir(parents=True, exist_ok=True)
    if data.kind == "vectors":
        arrays = {f"{name}_{axis}": getattr(part, axis) for name, part in data.parts.items() for axis in "xy"}
        np.savez(folder / "vectors.npz", **arrays)
        return {name: f"vectors.npz:{name}_x:{name}_y" for name in data.parts}
    for name, part in data.parts.items():
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*data.columns, "label"])
            for row, label in zip(part.x, part.y):
                writer.writerow([row, label] if data.kind == "text" else [*row, label])
    return {name: f"{name}.csv" for name in data.parts}


def sngp_commands(files, options):
    validation = ["--validation", files["validation"]] if "validation" in files else []
    ood = ["--ood", files["ood"]] if "ood" in files else []
    train = ["train", "--data", files["train"], *validation, *options, "--out", "model", "--json"]
    return train, ["evaluate", "model", "--data", files["test"], *ood, "--json"]


def run(binary, command, folder):
    output = subprocess.run([binary, *command], check=True, cwd=folder, stdout=subprocess.PIPE, text=True)
    return json.loads(output.stdout)


def measure_sngp(binary, train, evaluate, folder):
    """One training and one evaluation: a row of the table."""
    started = time.perf_counter()
    run(binary, train, folder)
    row, ood = {"seconds": time.perf_counter() - started}, {}
    for metric in run(binary, evaluate, folder):
        if metric["set"] == "test":
            row[metric["name"]] = metric["value"]
        else:
            measure, score = metric["name"].split(" by ")
            ood.setdefault(score, {})[measure] = metric["value"]
    return row | {"score": next(iter(ood)), "ood": ood} if ood else row  # it abstains by the first one


def pipeline(data, method):
    """A model of scikit-learn and the steps before it."""
    boosting = method == "gradient boosting"
    if "ood" in data.parts:
        last = HistGradientBoostingClassifier(random_state=0) if boosting else LogisticRegression(max_iter=1000)
    else:
        last = HistGradientBoostingRegressor(random_state=0) if boosting else Ridge()
    if data.kind == "vectors":
        return last
    if data.kind == "text":
        reduced = [TruncatedSVD(100, random_state=0)] if boosting else []
        return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), *reduced, last)
    named = np.array([any(isinstance(cell, str) for cell in column) for column in zip(*data.parts["train"].x)])
    steps = (StandardScaler(), ~named), (OneHotEncoder(handle_unknown="ignore"), named)
    imputed = [] if boosting else [SimpleImputer()]  # boosting takes missing values as they are
    return make_pipeline(make_column_transformer(*steps, sparse_threshold=0), *imputed, last)


def measure_peer(data, method):
    """Fits and measures one model of scikit-learn: a row of the table."""

    def rows(name):
        return np.array(data.parts[name].x, dtype=object) if data.kind == "table" else data.parts[name].x

    model, inputs, truth = pipeline(data, method), rows("train"), np.array(data.parts["test"].y)
    started = time.perf_counter()
    model.fit(inputs, data.parts["train"].y)
    row = {"seconds": time.perf_counter() - started}
    if "ood" not in data.parts:
        return row | {"rmse": float(np.sqrt(np.mean((model.predict(rows("test")) - truth) ** 2)))}
    probabilities = model.predict_proba(rows("test"))
    top = probabilities.max(axis=1)
    right = model.classes_[probabilities.argmax(axis=1)] == truth
    gaps = np.bincount(np.minimum((top * BINS).astype(int), BINS - 1), weights=right - top)
    scores = -np.concatenate([top, model.predict_proba(rows("ood")).max(axis=1)])
    strange = np.arange(len(scores)) >= len(top)
    ood = {"auroc": float(roc_auc_score(strange, scores)), "aupr": float(average_precision_score(strange, scores))}
    row |= {"accuracy": float(right.mean()), "ece": float(np.abs(gaps).sum() / len(top))}
    return row | {"score": "max_probability", "ood": {"max_probability": ood}}


def limited(seconds, data, method):
    """`measure_peer` in a process of its own, which is ended after so many seconds."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(measure_peer, (data, method)).get(seconds)
        except multiprocessing.TimeoutError:
            return {"note": f"not done in {seconds:.0f} s"}


def table_lines(head, rows):
    return [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]


def page(report):
    columns = {"accuracy": "accuracy", "ece": "ECE", "own": "OOD AUROC, own score",
               "top": "OOD AUROC, maximum probability", "rmse": "RMSE", "interval_coverage": "90 % interval: coverage",
               "interval_width": "90 % interval: width", "seconds": "seconds"}
    rows, by_score, about = [], {}, []
    for name, entry in report["sets"].items():
        counts = ", ".join(f"{part} {count}" for part, count in entry["examples"].items())
        about += ["", f"`{name}`: {entry['about']}. Rows: {counts}.", "", "```sh", *entry["commands"], "```"]
        for method, row in entry["rows"].items():
            ood = row.get("ood", {})
            shown = row | ({"own": ood[row["score"]]["auroc"], "top": ood["max_probability"]["auroc"]} if ood else {})
            cells = [f"{shown[key]:#.4g}" if key in shown else "–" for key in columns]
            rows.append([name, method, *cells[:-1], row.get("note", cells[-1])])
            if name == "clinc-vectors" and ood:
                by_score[method] = {score: f"{both['auroc']:.4f} / {both['aupr']:.4f}" for score, both in ood.items()}
    lines = [PREAMBLE, *table_lines(["data set", "method", *columns.values()], rows)]
    if by_score:
        scores = list(dict.fromkeys(score for cells in by_score.values() for score in cells))
        rows = [[method, *(cells.get(score, "–") for score in scores)] for method, cells in by_score.items()]
        lines += ["", "OOD AUROC / AUPR of `clinc-vectors` by every score; `sngp` abstains by the first.", ""]
        lines += table_lines(["method", *scores], rows)
    origins = dict.fromkeys(f"commit {entry['commit']}; CPU: {entry['cpu']}" for entry in report["sets"].values())
    lines += ["", "## The data sets and the commands", *about, ""]
    return "\n".join([*lines, f"Command: `{report['command']}`; {'; '.join(origins)}.", ""])


def compare(args, folder, origin):
    path = args.docs / "results/own-data.json"
    done = json.loads(path.read_text())["sets"] if args.only and path.exists() else {}
    sets = known(args.data)
    for name in args.only or sets:
        data = sets[name]()
        files = write_files(data, folder / name)
        examples = {part: len(rows.x) for part, rows in data.parts.items()}
        entry = done[name] = {"about": data.about, "examples": examples, **origin, "commands": [], "rows": {}}
        for method, options in data.runs.items():
            train, evaluate = sngp_commands(files, options)
            entry["rows"][method] = measure_sngp(args.sngp, train, evaluate, folder / name)
            entry["commands"] += [shlex.join(["sngp", *c]).replace(str(args.data), "DATA") for c in (train, evaluate)]
        for method in data.peers:
            limit = args.boosting_limit if method == "gradient boosting" else None
            entry["rows"][method] = limited(limit, data, method)
        report = {"command": f"python3 benches/peers/own_data.py DATA --boosting-limit {args.boosting_limit:g}",
                  "sets": {name: done[name] for name in sets if name in done}}
        path.write_text(json.dumps(report, indent=2) + "\n")
        path.with_suffix(".md").write_text(page(report))
        print(f"{name}: written to {path.with_suffix('.md')}")


def fit_time(args, folder, origin):
    data = vectors(args.data)
    command, _ = sngp_commands(write_files(data, folder), ["--features", "1024", "--budget", "0"])
    rounds = []
    for _ in range(3):
        trained = run(args.sngp, command, folder)
        field = "fit_seconds" if "fit_seconds" in trained else "seconds"
        peer = limited(None, data, "logistic regression")["seconds"]
        rounds.append({"sngp": trained[field], "logistic regression": peer})
        print(rounds[-1], file=sys.stderr)
    medians = {who: float(np.median([turn[who] for turn in rounds])) for who in rounds[0]}
    report = {"command": "python3 benches/peers/own_data.py DATA --fit-time", **origin, "field": field,
              "train": shlex.join(["sngp", *command]), "rounds": rounds, "medians": medians,
              "ratio": medians["sngp"] / medians["logistic regression"]}
    (args.docs / "own-data-fit.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"medians in seconds: {medians}, ratio {report['ratio']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, metavar="DATA")
    parser.add_argument("--sngp", type=pathlib.Path, default=ROOT / "target/release/sngp")
    parser.add_argument("--only", metavar="NAMES", type=lambda names: names.split(","), help="separated by commas")
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs")
    parser.add_argument("--files", type=pathlib.Path, help="a folder for the splits and the models, to keep them")
    parser.add_argument("--threads", type=int, default=2, help="of every program")
    parser.add_argument("--boosting-limit", type=float, default=300, help="seconds for a fit of gradient boosting")
    parser.add_argument("--fit-time", action="store_true", help="only the time of the fit on CLINC, in turns")
    args = parser.parse_args()
    args.data, args.sngp = args.data.resolve(), args.sngp.resolve()
    (args.docs / "results").mkdir(parents=True, exist_ok=True)
    if not set(args.only or []) <= set(known(args.data)):
        parser.error(f"--only: known are {', '.join(known(args.data))}")
    if not args.sngp.exists():
        sys.exit(f"{args.sngp} is missing: cargo build --release, or --sngp FILE")
    for name in ("OMP", "OPENBLAS", "RAYON"):  # everything timed is a child process
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    origin = {"commit": commit.stdout.strip(), "cpu": f"{cpu}, {args.threads} threads"}
    with contextlib.nullcontext(args.files) if args.files else tempfile.TemporaryDirectory() as folder:
        (fit_time if args.fit_time else compare)(args, pathlib.Path(folder), origin)


if __name__ == "__main__":
    main()
