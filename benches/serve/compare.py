"""`sngp serve` beside FastAPI with PyTorch and with ONNX Runtime: the same sentences, one client.

    python3 -m venv v && v/bin/pip install -r benches/serve/requirements.txt
    v/bin/python benches/serve/compare.py DATA [--seconds 20] [--rounds 3] [--clients 64]

DATA holds clinc/data_full.json and models/all-MiniLM-L6-v2. Servers are measured in turn, one at a
time, several rounds of it, each with the same two threads; the figure of a server is the median of
its rounds. Prints a table, and the rounds as JSON.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sngp_model(arguments, data, folder):
    """MiniLM, frozen, with a Gaussian process for the intents of CLINC."""
    rows = json.loads((data / "clinc/data_full.json").read_text())
    with open(folder / "train.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text", "intent"]] + rows["train"][::5])
    subprocess.run(
        [arguments.sngp, "train", "--quiet", "--data", folder / "train.csv", "--label", "intent",
         "--encoder", data / "models/all-MiniLM-L6-v2", "--out", folder / "minilm"],
        check=True,
    )
    with open(folder / "rows.jsonl", "w") as file:
        for text, _ in rows["test"][:1000]:
            file.write(json.dumps({"text": text}) + "\n")


def servers(arguments, data, folder):
    peer = [sys.executable, "-m", "uvicorn", "--app-dir", str(ROOT / "benches/serve"), "peer:app",
            "--log-level", "warning"]
    environment = {**os.environ, "ENCODER": str(data / "models/all-MiniLM-L6-v2"), "THREADS": "2"}
    return {
        "sngp serve": ([arguments.sngp, "serve", folder / "minilm", "--threads", "2", "--port",
                        "9000", "--no-grpc", "--log", "quiet"], environment, 9000),
        "FastAPI, PyTorch": (peer + ["--port", "9001"], {**environment, "PEER": "torch"}, 9001),
        "FastAPI, ONNX Runtime": (peer + ["--port", "9002"], {**environment, "PEER": "onnx"}, 9002),
    }


def measure(arguments, command, environment, port, folder):
    started = subprocess.Popen([str(part) for part in command], env=environment)
    try:
        url = f"http://127.0.0.1:{port}/v1/predict"
        for _ in range(300):
            try:
                request = urllib.request.Request(
                    url, b'{"text": "hello"}', {"content-type": "application/json"}
                )
                urllib.request.urlopen(request, timeout=30).read()
                break
            except OSError:
                time.sleep(0.2)
        load = [arguments.sngp, "loadtest", url, "--body", folder / "rows.jsonl", "--json",
                "--clients", str(arguments.clients), "--seconds"]
        subprocess.run([*load, "3"], check=True, capture_output=True)  # warm
        done = subprocess.run([*load, str(arguments.seconds)], check=True, capture_output=True)
        return json.loads(done.stdout)
    finally:
        started.terminate()
        started.wait(60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--sngp", default=str(ROOT / "target/release/sngp"))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64)
    arguments = parser.parse_args()
    data = arguments.data.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sngp_model(arguments, data, folder)
        all_servers, rounds = servers(arguments, data, folder), {}
        for _ in range(arguments.rounds):
            for name, (command, environment, port) in all_servers.items():
                found = measure(arguments, command, environment, port, folder)
                rounds.setdefault(name, []).append(found)
    print("| server | requests/s | median ms | p99 ms |\n| --- | --- | --- | --- |")
    for name, found in rounds.items():
        speed = statistics.median(one["requests_per_second"] for one in found)
        half, most = (
            statistics.median(one["milliseconds"][rank] for one in found) for rank in ["p50", "p99"]
        )
        print(f"| {name} | {speed:.0f} | {half:.1f} | {most:.1f} |")
    print(json.dumps(rounds))


if __name__ == "__main__":
    main()
