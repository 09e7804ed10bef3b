"""A small network of columns, trained by DP-SGD (Opacus, extra ``dpsgd``), for scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from divulge.errors import MissingExtra
from divulge.types import Array

DELTA = 1e-5


class PrivateNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One hidden layer; epsilon is the accountant's at delta 1e-5."""

    def __init__(
        self,
        epsilon: float = 1.0,
        epochs: int = 10,
        hidden: int = 64,
        batch: int = 256,
        rate: float = 5e-3,
        random_state: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.epochs = epochs
        self.hidden = hidden
        self.batch = batch
        self.rate = rate
        self.random_state = random_state

    def fit(self, x: Any, y: Any) -> PrivateNetwork:
        """Adam on clipped and noised gradients; the noise is not cryptographically secure."""
        import torch

        try:
            from opacus import PrivacyEngine
        except ModuleNotFoundError:
            raise MissingExtra("opacus", "dpsgd") from None
        self.classes_, codes = np.unique(y, return_inverse=True)
        data = torch.utils.data.TensorDataset(
            torch.from_numpy(np.asarray(x, dtype=np.float32)), torch.from_numpy(codes)
        )
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            torch.manual_seed(self.random_state)
            network = torch.nn.Sequential(
                torch.nn.Linear(x.shape[1], self.hidden),
                torch.nn.Tanh(),
                torch.nn.Linear(self.hidden, self.classes_.size),
            )
            model, optimizer, loader = PrivacyEngine(accountant="prv").make_private_with_epsilon(
                module=network,
                optimizer=torch.optim.Adam(network.parameters(), lr=self.rate),
                data_loader=torch.utils.data.DataLoader(data, batch_size=self.batch),
                epochs=self.epochs,
                target_epsilon=self.epsilon,
                target_delta=DELTA,
                max_grad_norm=1.0,
                noise_generator=torch.Generator().manual_seed(self.random_state),
            )
            for _ in range(self.epochs):
                for some, labels in loader:
                    optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(model(some), labels).backward()
                    optimizer.step()
        self.weights_ = [p.detach().numpy() for p in network.parameters()]
        return self

    def predict_proba(self, x: Any) -> Array:
        """A probability for every class."""
        from scipy.special import softmax

        into, shift, out, last = self.weights_
        hidden = np.tanh(np.asarray(x, dtype=float) @ into.T + shift)
        return np.asarray(softmax(hidden @ out.T + last, axis=1))

    def predict(self, x: Any) -> Any:
        """The likeliest class."""
        return self.classes_[self.predict_proba(x).argmax(axis=1)]
