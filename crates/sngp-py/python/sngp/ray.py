"""A head fitted by Ray Data, to a table larger than memory.

    import ray
    from sngp.ray import fit_head, predict

    table = ray.data.read_parquet("s3://bucket/train/")
    head = fit_head(table, vectors="embedding", label="intent", held_out=(X, y))
    answers = predict(ray.data.read_parquet("s3://bucket/new/"), head, vectors="embedding")

Every block becomes one sum, and sums are merged in a tree on the workers: the driver receives one
of 512 blocks. A block that is lost with its node is computed again by Ray.
"""

import numpy as np
import pyarrow
import ray

from . import sums
from .precision import Precision

__all__ = ["fit_head", "predict"]

# Sums that a worker merges at a time, and how often: 512 blocks become one sum.
_FAN_IN = 8
_LEVELS = 3


def fit_head(dataset, *, vectors, label, held_out, sample=4096, **options):
    """Fits a `GPHead` to the columns `vectors` and `label` of a Ray Dataset.

    `held_out` are vectors and labels of other rows. `sample` are such of some training rows, or how
    many are to be fetched from the beginning of the table. `options` are those of `sngp.sums.fit_head`.
    """
    table = dataset.select_columns([vectors, label])
    if isinstance(sample, int):
        some = ray.get(table.limit(sample).to_arrow_refs())
        some = pyarrow.concat_tables(some, promote_options="default")
        sample = (sums.vectors_of(some[vectors]), some[label].to_pylist())

    def accumulate(plan):
        def part(batch):
            return _sum(sums.precision_of(plan, sums.vectors_of(batch[vectors])))

        parts = table.map_batches(
            part, batch_format="pyarrow", batch_size=None, zero_copy_batch=True
        )
        return _merged(parts, Precision.merge)

    def evaluate(plan, weights):
        # Sent once, not with every block.
        weights = ray.put(weights)

        def part(batch):
            found = sums.loss_of(
                plan, ray.get(weights), sums.vectors_of(batch[vectors]), batch[label].to_pylist()
            )
            return _sum(found.tobytes())

        parts = table.map_batches(
            part, batch_format="pyarrow", batch_size=None, zero_copy_batch=True
        )
        return np.frombuffer(_merged(parts, _added))

    return sums.fit_head(
        accumulate,
        evaluate,
        classes=dataset.unique(label),
        sample=sample,
        held_out=held_out,
        **options,
    )


def predict(dataset, head, *, vectors, concurrency=2, batch_size=4096):
    """The rows with `predicted`, `probability`, `uncertainty`, `decision` and `reason` beside them.

    `concurrency` actors hold the model.
    """
    return dataset.map_batches(
        _Predictor,
        fn_constructor_args=(ray.put(head), vectors),
        batch_format="pyarrow",
        batch_size=batch_size,
        concurrency=concurrency,
    )


class _Predictor:
    def __init__(self, head, vectors):
        self.head = ray.get(head) if isinstance(head, ray.ObjectRef) else head
        self.vectors = vectors

    def __call__(self, batch):
        answers = self.head.answer(sums.vectors_of(batch[self.vectors]))
        batch = batch.append_column("predicted", pyarrow.array(answers["label"]))
        for name in ("probability", "uncertainty", "decision", "reason"):
            kind = pyarrow.string() if name in ("decision", "reason") else pyarrow.float64()
            batch = batch.append_column(name, pyarrow.array(answers[name], type=kind))
        return batch


def _sum(part):
    return pyarrow.table({"part": pyarrow.array([part], type=pyarrow.large_binary())})


def _added(parts):
    return np.sum([np.frombuffer(part) for part in parts], axis=0).tobytes()


def _merged(parts, merge):
    """One sum of many, merged in a tree."""

    def some(batch):
        return _sum(merge(batch["part"].to_pylist()))

    for _ in range(_LEVELS):
        parts = parts.map_batches(some, batch_format="pyarrow", batch_size=_FAN_IN)
    found = [row["part"] for row in parts.iter_rows()]
    if not found:
        raise ValueError("the table has no rows")
    return merge(found)
