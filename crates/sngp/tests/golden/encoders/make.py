"""Known-answer fixtures for text encoders of BERT's family (Hugging Face transformers is the reference).
Needs torch, transformers, tokenizers and safetensors.
    python3 make.py [FOLDER]      a folder of the real all-mpnet-base-v2 also makes mpnet_golden.json
    python3 make.py KIND..        only these of bert, mpnet, roberta, xlm-roberta, distilbert
"""
import json, os, sys
import torch, transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (BertConfig, BertModel, DistilBertConfig, DistilBertModel, MPNetConfig, MPNetModel,
                          RobertaConfig, RobertaModel, XLMRobertaConfig, XLMRobertaModel)

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["bert", "mpnet", "roberta", "xlm-roberta", "distilbert"]
WANTED = [a for a in sys.argv[1:] if a in KINDS]
REAL_MPNET = next((a for a in sys.argv[1:] if a not in KINDS), None)

WORDS = ["the", "cat", "dog", "sat", "on", "mat", "a", "b", "c", "e", "n", "o", "r", "s", "t", "un", "run",
         "caf", "##a", "##b", "##e", "##n", "##ning", "##s", "##t", "##able", "##r", ".", ",", "!", "'", "-",
         "\u4e2d", "red"]                                                                       # 34
BERT_VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS + ["blue"]                  # 40
MPNET_VOCAB = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]"] + WORDS + ["<mask>"]                   # 40

TEXTS = [
    "The cat sat on the mat.",
    "dog",
    "",
    # 22 pieces + 2 specials = 24 = every position either model has
    "The red cats' unable dogs, on a mat - the cat sat, running on!",
    "Caf\u00e9s! \u4e2d\u4e2d ZEBRA",            # accent stripped, CJK split, unknown word
    "A  Runner\tsat\non the DOG-mat",            # odd white space, upper case
]


def tokenizer(vocab, kind):
    unk = "[UNK]"                                # the real MPNet tokenizer's WordPiece unk is [UNK] too, not <unk>
    assert len(vocab) == len(set(vocab)) == 40
    v = {t: i for i, t in enumerate(vocab)}
    tok = Tokenizer(models.WordPiece(v, unk_token=unk, continuing_subword_prefix="##", max_input_chars_per_word=100))
    tok.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    if kind in ("bert", "distilbert"):
        tok.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in vocab[:5]])
        tok.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", v["[CLS]"]), ("[SEP]", v["[SEP]"])])
    else:
        tok.add_special_tokens(
            [AddedToken(t, normalized=(t == "<unk>"), special=True) for t in vocab[:5]]
            + [AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
        tok.post_processor = processors.RobertaProcessing(
            ("</s>", v["</s>"]), ("<s>", v["<s>"]), trim_offsets=True, add_prefix_space=False)
    assert tok.get_vocab_size() == 40
    return tok


def byte_level():
    """RoBERTa's: every byte is a token, and a few pairs of them."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("a", "t"), ("\u0120", "c"), ("\u0120c", "at"), ("o", "n")]
    vocab = ["<s>", "<pad>", "</s>", "<unk>"] + letters + [a + b for a, b in merges] + ["<mask>"]
    v = {t: i for i, t in enumerate(vocab)}
    tok = Tokenizer(models.BPE(v, merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    return roberta_ends(tok, v)


def unigram():
    """XLM-RoBERTa's: sentencepiece with a mark for spaces."""
    pieces = ["\u2581", "\u2581the", "\u2581cat", "s", "\u2581dog", "\u2581sat", "\u2581on", "\u2581mat", "a", "b", "c",
              "e", "n", "o", "r", "t", "run", "ning", ".", ",", "!", "\u4e2d", "T", "he"]
    vocab = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocab += [(p, -1.0 - 0.5 * i) for i, p in enumerate(pieces)] + [("<mask>", 0.0)]
    tok = Tokenizer(models.Unigram(vocab, unk_id=3))
    tok.normalizer = normalizers.NFKC()
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    return roberta_ends(tok, {t: i for i, (t, _) in enumerate(vocab)})


def roberta_ends(tok, v):
    tok.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)])
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", v["<s>"]), ("</s>", v["</s>"])])
    return tok


@torch.no_grad()
def randomise(model, seed):
    """Every parameter random, pad rows included, so that a wrong row, a missing bias or a missing norm shows."""
    g = torch.Generator().manual_seed(seed)
    for name, p in sorted(model.named_parameters()):
        r = torch.randn(p.shape, generator=g)
        if name.endswith(("LayerNorm.weight", "layer_norm.weight")):
            p.copy_(1 + 0.3 * r)
        elif "relative_attention_bias" in name:
            p.copy_(r)                           # std 1
        else:
            p.copy_(0.3 * r)


