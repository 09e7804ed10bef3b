"""Small convolutional networks of Fashion-MNIST for the experiments: seconds each on one core.

Images are averaged to 14 x 14 pixels and stand as rows of 196 numbers between 0 and 1.
``ConvNet`` is a scikit-learn classifier; ``FixMatch`` is one that also learns from images without
labels (Sohn et al. 2020): where it is sure of a slightly moved image, its guess is the label of a
heavily changed one. Needs the extra ``torch``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from label_tables import PARTS, read_idx
from sklearn.base import BaseEstimator, ClassifierMixin

from divulge.errors import MissingExtra, require
from divulge.types import Array, Index

SIDE = 14


def library() -> Any:
    """Torch with one thread."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "torch") from None
    torch.set_num_threads(1)
    return torch


def small_images(folder: Path) -> tuple[Array, Index]:
    """All images of Fashion-MNIST, training images first, and their classes."""
    images, labels, test_images, test_labels = (read_idx(folder / f"{p}-ubyte") for p in PARTS)
    pixels = np.concatenate([images, test_images]).astype(np.float32) / 255.0
    n, height, width = pixels.shape
    require(height % SIDE == 0 and width % SIDE == 0, "Images must be 28 x 28 pixels, or 14 x 14.")
    blocks = pixels.reshape(n, SIDE, height // SIDE, SIDE, width // SIDE)
    codes = np.concatenate([labels, test_labels]).astype(np.intp)
    return blocks.mean(axis=(2, 4)).reshape(n, -1), codes


class ConvNet(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Two convolutions with stride 2 and one or two layers, by Adam on the cross-entropy."""

    def __init__(
        self,
        epochs: int = 30,
        rate: float = 3e-3,
        batch: int = 128,
        width: int = 16,
        hidden: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.epochs = epochs
        self.rate = rate
        self.batch = batch
        self.width = width
        self.hidden = hidden
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ConvNet:  # noqa: N803
        """Train on hard labels."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        return self._train(np.asarray(X), np.eye(self.classes_.size)[codes])

    def fit_soft(self, X: Any, soft: Array, classes: Any) -> ConvNet:  # noqa: N803
        """Train on one distribution over the ``classes`` per record."""
        self.classes_ = np.asarray(classes)
        return self._train(np.asarray(X), np.asarray(soft))

    def _train(self, x: Array, soft: Array) -> ConvNet:
        torch = library()
        rng = np.random.default_rng(self.random_state)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            self.network_ = network(torch, self.width, self.hidden, soft.shape[1])
        optimizer = torch.optim.Adam(self.network_.parameters(), lr=self.rate)
        records, wanted = as_images(torch, x), torch.from_numpy(soft.astype(np.float32))
        self.network_.train()
        for _ in range(self.epochs):
            order = torch.from_numpy(rng.permutation(len(records)))
            for some in order.split(self.batch):
                self._step(torch, optimizer, records[some], wanted[some], rng)
        self.network_.eval()
        return self

    def _step(
        self, torch: Any, optimizer: Any, records: Any, wanted: Any, rng: np.random.Generator
    ) -> None:
        loss = torch.nn.functional.cross_entropy(self.network_(records), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """One column per class."""
        torch = library()
        return self._asked(torch, self.network_, X, lambda out: torch.softmax(out.double(), 1))

    def embed(self, X: Any) -> Array:  # noqa: N803
        """What the last layer sees."""
        torch = library()
        return self._asked(torch, self.network_[:-1], X, lambda out: out.double())

    def _asked(self, torch: Any, module: Any, x: Any, of: Any) -> Array:
        with torch.no_grad():
            parts = as_images(torch, np.asarray(x)).split(4096)
            return np.concatenate([of(module(part)).numpy() for part in parts])


class FixMatch(ConvNet):
    """A network that also learns from ``unlabelled`` images, half of its steps' gradient."""

    def __init__(
        self,
        unlabelled: Any = None,
        epochs: int = 30,
        rate: float = 3e-3,
        batch: int = 128,
        width: int = 16,
        hidden: int = 0,
        sure: float = 0.9,
        random_state: int | None = None,
    ) -> None:
        super().__init__(epochs, rate, batch, width, hidden, random_state)
        self.unlabelled = unlabelled
        self.sure = sure

    def _train(self, x: Array, soft: Array) -> FixMatch:
        """Passes are counted in unlabelled images; the labelled ones are drawn again and again."""
        self._others = as_images(library(), np.asarray(self.unlabelled))
        rng = np.random.default_rng(self.random_state)
        times = -(-len(self._others) // x.shape[0])
        again = np.concatenate([rng.permutation(x.shape[0]) for _ in range(times)])
        again = again[: len(self._others)]
        super()._train(x[again], soft[again])
        del self._others
        return self

    def _step(
        self, torch: Any, optimizer: Any, records: Any, wanted: Any, rng: np.random.Generator
    ) -> None:
        entropy = torch.nn.functional.cross_entropy
        some = self._others[torch.from_numpy(rng.integers(len(self._others), size=len(records)))]
        with torch.no_grad():
            guess = torch.softmax(self.network_(moved(torch, some, 1, rng)), 1)
        top, label = guess.max(1)
        said = self.network_(changed(torch, some, rng))
        own = entropy(self.network_(moved(torch, records, 1, rng)), wanted)
        loss = own + ((top > self.sure) * entropy(said, label, reduction="none")).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def network(torch: Any, width: int, hidden: int, classes: int) -> Any:
    """14 x 14 pixels, then 7 x 7 and 4 x 4 cells, then hidden units if there are any."""
    nn = torch.nn
    more = (nn.Linear(32 * width, hidden), nn.ReLU()) if hidden else ()
    return nn.Sequential(
        nn.Conv2d(1, width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        *more,
        nn.Linear(hidden or 32 * width, classes),
    )


def as_images(torch: Any, x: Array) -> Any:
    """Rows of pixels as a batch of images; columns after the pixels are not theirs."""
    pixels = np.ascontiguousarray(x[:, : SIDE * SIDE], dtype=np.float32)
    return torch.from_numpy(pixels).reshape(-1, 1, SIDE, SIDE)


def moved(torch: Any, images: Any, most: int, rng: np.random.Generator) -> Any:
    """The batch moved by up to so many pixels and mirrored, each image in its own way."""
    n = len(images)
    padded = torch.nn.functional.pad(images, (most,) * 4)
    down, right = (torch.from_numpy(rng.integers(2 * most + 1, size=n)) for _ in range(2))
    place = torch.arange(SIDE)
    rows, columns = down[:, None] + place, right[:, None] + place
    mirror = torch.from_numpy(rng.random(n) < 0.5)[:, None]
    columns = torch.where(mirror, columns.flip(1), columns)
    chosen = padded[torch.arange(n)[:, None, None], 0, rows[:, :, None], columns[:, None, :]]
    return chosen[:, None]


def changed(torch: Any, images: Any, rng: np.random.Generator) -> Any:
    """Moved further, with another contrast, and a square of 5 x 5 pixels blotted out."""
    out = moved(torch, images, 2, rng)
    n = len(out)
    contrast = torch.from_numpy(rng.uniform(0.5, 1.5, size=(n, 1, 1, 1)).astype(np.float32))
    top, left = (torch.from_numpy(rng.integers(SIDE - 4, size=n))[:, None] for _ in range(2))
    place = torch.arange(SIDE)
    rows, columns = (place >= top) & (place < top + 5), (place >= left) & (place < left + 5)
    return out * contrast * ~(rows[:, :, None] & columns[:, None, :])[:, None]
