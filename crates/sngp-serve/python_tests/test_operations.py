"""What a server has to bear: nonsense, too much of it, its own end, replaced models."""

import csv
import http.client
import json
import random
import shutil
import signal
import ssl
import struct
import subprocess
import threading
import time
import urllib.request

import grpc
import pytest
from clients import Client, strings, texts
from conftest import Server, sngp
from tritonclient.utils import InferenceServerException

INFER = "/v2/models/intents/infer"


def ask(server, path, body=None, headers=None, connection=None):
    """Status, headers and body of one request."""
    one = connection or http.client.HTTPConnection(server.url, timeout=60)
    one.request("POST" if body is not None else "GET", path, body, headers or {})
    answer = one.getresponse()
    read = answer.read()
    if connection is None:
        one.close()
    return answer.status, answer.headers, read


def good_body(lines):
    tensor = {"name": "text", "datatype": "BYTES", "shape": [len(lines)], "data": lines}
    return json.dumps({"inputs": [tensor]})


def malformed(draw):
    """A request that has something wrong with it, of one of many kinds."""
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["hello"]}
    missing = draw.choice(["name", "datatype", "shape", "data"])
    wrong = draw.choice([
        lambda: {**tensor, "name": draw.choice(["", "x" * 5000, "Text", None, 7, "te\u0000xt"])},
        lambda: {**tensor, "datatype": draw.choice(["FP32", "INT8", "STRING", "", None, 3, "BOOL"])},
        lambda: {**tensor, "shape": draw.choice([[], [2], [0], [-1], [1, 7], "1", None, [2**62, 4], [1.5]])},
        lambda: {**tensor, "data": draw.choice([[], [1], ["a", "b"], [["a"], 1], {"a": 1}, None, [None], 5])},
        lambda: {**tensor, "parameters": {"binary_data_size": draw.choice([1, -1, 10**18, "4", None])}},
        lambda: {**tensor, "parameters": {"shared_memory_region": "r"}},
        lambda: {key: value for key, value in tensor.items() if key != missing},
    ])
    kind = draw.randrange(8)
    if kind == 0:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(200))), {}
    if kind == 1:
        whole = good_body(["hello"]).encode()
        return whole[: draw.randrange(len(whole))], {}
    if kind == 2:
        return b"[" * draw.randrange(1, 3000), {}
    if kind == 3:
        length = draw.choice(["-1", "x", "999999", "1", ""])
        return good_body(["hello"]).encode(), {"Inference-Header-Content-Length": length}
    if kind == 4:
        return good_body(["hello"]).encode(), {"Content-Encoding": draw.choice(["gzip", "deflate", "br"])}
    if kind == 5:
        head = json.dumps({"inputs": [{**tensor, "data": None, "parameters": {"binary_data_size": 12}}]})
        head = head.replace('"data": null, ', "")
        tail = struct.pack("<I", draw.choice([9, 100, 2**32 - 1])) + b"\xff" * 8
        return head.encode() + tail, {"Inference-Header-Content-Length": str(len(head))}
    if kind == 6:
        outputs = draw.choice([[{"name": "none"}], [{}], "all", [{"name": "label"}, {"name": "label"}]])
        return json.dumps({"inputs": [tensor], "outputs": outputs}).encode(), {}
    return json.dumps({"inputs": [wrong()]}).encode(), {}


def test_ten_thousand_malformed_requests(desk):
    server = Server(desk / "intents")
    draw = random.Random(7)
    connection = http.client.HTTPConnection(server.url, timeout=60)
    ask(server, INFER, good_body(["hello"]), connection=connection)
    for _ in range(500):  # caches and pools fill up first
        ask(server, INFER, *malformed(draw), connection=connection)
    before = server.rss()
    for _ in range(10_000):
        body, headers = malformed(draw)
        status, _, answer = ask(server, INFER, body, headers, connection)
        assert 400 <= status < 500, (status, body, headers, answer)
        assert json.loads(answer)["error"], body
    after = server.rss()
    assert after < before + (32 << 20), (before, after)
    status, _, answer = ask(server, INFER, good_body(["hello"]), connection=connection)
    assert status == 200 and json.loads(answer)["outputs"]
    assert server.stop() == 0
    assert not any("panicked" in line for line in server.lines)


