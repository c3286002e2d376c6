"""The estimators."""

import re

import numpy as np
from sklearn.base import RegressorMixin

from . import _core
from ._base import (
    Classifier,
    Estimator,
    checked_targets,
    frame_rows,
    is_frame,
    validate_data,
)
from ._tables import vectors

__all__ = [
    "GPHead",
    "SNGPClassifier",
    "SNGPImageClassifier",
    "SNGPRegressor",
    "SNGPTextClassifier",
    "load",
]


class _Table(Estimator):
    """Tables: arrays of numbers, or named columns of numbers, categories and missing values."""

    _kind = ("table", None)
    _kind_name = "table"

    def _checked(self, X, y=None, *, reset=False):
        if is_frame(X):
            # Categories and missing values are welcome here; arrays have neither.
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return X, checked_targets(self, X, y)
        given = {} if y is None else {"y": y, "y_numeric": self._target == "numbers"}
        least = 2 if reset else 1
        checked = validate_data(
            self, X, dtype=np.float64, reset=reset, ensure_min_samples=least, **given
        )
        return checked if y is not None else (checked, None)

    def _labelled(self, X, y):
        if is_frame(X):
            return frame_rows(X, self._labels(y))
        names = getattr(self, "_names", None)
        if names is not None and len(names) != X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the model was fitted to {len(names)} columns: "
                f"{', '.join(names)}"
            )
        if names is None and hasattr(self, "feature_names_in_"):
            names = list(self.feature_names_in_)
        return _core.Rows.numbers(np.ascontiguousarray(X), names, self._labels(y))

    def _rows(self, X, y=None):
        return self._labelled(*self._checked(X, y))

    def _learn_pipeline(self, found):
        super()._learn_pipeline(found)
        recipe = found["card"]["recipe"]
        if recipe["kind"] != "table":
            self._names = recipe["columns"]
            return
        used = [column["name"] for column in recipe["columns"]]
        every = used + [column["name"] for column in recipe["ignored"]]
        if all(re.fullmatch(r"x\d+", name) for name in every):
            used = sorted(every, key=lambda name: int(name[1:]))
        self._names = used


class SNGPClassifier(Classifier, _Table):
    """A classifier of tables that knows what it does not know.

    Parameters
    ----------
    method : name of the method, `sngp` or one of those that `sngp list` shows.
    features : number of random features.
    length_scale : of the kernel; from the distances between rows when None.
    l2 : strength of the prior on the output weights.
    epochs : of methods that train a network.
    tune : whether several length scales and priors are tried; small tables are when None.
    random_state : determines everything random.

    Arrays hold numbers. Tables with named columns (pandas, polars, pyarrow, anything with the Arrow
    PyCapsule interface) may hold categories and missing values too.

    >>> import numpy as np
    >>> from sngp import SNGPClassifier
    >>> X = np.random.default_rng(0).normal(size=(120, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = SNGPClassifier(features=64).fit(X, y)
    >>> model.classes_.tolist()
    ['no', 'yes']
    >>> model.predict_or_abstain([[1, 0, 0], [500, 0, 0]]).tolist()
    ['yes', None]
    """

    def __init__(
        self,
        method="sngp",
        features=1024,
        length_scale=None,
        l2=0.02,
        epochs=None,
        tune=None,
        random_state=0,
    ):
        self.method = method
        self.features = features
        self.length_scale = length_scale
        self.l2 = l2
        self.epochs = epochs
        self.tune = tune
        self.random_state = random_state

    def fit(self, X, y):
        """Fits it; a share of the rows is held out to calibrate it on."""
        return self._fit(X, y)


class SNGPRegressor(RegressorMixin, _Table):
    """A regression of tables that knows what it does not know.

    Parameters are those of `SNGPClassifier`, but for `l2`, which the noise takes the place of.

    >>> import numpy as np
    >>> from sngp import SNGPRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 1))
    >>> model = SNGPRegressor(features=64).fit(X, np.sin(X[:, 0]))
    >>> mean, deviation = model.predict([[0.0], [60.0]], return_std=True)
    >>> bool(deviation[1] > deviation[0])
    True
    """

    _target = "numbers"
    _options = ("method", "features", "length_scale", "epochs", "tune")

    def __init__(
        self,
        method="sngp",
        features=1024,
        length_scale=None,
        epochs=None,
        tune=None,
        random_state=0,
    ):
        self.method = method
        self.features = features
        self.length_scale = length_scale
        self.epochs = epochs
        self.tune = tune
        self.random_state = random_state

    def fit(self, X, y):
        """Fits it; a share of the rows is held out to calibrate it on."""
        return self._fit(X, y)

    def _learn_targets(self, y):
        return np.asarray(y, dtype=np.float64)

    def predict(self, X, return_std=False):
        """The mean of every row, and its standard deviation, noise included, where asked for."""
        prediction = self._predict(X)
        if not return_std:
            return prediction.mean
        if prediction.deviation is None:
            raise ValueError(f"{self.method} predicts no deviation")
        return prediction.mean, prediction.deviation

    def predict_interval(self, X):
        """Lower and upper ends `[rows, 2]` of intervals that hold most values like the training's."""
        answers = self.answer(X)
        if "low" not in answers:
            raise ValueError("too few rows were held out to promise an interval")
        return np.column_stack([answers["low"], answers["high"]])

    def predict_or_abstain(self, X, abstain=np.nan):
        """The mean of every row that the model answers, and `abstain` for the others."""
        answers = self.answer(X)
        return np.where(answers["accepted"], answers["value"], abstain)

    def partial_fit(self, X, y):
        """Fits on the first call; on later ones lets the variance know about more rows."""
        if not hasattr(self, "pipeline_"):
            return self.fit(X, y)
        X, _ = self._checked(X, self._required(y))
        self.pipeline_.update(self._labelled(X, None), None)
        return self


