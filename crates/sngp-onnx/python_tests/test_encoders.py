"""Somebody else's ONNX network in, one file with network and decision out."""

import csv
import json

import graphs
import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import Graph, predicted, sngp
from PIL import Image
from test_round_trip import ROWS, compare, sentences
from tokenizers import Tokenizer

SIDE = 16


@pytest.fixture(scope="module")
def texts(desk):
    folder = desk / "text-graph"
    folder.mkdir()
    tokenizer = (desk / "bert" / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(tokenizer)
    graphs.texts(folder / "model.onnx", len(json.loads(tokenizer)["model"]["vocab"]))
    sngp("train", "--quiet", "--features", "128", "--data", "intents.csv", "--label", "intent",
         "--encoder", "text-graph/model.onnx", "--max-tokens", "24", "--out", "intents-onnx", folder=desk)
    return "intents-onnx"


def test_texts(desk, texts):
    rows = sentences(desk)
    with open(desk / "odd-texts.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([text] for text in rows)
    tokenizer = Tokenizer.from_file(str(desk / texts / "tokenizer.json"))
    tokenizer.enable_truncation(24)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(rows)
    graph = Graph(texts, desk)
    ids = np.array([one.ids for one in encoded])
    mask = np.array([one.attention_mask for one in encoded])
    found = graph(input_ids=ids, attention_mask=mask)
    expected = predicted(texts, "odd-texts.csv", desk)
    hidden = np.array([set(one.tokens) <= {"[CLS]", "[SEP]", "[PAD]", "[UNK]", *"?!.,'-"} for one in encoded])
    assert not (found["accepted"] & (np.array(expected["decision"]) == "abstain")).any()
    assert {"empty_input", "unknown_words"} <= set(found["reason"])
    clear = np.flatnonzero(~hidden)
    compare(
        {name: value[clear] for name, value in found.items()},
        {name: np.array(value, dtype=object)[clear].tolist() if isinstance(value, list) else value[clear]
         for name, value in expected.items()},
        ranks=0.05,
    )


def test_images(desk):
    graphs.images(desk / "image-graph.onnx", SIDE)
    draw = np.random.default_rng(9)

    def picture(index):
        pixels = draw.integers(0, 120, (SIDE, SIDE, 3)) + (index % 2) * 110
        return pixels.astype(np.uint8)

    for index in range(400):
        folder = desk / "shades" / ["dark", "light"][index % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(index)).save(folder / f"{index}.png")
    sngp("train", "--quiet", "--features", "128", "--data", "shades", "--encoder", "image-graph.onnx",
         "--out", "shades-onnx", folder=desk)
    new = desk / "new-shades" / "any"
    new.mkdir(parents=True)
    pixels = np.array([picture(index) for index in range(ROWS)])
    pixels[700:800] = draw.integers(0, 256, (100, 1, 1, 1))
    pixels[800:900] = draw.integers(0, 256, (100, SIDE, SIDE, 3))
    for index, one in enumerate(pixels):
        Image.fromarray(one).save(new / f"{index:04}.png")
    graph = Graph("shades-onnx", desk)
    found = graph(pixels=pixels.transpose(0, 3, 1, 2))
    compare(found, predicted("shades-onnx", "new-shades", desk), ranks=0.02)


def test_a_classifier_that_abstains_gives_the_labels_it_gave(desk):
    draw = np.random.default_rng(10)
    pixels = (draw.integers(0, 200, (700, 1, 1, 3)) + draw.integers(0, 56, (700, SIDE, SIDE, 3))).astype(np.uint8)
    folder = desk / "classifier"
    folder.mkdir()
    graphs.images(folder / "model.onnx", SIDE)
    # What it gives without any preprocessing file beside it: ImageNet's units.
    units = lambda images: ((images / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225])
    inputs = units(pixels).transpose(0, 3, 1, 2).astype(np.float32)
    logits = lambda: onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, {"images": inputs})[0]
    model = onnx.load(str(folder / "model.onnx"))
    bias = next(weights for weights in model.graph.initializer if weights.name == "bias")
    even = onnx.numpy_helper.to_array(bias) - logits().mean(axis=0)
    bias.CopyFrom(onnx.numpy_helper.from_array(even.astype(np.float32), "bias"))
    onnx.save(model, str(folder / "model.onnx"))
    names = ["oak", "elm", "fir", "ash", "yew"]
    (folder / "labels.txt").write_text("\n".join(names))
    own = [names[best] for best in logits().argmax(axis=1)]
    assert len(set(own[:400])) == 5
    for index in range(400):
        # A part of the labels is not what the network says: nothing of it learns from them.
        label = own[index] if index % 9 else names[index % 5]
        (desk / "leaves" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[index]).save(desk / "leaves" / label / f"{index}.png")
    sngp("train", "--quiet", "--features", "128", "--data", "leaves", "--encoder", "classifier/model.onnx",
         "--keep-classifier", "--out", "leaves-kept", folder=desk)
    new = desk / "new-leaves" / "any"
    new.mkdir(parents=True)
    for index in range(400, 700):
        Image.fromarray(pixels[index]).save(new / f"{index}.png")
    found = Graph("leaves-kept", desk)(pixels=pixels[400:].transpose(0, 3, 1, 2))
    expected = predicted("leaves-kept", "new-leaves", desk)
    assert list(found["label"]) == own[400:] == expected["predicted"]
    compare(found, expected, ranks=0.02)


def test_one_file_has_one_version_of_operators(desk, texts):
    model = onnx.load(str(Graph(texts, desk).path))
    versions = {operators.domain: operators.version for operators in model.opset_import}
    assert versions[""] == 18
