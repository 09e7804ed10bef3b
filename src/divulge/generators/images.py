"""Small images and embeddings: principal components and a Gaussian mixture for every class.

What a CPU can honestly train in seconds. PANORAMIA trains StyleGAN2 (002, Appendix C.1); this is
far more modest: blurred digits at 8 x 8, usable embeddings, no photographs. The baseline will say
how far it got; for anything better generate with your own model and hand in the records.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame, require_columns
from divulge.errors import InputError, require
from divulge.generators.encoding import Column, as_arrow, columns_of, rebuild, snap, table_of
from divulge.types import Array, Index

FEWEST = 20
"""Records per mixture component, at least."""


@dataclass(frozen=True)
class PixelMixture:
    """``label``: the column of the class, if there is one; every other column is a pixel.

    ``components`` of the images are kept, ``mixture`` Gaussians are fitted to each class. What the
    components leave out is put back as independent noise of the right size; then every pixel gets
    the distribution it has in the class, in the order of the drawn values.
    """

    label: str | None = None
    components: int = 40
    mixture: int = 5

    def __post_init__(self) -> None:
        require(self.components >= 1, f"components must be at least 1. Found {self.components}.")
        require(self.mixture >= 1, f"mixture must be at least 1. Found {self.mixture}.")

    @property
    def name(self) -> str:
        return "mixture"

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        from sklearn.decomposition import PCA

        if self.label is not None:
            require_columns(records, [self.label], "the records")
        records = as_arrow(records)
        pixels, shapes = pixels_of(records, self.label)
        label = None
        if self.label is not None:
            label = columns_of(records.select(self.label))[0]
        donors = rng.integers(0, len(records), count)
        classes = np.zeros(len(records), np.intp) if label is None else label.states
        images = np.column_stack([column.floats() for column in pixels])
        most = min(self.components, *images.shape)
        pca = PCA(most, svd_solver="full").fit(images)
        scores = pca.transform(images)
        rest = images - pca.inverse_transform(scores)
        drawn = np.empty((count, images.shape[1]))
        for level in np.unique(classes[donors]):
            own, rows = classes == level, np.flatnonzero(classes[donors] == level)
            made = _draw(scores[own], rows.size, self.mixture, rng)
            noise = rest[own].std(axis=0) * rng.normal(size=(rows.size, images.shape[1]))
            drawn[rows] = with_margins(pca.inverse_transform(made) + noise, images[own])
        arrays = rebuilt(pixels, shapes, drawn, donors)
        if label is not None:
            arrays[label.name] = rebuild(label, donors)
        return table_of(records, arrays)


def pixels_of(records: Frame, label: str | None) -> tuple[list[Column], dict[str, Any]]:
    """Every number as a column, those of a list one by one, and the Arrow types of lists."""
    columns: list[Column] = []
    lists: dict[str, Any] = {}
    for name in records.columns:
        if name == label:
            continue
        if isinstance(records.schema[name], nw.List | nw.Array):
            values = _matrix(records[name].to_list(), name)
            lists[name] = (records[name].to_arrow().type, values.shape[1])
            split = {f"{name}[{j}]": values[:, j] for j in range(values.shape[1])}
            columns.extend(columns_of(nw.from_dict(split, backend="pyarrow")))
        else:
            columns.extend(columns_of(records.select(name)))
    for column in columns:
        if column.kind != "number":
            raise InputError(
                f"Column {column.name!r} does not hold numbers, so it is not a pixel. If it is "
                "the class, name it as the label; else leave it out or use a generator of "
                "tables."
            )
        missing = column.codes < 0
        if missing.any():
            raise InputError(
                f"Column {column.name!r} has a missing value in row {int(np.argmax(missing))}. "
                "Pixels and embeddings must be complete."
            )
    require(len(columns) > 0, "The records have no pixels: every column is the label.")
    return columns, lists


def _matrix(values: list[Any], name: str) -> Array:
    sizes = {-1 if v is None else len(v) for v in values}
    if len(sizes) != 1 or -1 in sizes:
        raise InputError(f"Every row of {name!r} must hold a list of the same length.")
    return np.asarray(values, dtype=float)


def _draw(scores: Array, count: int, mixture: int, rng: np.random.Generator) -> Array:
    """New scores of one class: a Gaussian mixture, or a jittered draw where records are few."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    size = min(mixture, len(scores) // FEWEST)
    if size == 0:
        width = scores.std(axis=0) * len(scores) ** -0.2
        picked = scores[rng.integers(0, len(scores), count)]
        return np.asarray(picked + width * rng.normal(size=picked.shape))
    ridge = 1e-3 * float(scores.var(axis=0).mean()) + 1e-9
    model = GaussianMixture(size, reg_covar=ridge, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scores)
    part = rng.choice(size, size=count, p=model.weights_)
    factors = np.linalg.cholesky(model.covariances_)
    noise = rng.normal(size=(count, scores.shape[1]))
    return np.asarray(model.means_[part] + np.einsum("nij,nj->ni", factors[part], noise))


def with_margins(drawn: Array, images: Array) -> Array:
    """The drawn values with the distribution of the images, pixel by pixel, ranks kept."""
    place = drawn.argsort(axis=0).argsort(axis=0) + 0.5
    known = np.sort(images, axis=0)
    at = (np.arange(len(images)) + 0.5) / len(images)
    columns = [np.interp(place[:, j] / len(drawn), at, known[:, j]) for j in range(drawn.shape[1])]
    return np.column_stack(columns)


def rebuilt(
    pixels: list[Column], lists: dict[str, Any], drawn: Array, donors: Index
) -> dict[str, Any]:
    """Arrow arrays of the columns that the drawn pixels belong to, on each pixel's own grid."""
    import pyarrow as pa

    out: dict[str, Any] = {}
    values: list[npt.NDArray[np.float64]] = [
        snap(column, drawn[:, j]) for j, column in enumerate(pixels)
    ]
    at = {column.name: j for j, column in enumerate(pixels)}
    for name, (kind, width) in lists.items():
        block = np.column_stack([values[at.pop(f"{name}[{k}]")] for k in range(width)])
        out[name] = pa.array(list(block)).cast(kind)
    for name, j in at.items():
        out[name] = rebuild(pixels[j], donors, values[j])
    return out
