"""The PyTorch worker."""

import copy

import torch
import torch.nn.functional as F

import models
from protocol import THREADS, serve

FORMATS = {"eager": torch.contiguous_format, "channels_last": torch.channels_last}
# On a CPU the default is a loop over the parameters.
OPTIMIZERS = {"default": {}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def adamw(parameters, **options):
    return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, **options)


def nesterov(parameters, **options):
    return torch.optim.SGD(
        parameters, lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4, **options
    )


def in_formats(module, x, formats):
    """Copies of a module and its input in each memory format, by the format's name."""
    for name in formats:
        memory = {"memory_format": FORMATS[name]}
        yield name, copy.deepcopy(module).to(**memory), x.contiguous(**memory)


def forward(module, x):
    def step():
        with torch.inference_mode():
            return module(x)

    return step


def predict(build, *shape, formats=("eager",)):
    def prepare():
        torch.manual_seed(0)
        module, x = build().eval(), torch.randn(shape)
        return {name: forward(*pair) for name, *pair in in_formats(module, x, formats)}

    return prepare


def predict_with_variance(build, *shape, formats=("eager",)):
    def prepare():
        torch.manual_seed(0)
        x = torch.randn(shape)
        return {
            f"{name}/{form}": forward(*pair)
            for form, module in models.predictors(build()).items()
            for name, *pair in in_formats(module, x, formats)
        }

    return prepare


def train(build, optimizer, classes, *shape, formats=("eager",)):
    def prepare():
        torch.manual_seed(0)
        module, x = build().train(), torch.randn(shape)
        labels = torch.randint(classes, shape[:1])

        def training_step(module, x, **options):
            trained = [p for p in module.parameters() if p.requires_grad]
            update = optimizer(trained, **options)

            def step():
                update.zero_grad()
                F.cross_entropy(module(x), labels).backward()
                update.step()

            return step

        return {
            f"{name}/{kind}": training_step(*pair, **options)
            for kind, options in OPTIMIZERS.items()
            for name, *pair in in_formats(module, x, formats)
        }

    return prepare


def laplace_update():
    torch.manual_seed(0)
    phi = torch.randn(256, 1024) / 32
    # One accumulator per variant, and no inference tensors: all are updated in place.
    as_double, promoted, in_double = (torch.eye(1024, dtype=torch.float64) for _ in range(3))

    def product_as_double():
        as_double.add_((phi.T @ phi).double())

    def product_promoted():
        promoted.add_(phi.T @ phi)

    def addmm_in_double():
        double = phi.double()
        in_double.addmm_(double.T, double)

    steps = (product_as_double, product_promoted, addmm_in_double)
    return {step.__name__: step for step in steps}


def cholesky():
    torch.manual_seed(0)
    phi = torch.randn(2048, 1024, dtype=torch.float64)
    identity = torch.eye(1024, dtype=torch.float64)
    precision = identity + phi.T @ phi / 2048

    def solve_triangular():
        return torch.linalg.solve_triangular(
            torch.linalg.cholesky(precision), identity, upper=False
        )

    def cholesky_inverse():
        return torch.cholesky_inverse(torch.linalg.cholesky(precision))

    return {step.__name__: step for step in (solve_triangular, cholesky_inverse)}


WORKS = {
    "resffn_train_b128": train(models.resffn, adamw, 2, 128, 2),
    "resffn_predict_b1": predict_with_variance(models.resffn, 1, 2),
    "resffn_predict_b256": predict_with_variance(models.resffn, 256, 2),
    "wrn28_10_predict_b1": predict_with_variance(models.wrn28_10, 1, 3, 32, 32, formats=FORMATS),
    "wrn28_10_predict_b16": predict_with_variance(models.wrn28_10, 16, 3, 32, 32, formats=FORMATS),
    "wrn16_4_train_b32": train(models.wrn16_4, nesterov, 10, 32, 3, 32, 32, formats=FORMATS),
    "minilm_forward_32x32": predict(models.minilm, 32, 32, 384),
    "minilm_train_32x32": train(models.minilm, adamw, 150, 32, 32, 384),
    "minilm_forward_1x12": predict(models.minilm, 1, 12, 384),
    "bert_base_forward_1x32": predict(models.bert_base, 1, 32, 768),
    "laplace_update_256x1024": laplace_update,
    "cholesky_1024": cholesky,
}

if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    serve("PyTorch", torch.__version__, WORKS)
