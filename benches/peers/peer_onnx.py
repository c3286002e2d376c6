"""The ONNX Runtime worker: the PyTorch networks, exported."""

import logging
import tempfile
import warnings
from pathlib import Path

import numpy
import onnxruntime
import torch
from onnxruntime.transformers import optimizer

import models
from protocol import THREADS, serve

# The newest operators, of which attention is one; the optimizer below knows up to 20.
OPSET, OPTIMIZER_OPSET = 23, 20


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def exported(module, x, opset=OPSET, rewrite=None):
    """A step that runs the exported module, after a check that it computes what PyTorch does."""
    with torch.inference_mode():
        expected = module(x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model.onnx"))
        torch.onnx.export(
            module, (x,), path, input_names=["x"], opset_version=opset, dynamo=True, verbose=False
        )
        if rewrite is not None:
            rewrite(path)
        runner = session(path)
    # Bound once, so that the conversion of Python's arguments is not part of a step.
    binding = runner.io_binding()
    binding.bind_cpu_input("x", x.numpy())
    for output in runner.get_outputs():
        binding.bind_output(output.name)

    def step():
        runner.run_with_iobinding(binding)

    step()
    for found, wanted in zip(binding.copy_outputs_to_cpu(), expected, strict=True):
        numpy.testing.assert_allclose(found, wanted.numpy(), rtol=1e-3, atol=1e-3)
    return step


def predict_with_variance(build, *shape):
    def prepare():
        torch.manual_seed(0)
        x = torch.randn(shape)
        forms = models.predictors(build())
        return {form: exported(module, x) for form, module in forms.items()}

    return prepare


def encode(build, *shape):
    def prepare():
        torch.manual_seed(0)
        module, x = build().eval(), torch.randn(shape)

        def fuse(path):
            # Level 0: nothing is fused before the optimizer's own patterns have had their turn.
            fused = optimizer.optimize_model(
                path,
                model_type="bert",
                num_heads=module.heads,
                hidden_size=module.width,
                opt_level=0,
            )
            attentions = fused.get_fused_operator_statistics()["Attention"]
            if attentions != len(module.layers):
                raise RuntimeError(f"{attentions} of {len(module.layers)} attentions were fused")
            fused.save_model_to_file(path)

        steps = {"exported": exported(module, x)}
        for layer in module.layers:
            layer.attention = models.written_out_attention
        steps["optimized"] = exported(module, x, OPTIMIZER_OPSET, fuse)
        return steps

    return prepare


WORKS = {
    "resffn_predict_b1": predict_with_variance(models.resffn, 1, 2),
    "resffn_predict_b256": predict_with_variance(models.resffn, 256, 2),
    "wrn28_10_predict_b1": predict_with_variance(models.wrn28_10, 1, 3, 32, 32),
    "wrn28_10_predict_b16": predict_with_variance(models.wrn28_10, 16, 3, 32, 32),
    "minilm_forward_32x32": encode(models.minilm, 32, 32, 384),
    "minilm_forward_1x12": encode(models.minilm, 1, 12, 384),
    "bert_base_forward_1x32": encode(models.bert_base, 1, 32, 768),
}

if __name__ == "__main__":
    # The exporter's remarks about its own future and about packages that are not needed here.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    serve("ONNX Runtime", onnxruntime.__version__, WORKS)
