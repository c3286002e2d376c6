"""What all estimators have in common."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from . import _core
from ._tables import frame_rows, is_frame


class Estimator(BaseEstimator):
    """An estimator over a pipeline. It keeps `pipeline_`, which does all the work.

    A class of it says how its inputs become `Rows` (`_rows`), how they are checked (`_checked`),
    and which of its parameters the pipeline takes under the same name (`_options`).
    """

    _kind = None
    _target = "classes"
    _options = ("method", "features", "length_scale", "l2", "epochs", "tune")

    def _checked(self, X, y=None, *, reset=False):
        """Inputs, and targets where they are given, as arrays that scikit-learn would accept."""
        raise NotImplementedError

    def _rows(self, X, y=None):
        """Checked inputs as rows, labelled where `y` is given."""
        raise NotImplementedError

    def _labels(self, y):
        """Targets as the texts that a pipeline takes."""
        return None if y is None else [str(value) for value in np.asarray(y).tolist()]

    def _fit(self, X, y):
        X, y = self._checked(X, self._required(y), reset=True)
        y = self._learn_targets(y)
        options = {name: getattr(self, name) for name in self._options}
        options = {name: value for name, value in options.items() if value is not None}
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31)
        self.pipeline_ = _core.Pipeline.fit(
            self._labelled(X, y), kind=self._kind, target=self._target, seed=int(seed), **options
        )
        self.remarks_ = self.pipeline_.remarks
        return self

    def _required(self, y):
        if y is None:
            name = type(self).__name__
            message = f"This {name} estimator requires y to be passed, but the target y is None."
            raise ValueError(message)
        return y

    def _labelled(self, X, y):
        raise NotImplementedError

    def _predict(self, X):
        check_is_fitted(self)
        X, _ = self._checked(X)
        return self.pipeline_.predict(self._labelled(X, None))

    def answer(self, X, probabilities=False, fdr=None):
        """The answer to every row, as a dictionary of columns.

        `decision` is `accept` or `abstain`, `reason` says why it abstains. A row that cannot be used
        is answered as such and stops no other. `pandas.DataFrame(model.answer(X))` is a table.

        With `fdr`, rows of `X` are flagged as out-of-distribution (`flagged`), so that on average at
        most that share of the flagged ones is not; a flagged row is not accepted. This needs a
        `calibrate` with 400 rows or more.
        """
        check_is_fitted(self)
        return self.pipeline_.answer(self._rows(X), probabilities, fdr)

    def score_samples(self, X):
        """How much like the training data every row is; higher is more so.

        It is the uncertainty that the model abstains by, with the sign that scikit-learn's outlier
        detectors use.
        """
        prediction = self._predict(X)
        return -prediction.score(self.pipeline_.score)

    def calibrate(
        self,
        X,
        y=None,
        *,
        max_error=None,
        confidence=0.95,
        on_average=False,
        max_abstain=None,
        threshold=None,
        per_class=False,
        score=None,
        minimax=None,
    ):
        """Chooses when it abstains, by rows that played no part in the training.

        With `max_error`, at most that share of the accepted answers is wrong, with `confidence`.
        With `max_abstain`, at most that share of rows like these is rejected. With `threshold`, what
        is more uncertain is rejected. Rows that it has learned from are left out, and
        `calibration_remarks_` says so.

        With `on_average`, `max_error` holds on average over sets of rows like these, and more is
        accepted. With `per_class`, what is asked for holds for the answers of each class by itself.
        With `minimax`, probabilities go to uniform away from these rows; `False` ends that.
        """
        check_is_fitted(self)
        self.calibration_remarks_ = self.pipeline_.calibrate(
            self._rows(X, y),
            max_error=max_error,
            confidence=confidence,
            on_average=on_average,
            max_abstain=max_abstain,
            threshold=threshold,
            per_class=per_class,
            score=score,
            minimax=minimax,
        )
        return self

    def update(self, X, decay=None):
        """Lets the variance know about more rows; what it knew counts less by `decay` first.

        The predicted classes or numbers stay what they are: only a new fit changes them.
        """
        check_is_fitted(self)
        self.pipeline_.update(self._rows(X), decay)
        return self

    def forget(self, X):
        """Lets the variance forget rows that it knows."""
        check_is_fitted(self)
        self.pipeline_.forget(self._rows(X))
        return self

    def merge(self, parts):
        """Replaces the posterior by the sum of parts: bytes of `Precision`, or fitted models."""
        check_is_fitted(self)
        parts = [part if isinstance(part, bytes) else part.pipeline_.precision() for part in parts]
        self.pipeline_.merge(parts)
        return self

    @property
    def posterior_rows_(self):
        """Rows that the posterior knows of."""
        return self.pipeline_.posterior_rows

    def save(self, folder):
        """Saves the model as a folder, which the command line and `load` take."""
        check_is_fitted(self)
        self.pipeline_.save(folder)

    @classmethod
    def load(cls, folder):
        """Loads a model folder that `save` or `sngp train` wrote.

        Classes are what their names look like: whole numbers, decimals, booleans, or texts.
        """
        return cls._of_pipeline(_core.Pipeline.load(folder))

    @classmethod
    def _of_pipeline(cls, pipeline):
        found = pipeline.describe()
        task = "classes" if pipeline.labels else "numbers"
        if (found["kind"], task) != (cls._kind_name, cls._target):
            raise ValueError(
                f"the model predicts {task} from {found['input']}; {cls.__name__} predicts "
                f"{cls._target} from another kind of input, so use sngp.load"
            )
        names = cls._get_param_names()
        told = {"random_state": found["seed"], **found}
        model = cls(**{name: told[name] for name in names if name in told and name != "kind"})
        model.pipeline_ = pipeline
        model.remarks_ = []
        model._learn_pipeline(found)
        return model

    def _learn_pipeline(self, found):
        """What a loaded pipeline tells about inputs and targets."""


class Classifier(ClassifierMixin, Estimator):
    """An estimator of classes."""

    def _learn_targets(self, y):
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes to tell apart; the data have one class"
            )
        return y

    def _learn_pipeline(self, found):
        super()._learn_pipeline(found)
        self.classes_ = np.unique(typed(self.pipeline_.labels))

    @property
    def _order(self):
        """The place of every class among the pipeline's."""
        places = {name: place for place, name in enumerate(self.pipeline_.labels)}
        return np.array([places[name] for name in self._labels(self.classes_)])

    def predict_proba(self, X):
        """Probabilities, a column a class of `classes_`. Far from the data they are even."""
        return self._predict(X).probabilities[:, self._order]

    def predict_log_proba(self, X):
        """Logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def predict(self, X):
        """The most probable class of every row, whether the model is certain or not."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def decision_function(self, X):
        """Logarithms of the probabilities; of two classes, the logarithm of their ratio."""
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def predict_or_abstain(self, X, abstain=None, fdr=None):
        """The class of every row that the model answers, and `abstain` for the others.

        With `fdr`, also for those of `X` that are flagged as out-of-distribution, see `answer`.
        """
        answers = self.answer(X, fdr=fdr)
        places = np.empty(len(self.classes_), dtype=int)
        places[self._order] = np.arange(len(self.classes_))
        accepted = answers["accepted"]
        whole = isinstance(abstain, type(self.classes_[0].item()))
        found = np.full(len(accepted), abstain, dtype=None if whole else object)
        if whole and self.classes_.dtype.kind in "US":
            found = found.astype(np.promote_types(found.dtype, self.classes_.dtype))
        found[accepted] = self.classes_[places[answers["index"][accepted]]]
        return found

    def partial_fit(self, X, y, classes=None):
        """Fits on the first call; on later ones lets the variance know about more rows.

        Later rows have to be of known classes. What is predicted changes with a new `fit` only.
        """
        if not hasattr(self, "pipeline_"):
            missing = [] if classes is None else np.setdiff1d(classes, np.unique(y))
            if len(missing):
                raise ValueError(f"the first rows have no example of {missing.tolist()}")
            return self.fit(X, y)
        X, y = self._checked(X, self._required(y))
        unknown = np.setdiff1d(np.unique(y), self.classes_)
        if len(unknown):
            raise ValueError(f"{unknown.tolist()} are no classes of the model; fit it anew")
        self.pipeline_.update(self._labelled(X, None), None)
        return self


def typed(labels):
    """Labels as what they look like, so that a saved model has the classes it was fitted to."""
    for kind in (int, float):
        try:
            values = [kind(label) for label in labels]
        except ValueError:
            continue
        if [str(value) for value in values] == labels:
            return np.array(values)
    if sorted(labels) == ["False", "True"]:
        return np.array([label == "True" for label in labels])
    return np.array(labels)


def checked_targets(estimator, X, y):
    """Targets that go with inputs which scikit-learn does not look into."""
    if y is None:
        return None
    y = _check_y(y, y_numeric=estimator._target == "numbers", estimator=estimator)
    check_consistent_length(X, y)
    return y


__all__ = [
    "Classifier",
    "Estimator",
    "checked_targets",
    "frame_rows",
    "is_frame",
    "typed",
    "validate_data",
]
