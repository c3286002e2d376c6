from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from typing_extensions import Self

from ._core import Pipeline, Rows

_Path: TypeAlias = str | PathLike[str]
_Floats: TypeAlias = NDArray[np.float64]

class Estimator(BaseEstimator):
    pipeline_: Pipeline
    remarks_: list[str]
    calibration_remarks_: list[str]
    random_state: Any
    @property
    def posterior_rows_(self) -> int | None: ...
    def _rows(self, X: Any, y: Any = None) -> Rows: ...
    def fit(self, X: Any, y: ArrayLike) -> Self: ...
    def answer(
        self, X: Any, probabilities: bool = False, fdr: float | None = None
    ) -> dict[str, Any]: ...
    def score_samples(self, X: Any) -> _Floats: ...
    def calibrate(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        max_error: float | None = None,
        confidence: float = 0.95,
        on_average: bool = False,
        max_abstain: float | None = None,
        threshold: float | None = None,
        per_class: bool = False,
        score: str | None = None,
        minimax: bool | None = None,
    ) -> Self: ...
    def update(self, X: Any, decay: float | None = None) -> Self: ...
    def forget(self, X: Any) -> Self: ...
    def merge(self, parts: Sequence[bytes | Estimator]) -> Self: ...
    def save(self, folder: _Path) -> None: ...
    @classmethod
    def load(cls, folder: _Path) -> Self: ...

class Classifier(ClassifierMixin, Estimator):
    classes_: NDArray[Any]
    def predict_proba(self, X: Any) -> _Floats: ...
    def predict_log_proba(self, X: Any) -> _Floats: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def decision_function(self, X: Any) -> _Floats: ...
    def predict_or_abstain(
        self, X: Any, abstain: Any = None, fdr: float | None = None
    ) -> NDArray[Any]: ...
    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self: ...

class SNGPClassifier(Classifier):
    def __init__(
        self,
        method: str = "sngp",
        features: int = 1024,
        length_scale: float | None = None,
        l2: float = 0.02,
        epochs: int | None = None,
        tune: bool | None = None,
        random_state: Any = 0,
    ) -> None: ...

class SNGPRegressor(RegressorMixin, Estimator):
    def __init__(
        self,
        method: str = "sngp",
        features: int = 1024,
        length_scale: float | None = None,
        epochs: int | None = None,
        tune: bool | None = None,
        random_state: Any = 0,
    ) -> None: ...
    def predict(self, X: Any, return_std: bool = False) -> Any: ...
    def predict_interval(self, X: Any) -> _Floats: ...
    def predict_or_abstain(self, X: Any, abstain: float = ...) -> _Floats: ...
    def partial_fit(self, X: Any, y: ArrayLike) -> Self: ...

class GPHead(Classifier):
    def __init__(
        self,
        method: str = "sngp",
        features: int = 1024,
        length_scale: float | None = None,
        l2: float | None = None,
        budget: float = 60.0,
        epochs: int | None = None,
        random_state: Any = 0,
    ) -> None: ...
    def posterior(self, X: Any) -> tuple[_Floats, _Floats]: ...
    def accumulate(self, X: Any) -> bytes: ...

class SNGPTextClassifier(Classifier):
    def __init__(
        self,
        encoder: _Path | None = None,
        fine_tune: bool = False,
        keep_classifier: bool = False,
        max_tokens: int = 64,
        prompt: str | None = None,
        method: str = "sngp",
        features: int = 1024,
        length_scale: float | None = None,
        l2: float | None = None,
        budget: float = 60.0,
        epochs: int | None = None,
        tune: bool | None = None,
        random_state: Any = 0,
    ) -> None: ...

class SNGPImageClassifier(Classifier):
    def __init__(
        self,
        encoder: _Path | None = None,
        keep_classifier: bool = False,
        image_size: int = 32,
        method: str = "sngp",
        features: int = 1024,
        length_scale: float | None = None,
        l2: float | None = None,
        budget: float = 60.0,
        epochs: int | None = None,
        tune: bool | None = None,
        random_state: Any = 0,
    ) -> None: ...

def load(folder: _Path) -> Classifier | SNGPRegressor: ...
