from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from ._estimators import Estimator

def evaluate(
    model: Estimator,
    X: Any,
    y: ArrayLike,
    *,
    ood: Any = None,
    shift: tuple[Any, ArrayLike] | None = None,
    strict: bool = False,
    title: str | None = None,
) -> Evaluation: ...

class Evaluation:
    metrics: list[dict[str, Any]]
    warnings: list[str]
    score: str
    at_threshold: dict[str, Any]
    def __getitem__(self, name: str) -> float: ...
    def to_frame(self) -> Any: ...
    def to_html(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def _repr_html_(self) -> str: ...
