"""Rows of a table a second over HTTP, in batched requests.

    python3 benches/serve/rows.py [--sngp target/release/sngp] [--rows 256] [--clients 4]

Trains on generated rows of eight numbers that only a network learns well, serves the residual network, and asks
with columns as tensors.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sngp", default=str(ROOT / "target/release/sngp"))
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table = []
        for _ in range(4000):
            values = [draw.gauss(0, 1) for _ in range(COLUMNS)]
            kind = sum(values[place] > 0 for place in range(COLUMNS // 2)) % 2
            table.append([f"{value:.4f}" for value in values] + ["ab"[kind]])
        names = [f"x{place}" for place in range(COLUMNS)]
        lines = [",".join(names + ["kind"])] + [",".join(row) for row in table]
        (folder / "rows.csv").write_text("\n".join(lines))
        said = subprocess.run([arguments.sngp, "train", "--quiet", "--json", "--data", folder / "rows.csv", "--label",
                               "kind", "--out", folder / "rows"], check=True, stdout=subprocess.PIPE).stdout
        fit = json.loads(said)["training"]["fit"]
        if "residual network" not in fit:
            raise SystemExit(f"what would be served is no residual network: {fit}")
        asked = table[: arguments.rows]
        inputs = [
            {"name": name, "datatype": "FP64", "shape": [len(asked)],
             "data": [float(row[place]) for row in asked]}
            for place, name in enumerate(names)
        ]
        wanted = [{"name": name} for name in ["label", "probability", "uncertainty", "decision"]]
        (folder / "body.json").write_text(json.dumps({"inputs": inputs, "outputs": wanted}))
        server = subprocess.Popen([arguments.sngp, "serve", folder / "rows", "--port", "9000",
                                   "--no-grpc", "--log", "quiet", "--max-batch", "1024"])
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen("http://127.0.0.1:9000/v2/health/ready").read()
                    break
                except OSError:
                    time.sleep(0.1)
            subprocess.run([arguments.sngp, "loadtest", "http://127.0.0.1:9000/v2/models/rows/infer",
                            "--body", folder / "body.json", "--clients", str(arguments.clients),
                            "--seconds", str(arguments.seconds), "--rows", str(arguments.rows)],
                           check=True)
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    main()
