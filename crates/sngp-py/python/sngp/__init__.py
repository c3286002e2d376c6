"""Classifiers that know what they don't know.

>>> import numpy as np, sngp
>>> rng = np.random.default_rng(0)
>>> classes = np.arange(200) % 2
>>> points = rng.normal(size=(200, 2)) + 4 * classes[:, None]
>>> model = sngp.SNGPClassifier(features=128).fit(points, classes)
>>> model.predict([[0, 0], [4, 4]]).tolist()
[0, 1]
>>> model.predict_or_abstain([[0, 0], [400, -900]], abstain=-1).tolist()
[0, -1]

What needs nothing but numpy: `Pipeline` on `Rows`, the scores and metrics. With scikit-learn there
are estimators: `SNGPClassifier` and `SNGPRegressor` for tables, `SNGPTextClassifier` for texts,
`SNGPImageClassifier` for images, `GPHead` for vectors of any other model. `evaluate` measures any of
them. `sngp.torch` has a head for PyTorch modules; `sngp.ray` and `sngp.spark` fit one to a table
larger than memory.
"""

from . import metrics, scores
from ._core import Evidence, HeadPlan, Pipeline, Prediction, Rows, __version__
from .evaluation import Evaluation, evaluate
from .precision import Precision

__all__ = [
    "Evaluation",
    "Evidence",
    "GPHead",
    "HeadPlan",
    "Pipeline",
    "Precision",
    "Prediction",
    "Rows",
    "SNGPClassifier",
    "SNGPImageClassifier",
    "SNGPRegressor",
    "SNGPTextClassifier",
    "__version__",
    "evaluate",
    "load",
    "metrics",
    "scores",
]


def load(folder):
    """Loads a model folder as the estimator that suits it.

    The folder may have been written by `save` of an estimator, or by `sngp train`.
    """
    from ._estimators import load

    return load(folder)


def __getattr__(name):
    # Estimators are not imported before they are asked for: without scikit-learn all else works.
    if name in __all__:
        from . import _estimators

        return getattr(_estimators, name)
    raise AttributeError(f"module 'sngp' has no attribute '{name}'")


def __dir__():
    return sorted(__all__)
