"""scikit-learn's own checks of estimators, none of them excused for tables."""

from sklearn.utils.estimator_checks import parametrize_with_checks
from sngp import GPHead, SNGPClassifier, SNGPRegressor

# Fewer features than the default: hundreds of models are fitted.
ESTIMATORS = [SNGPClassifier(features=64), SNGPRegressor(features=64), GPHead(features=64)]


def excused(estimator):
    """Nothing, but for the head: what it takes is the direction of vectors."""
    if not isinstance(estimator, GPHead):
        return {}
    return {"check_classifiers_train": "two numbers a row have hardly a direction to learn from"}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=excused)
def test_check(estimator, check):
    check(estimator)
