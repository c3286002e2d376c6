"""Exported models in ONNX Runtime answer as `sngp predict` does."""

import csv
import json

import numpy as np
import pytest
from conftest import Graph, predicted, sngp
from PIL import Image
from tokenizers import Tokenizer

ROWS = 1000


def compare(found, expected, ranks=0.0):
    """Labels, probabilities and decisions are the same, and uncertainties to 1e-4. Where those are
    made of ranks among held-out values, a value that is one of them but for rounding may have the
    next rank: `ranks` is the share of rows that may, by how much at most."""
    codes = [reason.split(":")[0] for reason in expected["reason"]]
    assert list(found["decision"]) == expected["decision"]
    assert list(found["reason"]) == codes
    assert (found["accepted"] == (found["decision"] == "accept")).all()
    np.testing.assert_allclose(found["probabilities"], expected["probabilities"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found["probability"], expected["probability"], rtol=0, atol=1e-5)
    same = np.isclose(found["uncertainty"], expected["uncertainty"], rtol=1e-4, atol=1e-5, equal_nan=True)
    assert (~same).mean() <= ranks
    assert np.abs(found["uncertainty"] - expected["uncertainty"])[~same].max(initial=0) < 0.2
    ordered = np.sort(np.nan_to_num(expected["probabilities"]), axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-5
    labels = np.array(expected["predicted"], dtype=object)
    nothing = labels == ""
    assert (found["label"][clear] == labels[clear]).all()
    assert (found["label_index"][nothing] == -1).all() and (found["label"][nothing] == "").all()
    # The rows are of every sort, or nothing was tried.
    assert {"accept", "abstain"} <= set(found["decision"])


def odd_vectors(width, seed=2):
    """Rows like the training data, far from it, of nothing, and of what is no number."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(4, width))
    rows = centres[np.arange(ROWS) % 4] + 0.6 * draw.normal(size=(ROWS, width))
    rows[600:700] = draw.normal(size=(100, width))
    rows[700:750] *= 100
    rows[750:800] = 1e4 * draw.normal(size=(50, width))
    rows[800:820] = 1e30 * draw.normal(size=(20, width))
    rows[820:840] *= 1e-6
    rows[840:850] = 0
    rows[850:860] = 7
    rows = rows.astype(np.float32)
    rows[860:870, 3] = np.nan
    rows[870:880, 0] = np.inf
    rows[880:890] = np.nan
    rows[890:900, 5] = 3e38
    return rows


@pytest.mark.parametrize("model", [
    "vectors", "vectors-variance", "vectors-entropy", "vectors-energy", "vectors-margin",
    "vectors-dempster_shafer", "vectors-mahalanobis", "vectors-density", "vectors-vim",
])
def test_vectors(desk, model):
    rows = odd_vectors(24)
    np.savez(desk / "odd.npz", x=rows)
    graph = Graph(model, desk)
    name = graph.session.get_inputs()[0].name
    found = graph(**{name: rows})
    expected = predicted(model, "odd.npz:x", desk)
    compare(found, expected, ranks=0.02 if model == "vectors" else 0)
    assert {"", "far_from_data", "invalid_input"} <= set(found["reason"])
    if model == "vectors-variance":
        # What it decides by is the variance itself.
        np.testing.assert_allclose(found["variance"], expected["uncertainty"], rtol=0, atol=1e-5)
    # Any number of rows, and each by itself.
    one = graph(**{name: rows[:1]})
    for output, value in one.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(value[0], found[output][0], rtol=1e-5, atol=1e-6)
        else:
            assert value[0] == found[output][0]


def test_detectors_and_metadata(desk):
    graph = Graph("vectors", desk)
    outputs = {output.name: output for output in graph.session.get_outputs()}
    assert {
        "label", "label_index", "probability", "probabilities", "logits", "mean", "variance", "features",
        "entropy", "max_probability", "knn", "mahalanobis", "relative_mahalanobis", "combined",
        "uncertainty", "p_value", "input_distance", "input_excess", "accepted", "decision", "reason",
    } == set(outputs)
    assert outputs["probabilities"].shape == ["rows", 4]
    assert graph.labels == ["0", "1", "2", "3"]
    assert graph.metadata["sngp.score"] == "combined"
    decision = json.loads(graph.metadata["sngp.decision"])
    assert float(graph.metadata["sngp.threshold"]) == decision["threshold"]
    signature = json.loads(graph.metadata["sngp.signature"])
    assert signature["labels"] == graph.labels
    found = graph(**{graph.session.get_inputs()[0].name: odd_vectors(24)[:500]})
    assert (found["p_value"] > 0).all() and (found["p_value"] <= 1).all()
    accepted = found["uncertainty"] <= decision["threshold"]
    assert accepted[found["accepted"]].all()


def table_rows(path, seed=5):
    """Rows like those of a table but none of them, with values enlarged, missing and unseen."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    draw = np.random.default_rng(seed)
    made = []
    for index in range(ROWS):
        row = dict(rows[draw.integers(len(rows))])
        for column in ("height", "girth", "leaf"):
            row[column] = row[column] and repr(float(row[column]) * draw.normal(1, 0.02))
        column = list(row)[draw.integers(len(row) - 1)]
        if 300 <= index < 400:
            row[column] = ""
        elif 400 <= index < 500:
            row["soil"] = "lava"
        elif 500 <= index < 600:
            row["height"] = str(float(row["height"] or 1) * 10 ** draw.integers(1, 30))
        elif 600 <= index < 620:
            row["girth"] = "inf"
        elif 620 <= index < 700:
            row["leaf"] = str(draw.normal() * 30)
        made.append(row)
    return made


@pytest.mark.parametrize("model", ["trees", "trees-deterministic", "trees-dnn_sn", "trees-sngp_ensemble"])
def test_tables(desk, model):
    rows = table_rows(desk / "trees.csv")
    with open(desk / "odd.csv", "w") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    graph = Graph(model, desk)
    columns = {}
    for taken in graph.session.get_inputs():
        cells = [row[taken.name] for row in rows]
        columns[taken.name] = (
            np.array(cells, dtype=object) if taken.type == "tensor(string)"
            else np.array([float(cell) if cell else np.nan for cell in cells])
        )
    found = graph(**columns)
    compare(found, predicted(model, "odd.csv", desk), ranks=0.02)
    assert {"", "missing_value", "unseen_category", "invalid_input", "far_from_data"} <= set(found["reason"])


def test_rows_that_a_limit_was_set_by(desk):
    """A limit is the value of one held-out row. By rounding that row may be above it in the graph,
    which then abstains; no other decision changes."""
    with open(desk / "trees.csv") as file:
        rows = list(csv.DictReader(file))
    graph = Graph("trees", desk)
    columns = {
        taken.name: np.array([row[taken.name] for row in rows], dtype=object)
        if taken.type == "tensor(string)"
        else np.array([float(row[taken.name]) if row[taken.name] else np.nan for row in rows])
        for taken in graph.session.get_inputs()
    }
    found, expected = graph(**columns), predicted("trees", "trees.csv", desk)
    decision = json.loads(graph.metadata["sngp.decision"])
    at_threshold = np.isclose(expected["uncertainty"], decision["threshold"], rtol=1e-9)
    at_distance = np.isclose(found["variance"], decision["distance"]["threshold"], rtol=1e-6)
    differs = found["decision"] != np.array(expected["decision"])
    assert (found["decision"][differs] == "abstain").all()
    assert (at_threshold | at_distance)[differs].all()


@pytest.mark.parametrize("model, side", [("pictures-model", 12), ("wide-pictures", 8)])
def test_images(model, side, desk):
    draw = np.random.default_rng(8)
    folder = desk / f"new-{model}" / "any"
    folder.mkdir(parents=True)
    pixels = draw.integers(0, 120, (ROWS, side, side, 3)) + (np.arange(ROWS) % 2 * 110)[:, None, None, None]
    pixels[700:800] = draw.integers(0, 256, (100, 1, 1, 1))
    pixels[800:900] = draw.integers(0, 256, (100, side, side, 3))
    pixels[900:] = pixels[900:] // 8
    for index, picture in enumerate(pixels.astype(np.uint8)):
        Image.fromarray(picture).save(folder / f"{index:04}.png")
    graph = Graph(model, desk)
    found = graph(pixels=pixels.astype(np.uint8).transpose(0, 3, 1, 2))
    compare(found, predicted(model, f"new-{model}", desk), ranks=0.02)


def sentences(desk):
    """Sentences that the models have not seen, of intents and of none, and what is hardly one."""
    read = lambda name: [row["text"] for row in csv.DictReader(open(desk / name))]
    seen = read("intents.csv")
    texts = read("test.csv") + read("held-out.csv") + read("chatter.csv")
    texts += ["?!", " ... ", "", "zzqx vrrk wmpf", "☃ ☃", "balance " * 60, "zzqx ?", "a"]
    texts += [f"{text} please" for text in seen[:ROWS - len(texts)]]
    return [text for text in texts if text not in seen]


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_sentences(desk, kind):
    texts = sentences(desk)
    assert len(texts) > 0.9 * ROWS
    with open(desk / "odd-texts.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([text] for text in texts)
    model = f"intents-{kind}"
    tokenizer = Tokenizer.from_file(str(desk / model / "tokenizer.json"))
    tokenizer.enable_truncation(24)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(texts)
    graph = Graph(model, desk)
    ids = np.array([one.ids for one in encoded])
    mask = np.array([one.attention_mask for one in encoded])
    found = graph(input_ids=ids, attention_mask=mask)
    expected = predicted(model, "odd-texts.csv", desk)
    # A graph sees tokens only: what is no letter may be unknown to it, and with an unknown token
    # and no known word it abstains where the pipeline may answer. It never accepts more.
    hidden = np.array([set(one.tokens) <= {"[CLS]", "[SEP]", "[PAD]", "[UNK]", *"?!.,'-"} for one in encoded])
    assert not (found["accepted"] & (np.array(expected["decision"]) == "abstain")).any()
    assert (found["decision"][hidden] == "abstain").all()
    assert {"empty_input", "unknown_words"} <= set(found["reason"])
    clear = np.flatnonzero(~hidden)
    compare(
        {name: value[clear] for name, value in found.items()},
        {name: np.array(value, dtype=object)[clear].tolist() if isinstance(value, list) else value[clear]
         for name, value in expected.items()},
        ranks=0.05,
    )
    # A token that is none, and more tokens than the pipeline would read, spoil their row alone.
    ids[0, 1] = 10**6
    mask[1] = 0
    found = graph(input_ids=ids[:3], attention_mask=mask[:3])
    assert list(found["reason"][:2]) == ["invalid_input"] * 2
    assert found["reason"][2] != "invalid_input"
    longer = np.full((1, 30), 7)
    assert graph(input_ids=longer, attention_mask=np.ones_like(longer))["decision"][0] == "abstain"


def test_what_cannot_be_said_is_refused(desk):
    train = lambda *more: sngp("train", "--quiet", "--features", "64", *more, folder=desk)
    train("--data", "intents.csv", "--label", "intent", "--out", "ngrams")
    train("--data", "houses.csv", "--label", "price", "--task", "regression", "--out", "houses")
    train("--data", "trees.csv", "--label", "kind", "--method", "mc_dropout", "--epochs", "2", "--out", "dropped")
    for model, reason in [("ngrams", "hashed"), ("houses", "numbers"), ("dropped", "anew in every pass")]:
        said = sngp("export", model, "--out", f"{model}.onnx", folder=desk, fails=True)
        assert reason in said and len(said.strip().splitlines()) == 1, said
        assert not (desk / f"{model}.onnx").exists()


def test_a_model_that_changed_answers_nothing(desk):
    """Without rows to choose its threshold anew by, an updated model abstains; so does its graph."""
    sngp("update", "intents-bert", "--data", "held-out.csv", "--out", "changed", folder=desk)
    expected = predicted("changed", "odd-texts.csv", desk)
    assert set(expected["decision"]) == {"abstain"}
    graph = Graph("changed", desk)
    assert graph.metadata["sngp.uncalibrated"] == "true"
    ids = np.full((2, 5), 9)
    found = graph(input_ids=ids, attention_mask=np.ones_like(ids))
    assert list(found["reason"]) == ["not_calibrated"] * 2


def test_a_file_that_is_there_is_kept(desk):
    (desk / "kept.onnx").write_text("mine")
    said = sngp("export", "vectors", "--out", "kept.onnx", folder=desk, fails=True)
    assert "--force" in said and (desk / "kept.onnx").read_text() == "mine"
