"""A posterior that is accumulated where the rows are."""

import numpy as np

from . import _core

__all__ = ["Precision"]


class Precision:
    """The sum behind a posterior, over rows that lie on any number of machines.

    It is made of a fitted model of vectors, such as a `GPHead`, and is small enough to be sent to
    every machine. Each accumulates its own rows; the sums are merged in any order and given back to
    the model:

    >>> import numpy as np
    >>> from sngp import GPHead, Precision
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(300, 8)).astype(np.float32)
    >>> classes = (vectors[:, 0] > 0).astype(int)
    >>> head = GPHead(features=64).fit(vectors, classes)
    >>> precision = Precision(head)
    >>> parts = [precision.accumulate(part) for part in np.array_split(vectors, 3)]
    >>> head.posterior_rows_ == precision.finish(Precision.merge(parts)).posterior_rows_
    False
    >>> head.posterior_rows_
    300
    """

    def __init__(self, model):
        self.model = model

    def accumulate(self, batch):
        """The sum of a batch of vectors, as bytes."""
        batch = np.ascontiguousarray(batch, dtype=np.float32)
        return self.model.pipeline_.accumulate(_core.Rows.vectors(batch))

    @staticmethod
    def merge(parts):
        """The sum of sums. A part that is there twice counts twice."""
        return _core.merge_precisions(list(parts))

    @staticmethod
    def rows(part):
        """Rows in a sum."""
        return _core.precision_rows(part)

    @staticmethod
    def matrix(part):
        """The matrix `sum phi phi^T` of a sum."""
        return _core.precision_matrix(part)

    def finish(self, part):
        """Replaces the model's posterior by a sum; the model."""
        self.model.merge([part])
        return self.model
