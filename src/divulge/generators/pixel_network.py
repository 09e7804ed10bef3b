"""The network behind ``pixels``: two stacks of causal convolutions, learned and drawn from.

The *upper* stack sees the rows above a pixel, the *left* stack the pixels to its left in the same
row and the upper stack: no pixel is hidden from both but itself and those that come later. Each
layer needs one row above and two pixels to the left of its input, so an image is drawn in a single
pass that keeps no more than these.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from divulge.models.rehearsal import library
from divulge.types import Array, Index

MEMORY = 0.99
"""How much of the average stays at every step, at most."""
ASKED = 1_000
TOLD = 12
"""Numbers that stand for a grey level."""
KNOWN = 32
"""Numbers that stand for class and sketch."""
ROWS, ASIDE, LEFT = 3, 3, 4
"""Of the pixels themselves: rows above, columns to either side, pixels to the left."""
STRIDES = (1, 2, 4)
"""How far apart the columns are that a layer of the upper stack sees."""


class Networks:
    """The network that learns, its average over the steps, and the best of the averages."""

    def __init__(
        self, shape: tuple[int, int, int, int], *, width: int, depth: int, blur: float
    ) -> None:
        torch = library("torch", "torch")
        self.torch, self.blur = torch, blur
        self.side, self.greys = shape[:2]
        now = network(torch, shape, width, depth)
        self.all = torch.nn.ModuleDict(
            {"now": now, "average": copy.deepcopy(now), "best": copy.deepcopy(now)}
        )
        self.all.register_buffer("least", torch.tensor(float("inf")))
        self.optimizer = torch.optim.AdamW(now.parameters(), betas=(0.9, 0.99), weight_decay=0.01)

    def step(self, seen: tuple[Any, Any, Any], number: int, rate: float) -> None:
        """One step on images, classes and sketches; the average follows."""
        torch, now = self.torch, self.all["now"]
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        self._loss(now, seen).backward()
        torch.nn.utils.clip_grad_norm_(now.parameters(), 1.0)
        self.optimizer.step()
        kept = min(MEMORY, (1.0 + number) / (10.0 + number))  # what came first is forgotten
        with torch.no_grad():
            for mean, new in zip(self.all["average"].parameters(), now.parameters(), strict=True):
                mean.lerp_(new, 1.0 - kept)

    def judge(self, held: tuple[Any, Any, Any]) -> None:
        """Keep the average if no earlier one was better on images that teach nothing."""
        average = self.all["average"]
        with self.torch.no_grad():
            parts = zip(*(part.split(ASKED) for part in held), strict=True)
            loss = sum(self._loss(average, some) * len(some[0]) for some in parts)
            if loss < self.all.least:
                self.all.least.copy_(loss)
                self.all["best"].load_state_dict(average.state_dict())

    def draw(self, classes: Index, sketches: Array, rng: np.random.Generator) -> Index:
        """New images of these classes and sketches, as rows of grey levels."""
        torch = self.torch
        parts = []
        with torch.inference_mode():
            for start in range(0, len(classes), ASKED):
                some = slice(start, start + ASKED)
                y = torch.from_numpy(classes[some].astype(np.int64))
                z = torch.from_numpy(sketches[some].astype(np.float32))
                parts.append(self.all["best"].draw(y, z, rng).flatten(1).numpy())
        return np.concatenate(parts).astype(np.intp)

    def _loss(self, module: Any, seen: tuple[Any, Any, Any]) -> Any:
        x, y, z = seen
        blurred = z + self.blur * self.torch.randn_like(z)
        return self.torch.nn.functional.cross_entropy(module(x, y, blurred), x)


def network(torch: Any, shape: tuple[int, int, int, int], width: int, depth: int) -> Any:
    """A fresh module for images of ``side``, ``greys``, ``classes`` and numbers of a sketch."""
    nn, pad, silu = torch.nn, torch.nn.functional.pad, torch.nn.functional.silu
    side, greys, classes, told = shape

    class Layer(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, apart: int) -> None:
            super().__init__()
            self.apart = apart
            self.above = nn.Conv2d(width, width, (2, 3), dilation=(1, apart))
            self.above_out = nn.Conv2d(width, width, 1)
            self.before = nn.Conv2d(width, width, (1, 3))
            self.link = nn.Conv2d(width, width, 1, bias=False)
            self.before_out = nn.Conv2d(width, width, 1)
            self.shift = nn.Linear(KNOWN, 2 * width)

        def upper(self, row: Any, here: Any, known: Any) -> Any:
            """``row``: the one above the first of ``here``."""
            shift = self.shift(known)[:, :width, None, None]
            both = pad(silu(torch.cat([row, here], 2)), (self.apart, self.apart))
            return here + self.above_out(silu(self.above(both) + shift))

        def left(self, two: Any, here: Any, upper: Any, known: Any) -> Any:
            """``two``: the pixels before the first of ``here``."""
            shift = self.shift(known)[:, width:, None, None]
            both = self.before(silu(torch.cat([two, here], 3))) + self.link(silu(upper))
            return here + self.before_out(silu(both + shift))

    class Pixels(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.of_class = nn.Embedding(classes, KNOWN)
            self.of_sketch = None
            if told:
                self.of_sketch = nn.Sequential(
                    nn.Linear(told, 2 * KNOWN), nn.SiLU(), nn.Linear(2 * KNOWN, KNOWN)
                )
            self.grey = nn.Embedding(greys, TOLD)
            self.rows = nn.Conv2d(TOLD + 1, width, (ROWS, 2 * ASIDE + 1))
            self.columns = nn.Conv2d(TOLD + 1, width, (1, LEFT))
            self.join = nn.Conv2d(width, width, 1)
            self.place = nn.Parameter(torch.zeros(2, width, side, side))
            self.layers = nn.ModuleList([Layer(STRIDES[k % len(STRIDES)]) for k in range(depth)])
            self.out = nn.Sequential(
                nn.SiLU(), nn.Conv2d(width, 2 * width, 1), nn.SiLU(), nn.Conv2d(2 * width, greys, 1)
            )

        def known(self, y: Any, z: Any) -> Any:
            own = self.of_class(y)
            return own if self.of_sketch is None else own + self.of_sketch(z)

        def shown(self, x: Any) -> Any:
            """Grey levels as numbers, and a one that tells a pixel from the edge."""
            told = self.grey(x).movedim(-1, 1)
            return torch.cat([told, torch.ones_like(told[:, :1])], 1)

        def forward(self, x: Any, y: Any, z: Any) -> Any:
            known, seen = self.known(y, z), self.shown(x)
            upper = self.rows(pad(seen, (ASIDE, ASIDE, ROWS, 0))[:, :, :-1]) + self.place[0]
            left = self.columns(pad(seen, (LEFT, 0))[..., :-1]) + self.place[1] + self.join(upper)
            for layer in self.layers:
                upper = layer.upper(torch.zeros_like(upper[:, :, :1]), upper, known)
                left = layer.left(torch.zeros_like(left[..., :2]), left, upper, known)
            return self.out(left)

        def draw(self, y: Any, z: Any, rng: np.random.Generator) -> Any:
            """What ``forward`` gives, pixel by pixel, each drawn before the next is asked for."""
            count, known = len(y), self.known(y, z)
            codes = torch.zeros(count, side, side, dtype=torch.int64)
            seen = torch.zeros(count, TOLD + 1, side + ROWS, side + 2 * ASIDE)
            above = [torch.zeros(count, width, 1, side) for _ in self.layers]
            for r in range(side):
                upper = self.rows(seen[:, :, r : r + ROWS]) + self.place[0, :, r : r + 1]
                start, uppers = self.place[1, :, r : r + 1] + self.join(upper), []
                for k, layer in enumerate(self.layers):
                    above[k], upper = upper, layer.upper(above[k], upper, known)
                    uppers.append(upper)
                row = torch.zeros(count, TOLD + 1, 1, side + LEFT)
                before = [torch.zeros(count, width, 1, 2) for _ in self.layers]
                for c in range(side):
                    left = self.columns(row[..., c : c + LEFT]) + start[..., c : c + 1]
                    for k, layer in enumerate(self.layers):
                        two = torch.cat([before[k][..., 1:], left], 3)
                        left = layer.left(before[k], left, uppers[k][..., c : c + 1], known)
                        before[k] = two
                    chance = self.out(left)[:, :, 0, 0].double().softmax(1).cumsum(1)
                    coin = torch.from_numpy(rng.random((count, 1)))
                    code = (chance < coin).sum(1).clamp(max=greys - 1)
                    codes[:, r, c] = code
                    told = self.shown(code[:, None, None])[..., 0, 0]
                    seen[:, :, r + ROWS, c + ASIDE] = told
                    row[..., 0, c + LEFT] = told
            return codes

    return Pixels()
