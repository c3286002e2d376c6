"""The networks of the benchmark, as a PyTorch user writes them; both peers take them from here."""

import math

import torch
import torch.nn.functional as F
from torch import nn

FEATURES = 1024


class ResidualFfn(nn.Module):
    """A frozen dense layer into the width, then residual dense layers."""

    def __init__(self, inputs=2, width=128, depth=12):
        super().__init__()
        self.width = width
        self.lift = nn.Linear(inputs, width).requires_grad_(False)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        h = self.lift(x)
        for layer in self.layers:
            h = h + F.relu(layer(h))
        return h


class WideBlock(nn.Module):
    """A pre-activation block; where shapes differ the shortcut starts at the activated input."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        same = inputs == outputs and stride == 1
        self.shortcut = None if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        active = F.relu(self.norm1(x))
        skip = x if self.shortcut is None else self.shortcut(active)
        return self.conv2(F.relu(self.norm2(self.conv1(active)))) + skip


class WideResNet(nn.Module):
    """The hidden representation of WRN-depth-widen: the mean over pixels, without a head."""

    def __init__(self, depth, widen):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        blocks, inputs = [], 16
        for outputs, stride in ((16 * widen, 1), (32 * widen, 2), (64 * widen, 2)):
            for index in range((depth - 4) // 6):
                blocks.append(WideBlock(inputs, outputs, stride if index == 0 else 1))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(inputs)
        self.width = inputs
        # PyTorch's own initialization lets the signal fade in an untrained network, and a
        # comparison of outputs would then see nothing.
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="linear")

    def forward(self, x):
        return F.relu(self.norm(self.blocks(self.stem(x)))).mean((2, 3))


def written_out_attention(query, key, value):
    """The same attention in single operations: what ONNX Runtime's optimizer knows how to fuse."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, -1) @ value


class EncoderLayer(nn.Module):
    """A post-norm BERT layer, without mask and dropout."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.attention = F.scaled_dot_product_attention
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x):
        batch, tokens, width = x.shape

        def split(t):
            return t.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)

        mixed = self.attention(split(self.query(x)), split(self.key(x)), split(self.value(x)))
        x = self.norm1(x + self.output(mixed.transpose(1, 2).reshape(batch, tokens, width)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class EncoderClassifier(nn.Module):
    """From embeddings [batch, tokens, width] to logits, by the mean over tokens."""

    def __init__(self, layers, width, heads, inner, classes=150):
        super().__init__()
        self.width, self.heads = width, heads
        self.layers = nn.Sequential(*(EncoderLayer(width, heads, inner) for _ in range(layers)))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.layers(x).mean(1))


class RandomFeatures(nn.Module):
    """Frozen random Fourier features of an RBF kernel."""

    def __init__(self, width):
        super().__init__()
        # Over sqrt(width): the cosine's argument stays small enough for a fast range reduction.
        self.register_buffer("weight", torch.randn(width, FEATURES) / math.sqrt(width))
        self.register_buffer("phase", torch.rand(FEATURES) * 2 * math.pi)

    def forward(self, h):
        return math.sqrt(2 / FEATURES) * torch.cos(torch.addmm(self.phase, h, self.weight))


class GpClassifier(nn.Module):
    """A body with a random-feature Gaussian process head: logits only, as in training."""

    def __init__(self, body, classes):
        super().__init__()
        self.body = body
        self.features = RandomFeatures(body.width)
        self.beta = nn.Linear(FEATURES, classes, bias=False)
        nn.init.normal_(self.beta.weight)

    def forward(self, x):
        return self.beta(self.features(self.body(x)))


class GpPredictor(nn.Module):
    """Mean-field probabilities and variance of a `GpClassifier`.

    The posterior is kept as a factor of the covariance, or as the covariance itself: the same
    variance, and which one is faster is the library's business, so both are measured.
    """

    def __init__(self, model, factor, form):
        super().__init__()
        self.model = model
        self.form = form
        self.register_buffer("posterior", factor if form == "factor" else factor @ factor.T)

    def forward(self, x):
        phi = self.model.features(self.model.body(x))
        projected = phi @ self.posterior
        variance = (projected * (projected if self.form == "factor" else phi)).sum(1)
        scale = torch.sqrt(1 + math.pi / 8 * variance)
        return torch.softmax(self.model.beta(phi) / scale[:, None], 1), variance


def resffn():
    return GpClassifier(ResidualFfn(), classes=2)


def wrn28_10():
    return GpClassifier(WideResNet(28, 10), classes=10)


def wrn16_4():
    body = WideResNet(16, 4)
    return nn.Sequential(body, nn.Linear(body.width, 10))


def minilm():
    return EncoderClassifier(layers=6, width=384, heads=12, inner=1536)


def bert_base():
    return EncoderClassifier(layers=12, width=768, heads=12, inner=3072)


def predictors(model):
    """The model with a posterior in both forms, by the name of the form."""
    factor = torch.randn(FEATURES, FEATURES) / math.sqrt(FEATURES)
    return {form: GpPredictor(model, factor, form).eval() for form in ("factor", "covariance")}
