"""A model measured, with a report that shows itself."""

import html
import pathlib

from . import _core

__all__ = ["Evaluation", "evaluate"]


def evaluate(model, X, y, *, ood=None, shift=None, strict=False, title=None):
    """Measures a fitted estimator on rows that played no part in its training.

    `ood` has rows that should be rejected: one set, or a dictionary of sets by their names. `shift`
    is a pair of rows and labels of the same classes under other conditions. With `strict` a row that
    cannot be used is an error instead of a warning.

    >>> import numpy as np, sngp
    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(300) % 2
    >>> points = rng.normal(size=(300, 2)) + 4 * classes[:, None]
    >>> model = sngp.SNGPClassifier(features=64).fit(points[:200], classes[:200])
    >>> found = evaluate(model, points[200:], classes[200:], ood={"far": points[:50] * 90})
    >>> found["accuracy"] > 0.9
    True
    >>> found.at_threshold["ood"][0]["rejected"]
    50
    """
    rows = model._rows
    sets = {} if ood is None else ood if isinstance(ood, dict) else {"OOD": ood}
    evidence = _core.evaluate(
        model.pipeline_,
        rows(X, y),
        {str(name): rows(some) for name, some in sets.items()},
        shift and rows(*shift),
        title or type(model).__name__,
        strict,
    )
    return Evaluation(evidence)


class Evaluation:
    """What an evaluation found. In a notebook it shows the report page."""

    def __init__(self, evidence):
        self._evidence = evidence
        self.metrics = evidence.metrics()
        self.warnings = evidence.warnings
        self.score = evidence.score
        self.at_threshold = evidence.at_threshold()

    def __getitem__(self, name):
        """The value of a metric on the test rows, or of an OOD metric by the model's own score."""
        for row in self.metrics:
            if row["name"] == name and row.get("by") in (None, self.score):
                return row["value"]
        known = ", ".join(dict.fromkeys(row["name"] for row in self.metrics))
        raise KeyError(f"no metric `{name}`; there are {known}")

    def to_frame(self):
        """The metrics as a data frame of pandas."""
        import pandas

        columns = ["set", "ood", "by", "name", "value", "low", "high", "higher_is_better"]
        return pandas.DataFrame(self.metrics).reindex(columns=columns)

    def to_html(self):
        """The report: one page that needs no other file."""
        return self._evidence.html()

    def save(self, path):
        """Writes the report page."""
        pathlib.Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self):
        # A page of its own: neither its styles nor its scripts meet those of the notebook.
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="sngp report" '
            'style="width: 100%; height: 640px; border: 1px solid #ccc"></iframe>'
        )

    def __repr__(self):
        own = [row for row in self.metrics if row.get("by") in (None, self.score)]
        lines = [f"{row['set']:>17}  {row['name']:24} {row['value']:.4f}" for row in own]
        return "\n".join([f"Evaluation by {self.score}", *lines])
