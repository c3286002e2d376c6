"""Texts without an encoder beside TF-IDF and logistic regression.

    python3 run.py DATA FIGURES.json METHOD..     # adds what FIGURES.json does not have yet; needs scikit-learn
    python3 run.py FIGURES.json OUT.md            # the page

METHOD is `NAME=BINARY` (`sngp train` of a binary with its defaults on the training file alone, its figures by
`sngp evaluate`) or one of scikit-learn's: `words` (words and pairs of words), `letters` (the same and runs of two to five
letters of words), each with `C` by default or, with `-tuned` behind it, the best of 1, 10 and 100 on a fifth of the training
rows, fitted again to all of them. `METHOD@SET` measures one set only.

Seconds of CPU: of `sngp train` the whole command on all its threads, from reading the file to a saved and calibrated model; of scikit-learn TF-IDF
and fit, from texts in memory. OOD: test texts of the three other sets; and, of models of three quarters of the classes, test
texts of the classes left out. The score is the one the method abstains by: scikit-learn's is the maximum probability.
"""
import csv
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SETS = ("banking77", "snips", "clinc", "stackoverflow")
OTHERS = 500


def lines(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def table(path, delimiter):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=delimiter))[1:]
    return [row[0] for row in rows], [row[1] for row in rows]


def read(data, name, part):
    if name == "clinc":
        rows = json.loads((data / "clinc/data_full.json").read_text())[part]
        return [row[0] for row in rows], [row[1] for row in rows]
    if name == "banking77":
        return table(data / f"banking77/{part}.csv", ",")
    if name == "stackoverflow":
        return table(data / f"stackoverflow/{part}.tsv", "\t")
    return lines(data / f"snips/{part}.seq.in"), lines(data / f"snips/{part}.label")


def kept(rows, wanted):
    texts, labels = rows
    some = [i for i, label in enumerate(labels) if label in wanted]
    return [texts[i] for i in some], [labels[i] for i in some]


