"""Small random ONNX networks of texts and images, in operators of older versions."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 32


def save(path, nodes, weights, inputs, outputs, opset):
    initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "network", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))


def texts(path, vocabulary, seed=4):
    """Token vectors, one layer of attention over real tokens, a layer norm: opset 11."""
    draw = np.random.default_rng(seed)
    random = lambda *shape: (0.4 * draw.normal(size=shape)).astype(np.float32)
    weights = {
        "table": random(vocabulary, WIDTH), "types": random(2, WIDTH), "query": random(WIDTH, WIDTH),
        "key": random(WIDTH, WIDTH), "far": np.float32(-1e4).reshape(()), "one": np.float32(1).reshape(()),
        "little": np.float32(1e-5).reshape(()), "gain": 1 + random(WIDTH), "two": np.float32(2).reshape(()),
    }
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["words"]),
        node("Gather", ["types", "token_type_ids"], ["kinds"]),
        node("Add", ["words", "kinds"], ["tokens"]),
        node("MatMul", ["tokens", "query"], ["queries"]),
        node("MatMul", ["tokens", "key"], ["keys"]),
        node("Transpose", ["keys"], ["turned"], perm=[0, 2, 1]),
        node("MatMul", ["queries", "turned"], ["scores"]),
        node("Unsqueeze", ["attention_mask"], ["row_mask"], axes=[1]),
        node("Cast", ["row_mask"], ["real"], to=TensorProto.FLOAT),
        node("Sub", ["one", "real"], ["padding"]),
        node("Mul", ["padding", "far"], ["away"]),
        node("Add", ["scores", "away"], ["masked"]),
        node("Softmax", ["masked"], ["shares"], axis=2),
        node("MatMul", ["shares", "tokens"], ["mixed"]),
        node("Add", ["mixed", "tokens"], ["sum"]),
        node("ReduceMean", ["sum"], ["mean"], axes=[-1], keepdims=1),
        node("Sub", ["sum", "mean"], ["centred"]),
        node("Pow", ["centred", "two"], ["squares"]),
        node("ReduceMean", ["squares"], ["variance"], axes=[-1], keepdims=1),
        node("Add", ["variance", "little"], ["enough"]),
        node("Sqrt", ["enough"], ["deviation"]),
        node("Div", ["centred", "deviation"], ["normal"]),
        node("Mul", ["normal", "gain"], ["last_hidden_state"]),
    ]
    take = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"])
    inputs = [take(name) for name in ("input_ids", "attention_mask", "token_type_ids")]
    shape = ["rows", "tokens", WIDTH]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)]
    save(path, nodes, weights, inputs, outputs, 11)


def images(path, side, seed=6):
    """Two convolutions, a normalization, limits, and a classifier of five classes: opset 9."""
    draw = np.random.default_rng(seed)
    random = lambda *shape: (0.4 * draw.normal(size=shape)).astype(np.float32)
    weights = {
        "first": random(16, 3, 3, 3), "second": random(WIDTH, 16, 3, 3), "gain": 1 + random(16),
        "shift": random(16), "mean": random(16), "spread": 1 + np.abs(random(16)), "last": random(5, WIDTH),
        "bias": random(5), "flat": np.array([-1, WIDTH]),
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["images", "first"], ["edges"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["edges", "gain", "shift", "mean", "spread"], ["normal"]),
        node("Clip", ["normal"], ["limited"], min=0.0, max=6.0),
        node("Conv", ["limited", "second"], ["parts"], pads=[1, 1, 1, 1]),
        node("Relu", ["parts"], ["active"]),
        node("GlobalAveragePool", ["active"], ["pooled"]),
        node("Reshape", ["pooled", "flat"], ["vectors"]),
        node("Gemm", ["vectors", "last", "bias"], ["logits"], transB=1),
    ]
    inputs = [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["rows", 3, side, side])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", 5])]
    save(path, nodes, weights, inputs, outputs, 9)
