"""A head on a PyTorch module."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.datasets import load_digits
from sngp import GPHead
from sngp.torch import Penultimate, TorchHead


@pytest.fixture(scope="module")
def trained():
    """A small convolutional network that reads digits, and its data."""
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    labels = torch.tensor(labels)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 36, 32),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(32, 10),
    )
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(15):
        for some in torch.randperm(1200).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(images[some]), labels[some]).backward()
            optimizer.step()
    return network, images, labels


def loader(images, labels):
    data = torch.utils.data.TensorDataset(images, labels)
    return torch.utils.data.DataLoader(data, batch_size=128)


def test_a_head_reads_digits_and_rejects_noise(trained):
    network, images, labels = trained
    head = TorchHead(network, features=256).fit(loader(images[:1200], labels[:1200]))
    test, truth = images[1200:], labels[1200:].numpy()
    assert np.mean(head.predict(test) == truth) > 0.85
    noise = torch.rand(200, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    from sngp.metrics import auroc

    values = -np.concatenate([head.score_samples(test), head.score_samples(noise)])
    assert auroc(values, np.arange(len(values)) >= len(test)) > 0.8
    assert network.training, "the module is as it was"
    assert not network[6]._forward_pre_hooks


def test_layers_by_name_and_what_cannot_be_read(trained):
    network, images, _ = trained
    assert Penultimate(network).vectors(images[:4]).shape == (4, 32)
    assert Penultimate(network, "3").vectors(images[:4]).shape == (4, 576)
    with pytest.raises(ValueError, match="no layer `nonsense`"):
        Penultimate(network, "nonsense")
    with pytest.raises(ValueError, match="no linear layer"):
        Penultimate(torch.nn.ReLU())


def test_tensors_are_vectors(trained):
    network, images, labels = trained
    hidden = network[:5](images)
    assert hidden.requires_grad
    head = GPHead(features=64).fit(hidden[:1200], labels[:1200])
    assert head.predict_proba(hidden[1200:1210]).shape == (10, 10)
