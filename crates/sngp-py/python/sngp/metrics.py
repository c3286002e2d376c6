"""How good are probabilities, and how well does a score tell what it should not answer?

Each takes arrays and returns a number; what is not allowed is a `ValueError` that says why.

>>> accuracy([[0.9, 0.1], [0.3, 0.7]], [0, 0])
0.5
>>> auroc([0.1, 0.2, 0.9], [False, False, True])
1.0

`false_discovery` says which rows may be flagged with few false ones among them.
"""

import numpy as np

from . import _core

__all__ = ["false_discovery"]


def false_discovery(p_values, rate):
    """Which rows are flagged, so that on average at most a share `rate` of them is flagged falsely.

    Benjamini and Hochberg's rule. `p_values` are small for what should be flagged, such as the
    `p_value` of a model's answers, which are conformal after `calibrate` with 400 rows or more.

    >>> false_discovery([0.01, 0.9, 0.02, 0.5], 0.05).tolist()
    [True, False, True, False]
    """
    return _core.false_discovery(np.ascontiguousarray(p_values, dtype=np.float64), float(rate))


def _classification(name, summary):
    def metric(probabilities, classes):
        probabilities = np.ascontiguousarray(probabilities, dtype=np.float64)
        return _core.classification_metric(name, probabilities, _integers(classes))

    metric.__doc__ = f"""{summary[0].upper()}{summary[1:]}.

    `probabilities` has a row an example and a column a class, `classes` the true class of each row
    as its column's number.
    """
    return metric


def _detection(name, summary):
    def metric(scores, is_ood):
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        return _core.detection_metric(name, scores, np.ascontiguousarray(is_ood, dtype=bool))

    metric.__doc__ = f"""{summary[0].upper()}{summary[1:]}.

    `scores` are uncertainties, `is_ood` says which rows should be rejected: the positive class.
    """
    return metric


def _integers(classes):
    classes = np.asarray(classes)
    if classes.dtype.kind not in "iub":
        raise TypeError(f"classes are whole numbers, not {classes.dtype}")
    return np.ascontiguousarray(classes, dtype=np.int64)


for _make, _registry in [(_classification, "classification"), (_detection, "detection")]:
    for _name, _summary in _core.registry(f"{_registry}_metrics"):
        _function = _make(_name, _summary)
        _function.__name__ = _function.__qualname__ = _name
        globals()[_name] = _function
        __all__.append(_name)
