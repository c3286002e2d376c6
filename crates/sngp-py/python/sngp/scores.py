"""Uncertainties: one number a row, higher means less certain.

>>> import numpy as np
>>> score("max_probability", [[0.0, 0.0], [9.0, 0.0]]).round(3).tolist()
[0.5, 0.0]
>>> detectors = Detectors(np.eye(4), [0, 0, 1, 1])
>>> distances = detectors.distances("knn", [[1, 0, 0, 0], [5, 5, 5, 5]])
>>> bool(distances[1] > distances[0])
True
"""

import numpy as np

from . import _core

__all__ = ["Detectors", "names", "score"]


def names():
    """The names of the scores, each with what it is."""
    return dict(_core.registry("scores"))


def score(name, logits, variance=None, factor=None):
    """The uncertainty of every row of `logits`, a column a class, by the score of a name.

    Where the logits have a `variance`, one a row or one a logit, they count less by
    `sqrt(1 + factor * variance)`.
    """
    logits = np.ascontiguousarray(logits, dtype=np.float64)
    if variance is not None:
        variance = np.ascontiguousarray(variance, dtype=np.float64)
        variance = variance[:, None] if variance.ndim == 1 else variance
    return _core.score(name, logits, variance, factor)


class Detectors:
    """Distances from reference vectors of known classes: what people would otherwise use.

    `names` has those there are: `knn`, `mahalanobis` (Lee et al., 2018) and `relative_mahalanobis`
    (Ren et al., 2021).
    """

    names = tuple(_core.Detectors.names())

    def __init__(self, reference, classes):
        reference = np.ascontiguousarray(reference, dtype=np.float32)
        classes = np.ascontiguousarray(np.unique(classes, return_inverse=True)[1], dtype=np.int64)
        self._detectors = _core.Detectors(reference, classes)

    def distances(self, name, vectors):
        """The distance of every vector; larger is further from the reference."""
        return self._detectors.distances(name, np.ascontiguousarray(vectors, dtype=np.float32))
