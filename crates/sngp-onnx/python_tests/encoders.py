"""Small random text encoders in Hugging Face's layout, with a tokenizer of their own words."""

import csv
import json
import re

import numpy as np
from safetensors.numpy import save_file

WIDTH, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 4, 64, 40
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write(folder, kind, texts):
    folder.mkdir()
    with open(texts) as file:
        words = {word for row in csv.DictReader(file) for word in re.findall(r"\w+", row["text"])}
    vocabulary = MARKS + sorted(words) + list("?!.,'-")
    ids = {word: index for index, word in enumerate(vocabulary)}
    mark = lambda name: {"id": name, "ids": [ids[name]], "tokens": [name]}
    end = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    ends = [end("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, end("[SEP]")]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": ids[name], "content": name, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True} for name in MARKS
        ],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": ends, "pair": ends,
                           "special_tokens": {name: mark(name) for name in ("[CLS]", "[SEP]")}},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ids},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {
        "model_type": kind, "vocab_size": len(vocabulary), "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS, "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights(kind, len(vocabulary)), folder / "model.safetensors")


def weights(kind, vocabulary):
    draw = np.random.default_rng(3)
    random = lambda *shape: (0.3 * draw.normal(size=shape)).astype(np.float32)
    made = {}

    def dense(name, outputs, inputs):
        made[f"{name}.weight"], made[f"{name}.bias"] = random(outputs, inputs), random(outputs)

    def norm(name):
        made[f"{name}.weight"], made[f"{name}.bias"] = 1 + random(WIDTH), random(WIDTH)

    mpnet = kind == "mpnet"
    made["embeddings.word_embeddings.weight"] = random(vocabulary, WIDTH)
    made["embeddings.position_embeddings.weight"] = random(POSITIONS, WIDTH)
    if mpnet:
        made["encoder.relative_attention_bias.weight"] = random(32, HEADS)
    else:
        made["embeddings.token_type_embeddings.weight"] = random(2, WIDTH)
    norm("embeddings.LayerNorm")
    attention = (
        ["attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o", "attention.LayerNorm"]
        if mpnet else
        ["attention.self.query", "attention.self.key", "attention.self.value",
         "attention.output.dense", "attention.output.LayerNorm"]
    )
    for layer in range(LAYERS):
        path = f"encoder.layer.{layer}"
        for name in attention[:4]:
            dense(f"{path}.{name}", WIDTH, WIDTH)
        norm(f"{path}.{attention[4]}")
        dense(f"{path}.intermediate.dense", INNER, WIDTH)
        dense(f"{path}.output.dense", WIDTH, INNER)
        norm(f"{path}.output.LayerNorm")
    return made