class GPHead(Classifier):
    """A Gaussian-process head for vectors of any other model, such as embeddings.

    Tensors of PyTorch and JAX are taken as they are.

    Parameters
    ----------
    length_scale : of the kernel, of vectors normalized each by itself; chosen when None.
    l2 : strength of the prior on the output weights; chosen when None.
    budget : seconds to choose in: what vectors are measured in (their direction, columns in units of
        their own, or one unit for all), length scale and prior. An inner split of the training rows
        chooses, so that the rows held out for the threshold stay fresh. With 0 nothing is tried.

    The others are those of `SNGPClassifier`.

    >>> import numpy as np
    >>> from sngp import GPHead
    >>> vectors = np.random.default_rng(0).normal(size=(300, 8))
    >>> head = GPHead(features=64).fit(vectors, vectors[:, 0] > 0)
    >>> mean, variance = head.posterior(vectors[:2])
    >>> mean.shape, variance.shape
    ((2, 2), (2, 1))
    """

    _kind_name = "vectors"

    def __init__(
        self,
        method="sngp",
        features=1024,
        length_scale=None,
        l2=None,
        budget=60.0,
        epochs=None,
        random_state=0,
    ):
        self.method = method
        self.features = features
        self.length_scale = length_scale
        self.l2 = l2
        self.budget = budget
        self.epochs = epochs
        self.random_state = random_state

    _options = ("method", "features", "length_scale", "l2", "budget", "epochs")

    def fit(self, X, y):
        """Fits it; a share of the rows is held out to calibrate it on."""
        return self._fit(vectors(X), y)

    def _checked(self, X, y=None, *, reset=False):
        given = {} if y is None else {"y": y}
        checked = validate_data(self, vectors(X), dtype=np.float32, reset=reset, **given)
        return checked if y is not None else (checked, None)

    def _labelled(self, X, y):
        return _core.Rows.vectors(X, self._labels(y))

    def _rows(self, X, y=None):
        return self._labelled(*self._checked(X, y))

    def posterior(self, X):
        """Means `[rows, classes]` and variances `[rows, 1]` of the logits.

        Columns are in the order of `classes_`.
        """
        prediction = self._predict(X)
        return prediction.mean_logits[:, self._order], prediction.variance

    def accumulate(self, X):
        """The part of the posterior that vectors are, as bytes that `merge` takes."""
        return self.pipeline_.accumulate(self._rows(X))

    def _learn_pipeline(self, found):
        super()._learn_pipeline(found)
        self.n_features_in_ = found["card"]["recipe"]["width"]


