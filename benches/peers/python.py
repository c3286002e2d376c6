"""The Python head beside its peers, on the same CLINC vectors, two threads, one run.

    OMP_NUM_THREADS=2 RAYON_NUM_THREADS=2 python benches/peers/python.py DATA [--only NAMES] [--json FILE]

DATA holds embeddings/clinc_minilm.npz. Every peer runs in a process of its own, which measures its
peak memory: fit and posterior, then predict with variance or its like on test and out-of-scope rows.
Peers that are not installed are said to be skipped. Needs numpy and scikit-learn; for the peers torch,
laplace-torch, gpytorch, and probly where its Python is this one.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(variable, "2")

import numpy as np


def sngp(x, y, classes):
    """Ours: fit, posterior, calibration and the decision in one call."""
    from sngp import GPHead

    head = GPHead().fit(x, y)

    def predict(rows):
        prediction = head._predict(rows)
        return prediction.probabilities[:, head._order], prediction.score(head.pipeline_.score)

    return predict


def logistic_regression(x, y, classes):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(x, y)

    def predict(rows):
        p = model.predict_proba(rows)
        return p, 1 - p.max(axis=1)

    return predict


def laplace_kron(x, y, classes):
    return _laplace(x, y, classes, "kron")


def laplace_full(x, y, classes):
    return _laplace(x, y, classes, "full")


def _laplace(x, y, classes, structure):
    import torch
    from laplace import Laplace

    torch.manual_seed(0)
    torch.set_num_threads(2)
    # A linear layer on the vectors is the last layer of a network whose others are the encoder.
    network = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(x.shape[1], classes))
    rows, labels = torch.tensor(x), torch.tensor(y)
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(30):
        for some in torch.randperm(len(rows)).split(256):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(rows[some]), labels[some]).backward()
            optimizer.step()
    posterior = Laplace(
        network, "classification", subset_of_weights="last_layer", hessian_structure=structure
    )
    data = torch.utils.data.TensorDataset(rows, labels)
    posterior.fit(torch.utils.data.DataLoader(data, batch_size=512))
    posterior.optimize_prior_precision(method="marglik")

    def predict(new):
        parts = [posterior(part, link_approx="probit") for part in torch.tensor(new).split(256)]
        p = torch.cat(parts).detach().numpy().astype(np.float64)
        return p, -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)

    return predict


def gpytorch_svgp(x, y, classes):
    import gpytorch
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(2)
    latents = 32

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, inducing):
            shape = torch.Size([latents])
            distribution = gpytorch.variational.CholeskyVariationalDistribution(
                inducing.shape[0], batch_shape=shape
            )
            strategy = gpytorch.variational.LMCVariationalStrategy(
                gpytorch.variational.VariationalStrategy(self, inducing, distribution),
                num_tasks=classes,
                num_latents=latents,
                latent_dim=-1,
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean(batch_shape=shape)
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(batch_shape=shape), batch_shape=shape
            )

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(rows), self.covar_module(rows)
            )

    rows, labels = torch.tensor(x), torch.tensor(y)
    model = Model(rows[torch.randperm(len(rows))[:256]].clone())
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=classes, mixing_weights=False)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(rows))
    parameters = [*model.parameters(), *likelihood.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-2)
    for _ in range(10):
        for some in torch.randperm(len(rows)).split(256):
            optimizer.zero_grad()
            (-objective(model(rows[some]), labels[some])).backward()
            optimizer.step()
    model.eval()

    def predict(new):
        parts = []
        with torch.no_grad():
            for part in torch.tensor(new).split(256):
                parts.append(likelihood(model(part)).probs.mean(dim=0))
        p = torch.cat(parts).numpy().astype(np.float64)
        return p, -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)

    return predict


PEERS = {
    peer.__name__: peer
    for peer in (sngp, logistic_regression, laplace_kron, laplace_full, gpytorch_svgp)
}


def measure(name, path):
    """Runs one peer; what it prints is read by the parent."""
    from sngp.metrics import accuracy, aupr, auroc, ece

    arrays = np.load(path)
    x, y = arrays["train_x"].astype(np.float32), arrays["train_y"].astype(np.int64)
    started = time.perf_counter()
    predict = PEERS[name](x, y, int(y.max()) + 1)
    fit = time.perf_counter() - started
    started = time.perf_counter()
    p, inside = predict(arrays["test_x"].astype(np.float32))
    _, outside = predict(arrays["oos_test_x"].astype(np.float32))
    seconds = time.perf_counter() - started
    p = p / p.sum(axis=1, keepdims=True)
    truth = arrays["test_y"].astype(np.int64)
    scores = np.concatenate([inside, outside])
    is_ood = np.arange(len(scores)) >= len(inside)
    return {
        "peer": name,
        "fit_seconds": fit,
        "predict_seconds": seconds,
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "accuracy": accuracy(p, truth),
        "ece": ece(p, truth),
        "auroc": auroc(scores, is_ood),
        "aupr": aupr(scores, is_ood),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--only", help="names of peers, by commas")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    path = args.data / "embeddings" / "clinc_minilm.npz"
    if args.peer:
        print(json.dumps(measure(args.peer, path)))
        return
    figures = []
    for name in args.only.split(",") if args.only else PEERS:
        command = [sys.executable, __file__, str(args.data), "--peer", name]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        if ended.returncode:
            reason = ended.stderr.strip().splitlines()[-1:]
            print(f"{name}: skipped: {''.join(reason)}", file=sys.stderr)
            continue
        figures.append(json.loads(ended.stdout.splitlines()[-1]))
        print(
            "  ".join(f"{k} {v:.4f}" if isinstance(v, float) else v for k, v in figures[-1].items())
        )
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
