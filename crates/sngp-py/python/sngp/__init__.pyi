from os import PathLike

from . import metrics as metrics
from . import scores as scores
from ._core import Evidence as Evidence
from ._core import HeadPlan as HeadPlan
from ._core import Pipeline as Pipeline
from ._core import Prediction as Prediction
from ._core import Rows as Rows
from ._core import __version__ as __version__
from ._estimators import Classifier
from ._estimators import GPHead as GPHead
from ._estimators import SNGPClassifier as SNGPClassifier
from ._estimators import SNGPImageClassifier as SNGPImageClassifier
from ._estimators import SNGPRegressor as SNGPRegressor
from ._estimators import SNGPTextClassifier as SNGPTextClassifier
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .precision import Precision as Precision

def load(folder: str | PathLike[str]) -> Classifier | SNGPRegressor: ...
