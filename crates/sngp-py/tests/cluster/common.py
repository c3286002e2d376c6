"""What the tests on Ray and on Spark share: a table in Parquet, and the model of one process."""

import pathlib
import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sngp import Precision
from sngp.sums import fit_head, loss_of, precision_of, vectors_of

WIDTH, CLASSES, FEATURES, SAMPLE = 64, 10, 256, 4096


def rows(count, seed):
    """Vectors around one centre a class, and their labels."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(CLASSES, WIDTH)) * 0.4
    classes = rng.integers(0, CLASSES, size=count)
    vectors = centres[classes] + rng.normal(size=(count, WIDTH))
    return vectors.astype(np.float32), np.array([f"class {k}" for k in classes])


def write(folder, count, files):
    """A table of `count` rows in several files of Parquet."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        vectors, labels = rows(count // files, 100 + number)
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
        table = pa.table({"embedding": column.cast(pa.list_(pa.float32())), "label": labels})
        pq.write_table(table, folder / f"part-{number:04}.parquet", row_group_size=65_536)
    return folder


def read(folder):
    """The parts of that table."""
    for path in sorted(pathlib.Path(folder).glob("*.parquet")):
        table = pq.read_table(path)
        yield vectors_of(table["embedding"]), table["label"].to_pylist()


def by_one_process(folder, sample, held_out):
    """The head of one process over the same sums, and its precision."""
    kept = []

    def accumulate(plan):
        kept.append(Precision.merge([precision_of(plan, x) for x, _ in read(folder)]))
        return kept[0]

    def evaluate(plan, weights):
        return sum(loss_of(plan, weights, x, y) for x, y in read(folder))

    names = [f"class {k}" for k in range(CLASSES)]
    head = fit_head(
        accumulate, evaluate, classes=names, sample=sample, held_out=held_out, features=FEATURES
    )
    return head, kept[0]


def assert_same(head, precision, other, other_precision, X):
    """1e-9 in the precision, 1e-6 in the probabilities."""
    one, two = Precision.matrix(precision), Precision.matrix(other_precision)
    assert Precision.rows(precision) == Precision.rows(other_precision)
    difference = np.abs(one - two).max() / np.abs(one).max()
    assert difference < 1e-9, difference
    apart = np.abs(head.predict_proba(X) - other.predict_proba(X)).max()
    assert apart < 1e-6, apart
    return difference, apart


def peak_mebibytes():
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
