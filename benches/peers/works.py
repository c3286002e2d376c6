"""What is measured, and the goals: our time over the other's, to stay at or below."""

from typing import NamedTuple, Optional


class Work(NamedTuple):
    id: str
    title: str
    torch: Optional[float] = None
    onnxruntime: Optional[float] = None


class Overhead(NamedTuple):
    """What the uncertainty costs: our SNGP work against our deterministic one."""

    id: str
    title: str
    base: str
    goal: float


WORKS = [
    Work("resffn_train_b128", "ResFFN-12-128, 1024 features, training step, batch 128", 0.7),
    Work("resffn_predict_b1", "ResFFN SNGP prediction with variance, batch 1", 0.3, 1.1),
    Work("resffn_predict_b256", "ResFFN SNGP prediction with variance, batch 256", 0.7, 0.6),
    Work("wrn28_10_predict_b1", "WRN-28-10 SNGP prediction with variance, batch 1", 0.8, 1.0),
    Work("wrn28_10_predict_b16", "WRN-28-10 SNGP prediction with variance, batch 16", 0.6, 0.6),
    Work("wrn16_4_train_b32", "WRN-16-4 training step, batch 32", 0.9),
    Work("minilm_forward_32x32", "MiniLM-size encoder, forward, 32 x 32 tokens", 0.9, 0.85),
    Work("minilm_train_32x32", "MiniLM-size encoder, training step, 32 x 32 tokens", 0.9),
    Work("minilm_forward_1x12", "MiniLM-size encoder, forward, 1 x 12 tokens", 0.45, 1.1),
    Work("bert_base_forward_1x32", "BERT-base-size encoder, forward, 1 x 32 tokens", 0.65, 1.05),
    Work("laplace_update_256x1024", "Laplace precision update, 256 x 1024 features", 0.6),
    Work("cholesky_1024", "Cholesky and inverse factor, 1024 x 1024, float64", 0.6),
]

OVERHEADS = [
    Overhead("wrn28_10_predict_b1", "WRN-28-10, batch 1", "wrn28_10_deterministic_b1", 1.03),
    Overhead("wrn28_10_predict_b16", "WRN-28-10, batch 16", "wrn28_10_deterministic_b16", 1.03),
    Overhead("minilm_sngp_1x12", "MiniLM-size, 1 x 12 tokens", "minilm_deterministic_1x12", 1.08),
]
