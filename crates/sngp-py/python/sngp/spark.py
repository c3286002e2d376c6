"""A head fitted by Spark, to a table larger than memory.

    from sngp.spark import fit_head, predict

    table = spark.read.parquet("s3a://bucket/train/")
    head = fit_head(table, vectors="embedding", label="intent", held_out=(X, y))
    answers = predict(spark.read.parquet("s3a://bucket/new/"), head, vectors="embedding")

Every partition becomes one sum (`mapInArrow`), and sums are merged in a tree (`treeReduce`): the
driver receives a few, however many partitions there are. What is lost with an executor is computed
again by Spark.
"""

import math

import numpy as np
import pyarrow

from . import sums
from .precision import Precision

__all__ = ["fit_head", "predict"]


def fit_head(frame, *, vectors, label, held_out, sample=4096, **options):
    """Fits a `GPHead` to the columns `vectors` and `label` of a Spark DataFrame.

    `held_out` are vectors and labels of other rows. `sample` are such of some training rows, or how
    many are to be fetched from the beginning of the table. `options` are those of `sngp.sums.fit_head`. The table is read once an iteration:
    `frame.cache()` where it fits the executors' memory.
    """
    table = frame.select(vectors, label)
    context = frame.sparkSession.sparkContext
    if isinstance(sample, int):
        some = table.limit(sample).toArrow()
        sample = (sums.vectors_of(some[vectors]), some[label].to_pylist())

    def accumulate(plan):
        def part(batch):
            return sums.precision_of(plan, sums.vectors_of(batch.column(vectors)))

        return _reduced(table, part, Precision.merge)

    def evaluate(plan, weights):
        shared = context.broadcast(weights)

        def part(batch):
            found = sums.loss_of(
                plan,
                shared.value,
                sums.vectors_of(batch.column(vectors)),
                batch.column(label).to_pylist(),
            )
            return found.tobytes()

        try:
            return np.frombuffer(_reduced(table, part, _added))
        finally:
            shared.destroy()

    return sums.fit_head(
        accumulate,
        evaluate,
        classes=[row[0] for row in table.select(label).distinct().collect()],
        sample=sample,
        held_out=held_out,
        **options,
    )


def predict(frame, head, *, vectors):
    """The rows with `predicted`, `probability`, `uncertainty`, `decision` and `reason` beside them."""
    shared = frame.sparkSession.sparkContext.broadcast(head)

    def answer(batches):
        for batch in batches:
            answers = shared.value.answer(sums.vectors_of(batch.column(vectors)))
            added = [
                pyarrow.array(answers["label"], type=pyarrow.string()),
                pyarrow.array(answers["probability"]),
                pyarrow.array(answers["uncertainty"]),
                pyarrow.array(answers["decision"], type=pyarrow.string()),
                pyarrow.array(answers["reason"], type=pyarrow.string()),
            ]
            names = [*batch.schema.names, *_ADDED]
            yield pyarrow.RecordBatch.from_arrays([*batch.columns, *added], names)

    schema = frame.schema
    for name, kind in _ADDED.items():
        schema = schema.add(name, kind)
    return frame.mapInArrow(answer, schema)


_ADDED = {
    "predicted": "string",
    "probability": "double",
    "uncertainty": "double",
    "decision": "string",
    "reason": "string",
}


def _added(parts):
    return np.sum([np.frombuffer(part) for part in parts], axis=0).tobytes()


def _reduced(table, part, merge):
    """One sum of all rows: one a partition first, then a tree of them."""

    def summed(batches):
        total = None
        for batch in batches:
            if batch.num_rows:
                own = part(batch)
                total = own if total is None else merge([total, own])
        if total is not None:
            yield pyarrow.RecordBatch.from_pydict(
                {"part": pyarrow.array([total], pyarrow.binary())}
            )

    parts = table.mapInArrow(summed, "part binary").rdd.map(lambda row: bytes(row.part))
    # About four sums meet at every step, the driver's among them.
    depth = max(2, math.ceil(math.log(max(parts.getNumPartitions(), 2), 4)))
    return parts.treeReduce(lambda one, other: merge([one, other]), depth)