def test_malformed_messages_over_grpc(server):
    channel = grpc.insecure_channel(server.grpc)
    raw = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    draw = random.Random(8)
    for _ in range(500):
        message = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 60)))
        with pytest.raises(grpc.RpcError) as raised:
            raw(message, timeout=30)
        assert raised.value.code() in [
            grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INTERNAL,
        ], raised.value
    channel.close()
    assert Client(server, "grpc").client.is_server_live()


def test_health_and_reflection_over_grpc(server):
    channel = grpc.insecure_channel(server.grpc)
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    assert check(b"", timeout=30) == b"\x08\x01", "SERVING"
    name = b"inference.GRPCInferenceService"
    assert check(b"\x0a" + bytes([len(name)]) + name, timeout=30) == b"\x08\x01"
    for version in ["v1", "v1alpha"]:
        method = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
        answers = channel.stream_stream(method)(iter([b"\x3a\x00"]), timeout=30)
        assert name in next(iter(answers))
    channel.close()


def test_overload_is_refused_and_memory_stays(desk):
    server = Server(desk / "intents", "--max-requests", "4", "--max-queue", "64")
    body = good_body(["move 100 dollars to savings"] * 32)
    stop, codes, lock = time.monotonic() + 8, {}, threading.Lock()

    def client():
        connection = http.client.HTTPConnection(server.url, timeout=60)
        while time.monotonic() < stop:
            try:
                status, headers, _ = ask(server, INFER, body, connection=connection)
            except (http.client.HTTPException, OSError):
                connection.close()
                status, headers = "closed", {}
            if status == 429:
                assert headers["Retry-After"] == "1"
            with lock:
                codes[status] = codes.get(status, 0) + 1

    ask(server, INFER, body)
    threads = [threading.Thread(target=client) for _ in range(40)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    before = server.rss()
    waited = []
    while time.monotonic() < stop - 0.5:
        started = time.monotonic()
        assert ask(server, "/v2/health/ready")[0] == 200
        waited.append(time.monotonic() - started)
        time.sleep(0.2)
    after = server.rss()
    for thread in threads:
        thread.join()
    assert set(codes) <= {200, 429, "closed"}, codes
    assert codes[200] > 0 and codes[429] > 0, codes
    assert after < before + (64 << 20), (before, after)
    assert server.stop() == 0


def test_sigterm_under_load_answers_everything_accepted(desk):
    server = Server(desk / "intents")
    body = good_body(["move 100 dollars to savings"] * 200)
    asked, lock, results = threading.Event(), threading.Lock(), []

    def client():
        connection = http.client.HTTPConnection(server.url, timeout=60)
        while True:
            try:
                connection.connect()
            except OSError:
                return
            try:
                status, _, answer = ask(server, INFER, body, connection=connection)
            except (http.client.HTTPException, OSError) as error:
                with lock:
                    results.append(error)
                return
            with lock:
                results.append(status)
            asked.set()
            connection.close()
            if status != 200:
                return

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    asked.wait(60)
    assert server.stop() == 0
    for thread in threads:
        thread.join()
    # Accepted is what was read: a connection that was not yet may be reset by the closed listener.
    broken = [result for result in results if result not in (200, 503)]
    assert all(isinstance(error, (ConnectionError, http.client.RemoteDisconnected)) for error in broken)
    begun = sum('"path":"/v2/models/intents/infer"' in line for line in server.lines)
    assert begun == sum(result in (200, 503) for result in results), (begun, results)
    assert results.count(200) >= 8


def test_replaced_folders_are_taken_into_service(desk, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(desk / "intents", model)
    server = Server(f"intents={model}")
    client = Client(server, "http")
    inputs = [client.tensor("text", texts(["hello there"]), "BYTES")]
    before = client.infer("intents", inputs).as_numpy("uncertainty")[0]
    sngp("train", "--quiet", "--features", "64", "--data", "intents.csv", "--label", "intent",
         "--out", model, "--force", "--seed", "5", folder=desk)
    server.process.send_signal(signal.SIGHUP)
    wait(lambda: any("model replaced" in line for line in server.lines))
    after = client.infer("intents", inputs).as_numpy("uncertainty")[0]
    assert after != before
    (model / "labels.json").write_text("[]")
    server.process.send_signal(signal.SIGHUP)
    wait(lambda: any("the old one stays" in line for line in server.lines))
    assert client.infer("intents", inputs).as_numpy("uncertainty")[0] == after
    assert server.stop() == 0


def test_watched_folders_too(desk, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(desk / "intents", model)
    server = Server(f"intents={model}", "--watch", "1")
    sngp("train", "--quiet", "--features", "64", "--data", "intents.csv", "--label", "intent",
         "--out", model, "--force", "--seed", "5", folder=desk)
    wait(lambda: any("model replaced" in line for line in server.lines))
    assert server.stop() == 0


def wait(done, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_the_key_over_both_protocols(desk):
    server = Server(desk / "intents", environment={"SNGP_API_KEY": "secret"})
    for kind in ["http", "grpc"]:
        client = Client(server, kind)
        inputs = [client.tensor("text", texts(["hello"]), "BYTES")]
        assert client.client.is_server_ready()
        with pytest.raises(InferenceServerException) as raised:
            client.infer("intents", inputs)
        assert raised.value.status() in ["401", "StatusCode.UNAUTHENTICATED"]
        headers = {"authorization": "Bearer secret"}
        assert strings(client.infer("intents", inputs, headers=headers), "decision")
    assert server.stop() == 0


def test_tls(desk, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )
    server = Server(desk / "intents", "--tls-cert", certificate, "--tls-key", key)
    context = ssl.create_default_context(cafile=certificate)
    with urllib.request.urlopen(f"https://{server.url}/v2", context=context) as answer:
        assert json.load(answer)["name"] == "sngp"
    import tritonclient.grpc as triton

    client = triton.InferenceServerClient(
        server.grpc.replace("127.0.0.1", "localhost"), ssl=True, root_certificates=str(certificate)
    )
    assert client.is_server_live()
    assert server.stop() == 0


def test_people_ask_with_curl(server, desk):
    status, _, body = ask(server, "/v1/predict", '{"text": "translate hello into french"}')
    answer = json.loads(body)
    assert status == 200 and answer["label"] == "translate" and answer["decision"] == "accept"
    tree = {"height": 16.9, "girth": 1.04, "leaf": 8.7, "soil": "loam", "age": 22}
    status, _, body = ask(server, "/v1/models/trees/predict", json.dumps([{"features": tree}] * 3))
    assert [row["label"] for row in json.loads(body)] == ["ash"] * 3
    image = next((desk / "pictures/dark").glob("*.png")).read_bytes()
    status, _, body = ask(server, "/v1/models/pictures/predict", image, {"Content-Type": "image/png"})
    assert status == 200 and json.loads(body)["label"] == "dark"
    document = json.loads(ask(server, "/openapi.json")[2])
    assert document["openapi"].startswith("3.") and "/v1/predict" in document["paths"]


def test_drift_is_seen(desk, tmp_path):
    # Rows of one file, in a random order: those that are asked are like those held out.
    rows = list(csv.DictReader(open(desk / "intents.csv")))
    random.Random(3).shuffle(rows)
    with open(tmp_path / "part.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text", "intent"]] + [list(row.values()) for row in rows[:600]])
    sngp("train", "--quiet", "--features", "128", "--data", "part.csv", "--label", "intent",
         "--out", "part", folder=tmp_path)
    server = Server(tmp_path / "part")
    client = Client(server, "http")

    def drift():
        text = ask(server, "/metrics")[2].decode()
        lines = [line for line in text.splitlines() if line.startswith("sngp_drift_p_value")]
        return float(lines[0].split()[-1]) if lines else None

    assert drift() is None, "nothing was asked yet"
    usual = [row["text"] for row in rows[600:]]
    client.infer("part", [client.tensor("text", texts(usual), "BYTES")])
    like = drift()
    assert like > 0.01, like
    chatter = [row["text"] for row in csv.DictReader(open(desk / "chatter.csv"))]
    client.infer("part", [client.tensor("text", texts((chatter * 9)[:300]), "BYTES")])
    assert drift() < 1e-6 < like
    assert server.stop() == 0
