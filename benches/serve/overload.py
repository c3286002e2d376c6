"""Ten times what a server can bear, and its memory over a longer time.

    python3 benches/serve/overload.py MODEL BODY.json [--minutes 2] [--sngp target/release/sngp]

BODY is one request to /v1/predict. First one client alone, for the time a request takes; then ten
times as many clients as requests that are worked on. Prints codes, percentiles, and resident memory
every ten seconds with its slope.
"""

import argparse
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


def resident(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("body")
    parser.add_argument("--sngp", default=str(ROOT / "target/release/sngp"))
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--places", type=int, default=16)
    arguments = parser.parse_args()
    server = subprocess.Popen([arguments.sngp, "serve", arguments.model, "--port", "9000",
                               "--no-grpc", "--log", "quiet", "--max-requests",
                               str(arguments.places)])
    url = "http://127.0.0.1:9000/v1/predict"
    memory, ended = [], threading.Event()

    def watch():
        while not ended.wait(10):
            memory.append((time.monotonic(), resident(server.pid)))

    def load(clients, seconds):
        done = subprocess.run([arguments.sngp, "loadtest", url, "--body", arguments.body,
                               "--clients", str(clients), "--seconds", str(seconds), "--json"],
                              check=True, capture_output=True)
        return json.loads(done.stdout)

    try:
        for _ in range(100):
            try:
                urllib.request.urlopen("http://127.0.0.1:9000/v2/health/ready").read()
                break
            except OSError:
                time.sleep(0.1)
        print("alone", json.dumps(load(1, 10)))
        print("full", json.dumps(load(arguments.places, 10)))
        threading.Thread(target=watch, daemon=True).start()
        print("overload", json.dumps(load(10 * arguments.places, int(60 * arguments.minutes))))
        ended.set()
        print("MiB", [round(value, 1) for _, value in memory])
        if len(memory) > 2:
            half = memory[len(memory) // 2 :]
            minutes = (half[-1][0] - half[0][0]) / 60 or 1
            print("MiB a minute, second half:", round((half[-1][1] - half[0][1]) / minutes, 2))
    finally:
        server.terminate()
        print("exit", server.wait(60))


if __name__ == "__main__":
    main()
