from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._estimators import GPHead

_Plan: TypeAlias = tuple[int, list[str], int, float, float, int]

def fit_head(
    accumulate: Callable[[_Plan], bytes],
    evaluate: Callable[[_Plan, NDArray[np.float64]], ArrayLike],
    *,
    classes: ArrayLike,
    sample: tuple[ArrayLike, ArrayLike],
    held_out: tuple[ArrayLike, ArrayLike],
    features: int = 1024,
    length_scale: float | None = None,
    l2: float = 0.02,
    random_state: int = 0,
) -> GPHead: ...
def precision_of(plan: _Plan, vectors: ArrayLike) -> bytes: ...
def loss_of(
    plan: _Plan, weights: ArrayLike, vectors: ArrayLike, labels: ArrayLike
) -> NDArray[np.float64]: ...
def vectors_of(column: Any) -> NDArray[np.float32]: ...
