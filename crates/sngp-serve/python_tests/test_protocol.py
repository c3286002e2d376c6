"""Every part of the protocol with unmodified clients, and the answers of `sngp predict`."""

import concurrent.futures
import csv

import numpy as np
import pytest
from PIL import Image
from clients import Client, strings, texts
from conftest import predicted
from open_inference.openapi.client import OpenInferenceClient
from open_inference.openapi.core.api_error import ApiError
from open_inference.openapi.errors import BadRequestError, NotFoundError
from open_inference.openapi.types import InferenceRequest
from tritonclient.utils import InferenceServerException

MODELS = ["intents", "trees", "houses", "vectors", "pictures"]


@pytest.fixture(params=["http", "grpc"])
def client(server, request):
    return Client(server, request.param)


def sentences(desk, count=40):
    with open(desk / "test.csv") as file:
        return [row["text"] for row in csv.DictReader(file)][:count]


def same(result, rows):
    """Whether an answer is what `sngp predict` said."""
    assert strings(result, "decision") == [row["decision"] for row in rows]
    assert strings(result, "reason") == [row["reason"] for row in rows]
    for output, column in [("uncertainty", "uncertainty"), ("probability", "probability")]:
        expected = np.array([float(row[column] or "nan") for row in rows])
        np.testing.assert_allclose(result.as_numpy(output), expected, rtol=0, atol=1e-6)


def test_health_and_metadata(client):
    triton = client.client
    assert triton.is_server_live() and triton.is_server_ready()
    metadata = triton.get_server_metadata()
    if client.kind == "http":
        assert metadata["name"] == "sngp" and "binary_tensor_data" in metadata["extensions"]
    else:
        assert metadata.name == "sngp" and "binary_tensor_data" in metadata.extensions
    for model in MODELS:
        assert triton.is_model_ready(model) and triton.is_model_ready(model, "1")
        triton.get_model_metadata(model, "1")
    for wrong in [("none", ""), ("intents", "7")]:
        if client.kind == "http":
            assert not triton.is_model_ready(*wrong)
        else:
            with pytest.raises(InferenceServerException) as raised:
                triton.is_model_ready(*wrong)
            assert raised.value.status() == "StatusCode.NOT_FOUND"


def test_metadata_says_the_same_over_both(server):
    http, grpc = (Client(server, kind).client for kind in ["http", "grpc"])
    for model in MODELS:
        one, other = http.get_model_metadata(model), grpc.get_model_metadata(model, as_json=True)
        for side in ["inputs", "outputs"]:
            shapes = [[int(n) for n in field["shape"]] for field in other[side]]
            assert [field["name"] for field in one[side]] == [f["name"] for f in other[side]]
            assert [field["datatype"] for field in one[side]] == [f["datatype"] for f in other[side]]
            assert [field["shape"] for field in one[side]] == shapes


