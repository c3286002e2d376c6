"""A Gaussian-process head on a PyTorch module that is trained already.

    from sngp.torch import TorchHead

    head = TorchHead(module).fit(loader)              # batches of (inputs, labels)
    probabilities = head.predict_proba(inputs)
    uncertain = head.score_samples(inputs)            # lower is less like the training data

The module stays as it is: the input of its last linear layer is read by a hook while it computes.
Needs PyTorch and scikit-learn.
"""

import contextlib

import numpy as np
import torch

from ._estimators import GPHead

__all__ = ["Penultimate", "TorchHead"]


class Penultimate:
    """Reads what goes into a layer of a module: by default into its last linear layer.

    `layer` is the layer itself or its name in `module.named_modules()`. A vector is taken as it is;
    of anything with more axes, the mean over those between the first and the last.
    """

    def __init__(self, module, layer=None):
        self.module = module
        self.layer = _layer(module, layer)

    def vectors(self, inputs):
        """The hidden vectors of a batch, as an array of float32."""
        caught = []
        hook = self.layer.register_forward_pre_hook(lambda _, given: caught.append(given[0]))
        training = self.module.training
        self.module.eval()
        try:
            with torch.no_grad():
                if isinstance(inputs, dict):
                    self.module(**inputs)
                elif isinstance(inputs, (tuple, list)):
                    self.module(*inputs)
                else:
                    self.module(inputs)
        finally:
            hook.remove()
            self.module.train(training)
        if len(caught) != 1:
            raise ValueError(
                f"the layer was used {len(caught)} times in one pass, where once is needed; name "
                "another one"
            )
        hidden = caught[0].detach().float()
        while hidden.ndim > 2:
            hidden = hidden.mean(dim=1)
        return hidden.cpu().numpy()


class TorchHead:
    """A module with a `GPHead` in place of its last layer.

    `options` are those of `GPHead`; `head` is the fitted one, for everything else that it can do.
    """

    def __init__(self, module, layer=None, **options):
        self.penultimate = Penultimate(module, layer)
        self.head = GPHead(**options)

    def fit(self, loader):
        """Fits the head to batches of inputs and labels: one pass through the module."""
        vectors, labels = [], []
        for inputs, some in loader:
            vectors.append(self.penultimate.vectors(inputs))
            labels.append(np.asarray(some.cpu() if hasattr(some, "cpu") else some))
        if not vectors:
            raise ValueError("the loader has no batch")
        self.head.fit(np.concatenate(vectors), np.concatenate(labels))
        return self

    def update(self, inputs, decay=None):
        """Lets the variance know about more inputs."""
        self.head.update(self.penultimate.vectors(inputs), decay)
        return self

    def calibrate(self, inputs, labels=None, **goal):
        """Chooses when it abstains, by inputs that played no part in the training."""
        self.head.calibrate(self.penultimate.vectors(inputs), labels, **goal)
        return self

    def __getattr__(self, name):
        # What `GPHead` does with vectors, this does with inputs of the module.
        if name not in _OF_INPUTS:
            raise AttributeError(f"'TorchHead' has no attribute '{name}'")
        method = getattr(self.head, name)
        return lambda inputs, **options: method(self.penultimate.vectors(inputs), **options)


_OF_INPUTS = {
    "answer",
    "decision_function",
    "posterior",
    "predict",
    "predict_or_abstain",
    "predict_proba",
    "score_samples",
}


def _layer(module, layer):
    if isinstance(layer, str):
        known = dict(module.named_modules())
        with contextlib.suppress(KeyError):
            return known[layer]
        names = ", ".join(name for name in known if name)
        raise ValueError(f"the module has no layer `{layer}`; there are {names}")
    if layer is not None:
        return layer
    linear = [part for part in module.modules() if isinstance(part, torch.nn.Linear)]
    if not linear:
        raise ValueError("the module has no linear layer; name the layer to read")
    return linear[-1]