def settings(data, name):
    """What is measured: training, test and OOD rows."""
    train, test = read(data, name, "train"), read(data, name, "test")
    others = []
    for other in SETS:
        if other != name:
            texts = read(data, other, "test")[0]
            order = np.random.default_rng(0).permutation(len(texts))[:OTHERS]
            others += [texts[i] for i in order]
    yield "all classes", train, test, others
    classes = sorted(set(train[1]))
    out = set(np.random.default_rng(0).permutation(classes)[: max(1, len(classes) // 4)])
    rest = set(classes) - out
    yield "classes left out", kept(train, rest), kept(test, rest), kept(test, out)[0]


def write(path, texts, labels=None):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"] if labels else ["text"])
        writer.writerows(zip(texts, labels) if labels else [[text] for text in texts])


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def sngp(binary, train, test, ood):
    def run(*command):
        return json.loads(subprocess.run([binary, *command], check=True, stdout=subprocess.PIPE, text=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write(folder / "train.csv", *train)
        write(folder / "test.csv", *test)
        write(folder / "ood.csv", ood)
        started, before = time.perf_counter(), cpu_seconds(resource.RUSAGE_CHILDREN)
        run("train", "--data", folder / "train.csv", "--label", "label", "--kind", "text", "--text", "text",
            "--out", folder / "model", "--json", "--quiet")
        seconds, own = time.perf_counter() - started, cpu_seconds(resource.RUSAGE_CHILDREN) - before
        found = run("evaluate", folder / "model", "--data", folder / "test.csv", "--ood", folder / "ood.csv",
                    "--out", folder / "report", "--json", "--quiet")
        size = sum(file.stat().st_size for file in (folder / "model").iterdir())
    figures = {"seconds": seconds, "cpu_seconds": own, "megabytes": size / 1e6}
    for row in found["metrics"]:
        name = row["name"].split(" by ")[0]
        if name in ("accuracy", "ece") and name not in figures:
            figures[name] = row["value"]
        if name == "auroc" and row.get("by") == "combined" and "ood" in row["set"]:
            figures["ood"] = row["value"]
    return figures


def calibration_error(probabilities, right, bins=15):
    top = probabilities.max(1)
    place = np.minimum((top * bins).astype(int), bins - 1)
    apart = [abs(right[place == b].mean() - top[place == b].mean()) * (place == b).mean() for b in range(bins) if (place == b).any()]
    return float(sum(apart))


def scikit(kind, tuned, train, test, ood):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline, make_union

    def model(strength):
        features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        if kind == "letters":
            features = make_union(features, TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True))
        return make_pipeline(features, LogisticRegression(C=strength, max_iter=1000))

    texts, labels = np.array(train[0], object), np.array(train[1])
    started, before, best = time.perf_counter(), cpu_seconds(resource.RUSAGE_SELF), 1.0
    if tuned:
        order = np.random.default_rng(0).permutation(len(texts))
        own, judged = order[len(order) // 5:], order[: len(order) // 5]
        score = {c: model(c).fit(texts[own], labels[own]).score(texts[judged], labels[judged]) for c in (1.0, 10.0, 100.0)}
        best = max(score, key=score.get)
    fitted = model(best).fit(texts, labels)
    seconds, own = time.perf_counter() - started, cpu_seconds(resource.RUSAGE_SELF) - before
    known, strange = fitted.predict_proba(test[0]), fitted.predict_proba(ood)
    right = fitted.classes_[known.argmax(1)] == np.array(test[1])
    tops = -np.r_[known.max(1), strange.max(1)]
    auroc = roc_auc_score(np.r_[np.zeros(len(known)), np.ones(len(strange))], tops)
    return {"seconds": seconds, "cpu_seconds": own, "strength": best, "accuracy": float(right.mean()), "ece": calibration_error(known, right), "ood": auroc}


def measure(data, path, methods):
    figures = json.loads(path.read_text()) if path.exists() else {}
    for method in methods:
        method, _, only = method.rpartition("@") if "@" in method else (method, "", "")
        name, _, binary = method.partition("=")
        for set_name in SETS:
            if only not in ("", set_name):
                continue
            for setting, *rows in settings(data, set_name):
                key = f"{set_name}|{setting}|{name}"
                tuned = name.endswith("-tuned")
                # Left-out classes are about OOD; nobody tunes for them.
                if key in figures or (setting != "all classes" and name != "words" and not binary):
                    continue
                figures[key] = sngp(binary, *rows) if binary else scikit(name.removesuffix("-tuned"), tuned, *rows)
                path.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
                print(key, figures[key], flush=True)


def page(figures, out):
    methods = list(dict.fromkeys(key.split("|")[2] for key in figures))
    text = [f"# {__doc__.splitlines()[0]}", "", *__doc__.split("\n\n", 2)[2].strip().splitlines(), ""]
    text += ["| set | method | accuracy | ECE | OOD AUROC, other sets | OOD AUROC, classes left out | seconds of CPU | model folder |", "| --- " * 8 + "|"]
    for set_name in SETS:
        for method in methods:
            found = figures.get(f"{set_name}|all classes|{method}")
            if not found:
                continue
            left = figures.get(f"{set_name}|classes left out|{method}", {})
            cell = lambda value, digits: "–" if value is None else f"{value:.{digits}f}"
            size = f"{found['megabytes']:.0f} MB" if "megabytes" in found else "–"
            text.append("| " + " | ".join([set_name, method, cell(found["accuracy"], 4), cell(found["ece"], 3), cell(found["ood"], 4),
                                           cell(left.get("ood"), 4), cell(found["cpu_seconds"], 1), size]) + " |")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    cpu = next((line.split(":")[1].strip() for line in lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    text += ["", f"`python3 benches/texts/run.py DATA docs/results/texts.json METHOD..`; commit {commit}; {cpu}, two cores."]
    out.write_text("\n".join(text) + "\n")


if len(sys.argv) == 3:
    page(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
else:
    measure(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
