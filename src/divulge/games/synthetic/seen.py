"""What can be seen of the records that are played, with and without the target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge.types import Array, Index
from divulge.work.pieces import digest


@dataclass(frozen=True)
class Spelled:
    """Texts token by token, and the loss of every token after the first (002, Appendix C.2)."""

    tokens: Index = field(repr=False)
    """Ids, one row per record; beyond the end of a text one that no token has."""
    helper: Array = field(repr=False)
    """Losses of the helpers: records, places, helpers."""
    target: Array = field(repr=False)
    """Losses of the target: records, places, one."""

    def view(self, rows: Index, target: bool) -> Array:
        """Tokens, and behind them the losses place by place."""
        losses = self.helper[rows]
        if target:
            losses = np.concatenate([losses, self.target[rows]], axis=2)
        return np.column_stack([self.tokens[rows], losses.reshape(len(rows), -1)])


@dataclass(frozen=True)
class Seen:
    """What can be seen of a record: one row each for everything that is scored."""

    record: Array = field(repr=False)
    helper: Array = field(repr=False)
    """Losses of the helpers, or no columns."""
    target: Array = field(repr=False)
    """Losses of the target, or what else the user brought of it."""
    spelled: Spelled | None = field(default=None, repr=False)
    """Texts token by token, where a network is to read them."""
    pixels: Array | None = field(default=None, repr=False)
    """Images as they are, where a network is to look at them."""

    def blind(self, rows: Index) -> Array:
        """All that is seen without the target."""
        return np.column_stack([self.record[rows], self.helper[rows]])

    def attack(self, rows: Index) -> Array:
        """The same and the target; one loss of the target also less each helper's."""
        return np.column_stack([self.record[rows], self._losses(rows, target=True)])

    def view(self, rows: Index, target: bool) -> Array:
        """The columns of baseline or attack."""
        return self.attack(rows) if target else self.blind(rows)

    def image(self, rows: Index, target: bool) -> Array:
        """Pixels, and behind them the losses."""
        assert self.pixels is not None
        return np.column_stack([self.pixels[rows], self._losses(rows, target)])

    def _losses(self, rows: Index, target: bool) -> Array:
        columns = [self.helper[rows]]
        if target:
            columns.append(self.target[rows])
            if self.target.shape[1] == 1:
                columns.append(self.target[rows] - self.helper[rows])
        return np.column_stack(columns)

    def digest(self) -> str:
        """Other content, other pieces."""
        told, looked = self.spelled, self.pixels
        more = () if told is None else (told.tokens, told.helper, told.target)
        images = () if looked is None else (looked,)
        return digest(self.record, self.helper, self.target, *more, *images)
