"""Whatever Python calls a table, as `Rows`."""

import numpy as np

from ._core import Rows


def is_frame(X):
    """Whether it has named columns: a data frame or a table of Arrow."""
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def frame_rows(X, labels):
    """A table with named columns."""
    if hasattr(X, "__arrow_c_stream__"):
        try:
            if hasattr(X, "iloc"):
                # The index of pandas is no column.
                X = _without_index(X)
            return Rows.arrow(X, labels=labels)
        except ImportError:
            # pandas needs pyarrow for it.
            pass
    columns = [X[name] for name in X.columns]
    values = [_plain(np.asarray(column)) for column in columns]
    return Rows.columns([str(name) for name in X.columns], values, labels=labels)


def _without_index(X):
    import pyarrow

    X = X.rename(columns=str)
    return pyarrow.Table.from_pandas(X, preserve_index=False)


def _plain(values):
    """Values as Python's own; what pandas means by missing is None."""
    import pandas

    return [None if pandas.isna(value) else value for value in values.tolist()]


def vectors(X):
    """Tensors of PyTorch as arrays: off their graph and on the CPU. Others are that already."""
    if hasattr(X, "detach"):
        X = X.detach().cpu()
        # numpy has no bfloat16.
        return np.asarray(X.float() if X.dtype.is_floating_point else X)
    return X
