"""Images from a small class-conditional adversarial network (extra ``torch``).

PANORAMIA trains StyleGAN2 with augmented data (002, Appendix C.1; Karras et al., 2020). Here a
generator of two upsamplings plays against a critic with spectral normalisation that sees every
image, real or generated, moved by a few pixels, so that few records do not teach it by heart. The
loss is the hinge, the class enters the critic as a projection, and the weights that generate are an
average over the steps. A labeler, a classifier of the same records, then labels what was made.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from divulge.data.tables import Frame, require_columns
from divulge.errors import InputError, require
from divulge.generators.base import Training
from divulge.generators.encoding import as_arrow, columns_of, rebuild, table_of
from divulge.generators.images import pixels_of, rebuilt
from divulge.models.checkpoint import capture, restore
from divulge.models.convolution import ImageClassifier, moved, side_of
from divulge.models.rehearsal import library
from divulge.types import Array, Index
from divulge.work.pieces import digest
from divulge.work.threads import single

PARTS = 10
"""Pieces of a training: a run that was stopped loses a tenth of it at most."""
FEWEST = 64
MEMORY = 0.995
"""How much of the average stays at every step, at most."""
ASKED = 512


@dataclass(frozen=True)
class AdversarialImages:
    """``label``: the column of the class, if there is one; every other column is a pixel.

    Pixels stand row by row and make a square. ``labeler``: labels are those of a classifier that
    learned from the same records, as published; without it, the class that was asked for.
    """

    label: str | None = None
    epochs: int = 100
    batch: int = 64
    latent: int = 64
    width: int = 16
    rate: float = 4e-4
    labeler: bool = True

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "latent", "width"):
            found = getattr(self, name)
            require(found >= 1, f"{name} must be at least 1. Found {found}.")
        require(self.rate > 0.0, f"rate must be positive. Found {self.rate}.")

    @property
    def name(self) -> str:
        return "gan"

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        return self.generate_in_pieces(records, count, rng, Training())

    @single
    def generate_in_pieces(
        self, records: Frame, count: int, rng: np.random.Generator, training: Training
    ) -> Frame:
        """A tenth of the epochs is a piece: each starts where the one before it ended."""
        if self.label is not None:
            require_columns(records, [self.label], "the records")
        if len(records) < FEWEST:
            raise InputError(
                f"{len(records)} images are too few to train a network on: at least {FEWEST} are "
                "needed. The generator 'mixture' takes fewer."
            )
        records = as_arrow(records)
        pixels, shapes = pixels_of(records, self.label)
        images = np.column_stack([column.floats() for column in pixels])
        label, classes = None, np.zeros(len(records), np.intp)
        if self.label is not None:
            label = columns_of(records.select(self.label))[0]
            classes = np.unique(label.states, return_inverse=True)[1]
        asked = classes[rng.integers(0, len(records), count)]
        made = self._trained(images, classes, rng, training).draw(asked, rng)
        if self.labeler and classes.max() > 0:
            asked = labels(images, classes, made, rng)
        donors = np.zeros(count, np.intp)
        for level in np.unique(asked):  # a record of the class carries its label over
            own = asked == level
            donors[own] = rng.choice(np.flatnonzero(classes == level), int(own.sum()))
        arrays = rebuilt(pixels, shapes, made, donors)
        if label is not None:
            arrays[label.name] = rebuild(label, donors)
        return table_of(records, arrays)

    def _trained(
        self, images: Array, classes: Index, rng: np.random.Generator, training: Training
    ) -> Networks:
        torch = library("torch", "torch")
        low, high = float(images.min()), float(images.max())
        scaled = (images - low) / max(high - low, 1e-9) * 2.0 - 1.0
        side = side_of(images.shape[1])
        x = torch.from_numpy(scaled.reshape(-1, 1, side, side).astype(np.float32))
        y = torch.from_numpy(classes.astype(np.int64))
        seed = int(rng.integers(2**62))
        pieces, advance = training.pieces, training.tell("epochs")
        known = {"records": digest(images, classes), "seed": seed, "torch": torch.__version__}
        known |= {k: v for k, v in asdict(self).items() if k not in ("label", "labeler")}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found = Networks(self, side, int(classes.max()) + 1, (low, high))
            parts = np.array_split(np.arange(self.epochs), min(PARTS, self.epochs))
            for part in parts:
                named = {**known, "after": int(part[-1]) + 1}
                kept = pieces.find("adversarial", named)
                if kept is None:
                    for number in part:
                        found.epoch(x, y, np.random.default_rng([seed, int(number)]))
                        advance(int(number) + 1, self.epochs)
                    pieces.store("adversarial", named, capture(found.all, found.optimizer))
                else:
                    restore(found.all, found.optimizer, kept)
                    advance(int(part[-1]) + 1, self.epochs)
        return found


class Networks:
    """Generator, critic and the generator's average, with one optimiser for the two that learn."""

    def __init__(
        self, how: AdversarialImages, side: int, classes: int, span: tuple[float, float]
    ) -> None:
        torch = library("torch", "torch")
        self.torch, self.how, self.classes, self.span, self.side = torch, how, classes, span, side
        maker, critic = _maker(torch, how, side, classes), _critic(torch, how, classes)
        self.all = torch.nn.ModuleDict(
            {"maker": maker, "critic": critic, "average": copy.deepcopy(maker)}
        )
        self.optimizer = torch.optim.Adam(
            [*maker.parameters(), *critic.parameters()], lr=how.rate, betas=(0.0, 0.9)
        )

    def epoch(self, x: Any, y: Any, rng: np.random.Generator) -> None:
        """One pass over the images: a step of the critic, then one of the generator."""
        torch, maker, critic = self.torch, self.all["maker"], self.all["critic"]
        most = max(1, self.side // 8)
        order = torch.from_numpy(rng.permutation(len(x)))
        for start in range(0, len(x) - 1, self.how.batch):
            some = order[start : start + self.how.batch]
            if len(some) < 2:  # a batch norm has no use for a single image
                continue
            made = maker(self._noise(y[some]), self._shown(y[some]))
            critic.requires_grad_(True)
            real = critic(moved(torch, x[some], most, rng), y[some])
            fake = critic(moved(torch, made.detach(), most, rng), y[some])
            self._step((1.0 - real).relu().mean() + (1.0 + fake).relu().mean())
            critic.requires_grad_(False)
            self._step(-critic(moved(torch, made, most, rng), y[some]).mean())
            steps = int(maker.state_dict()["body.0.num_batches_tracked"])
            with torch.no_grad():
                kept = min(MEMORY, (1.0 + steps) / (10.0 + steps))  # what came first is forgotten
                for mean, now in zip(
                    self.all["average"].state_dict().values(),
                    maker.state_dict().values(),
                    strict=True,
                ):
                    if mean.is_floating_point():
                        mean.lerp_(now, 1.0 - kept)
                    else:
                        mean.copy_(now)

    def draw(self, classes: Index, rng: np.random.Generator) -> Array:
        """New images of these classes, as rows of pixels in the range of the records."""
        torch, average = self.torch, self.all["average"]
        average.eval()
        parts = []
        with torch.inference_mode():
            for start in range(0, len(classes), ASKED):
                y = torch.from_numpy(classes[start : start + ASKED].astype(np.int64))
                noise = rng.normal(size=(len(y), self.how.latent)).astype(np.float32)
                parts.append(average(torch.from_numpy(noise), self._shown(y)).flatten(1).numpy())
        low, high = self.span
        return (np.concatenate(parts).astype(float) + 1.0) / 2.0 * (high - low) + low

    def _noise(self, y: Any) -> Any:
        return self.torch.randn(len(y), self.how.latent)

    def _shown(self, y: Any) -> Any:
        return self.torch.nn.functional.one_hot(y, self.classes).float()

    def _step(self, loss: Any) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def _maker(torch: Any, how: AdversarialImages, side: int, classes: int) -> Any:
    nn, w, first = torch.nn, how.width, -(-side // 4)

    def block(given: int, out: int) -> list[Any]:
        return [nn.ConvTranspose2d(given, out, 4, 2, 1), nn.BatchNorm2d(out), nn.ReLU()]

    class Maker(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.start = nn.Linear(how.latent + classes, 4 * w * first * first)
            self.body = nn.Sequential(
                nn.BatchNorm2d(4 * w),
                nn.ReLU(),
                *block(4 * w, 2 * w),
                *block(2 * w, w),
                nn.Conv2d(w, 1, 3, padding=1),
                nn.Tanh(),
            )

        def forward(self, noise: Any, shown: Any) -> Any:
            grown = self.start(torch.cat([noise, shown], dim=1))
            return self.body(grown.view(-1, 4 * w, first, first))[:, :, :side, :side]

    return Maker()


def _critic(torch: Any, how: AdversarialImages, classes: int) -> Any:
    nn, w = torch.nn, how.width
    calm = nn.utils.parametrizations.spectral_norm

    class Critic(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                calm(nn.Conv2d(1, w, 4, 2, 1)),
                nn.LeakyReLU(0.2),
                calm(nn.Conv2d(w, 2 * w, 4, 2, 1)),
                nn.LeakyReLU(0.2),
                calm(nn.Conv2d(2 * w, 4 * w, 3, 1, 1)),
                nn.LeakyReLU(0.2),
            )
            self.out = calm(nn.Linear(4 * w + 1, 1))
            self.of_class = calm(nn.Embedding(classes, 4 * w))

        def forward(self, images: Any, y: Any) -> Any:
            seen = self.body(images)
            alike = seen.std(0, unbiased=False).mean().expand(len(seen), 1)
            pooled = seen.mean((2, 3)) * 4.0
            own = (pooled * self.of_class(y)).sum(1)
            return self.out(torch.cat([pooled, alike], dim=1))[:, 0] + own

    return Critic()


def labels(images: Array, classes: Index, made: Array, rng: np.random.Generator) -> Index:
    """The classes of new images by a classifier of the records (002, Appendix C.1)."""
    seed = int(rng.integers(2**31))
    teacher = ImageClassifier(images.shape[1], shift=1, seed=seed).fit(images, classes)
    return np.asarray(teacher.predict(made), dtype=np.intp)