class SNGPTextClassifier(Classifier):
    """A classifier of texts that knows what it does not know.

    Parameters
    ----------
    encoder : folder of a pretrained encoder (BERT's kind, safetensors and tokenizer.json), an ONNX
        file, or a name on the Hugging Face hub; texts are taken by their words and letters without
        one.
    fine_tune : whether the encoder is trained too.
    keep_classifier : whether the encoder is a classifier, an ONNX file, whose own answers stay.
    max_tokens : where texts are cut for an encoder.
    prompt : what every text begins with for an encoder, e.g. "query: "; as its files say when None.
    l2 : strength of the prior; chosen for an encoder's vectors, otherwise 0.02, when None.
    budget : seconds to choose length scale and prior of an encoder's vectors in; 0 tries nothing.

    The others are those of `SNGPClassifier`.

    >>> from sngp import SNGPTextClassifier
    >>> texts = [f"{what} number {i}" for i in range(30) for what in ("pay the bill", "play a song")]
    >>> model = SNGPTextClassifier(features=64).fit(texts, ["bank", "music"] * 30)
    >>> model.predict(["please pay this bill"]).tolist()
    ['bank']
    >>> model.answer(["qwzx vrrk"])["reason"]
    ['unknown_words']
    """

    _kind = ("text", "text")
    _kind_name = "text"
    _column = "text"
    _options = (
        *Estimator._options,
        "encoder",
        "fine_tune",
        "keep_classifier",
        "max_tokens",
        "prompt",
        "budget",
    )

    def __init__(
        self,
        encoder=None,
        fine_tune=False,
        keep_classifier=False,
        max_tokens=64,
        prompt=None,
        method="sngp",
        features=1024,
        length_scale=None,
        l2=None,
        budget=60.0,
        epochs=None,
        tune=None,
        random_state=0,
    ):
        self.encoder = encoder
        self.fine_tune = fine_tune
        self.keep_classifier = keep_classifier
        self.max_tokens = max_tokens
        self.prompt = prompt
        self.method = method
        self.features = features
        self.length_scale = length_scale
        self.l2 = l2
        self.budget = budget
        self.epochs = epochs
        self.tune = tune
        self.random_state = random_state

    def fit(self, X, y):
        """Fits it; a share of the texts is held out to calibrate it on."""
        return self._fit(X, y)

    def _checked(self, X, y=None, *, reset=False):
        texts = list(X.to_list() if hasattr(X, "to_list") else X)
        if isinstance(X, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("texts are a sequence of str")
        if not texts:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return texts, checked_targets(self, texts, y)

    def _labelled(self, X, y):
        return _core.Rows.columns([self._column], [X], self._labels(y))

    def _rows(self, X, y=None):
        return self._labelled(*self._checked(X, y))

    def _learn_pipeline(self, found):
        super()._learn_pipeline(found)
        self._column = found["card"]["recipe"]["text"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class SNGPImageClassifier(Classifier):
    """A classifier of images that knows what it does not know.

    Images are arrays of bytes `[height, width]` or `[height, width, 3]`, of any size each, or paths
    of PNG and JPEG files.

    Parameters
    ----------
    encoder : an ONNX file, a folder of published weights (ViT, DINOv2, CLIP, ResNet), or a name on the
        Hugging Face hub; a small network is trained without one.
    keep_classifier : whether the encoder is a classifier whose own answers stay.
    image_size : height and width that images are cropped and resized to without an encoder.
    l2 : strength of the prior; chosen for an encoder's vectors, otherwise 0.02, when None.
    budget : seconds to choose length scale and prior of an encoder's vectors in; 0 tries nothing.

    The others are those of `SNGPClassifier`.
    """

    _kind_name = "images"
    _column = "image"
    _options = (*Estimator._options, "encoder", "keep_classifier", "image_size", "budget")

    def __init__(
        self,
        encoder=None,
        keep_classifier=False,
        image_size=32,
        method="sngp",
        features=1024,
        length_scale=None,
        l2=None,
        budget=60.0,
        epochs=None,
        tune=None,
        random_state=0,
    ):
        self.encoder = encoder
        self.keep_classifier = keep_classifier
        self.image_size = image_size
        self.budget = budget
        self.method = method
        self.features = features
        self.length_scale = length_scale
        self.l2 = l2
        self.epochs = epochs
        self.tune = tune
        self.random_state = random_state

    @property
    def _kind(self):
        return ("images", self._column)

    def fit(self, X, y):
        """Fits it; a share of the images is held out to calibrate it on."""
        return self._fit(X, y)

    def _checked(self, X, y=None, *, reset=False):
        images = list(X)
        if not images:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if isinstance(X, str):
            raise TypeError("images are a sequence of arrays or of paths")
        if not all(isinstance(image, str) or hasattr(image, "__fspath__") for image in images):
            images = [_pixels(image) for image in images]
        return images, checked_targets(self, images, y)

    def _labelled(self, X, y):
        if isinstance(X[0], np.ndarray):
            return _core.Rows.images(X, self._labels(y))
        return _core.Rows.columns([self._column], [[str(path) for path in X]], self._labels(y))

    def _rows(self, X, y=None):
        return self._labelled(*self._checked(X, y))

    def _learn_pipeline(self, found):
        super()._learn_pipeline(found)
        self._column = found["card"]["recipe"]["column"]


def _pixels(image):
    image = np.asarray(image)
    if image.dtype != np.uint8:
        raise TypeError(f"an image is an array of uint8, not of {image.dtype}")
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    if image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(f"an image is [height, width] or [height, width, 3], not {image.shape}")
    return np.ascontiguousarray(image)


def load(folder):
    """Loads a model folder as the estimator that suits it."""
    pipeline = _core.Pipeline.load(folder)
    found = pipeline.describe()
    table = SNGPClassifier if pipeline.labels else SNGPRegressor
    kinds = {
        "table": table,
        "vectors": GPHead,
        "text": SNGPTextClassifier,
        "images": SNGPImageClassifier,
    }
    return kinds[found["kind"]]._of_pipeline(pipeline)