@torch.no_grad()
def run(model, tok, texts, pad):
    """One right-padded batch with attention mask, eval mode."""
    tok.no_padding()
    tok.enable_truncation(24)
    ids = [tok.encode(t).ids for t in texts]
    n = max(map(len, ids))
    x = torch.full((len(ids), n), pad)
    m = torch.zeros((len(ids), n), dtype=torch.long)
    for i, s in enumerate(ids):
        x[i, :len(s)] = torch.tensor(s)
        m[i, :len(s)] = 1
    out = model.eval()(input_ids=x, attention_mask=m)
    h = [out.last_hidden_state[i, :len(s)] for i, s in enumerate(ids)]
    return {"texts": texts, "ids": ids, "last_hidden_state": h, "mean": [a.mean(0) for a in h],
            "cls": [a[0] for a in h], "pooler": list(out.get("pooler_output", []))}


def plain(o, digits):
    if torch.is_tensor(o):
        o = o.tolist()
    if isinstance(o, dict):
        return {k: plain(v, digits) for k, v in o.items()}
    if isinstance(o, list):
        return [plain(v, digits) for v in o]
    return float(f"{o:.{digits}g}") if isinstance(o, float) else o


def write(path, o, digits):
    with open(path, "w") as f:
        json.dump(plain(o, digits), f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


def tiny(kind):
    d = os.path.join(HERE, f"tiny-{kind}")
    os.makedirs(d, exist_ok=True)
    common = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
                  hidden_act="gelu")
    if kind == "bert":
        cfg, cls, vocab = BertConfig(**common, max_position_embeddings=24, type_vocab_size=2, layer_norm_eps=1e-12,
                                     pad_token_id=0), BertModel, BERT_VOCAB
    elif kind == "distilbert":
        cfg, cls, vocab = DistilBertConfig(vocab_size=40, dim=16, n_layers=2, n_heads=4, hidden_dim=32, activation="gelu",
                                           max_position_embeddings=24, pad_token_id=0), DistilBertModel, BERT_VOCAB
    elif kind == "roberta":
        cfg, cls, vocab = RobertaConfig(**common | {"vocab_size": byte_level().get_vocab_size()}, max_position_embeddings=26,
                                        type_vocab_size=1, layer_norm_eps=1e-5), RobertaModel, None
    elif kind == "xlm-roberta":
        # Another padding token than usual, the last one: positions begin behind it.
        size = unigram().get_vocab_size()
        cfg, cls, vocab = XLMRobertaConfig(**common | {"vocab_size": size}, max_position_embeddings=size + 24,
                                           type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=size - 1), XLMRobertaModel, None
    else:
        # 32 buckets: transformers hard-codes num_buckets=32 in MPNetEncoder.compute_position_bias
        cfg, cls, vocab = MPNetConfig(**common, max_position_embeddings=26, relative_attention_num_buckets=32,
                                      layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2), MPNetModel, MPNET_VOCAB
    torch.manual_seed(7)
    model = cls(cfg)
    randomise(model, {"bert": 11, "mpnet": 13, "roberta": 17, "xlm-roberta": 19, "distilbert": 23}[kind])
    model.save_pretrained(d)
    os.chmod(os.path.join(d, "model.safetensors"), 0o644)
    made = {"roberta": byte_level, "xlm-roberta": unigram}
    tok = made[kind]() if kind in made else tokenizer(vocab, kind)
    tok.save(os.path.join(d, "tokenizer.json"))
    # the answers come from what was saved, read back
    model = cls.from_pretrained(d, attn_implementation="eager")
    tok = Tokenizer.from_file(os.path.join(d, "tokenizer.json"))
    res = run(model, tok, TEXTS, cfg.pad_token_id)
    assert max(map(len, res["ids"])) == 24 and min(map(len, res["ids"])) == 2
    write(os.path.join(d, "expected.json"), res, 8)
    for t, i in zip(TEXTS, res["ids"]):
        print(kind, repr(t), len(i), [tok.id_to_token(k) for k in i])
    # rounding floor of the answers
    ref = run(cls.from_pretrained(d, attn_implementation="eager").double(), tok, TEXTS, cfg.pad_token_id)
    for k in [k for k in ("last_hidden_state", "mean", "cls", "pooler") if res[k]]:
        print(kind, k, "max |f32-f64|", max((a.double() - b).abs().max().item() for a, b in zip(res[k], ref[k])))


def golden():
    texts = ["A man is playing a guitar.",
             "The weather is lovely today!",
             "Caf\u00e9",
             "Retrieval systems turn documents into vectors, then rank them by cosine similarity against a short question "
             "from the user."]
    tok = Tokenizer.from_file(os.path.join(REAL_MPNET, "tokenizer.json"))
    tok.no_truncation()
    model = MPNetModel.from_pretrained(REAL_MPNET, attn_implementation="eager", dtype=torch.float32)
    res = run(model, tok, texts, 1)
    print("golden ids", res["ids"])
    write(os.path.join(HERE, "mpnet_golden.json"), {"texts": texts, "mean": res["mean"]}, 6)
    one = [run(model, tok, [t], 1)["mean"][0] for t in texts]
    print("golden norms", [round(a.norm().item(), 6) for a in res["mean"]],
          "max |padded-alone|", max((a - b).abs().max().item() for a, b in zip(res["mean"], one)))


print("transformers", transformers.__version__, "torch", torch.__version__)
for kind in WANTED or KINDS:
    tiny(kind)
if REAL_MPNET:
    golden()
