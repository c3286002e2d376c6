"""Memory of a server under mixed traffic: all kinds of models, right and wrong requests, clients that leave.

    python3 benches/serve/mixed.py [--minutes 10] [--sngp target/release/sngp]

Trains on the guide's data, serves four models, and prints answers by status, resident memory every ten seconds, and its
slope in the second half.
"""

import argparse
import collections
import csv
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "docs/guide/data"
PORT = 9010
CLIENTS = 8


def resident(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def rows(name):
    """Rows without their labels, which stand last."""
    with open(DATA / name, newline="", encoding="utf-8") as file:
        return [dict(list(row.items())[:-1]) for row in csv.DictReader(file)]


def trained(sngp, folder):
    draw = random.Random(1)
    vectors = [[draw.gauss(label, 0.3) for _ in range(16)] for label in range(3) for _ in range(100)]
    lines = [[*map(str, vector), "abc"[row // 100]] for row, vector in enumerate(vectors)]
    table = [[f"v{place}" for place in range(16)] + ["kind"], *lines]
    (folder / "vectors.csv").write_text("\n".join(",".join(line) for line in table))
    models = {"intents": (DATA / "intents.csv", "intent"), "trees": (DATA / "trees.csv", "kind"),
              "houses": (DATA / "houses.csv", "price"), "vectors": (folder / "vectors.csv", "kind")}
    for name, (data, label) in models.items():
        task = ["--task", "regression"] if name == "houses" else []
        subprocess.run([sngp, "train", "--quiet", "--data", data, "--label", label, *task, "--out", folder / name],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [folder / name for name in models]


class Client:
    """Asks for something else each time, by a seed of its own."""

    def __init__(self, seed, seen):
        self.draw, self.seen = random.Random(seed), seen
        self.texts = [row["text"] for row in rows("test.csv")]
        self.trees, self.houses = rows("trees-test.csv"), rows("houses-test.csv")
        self.kinds = [self.sentences, self.tables, self.numbers, self.tensors, self.nonsense, self.leaving]

    def some(self, of):
        return self.draw.choices(of, k=self.draw.randint(1, 40))

    def sentences(self):
        return "intents", [{"text": text * self.draw.randint(1, 30)} for text in self.some(self.texts)]

    def tables(self):
        return "trees", [{"features": row} for row in self.some(self.trees)]

    def numbers(self):
        return "houses", [{"features": row} for row in self.some(self.houses)]

    def tensors(self):
        names = [f"v{place}" for place in range(16)]
        return "vectors", [{"features": {name: self.draw.gauss(0, 3) for name in names}} for _ in range(self.draw.randint(1, 200))]

    def nonsense(self):
        return self.draw.choice(["nobody", "trees"]), {"features": self.draw.choice([7, "x" * 100_000, {}, {"height": "tall"}])}

    def leaving(self):
        """A request whose client is gone before the answer."""
        body = json.dumps([{"text": text} for text in self.some(self.texts)]).encode()
        with socket.create_connection(("127.0.0.1", PORT)) as open_socket:
            head = f"POST /v1/models/intents/predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            open_socket.sendall(head.encode() + body[: self.draw.randint(0, len(body))])
        return None

    def run(self, ended):
        while not ended.is_set():
            wanted = self.draw.choice(self.kinds)()
            if wanted is None:
                self.seen["left"] += 1
                continue
            model, items = wanted
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
            connection.request("POST", f"/v1/models/{model}/predict", json.dumps(items), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            self.seen[answer.status] += 1
            connection.close()


def slope(points):
    """MiB a minute, by least squares."""
    times, values = zip(*points)
    middle, mean = sum(times) / len(times), sum(values) / len(values)
    above = sum((t - middle) * (v - mean) for t, v in points)
    return 60 * above / sum((t - middle) ** 2 for t in times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sngp", default=str(ROOT / "target/release/sngp"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = trained(arguments.sngp, pathlib.Path(folder))
        server = subprocess.Popen([arguments.sngp, "serve", *models, "--port", str(PORT), "--no-grpc", "--log", "quiet"])
        seen, ended, memory = collections.Counter(), threading.Event(), []
        try:
            for _ in range(100):
                try:
                    socket.create_connection(("127.0.0.1", PORT)).close()
                    break
                except OSError:
                    time.sleep(0.1)
            clients = [threading.Thread(target=Client(seed, seen).run, args=(ended,)) for seed in range(CLIENTS)]
            for client in clients:
                client.start()
            until = time.monotonic() + 60 * arguments.minutes
            while time.monotonic() < until:
                time.sleep(10)
                memory.append((time.monotonic(), resident(server.pid)))
            ended.set()
            for client in clients:
                client.join()
            print("answers", dict(seen))
            print("MiB", [round(value, 1) for _, value in memory])
            print("MiB a minute, second half:", round(slope(memory[len(memory) // 2 :]), 3))
        finally:
            server.terminate()
            print("exit", server.wait(60))


if __name__ == "__main__":
    main()
