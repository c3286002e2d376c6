"""A head fitted on a real local Ray cluster of three nodes, one of which dies half-way.

python crates/sngp-py/tests/cluster/ray_cluster.py [--rows 200000] [--files 12]
"""

import argparse
import json
import tempfile
import threading
import time

import numpy as np
import ray
from common import FEATURES, SAMPLE, assert_same, by_one_process, peak_mebibytes, read, rows, write
from ray.cluster_utils import Cluster
from sngp.ray import fit_head, predict


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=12)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = write(folder, args.rows, args.files)
        print(json.dumps(run(folder, args), indent=1))


def run(folder, args):
    held_out = rows(2000, 1)
    test, _ = rows(500, 2)
    environment = {"env_vars": {"RAYON_NUM_THREADS": "1"}}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    doomed = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)][-1]
    try:
        ray.init(address=cluster.address, runtime_env=environment, log_to_driver=False)
        assert len([node for node in ray.nodes() if node["Alive"]]) == 3
        table = ray.data.read_parquet(str(folder))
        x, y = next(read(folder))
        sample = (x[:SAMPLE], y[:SAMPLE])

        started = time.perf_counter()
        head = fit(table, sample, held_out)
        seconds = time.perf_counter() - started
        single, _ = by_one_process(folder, sample, held_out)
        same = assert_same(
            head, head.pipeline_.precision(), single, single.pipeline_.precision(), test
        )

        # A node goes while blocks are being summed: Ray computes what it had anew.
        threading.Timer(
            seconds / 2, lambda: cluster.remove_node(doomed, allow_graceful=False)
        ).start()
        survived = fit(table, sample, held_out)
        time.sleep(1)
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        assert_same(
            survived, survived.pipeline_.precision(), single, single.pipeline_.precision(), test
        )

        answers = predict(table.limit(2000), head, vectors="embedding", concurrency=1).to_pandas()
        expected = head.answer(np.stack(answers["embedding"].to_numpy()))
        assert answers["predicted"].tolist() == expected["label"]
        assert answers["decision"].tolist() == expected["decision"]
        np.testing.assert_allclose(answers["probability"], expected["probability"], atol=1e-6)
        return {
            "rows": args.rows,
            "blocks": args.files,
            "seconds of the fit": round(seconds, 1),
            "precision, largest relative difference": float(same[0]),
            "probabilities, largest difference": float(same[1]),
            "driver's peak memory, MiB": round(peak_mebibytes()),
        }
    finally:
        ray.shutdown()
        cluster.shutdown()


def fit(table, sample, held_out):
    return fit_head(
        table,
        vectors="embedding",
        label="label",
        held_out=held_out,
        sample=sample,
        features=FEATURES,
    )


if __name__ == "__main__":
    main()
