"""Images pixel by pixel, each drawn given those above it and to its left (extra ``torch``).

PANORAMIA trains StyleGAN2 (002, Appendix C.1). For small images a network of likelihoods comes
closer: c is about the real images that a generator misses, and likelihood punishes every one of
them. It is a PixelCNN (van den Oord et al., 2016) over grey levels, so that an exact zero stays
one. Two stacks of causal convolutions know the class, the place, and a *sketch* of the whole image:
a few principal components and its roughness, blurred by noise. New images follow the sketch of a
random record, blurred anew. A labeler, a classifier of the same records, draws their labels.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from divulge.data.tables import Frame, require_columns
from divulge.errors import InputError, require
from divulge.generators.base import Training
from divulge.generators.encoding import as_arrow, columns_of, rebuild, table_of
from divulge.generators.images import pixels_of, rebuilt
from divulge.generators.pixel_network import Networks
from divulge.models.checkpoint import capture, restore
from divulge.models.convolution import ImageClassifier, side_of
from divulge.models.rehearsal import library
from divulge.types import Array, Index
from divulge.work.pieces import digest
from divulge.work.threads import single

PARTS = 10
"""Pieces of a training: a run that was stopped loses a tenth of it at most."""
FEWEST = 64
HELD = 0.1
"""Share of the records that says which part of the training was best."""


@dataclass(frozen=True)
class PixelByPixel:
    """``label``: the column of the class, if there is one; every other column is a pixel.

    Pixels stand row by row and make a square. ``levels``: how many greys are told apart; values
    between two of them are drawn from the records. ``sketch``: principal components that are shown,
    ``blur``: the noise on them, in standard deviations. ``labeler``: labels are drawn by a
    classifier that learned from the same records; without it, they are those of the sketches.
    """

    label: str | None = None
    steps: int = 1_200
    batch: int = 64
    width: int = 32
    depth: int = 6
    levels: int = 48
    sketch: int = 16
    blur: float = 0.35
    rate: float = 3e-3
    labeler: bool = True

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("batch", 1), ("width", 1), ("depth", 1), ("levels", 2)):
            found = getattr(self, name)
            require(found >= least, f"{name} must be at least {least}. Found {found}.")
        require(self.sketch >= 0, f"sketch must be at least 0. Found {self.sketch}.")
        require(self.blur >= 0.0, f"blur must be at least 0. Found {self.blur}.")
        require(self.rate > 0.0, f"rate must be positive. Found {self.rate}.")

    @property
    def name(self) -> str:
        return "pixels"

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        return self.generate_in_pieces(records, count, rng, Training())

    @single
    def generate_in_pieces(
        self, records: Frame, count: int, rng: np.random.Generator, training: Training
    ) -> Frame:
        """A tenth of the steps is a piece: each starts where the one before it ended."""
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
        donors = rng.integers(0, len(records), count)
        made = self._made(images, classes, donors, rng, training)
        if self.labeler and classes.max() > 0:
            said = labels(images, classes, made, rng)
            for level in np.unique(said):  # a record of the class carries its label over
                own = said == level
                donors[own] = rng.choice(np.flatnonzero(classes == level), int(own.sum()))
        arrays = rebuilt(pixels, shapes, made, donors)
        if label is not None:
            arrays[label.name] = rebuild(label, donors)
        return table_of(records, arrays)

    def _made(
        self,
        images: Array,
        classes: Index,
        donors: Index,
        rng: np.random.Generator,
        training: Training,
    ) -> Array:
        """One new image for every donor: its class, its sketch blurred anew, and nothing else."""
        greys, outline = Greys.of(images, self.levels), Outline.of(images, self.sketch)
        codes, seen = greys.codes(images), outline.of_images(images)
        networks = self._trained(codes, classes, seen, greys.count, rng, training)
        blurred = seen[donors] + self.blur * rng.normal(size=(donors.size, seen.shape[1]))
        return greys.values(networks.draw(classes[donors], blurred, rng), rng)

    def _trained(
        self,
        codes: Index,
        classes: Index,
        seen: Array,
        greys: int,
        rng: np.random.Generator,
        training: Training,
    ) -> Networks:
        torch = library("torch", "torch")
        side = side_of(codes.shape[1])
        x = torch.from_numpy(codes.reshape(-1, side, side).astype(np.int64))
        y = torch.from_numpy(classes.astype(np.int64))
        z = torch.from_numpy(seen.astype(np.float32))
        seed = int(rng.integers(2**62))
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(codes)))
        held, taught = order.tensor_split([max(1, round(HELD * len(codes)))])
        pieces, advance = training.pieces, training.tell("steps")
        known = {"records": digest(codes, classes, seen), "seed": seed, "torch": torch.__version__}
        known |= {k: v for k, v in asdict(self).items() if k not in ("label", "labeler")}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            shape = (side, greys, int(classes.max()) + 1, seen.shape[1])
            found = Networks(shape, width=self.width, depth=self.depth, blur=self.blur)
            ends = np.linspace(0, self.steps, min(PARTS, self.steps) + 1).round().astype(int)
            for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                named = {**known, "after": end}
                kept = pieces.find("pixels", named)
                if kept is None:
                    for step in range(start, end):
                        some = np.random.default_rng([seed, step]).choice(
                            len(taught), min(self.batch, len(taught)), replace=False
                        )
                        rows = taught[torch.from_numpy(some)]
                        rate = self.rate * slope(step, self.steps)
                        found.step((x[rows], y[rows], z[rows]), step, rate)
                    found.judge((x[held], y[held], z[held]))
                    pieces.store("pixels", named, capture(found.all, found.optimizer))
                else:
                    restore(found.all, found.optimizer, kept)
                advance(end, self.steps)
        return found


def slope(step: int, steps: int) -> float:
    """The rate of learning, as a share: a short rise, then half a cosine."""
    rise = min(1.0, (step + 1) / min(50.0, 0.1 * steps + 1.0))
    return float(rise * (0.02 + 0.49 * (1.0 + np.cos(np.pi * step / steps))))


@dataclass(frozen=True)
class Greys:
    """Grey levels with about equally many pixels in each; a frequent value is one of its own."""

    starts: Array
    """The smallest value of every level, in ascending order."""
    sorted_values: Array = field(repr=False)
    """All pixels of the records."""

    @classmethod
    def of(cls, images: Array, count: int) -> Greys:
        """At most ``count`` levels, or one more behind every frequent value."""
        values = np.sort(images, axis=None)
        levels, found = np.unique(values, return_counts=True)
        if levels.size <= count:
            return cls(levels, values)
        frequent = found >= values.size / count
        rest = np.repeat(levels[~frequent], found[~frequent])
        parts = max(1, count - int(frequent.sum()))
        cuts = np.quantile(rest, np.arange(parts) / parts, method="lower") if rest.size else rest
        after = levels[1:][frequent[:-1]]
        return cls(np.unique(np.concatenate([cuts, levels[frequent], after])), values)

    @property
    def count(self) -> int:
        return int(self.starts.size)

    def codes(self, images: Array) -> Index:
        """The level of every pixel."""
        return np.searchsorted(self.starts, images, side="right") - 1

    def values(self, codes: Index, rng: np.random.Generator) -> Array:
        """A value of the records for every level."""
        edges = np.append(np.searchsorted(self.sorted_values, self.starts), self.sorted_values.size)
        low, high = edges[codes], edges[codes + 1]
        at = low + (rng.random(codes.shape) * (high - low)).astype(np.intp)
        return np.asarray(self.sorted_values[at])


@dataclass(frozen=True)
class Outline:
    """What a sketch tells of an image: principal components, what they leave out, roughness."""

    mean: Array = field(repr=False)
    axes: Array = field(repr=False)
    scale: tuple[Array, Array] = field(repr=False)

    @classmethod
    def of(cls, images: Array, components: int) -> Outline:
        """Every number standardised over the records; no number at all for no components."""
        mean = images.mean(axis=0)
        axes = np.linalg.svd(images - mean, full_matrices=False)[2][:components]
        bare = cls(mean, axes, (np.zeros(1), np.ones(1)))
        told = bare.of_images(images)
        return cls(mean, axes, (told.mean(axis=0), np.maximum(told.std(axis=0), 1e-9)))

    def of_images(self, images: Array) -> Array:
        """One row of numbers for every image."""
        if len(self.axes) == 0:
            return np.zeros((len(images), 0))
        away = images - self.mean
        scores = away @ self.axes.T
        rest = np.linalg.norm(away - scores @ self.axes, axis=1)
        side = side_of(images.shape[1])
        bends = np.abs(np.diff(images.reshape(-1, side, side), 2, axis=2)).mean(axis=(1, 2))
        told = np.column_stack([scores, np.log(rest + 1e-9), np.log(bends + 1e-9)])
        return np.asarray((told - self.scale[0]) / self.scale[1])


def labels(images: Array, classes: Index, made: Array, rng: np.random.Generator) -> Index:
    """The classes of new images, drawn as likely as a classifier of the records takes them to be.

    The likeliest class (002, Appendix C.1) is never a surprise, and real labels are: helpers that
    learned a few of them would know generated images by their small losses.
    """
    seed = int(rng.integers(2**31))
    teacher = ImageClassifier(images.shape[1], shift=1, seed=seed).fit(images, classes)
    chance = teacher.predict_proba(made).cumsum(axis=1)
    found = (chance < rng.random((len(made), 1))).sum(axis=1).clip(max=chance.shape[1] - 1)
    return np.asarray(teacher.classes_[found], dtype=np.intp)
