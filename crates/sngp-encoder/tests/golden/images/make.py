"""Known answers of networks of images, small and with random weights. Needs torch, transformers and safetensors.

    python3 make.py [KIND..]

Each folder is what `save_pretrained` writes, with `preprocessor_config.json`; `expected.json` has the bytes of images
of the network's size and what transformers makes of them: the vector that describes each, and a classifier's logits.
"""
import json
import sys
from pathlib import Path

import torch
from transformers import (
    CLIPVisionConfig, CLIPVisionModel, DeiTConfig, DeiTForImageClassification, Dinov2Config,
    Dinov2ForImageClassification, Dinov2WithRegistersConfig, Dinov2WithRegistersModel, ResNetConfig,
    ResNetForImageClassification, ResNetModel, ViTConfig, ViTForImageClassification, ViTModel,
)

HERE = Path(__file__).resolve().parent
COMMON = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2)
SMALL = dict(embedding_size=8, hidden_sizes=[12, 16], depths=[2, 1])
LABELS = dict(id2label={0: "oak", 1: "elm", 2: "ash"}, label2id={"oak": 0, "elm": 1, "ash": 2})
# Name, class, configuration, side of the images that go in.
KINDS = {
    "vit": (ViTForImageClassification, ViTConfig(**COMMON, **LABELS, intermediate_size=24, image_size=12, patch_size=4), 12),
    "vit-body": (ViTModel, ViTConfig(**COMMON, intermediate_size=24, image_size=12, patch_size=4, qkv_bias=False), 12),
    "deit": (DeiTForImageClassification, DeiTConfig(**COMMON, **LABELS, intermediate_size=24, image_size=8, patch_size=4), 8),
    # Trained on images of another size: positions are resized.
    "dinov2": (Dinov2ForImageClassification, Dinov2Config(**COMMON, **LABELS, mlp_ratio=2, image_size=20, patch_size=4), 12),
    "registers": (Dinov2WithRegistersModel, Dinov2WithRegistersConfig(
        **COMMON, mlp_ratio=2, image_size=24, patch_size=4, num_register_tokens=3), 12),
    "clip": (CLIPVisionModel, CLIPVisionConfig(**COMMON, intermediate_size=24, image_size=12, patch_size=4), 12),
    "resnet": (ResNetForImageClassification, ResNetConfig(**SMALL, **LABELS, layer_type="bottleneck"), 32),
    "resnet-basic": (ResNetModel, ResNetConfig(**SMALL, layer_type="basic", downsample_in_first_stage=True), 32),
}


@torch.no_grad()
def randomise(model, seed):
    """Every parameter and moment random, so that a wrong one shows."""
    draw = torch.Generator().manual_seed(seed)
    for name, tensor in sorted([*model.named_parameters(), *model.named_buffers()]):
        if not tensor.is_floating_point():
            continue
        noise = torch.randn(tensor.shape, generator=draw)
        if "running_var" in name:
            tensor.copy_(0.5 + noise.abs())
        elif tensor.dim() == 1 and name.endswith("weight") or "lambda" in name:
            tensor.copy_(1 + 0.3 * noise)
        elif tensor.dim() == 4:
            tensor.copy_(noise * (2.0 / tensor[0].numel()) ** 0.5)
        else:
            tensor.copy_(0.3 * noise)


@torch.no_grad()
def make(name, seed):
    kind, config, side = KINDS[name]
    folder = HERE / name
    model = kind(config)
    randomise(model, seed)
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    mean, scale = [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"do_resize": True, "size": {"height": side, "width": side}, "resample": 2, "image_mean": mean, "image_std": scale}))
    model = kind.from_pretrained(folder, attn_implementation="eager").eval() if "resnet" not in name else kind.from_pretrained(folder).eval()
    draw = torch.Generator().manual_seed(seed + 100)
    images = torch.randint(0, 256, (3, side, side, 3), generator=draw, dtype=torch.uint8)
    pixels = (images.float() / 255 - torch.tensor(mean)) / torch.tensor(scale)
    pixels = pixels.permute(0, 3, 1, 2)
    body = model.base_model if hasattr(model, "classifier") else model
    found = body(pixel_values=pixels)
    if "resnet" in name:
        vectors = found.pooler_output.flatten(1)
    elif name == "clip":
        vectors = found.pooler_output
    else:
        vectors = found.last_hidden_state[:, 0]
    expected = {"images": [image.flatten().tolist() for image in images], "vectors": vectors.tolist()}
    if hasattr(model, "classifier"):
        expected["logits"] = model(pixel_values=pixels).logits.tolist()
    (folder / "expected.json").write_text(json.dumps(expected))
    print(name, tuple(vectors.shape), float(vectors.abs().mean()))


for seed, name in enumerate(KINDS):
    if not sys.argv[1:] or name in sys.argv[1:]:
        make(name, seed)
