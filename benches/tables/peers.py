"""scikit-learn on the same rows."""
import time

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

COVERAGE = 0.9


def regressor(train, test):
    (x, y), (inputs, truth) = ((rows[:, :-1], rows[:, -1]) for rows in (np.array(train, "f8"), np.array(test, "f8")))
    started = time.perf_counter()
    model = HistGradientBoostingRegressor(random_state=0)
    errors = y - cross_val_predict(model, x, y, cv=KFold(5, shuffle=True, random_state=0))
    found = model.fit(x, y).predict(inputs)
    seconds = time.perf_counter() - started
    variance = np.mean(errors**2)
    half = np.sort(np.abs(errors))[min(int(np.ceil((len(errors) + 1) * COVERAGE)) - 1, len(errors) - 1)]
    squares = (truth - found) ** 2
    return {
        "rmse": float(np.sqrt(squares.mean())),
        "nll": float(np.mean(0.5 * np.log(2 * np.pi * variance) + 0.5 * squares / variance)),
        "interval_coverage": float(np.mean(np.sqrt(squares) <= half)),
        "interval_width": float(2 * half),
        "seconds": seconds,
    }


def split(rows):
    """Numbers with gaps, categories, labels."""
    cells = np.array(rows, dtype=object)
    is_number = [all(cell == "" or cell.replace(".", "").replace("-", "").replace("e", "").isdigit() for cell in column)
                 for column in cells[:, :-1].T]
    places = [j for j, number in enumerate(is_number) if number], [j for j, number in enumerate(is_number) if not number]
    inputs = cells[:, :-1].copy()
    for j in places[0]:
        inputs[:, j] = [float(cell) if cell else np.nan for cell in inputs[:, j]]
    return inputs, cells[:, -1].astype(str), places


def classifiers(train, test):
    (x, y, (numbers, kinds)), (inputs, truth, _) = split(train), split(test)
    linear = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (OneHotEncoder(handle_unknown="ignore"), kinds))
    ordinal = make_column_transformer(
        ("passthrough", numbers), (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), kinds))
    models = {
        "logistic regression": make_pipeline(linear, LogisticRegression(max_iter=1000)),
        "hist gradient boosting": make_pipeline(ordinal, HistGradientBoostingClassifier(random_state=0)),
    }
    found = {}
    for name, model in models.items():
        started = time.perf_counter()
        model.fit(x, y)
        seconds = time.perf_counter() - started
        probabilities = model.predict_proba(inputs)
        found[name] = {
            "accuracy": float(accuracy_score(truth, model.classes_[probabilities.argmax(1)])),
            "nll": float(log_loss(truth, probabilities, labels=model.classes_)),
            "seconds": seconds,
        }
    return found