@pytest.mark.parametrize("binary", [True, False])
def test_texts(client, desk, binary):
    lines = sentences(desk) + ["qwzx vrrk", ""]
    file = desk / "asked.csv"
    with open(file, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerows([["text"]] + [[line] for line in lines])
    rows = predicted("intents", file, desk)
    inputs = [client.tensor("text", texts(lines), "BYTES", binary)]
    names = ["label", "probability", "probabilities", "uncertainty", "decision", "reason"]
    result = client.infer("intents", inputs, [client.output(name, binary) for name in names])
    same(result, rows)
    assert strings(result, "label") == [row["predicted"] for row in rows]
    np.testing.assert_allclose(result.as_numpy("probabilities").sum(1), 1, atol=1e-9)
    everything = client.infer("intents", inputs)
    same(everything, rows)
    assert everything.as_numpy("logits").shape == everything.as_numpy("probabilities").shape


@pytest.mark.parametrize("binary", [True, False])
def test_tables(client, desk, binary):
    rows = predicted("trees", "trees-test.csv", desk)
    column = lambda name: [row[name] for row in rows]
    numbers = ["height", "girth", "leaf", "age"]
    inputs = []
    for place, name in enumerate(numbers):
        values = np.array([float(value or "nan") for value in column(name)])
        shape = values if place else values.reshape(-1, 1)
        if binary or client.kind == "grpc" or not np.isnan(values).any():
            inputs.append(client.tensor(name, shape, "FP64", binary))
        else:
            inputs.append(client.tensor(name, shape, "FP64", True))
    inputs.append(client.tensor("soil", texts(column("soil")), "BYTES", binary))
    result = client.infer("trees", inputs[::-1])
    same(result, rows)
    assert strings(result, "label") == column("predicted")


def test_numbers_have_intervals(client, desk):
    rows = predicted("houses", "houses-test.csv", desk)
    inputs = [
        client.tensor(name, np.array([float(row[name]) for row in rows]), "FP64")
        for name in ["area", "rooms", "distance"]
    ]
    inputs.append(client.tensor("zone", texts([row["zone"] for row in rows]), "BYTES"))
    result = client.infer("houses", inputs)
    for output, name in [("value", "predicted"), ("low", "low"), ("high", "high")]:
        expected = np.array([float(row[name]) for row in rows])
        np.testing.assert_allclose(result.as_numpy(output), expected, rtol=0, atol=1e-6)


def test_vectors_of_any_float(client, desk):
    vectors = np.load(desk / "vectors.npy")
    rows = predicted("vectors", "vectors.npy", desk)
    for datatype in ["FP32", "FP64"]:
        values = vectors.astype({"FP32": np.float32, "FP64": np.float64}[datatype])
        result = client.infer("vectors", [client.tensor(client.input_of("vectors"), values, datatype)])
        same(result, rows)
    broken = vectors[:2].copy()
    broken[0, 3] = np.nan
    result = client.infer("vectors", [client.tensor(client.input_of("vectors"), broken, "FP32")])
    assert strings(result, "decision") == ["abstain", rows[1]["decision"]]
    assert strings(result, "reason")[0].startswith("invalid_input")


def test_images_as_files_and_pixels(client, desk):
    files = sorted((desk / "pictures").glob("*/*.png"))[:6]
    name = client.input_of("pictures")
    raw = np.array([file.read_bytes() for file in files], dtype=np.object_)
    pixels = np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files])
    first = client.infer("pictures", [client.tensor(name, raw, "BYTES")])
    for values, datatype in [
        (pixels, "UINT8"),
        (pixels.transpose(0, 3, 1, 2).copy(), "UINT8"),
        ((pixels / 255).astype(np.float32), "FP32"),
    ]:
        other = client.infer("pictures", [client.tensor(name, values, datatype)])
        np.testing.assert_allclose(
            other.as_numpy("uncertainty"), first.as_numpy("uncertainty"), rtol=0, atol=1e-6
        )
    broken = client.infer("pictures", [client.tensor(name, texts(["no image"]), "BYTES")])
    assert strings(broken, "reason")[0].startswith("invalid_input")
    assert strings(first, "label") == [file.parent.name for file in files]


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression(client, desk, algorithm):
    lines = sentences(desk)
    inputs = [client.tensor("text", texts(lines), "BYTES")]
    plain = client.infer("intents", inputs)
    if client.kind == "http":
        more = {"request_compression_algorithm": algorithm, "response_compression_algorithm": algorithm}
    else:
        more = {"compression_algorithm": algorithm}
    packed = client.infer("intents", inputs, **more)
    assert strings(packed, "label") == strings(plain, "label")
    np.testing.assert_array_equal(packed.as_numpy("probabilities"), plain.as_numpy("probabilities"))


def test_ids_come_back(client):
    inputs = [client.tensor("text", texts(["hello"]), "BYTES")]
    response = client.infer("intents", inputs, request_id="seven").get_response()
    assert (response["id"] if client.kind == "http" else response.id) == "seven"
    name = response["model_name"] if client.kind == "http" else response.model_name
    assert name == "intents"


