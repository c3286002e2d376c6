"""What is compiled; `sngp` has it in other words."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__version__: str

_Labels: TypeAlias = Sequence[str] | None

class Rows:
    """Rows to learn from or to be answered, with or without labels."""

    @staticmethod
    def vectors(vectors: NDArray[np.float32], labels: _Labels = None) -> Rows: ...
    @staticmethod
    def numbers(
        numbers: NDArray[np.float64], names: Sequence[str] | None = None, labels: _Labels = None
    ) -> Rows: ...
    @staticmethod
    def arrow(table: Any, labels: _Labels = None) -> Rows: ...
    @staticmethod
    def columns(
        names: Sequence[str],
        columns: Sequence[Sequence[float | str | bool | None]],
        labels: _Labels = None,
    ) -> Rows: ...
    @staticmethod
    def texts(texts: Sequence[str], labels: _Labels = None) -> Rows: ...
    @staticmethod
    def images(images: Sequence[NDArray[np.uint8]], labels: _Labels = None) -> Rows: ...
    @staticmethod
    def paths(
        paths: Sequence[str | PathLike[str]],
        labels: _Labels = None,
        folder: str | PathLike[str] | None = None,
    ) -> Rows: ...
    @staticmethod
    def read(data: str | PathLike[str], label: str | None = None) -> Rows: ...
    def __len__(self) -> int: ...

class Prediction:
    """The predictive distribution of some rows, and what it was made from."""

    @property
    def probabilities(self) -> NDArray[np.float64]: ...
    @property
    def logits(self) -> NDArray[np.float64]: ...
    @property
    def mean_logits(self) -> NDArray[np.float64]: ...
    @property
    def variance(self) -> NDArray[np.float64] | None: ...
    @property
    def mean(self) -> NDArray[np.float64] | None: ...
    @property
    def deviation(self) -> NDArray[np.float64] | None: ...
    def score(self, name: str) -> NDArray[np.float64]: ...
    def __len__(self) -> int: ...

class Pipeline:
    """Everything between a raw row and an answer."""

    @staticmethod
    def fit(
        rows: Rows,
        validation: Rows | None = None,
        *,
        kind: tuple[str, str | None] | None = None,
        label: str = "label",
        ignore: Sequence[str] = (),
        target: str = "classes",
        method: str = "sngp",
        features: int = 1024,
        length_scale: float | None = None,
        l2: float | None = None,
        budget: float = 60.0,
        epochs: int | None = None,
        tune: bool | None = None,
        encoder: str | PathLike[str] | None = None,
        fine_tune: bool = False,
        keep_classifier: bool = False,
        max_tokens: int = 64,
        prompt: str | None = None,
        image_size: int = 32,
        minimax: bool = False,
        seed: int = 0,
    ) -> Pipeline: ...
    @staticmethod
    def load(folder: str | PathLike[str]) -> Pipeline: ...
    def save(self, folder: str | PathLike[str]) -> None: ...
    def predict(self, rows: Rows) -> Prediction: ...
    def answer(
        self, rows: Rows, probabilities: bool = False, fdr: float | None = None
    ) -> dict[str, Any]: ...
    def hidden(self, rows: Rows) -> NDArray[np.float32]: ...
    def calibrate(
        self,
        rows: Rows,
        *,
        max_error: float | None = None,
        confidence: float = 0.95,
        on_average: bool = False,
        max_abstain: float | None = None,
        threshold: float | None = None,
        per_class: bool = False,
        score: str | None = None,
        minimax: bool | None = None,
    ) -> list[str]: ...
    def update(self, rows: Rows, decay: float | None = None) -> None: ...
    def forget(self, rows: Rows) -> None: ...
    def accumulate(self, rows: Rows) -> bytes: ...
    def precision(self) -> bytes: ...
    def merge(self, parts: Sequence[bytes]) -> int: ...
    @property
    def posterior_rows(self) -> int | None: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def score(self) -> str: ...
    @property
    def remarks(self) -> list[str]: ...
    def signature(self) -> dict[str, Any]: ...
    def describe(self) -> dict[str, Any]: ...

class Evidence:
    """What an evaluation found."""

    def html(self) -> str: ...
    def metrics(self) -> list[dict[str, Any]]: ...
    def at_threshold(self) -> dict[str, Any]: ...
    def summary(self) -> dict[str, Any]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def score(self) -> str: ...

class Detectors:
    """Distances from reference vectors whose classes are known."""

    def __init__(self, reference: NDArray[np.float32], classes: NDArray[np.int64]) -> None: ...
    @staticmethod
    def names() -> list[str]: ...
    def distances(self, name: str, vectors: NDArray[np.float32]) -> NDArray[np.float64]: ...

class HeadPlan:
    """What all machines agree on: width, classes and the random features."""

    def __init__(
        self,
        width: int,
        labels: Sequence[str],
        features: int = 1024,
        length_scale: float = 1.0,
        l2: float = 0.02,
        seed: int = 0,
    ) -> None: ...
    @staticmethod
    def length_scale_of(sample: NDArray[np.float32]) -> float: ...
    def accumulate(self, vectors: NDArray[np.float32]) -> bytes: ...
    def loss(
        self,
        weights: NDArray[np.float64],
        vectors: NDArray[np.float32],
        classes: NDArray[np.int64],
    ) -> NDArray[np.float64]: ...
    def weights(
        self,
        precision: bytes,
        evaluate: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        start: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def finish(
        self,
        precision: bytes,
        evaluate: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        sample: Rows,
        held_out: Rows,
        start: NDArray[np.float64] | None = None,
    ) -> Pipeline: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def labels(self) -> list[str]: ...

def evaluate(
    pipeline: Pipeline,
    test: Rows,
    ood: dict[str, Rows],
    shift: Rows | None = None,
    title: str = "model",
    strict: bool = False,
) -> Evidence: ...
def classification_metric(
    name: str, probabilities: NDArray[np.float64], classes: NDArray[np.int64]
) -> float: ...
def detection_metric(
    name: str, scores: NDArray[np.float64], is_ood: NDArray[np.bool_]
) -> float: ...
def score(
    name: str,
    logits: NDArray[np.float64],
    variance: NDArray[np.float64] | None = None,
    factor: float | None = None,
) -> NDArray[np.float64]: ...
def false_discovery(p_values: NDArray[np.float64], rate: float) -> NDArray[np.bool_]: ...
def registry(name: str) -> list[tuple[str, str]]: ...
def merge_precisions(parts: Sequence[bytes]) -> bytes: ...
def precision_rows(bytes: bytes) -> int: ...
def precision_matrix(bytes: bytes) -> NDArray[np.float64]: ...
