"""One epoch of fine-tuning MiniLM on CLINC, here and in PyTorch, in turns.

    python3 benches/peers/finetune.py DATA [--sentences 15000] [--rounds 1] [--docs docs]

DATA holds clinc/data_full.json and models/all-MiniLM-L6-v2. Needs torch, tokenizers and safetensors
(the environment of run.py has them, or SNGP_PEERS_VENV). Both sides train every parameter with
AdamW (PyTorch's fused one), gradient clipping, dropout 0.1 and batches of 32 sentences of like
length, padded to the longest.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BATCH, WINDOW, DROPOUT = 32, 50, 0.1


def torch_epoch(data, count, threads):
    """Trains one epoch in this process; seconds, mean loss and padded tokens."""
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    folder = data / "models/all-MiniLM-L6-v2"
    weights = load_file(folder / "model.safetensors")
    width, heads = 384, 12

    def linear(name):
        layer = nn.Linear(1, 1)
        layer.weight = nn.Parameter(weights[f"{name}.weight"].clone())
        layer.bias = nn.Parameter(weights[f"{name}.bias"].clone())
        return layer

    def norm(name):
        layer = nn.LayerNorm(width, eps=1e-12)
        layer.load_state_dict({part: weights[f"{name}.{part}"] for part in ("weight", "bias")})
        return layer

    class Layer(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.query, self.key, self.value = (
                linear(f"{name}.attention.self.{part}") for part in ("query", "key", "value")
            )
            self.output = linear(f"{name}.attention.output.dense")
            self.norm1 = norm(f"{name}.attention.output.LayerNorm")
            self.up = linear(f"{name}.intermediate.dense")
            self.down = linear(f"{name}.output.dense")
            self.norm2 = norm(f"{name}.output.LayerNorm")

        def forward(self, x, mask):
            batch, tokens, _ = x.shape

            def split(t):
                return t.view(batch, tokens, heads, width // heads).transpose(1, 2)

            mixed = F.scaled_dot_product_attention(
                split(self.query(x)), split(self.key(x)), split(self.value(x)),
                attn_mask=mask, dropout_p=DROPOUT,
            ).transpose(1, 2).reshape(batch, tokens, width)
            x = self.norm1(x + F.dropout(self.output(mixed), DROPOUT))
            return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), DROPOUT))

    class Classifier(nn.Module):
        def __init__(self, classes):
            super().__init__()
            table = {name: f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")}
            self.words, self.positions, self.types = (
                nn.Embedding.from_pretrained(weights[name].clone(), freeze=False) for name in table.values()
            )
            self.norm = norm("embeddings.LayerNorm")
            self.layers = nn.ModuleList(Layer(f"encoder.layer.{index}") for index in range(6))
            self.pooler = nn.Linear(width, width)
            nn.init.eye_(self.pooler.weight)
            nn.init.zeros_(self.pooler.bias)
            self.head = nn.Linear(width, classes)

        def forward(self, ids, real):
            places = torch.arange(ids.shape[1])
            x = self.words(ids) + self.positions(places) + self.types.weight[0]
            x = F.dropout(self.norm(x), DROPOUT)
            mask = None if real.all() else real[:, None, None, :]
            for layer in self.layers:
                x = layer(x, mask)
            share = real / real.sum(1, keepdim=True)
            return self.head(self.pooler((x * share[:, :, None]).sum(1)))

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(32)
    train = json.loads((data / "clinc/data_full.json").read_text())["train"]
    train = train[:: max(len(train) // count, 1)][:count]
    names = sorted({label for _, label in train})
    labels = torch.tensor([names.index(label) for _, label in train])
    sentences = [encoding.ids for encoding in tokenizer.encode_batch([text for text, _ in train])]

    chance = random.Random(0)
    order = list(range(len(sentences)))
    chance.shuffle(order)
    batches = []
    for start in range(0, len(order), BATCH * WINDOW):
        window = sorted(order[start : start + BATCH * WINDOW], key=lambda row: len(sentences[row]))
        batches += [window[at : at + BATCH] for at in range(0, len(window), BATCH)]
    chance.shuffle(batches)

    model = Classifier(len(names))
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, fused=True)
    warm_up = max(len(batches) // 10, 1)

    def rate(step):
        return min((step + 1) / warm_up, (len(batches) - step) / max(len(batches) - warm_up, 1))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    total, tokens, started = 0.0, 0, time.perf_counter()
    for rows in batches:
        longest = max(len(sentences[row]) for row in rows)
        ids = torch.tensor([sentences[row] + [0] * (longest - len(sentences[row])) for row in rows])
        real = torch.tensor([[at < len(sentences[row]) for at in range(longest)] for row in rows])
        loss = F.cross_entropy(model(ids, real), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        schedule.step()
        total += loss.item() * len(rows)
        tokens += ids.numel()
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "loss": total / len(sentences), "tokens": tokens, "torch": torch.__version__}


def child(command, threads):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = {**os.environ, **{name: str(threads) for name in names}}
    output = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(output.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--sentences", type=int, default=15000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        print(json.dumps(torch_epoch(args.data, args.sentences, args.threads)))
        return
    venv = pathlib.Path(os.environ.get("SNGP_PEERS_VENV", ROOT / "target/peers/venv"))
    python = venv / "bin/python" if venv.exists() else pathlib.Path(sys.executable)
    binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/sngp-finetune"
    if not binary.exists():
        sys.exit(f"{binary} is missing: cargo build --release --workspace")
    ours_command = [str(binary), str(args.data), str(args.sentences)]
    peer_command = [str(python), __file__, str(args.data), "--peer", "--sentences", str(args.sentences),
                    "--threads", str(args.threads)]
    rounds = []
    for number in range(args.rounds):
        ours, peer = child(ours_command, args.threads), child(peer_command, args.threads)
        rounds.append({"ours": ours, "pytorch": peer})
        print(f"round {number + 1}: ours {ours}, PyTorch {peer}", file=sys.stderr)
    best = {who: min(run[who]["seconds"] for run in rounds) for who in ("ours", "pytorch")}
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    report = {
        "command": f"python3 benches/peers/finetune.py DATA --sentences {args.sentences} --rounds {args.rounds}",
        "commit": commit.stdout.strip(),
        "cpu": f"{cpu}, {args.threads} threads",
        "sentences": args.sentences,
        "ratio": best["ours"] / best["pytorch"],
        "rounds": rounds,
    }
    (args.docs / "finetune.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"ours {best['ours']:.1f} s, PyTorch {best['pytorch']:.1f} s, ratio {report['ratio']:.3f} (goal 0.9)")


if __name__ == "__main__":
    main()