@pytest.mark.parametrize(
    "model, tensor, outputs, words, codes",
    [
        ("none", ("text", ["a"], "BYTES"), None, "model `none`", ("404", "StatusCode.NOT_FOUND")),
        ("intents", ("wrong", ["a"], "BYTES"), None, "no input `wrong`", ("400", "StatusCode.INVALID_ARGUMENT")),
        ("intents", ("text", ["a"], "BYTES"), ["none"], "no output `none`", ("400", "StatusCode.INVALID_ARGUMENT")),
        ("intents", ("text", np.ones(2, np.float32), "FP32"), None, "BYTES", ("400", "StatusCode.INVALID_ARGUMENT")),
        ("vectors", (None, np.ones((1, 5), np.float32), "FP32"), None, "[1, 16]", ("400", "StatusCode.INVALID_ARGUMENT")),
        ("trees", ("height", np.ones(2), "FP64"), None, "no input", ("400", "StatusCode.INVALID_ARGUMENT")),
        ("intents", ("text", ["a"] * 9000, "BYTES"), None, "9000 rows", ("413", "StatusCode.OUT_OF_RANGE")),
    ],
)
def test_errors(client, model, tensor, outputs, words, codes):
    name, values, datatype = tensor
    name = name or client.input_of(model)
    values = texts(values) if datatype == "BYTES" else values
    outputs = outputs and [client.output(output) for output in outputs]
    with pytest.raises(InferenceServerException) as raised:
        client.infer(model, [client.tensor(name, values, datatype)], outputs)
    assert words in raised.value.message()
    assert raised.value.status() == codes[client.kind == "grpc"]


def test_a_version_that_is_not_there(client):
    inputs = [client.tensor("text", texts(["a"]), "BYTES")]
    with pytest.raises(InferenceServerException) as raised:
        client.infer("intents", inputs, model_version="2")
    assert "version `2`" in raised.value.message()


def test_deadlines(client):
    inputs = [client.tensor("text", texts(["a"] * 8000), "BYTES")]
    with pytest.raises(InferenceServerException) as raised:
        client.infer("intents", inputs, timeout=1)
    assert raised.value.status() in ["504", "StatusCode.DEADLINE_EXCEEDED"]


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_many_at_once_get_their_own_answers(server, desk, kind):
    lines = sentences(desk, 200)
    alone = Client(server, kind)
    result = alone.infer("intents", [alone.tensor("text", texts(lines), "BYTES")])
    expected = dict(zip(lines, zip(strings(result, "label"), result.as_numpy("uncertainty"))))

    def ask(worker):
        client = Client(server, kind)
        draw = np.random.default_rng(worker)
        for _ in range(25):
            some = [lines[i] for i in draw.integers(0, len(lines), draw.integers(1, 9))]
            found = client.infer("intents", [client.tensor("text", texts(some), "BYTES")])
            for line, label, score in zip(some, strings(found, "label"), found.as_numpy("uncertainty")):
                assert label == expected[line][0]
                assert abs(score - expected[line][1]) < 1e-6
        return True

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(16)))


def test_the_open_inference_client(server):
    client = OpenInferenceClient(base_url=f"http://{server.url}")
    client.check_server_liveness()
    client.check_server_readiness()
    client.check_model_readiness("intents")
    client.check_model_version_readiness("intents", "1")
    assert client.read_server_metadata().name == "sngp"
    metadata = client.read_model_metadata("intents")
    assert metadata.inputs[0].name == "text" and metadata.versions == ["1"]
    assert client.read_model_version_metadata("intents", "1").name == "intents"
    body = {
        "id": "one",
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": ["hello", "qwzx"]}],
        "outputs": [{"name": "decision"}, {"name": "uncertainty"}],
    }
    for answer in [
        client.model_infer("intents", request=InferenceRequest.parse_obj(body)),
        client.model_version_infer("intents", "1", request=InferenceRequest.parse_obj(body)),
    ]:
        assert answer.id == "one" and answer.model_name == "intents"
        assert [output.name for output in answer.outputs] == ["decision", "uncertainty"]
        assert answer.outputs[0].shape == [2]
    with pytest.raises(NotFoundError):
        client.check_model_readiness("none")
    with pytest.raises(ApiError) as raised:
        client.read_model_metadata("none")
    assert raised.value.status_code == 404
    with pytest.raises(BadRequestError):
        body["outputs"] = [{"name": "none"}]
        client.model_infer("intents", request=InferenceRequest.parse_obj(body))
