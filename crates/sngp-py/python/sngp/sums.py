"""A head fitted to rows that lie on many machines.

Loss, gradient and precision are sums over rows. Whoever holds the rows computes their sums; only
sums travel, and their size does not depend on the number of rows. `sngp.ray` and `sngp.spark` have
it ready for tables of those engines. For another engine, write the two functions that `fit_head`
takes; this is what they are for rows in memory:

>>> import numpy as np
>>> from sngp.sums import fit_head, loss_of, precision_of
>>> rng = np.random.default_rng(0)
>>> vectors = rng.normal(size=(400, 8)).astype(np.float32)
>>> labels = np.where(vectors[:, 0] > 0, "yes", "no")
>>> parts = [(vectors[i:300:3], labels[i:300:3]) for i in range(3)]
>>> head = fit_head(
...     lambda plan: Precision.merge([precision_of(plan, part[0]) for part in parts]),
...     lambda plan, weights: sum(loss_of(plan, weights, *part) for part in parts),
...     classes=["no", "yes"], sample=parts[0], held_out=(vectors[300:], labels[300:]), features=64)
>>> head.posterior_rows_
300
>>> head.score(vectors[:300], labels[:300]) > 0.9
True
"""

import functools

import numpy as np

from . import _core
from ._estimators import GPHead
from ._tables import vectors as as_vectors
from .precision import Precision

__all__ = ["fit_head", "loss_of", "precision_of", "vectors_of"]


def fit_head(
    accumulate,
    evaluate,
    *,
    classes,
    sample,
    held_out,
    features=1024,
    length_scale=None,
    l2=0.02,
    random_state=0,
):
    """Fits a `GPHead` by sums.

    `accumulate(plan)` gives the merged `precision_of` all rows, `evaluate(plan, weights)` the sum of
    their `loss_of`. A plan is a small tuple that is sent to the rows. `sample` are vectors and
    labels of some training rows: they tell the length scale, where to start and what inputs are
    like. `held_out` are vectors and labels of rows that are not among them: on these the
    probabilities are calibrated, and it is chosen when the model abstains.
    """
    sample, held_out = [(_floats(some[0]), _texts(some[1])) for some in (sample, held_out)]
    names = sorted(_texts(classes))
    if length_scale is None:
        length_scale = _core.HeadPlan.length_scale_of(sample[0])
    width = sample[0].shape[1]
    arguments = (width, names, features, float(length_scale), float(l2), int(random_state))
    precision = accumulate(arguments)
    share = len(sample[0]) / max(Precision.rows(precision), 1)
    # The sample's own solution, with the prior's share of it, is close to that of all rows.
    close = (*arguments[:4], float(l2) * min(share, 1.0), arguments[5])
    start = _plan(close).weights(
        precision_of(close, sample[0]), lambda weights: loss_of(close, weights, *sample)
    )
    pipeline = _plan(arguments).finish(
        precision,
        lambda weights: np.asarray(evaluate(arguments, weights), dtype=np.float64),
        _core.Rows.vectors(*sample),
        _core.Rows.vectors(*held_out),
        start,
    )
    return GPHead._of_pipeline(pipeline)


def precision_of(plan, vectors):
    """The precision that vectors add, as bytes that `Precision.merge` takes."""
    return _plan(plan).accumulate(_floats(vectors))


def loss_of(plan, weights, vectors, labels):
    """Rows, loss and gradient at some weights, in one array; those of other rows are added."""
    places = {name: place for place, name in enumerate(plan[1])}
    try:
        classes = np.array([places[label] for label in _texts(labels)], dtype=np.int64)
    except KeyError as unknown:
        raise ValueError(f"label {unknown} is none of the {len(places)} classes") from None
    return _plan(plan).loss(np.asarray(weights, dtype=np.float64), _floats(vectors), classes)


def vectors_of(column):
    """A column of Arrow, lists of numbers of one length, as a matrix of float32."""
    import pyarrow

    column = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(column, pyarrow.ExtensionArray):
        column = column.storage
    values = column.flatten().to_numpy(zero_copy_only=False)
    if column.null_count or (len(column) and len(values) % len(column)):
        raise ValueError("a vector is missing, or vectors differ in length")
    return values.astype(np.float32, copy=False).reshape(len(column), -1)


def _plan(arguments):
    width, names, *others = arguments
    return _cached(width, tuple(names), *others)


@functools.lru_cache(maxsize=8)
def _cached(width, names, *others):
    return _core.HeadPlan(width, list(names), *others)


def _floats(vectors):
    return np.ascontiguousarray(as_vectors(vectors), dtype=np.float32)


def _texts(labels):
    return [str(label) for label in np.asarray(labels).tolist()]
