"""A head fitted on Spark's local cluster of three executors, one of which dies half-way.

    python crates/sngp-py/tests/cluster/spark_cluster.py [--rows 200000] [--files 12]

Needs Java 17. The executors are processes of their own: `local-cluster[3,1,1024]`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from common import FEATURES, SAMPLE, assert_same, by_one_process, peak_mebibytes, read, rows, write
from pyspark.sql import SparkSession
from sngp.spark import fit_head, predict


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=12)
    args = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        folder = write(folder, args.rows, args.files)
        spark = (
            SparkSession.builder.master("local-cluster[3,1,1024]")
            .config("spark.executorEnv.RAYON_NUM_THREADS", "1")
            .config("spark.executor.memory", "1g")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        try:
            print(json.dumps(run(spark, folder, args), indent=1))
        finally:
            spark.stop()


def run(spark, folder, args):
    held_out = rows(2000, 1)
    test, _ = rows(500, 2)
    table = spark.read.parquet(str(folder)).repartition(args.files)
    table = table.cache()
    x, y = next(read(folder))
    sample = (x[:SAMPLE], y[:SAMPLE])

    started = time.perf_counter()
    head = fit(table, sample, held_out)
    seconds = time.perf_counter() - started
    single, _ = by_one_process(folder, sample, held_out)
    precision = single.pipeline_.precision()
    same = assert_same(head, head.pipeline_.precision(), single, precision, test)

    # An executor goes while partitions are being summed: Spark computes what it had anew.
    threading.Timer(seconds / 2, kill_an_executor).start()
    survived = fit(table, sample, held_out)
    assert_same(survived, survived.pipeline_.precision(), single, precision, test)

    answers = predict(table.limit(1000), head, vectors="embedding").toPandas()
    expected = head.answer(np.stack(answers["embedding"].to_numpy()))
    assert answers["predicted"].tolist() == expected["label"]
    np.testing.assert_allclose(answers["probability"], expected["probability"], atol=1e-6)
    return {
        "rows": args.rows,
        "partitions": args.files,
        "seconds of the fit": round(seconds, 1),
        "precision, largest relative difference": float(same[0]),
        "probabilities, largest difference": float(same[1]),
        "driver's peak memory, MiB": round(peak_mebibytes()),
    }


def fit(table, sample, held_out):
    return fit_head(
        table,
        vectors="embedding",
        label="label",
        held_out=held_out,
        sample=sample,
        features=FEATURES,
    )


def kill_an_executor():
    """Kills one of the executors that this process's cluster has started."""
    ours = str(os.getpid())
    listed = subprocess.check_output(["ps", "-eo", "pid,ppid,args"], text=True)
    parents, executors = {}, []
    for line in listed.splitlines()[1:]:
        pid, parent, command = line.split(None, 2)
        parents[pid] = parent
        if "CoarseGrainedExecutorBackend" in command:
            executors.append(pid)

    def is_ours(pid):
        while pid in parents:
            if pid == ours:
                return True
            pid = parents[pid]
        return False

    victim = next(pid for pid in executors if is_ours(pid))
    os.kill(int(victim), signal.SIGKILL)


if __name__ == "__main__":
    main()
