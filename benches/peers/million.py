"""A million vectors: the memory of a fit and the speed of predictions with variance.

    python3 benches/peers/million.py [--rows 1000000] [--sngp target/release/sngp] [--docs docs]

Draws 100 clusters in 384 dimensions into a temporary folder (1.5 GB), fits D = 1024 random features
and predicts every row again, to a CSV file. Memory is the peak of anonymous pages, sampled from
/proc, so the mapped input is not in it. Also runs a tenth of the rows: both should take a tenth.
Needs numpy.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS, CLASSES = 384, 100


def draw(folder, rows):
    import numpy as np

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLASSES, COLUMNS)).astype("f4")
    labels = rng.integers(0, CLASSES, rows)
    vectors = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype="<f4", shape=(rows, COLUMNS))
    for start in range(0, rows, 50_000):
        some = labels[start:start + 50_000]
        vectors[start:start + len(some)] = centres[some] + 1.5 * rng.standard_normal((len(some), COLUMNS), dtype="f4")
    vectors.flush()
    np.save(folder / "y.npy", labels.astype("i4"))


def measured(command, folder):
    """Standard output, seconds and peak anonymous memory in MiB of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    status, peak = pathlib.Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        try:
            lines = status.read_text().splitlines()
            peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))])
        except OSError:
            pass
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed")
    return process.stdout.read(), time.perf_counter() - started, peak / 1024


def run(sngp, rows):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        draw(folder, rows)
        train = [sngp, "train", "--data", "x.npy", "--label", "y.npy", "--features", "1024", "--out", "model", "--json", "--quiet"]
        output, _, fit_memory = measured(train, folder)
        predict = [sngp, "predict", "model", "--data", "x.npy", "--out", "answers.csv", "--quiet"]
        times = [measured(predict, folder)[1:] for _ in range(3)]
        seconds, predict_memory = min(times)
        return {
            "rows": rows,
            "fit_seconds": json.loads(output)["fit_seconds"],
            "fit_anonymous_mib": round(fit_memory),
            "predict_seconds_best_of_3": seconds,
            "predict_rows_per_second": round(rows / seconds),
            "predict_anonymous_mib": round(predict_memory),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sngp", type=pathlib.Path, default=ROOT / "target/release/sngp")
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs")
    args = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    cpu = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    result = {
        "command": f"python3 benches/peers/million.py --rows {args.rows}",
        "commit": commit.stdout.strip(),
        "cpu": f"{cpu[0]}, {len(cpu)} threads" if cpu else "unknown",
        "columns": COLUMNS,
        "classes": CLASSES,
        "features": 1024,
        "runs": [run(args.sngp.resolve(), rows) for rows in (args.rows // 10, args.rows)],
    }
    path = args.docs / "own-data-scale.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(path.read_text(), end="")


if __name__ == "__main__":
    main()
