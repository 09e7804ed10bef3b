"""Images and their models for experiments/panoramia_images.py: trained once, kept, resumable."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from label_tables import PARTS, read_idx

from divulge.data import tables
from divulge.errors import MissingExtra, require
from divulge.generators.base import Training
from divulge.generators.pixels import PixelByPixel
from divulge.models.checkpoint import capture, restore
from divulge.models.convolution import layers, side_of
from divulge.models.rehearsal import library
from divulge.types import Array, Index
from divulge.work.pieces import Pieces, digest

DELTA = 1e-5
GENERATOR_SHARE = 0.35


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    members: int = 8_000
    side: int = 14
    """28 as they are, 14 with the mean of every four pixels."""
    epochs: tuple[int, int] = (4, 40)
    widths: tuple[int, int] = (8, 32)
    batch: int = 64
    rate: float = 1e-3
    epsilons: tuple[float, ...] = (1.0, 2.0, 10.0)
    private_epochs: tuple[int, int] = (15, 3)
    """Those of every epsilon, and once more others at the largest (Table 10)."""
    private_batch: int = 512
    private_rate: float = 2e-3
    private_width: int = 16
    generator: int = 1_200
    """Steps of its training."""
    helper: int = 8
    repeats: int = 5
    growing: tuple[int, ...] = (250, 500, 1_000, 2_000)


QUICK = Sizes(
    members=800,
    epochs=(2, 25),
    widths=(4, 16),
    epsilons=(1.0, 10.0),
    private_epochs=(4, 1),
    private_batch=256,
    private_width=8,
    generator=200,
    helper=6,
    repeats=1,
    growing=(200,),
)


@dataclass
class Run:
    """Images and labels of every part, and where models are kept."""

    sizes: Sizes
    seed: int
    pieces: Pieces
    members: tuple[Array, Index]
    nonmembers: tuple[Array, Index]
    others: tuple[Array, Index]
    """Further real images: they judge the generator, and are seen by nobody else."""
    start: float

    def say(self, text: str) -> None:
        """With the seconds since the start."""
        print(f"[{time.perf_counter() - self.start:5.0f} s] {text}", flush=True)


def load(folder: Path, sizes: Sizes, seed: int, pieces: Pieces) -> Run:
    """Three disjoint random parts of Fashion-MNIST."""
    names = [folder / f"{p}-ubyte" for p in PARTS]
    images, labels, more, more_labels = (read_idx(name) for name in names)
    x = np.concatenate([images, more]).astype(float)
    require(sizes.side in (14, 28), f"The side must be 14 or 28. Found {sizes.side}.")
    if sizes.side == 14:
        x = np.rint(x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)))
    x = x.reshape(len(x), -1)
    y = np.concatenate([labels, more_labels]).astype(np.intp)
    count = sizes.members
    require(3 * count <= len(x), f"At most {len(x) // 3} members. Found {count}.")
    order = np.random.default_rng(seed).permutation(len(x))
    parts = [(x[rows], y[rows]) for rows in np.split(order[: 3 * count], 3)]
    return Run(sizes, seed, pieces, *parts, time.perf_counter())


def module_of(run: Run, width: int) -> Any:
    """Fresh weights that depend on the seed alone."""
    torch = library("torch", "torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        return layers(run.sizes.side, 10, width=width)


def shown(torch: Any, images: Array) -> Any:
    """Images as a network sees them."""
    side = side_of(images.shape[1])
    return torch.from_numpy((images / 127.5 - 1.0).astype(np.float32).reshape(-1, 1, side, side))


def losses_of(state: Mapping[str, Any], width: int, images: Array, labels: Index) -> Array:
    """Cross-entropy of every image at its label."""
    torch = library("torch", "torch")
    network = layers(side_of(images.shape[1]), 10, width=width)
    network.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state.items()})
    network.eval()
    loss, out = torch.nn.functional.cross_entropy, []
    with torch.inference_mode():
        for start in range(0, len(images), 1024):
            some = slice(start, start + 1024)
            y = torch.from_numpy(labels[some].astype(np.int64))
            out.append(loss(network(shown(torch, images[some])), y, reduction="none").numpy())
    return np.concatenate(out).astype(float)


def accuracy(state: Mapping[str, Any], width: int, part: tuple[Array, Index]) -> float:
    """Share of images whose label is the likeliest; from the state of a network."""
    torch = library("torch", "torch")
    network = layers(side_of(part[0].shape[1]), 10, width=width)
    network.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state.items()})
    with torch.inference_mode():
        said = network(shown(torch, part[0])).argmax(1).numpy()
    return float(np.mean(said == part[1]))


def plain(run: Run, name: str, width: int, part: tuple[Array, Index], epochs: int) -> list[Any]:
    """The states after every epoch of Adam; an epoch is a piece."""
    torch = library("torch", "torch")
    s = run.sizes
    network = module_of(run, width)
    optimizer = torch.optim.Adam(network.parameters(), lr=s.rate)
    x, y = shown(torch, part[0]), torch.from_numpy(part[1].astype(np.int64))
    known = {"images": digest(*part), "width": width, "rate": s.rate, "batch": s.batch}
    states = []
    for epoch in range(epochs):
        named = {**known, "seed": run.seed, "epoch": epoch}
        kept = run.pieces.find("network", named)
        if kept is not None:
            restore(network, optimizer, kept)
        else:
            order = np.random.default_rng([run.seed, epoch]).permutation(len(x))
            network.train()
            for start in range(0, len(x), s.batch):
                some = torch.from_numpy(order[start : start + s.batch])
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(x[some]), y[some]).backward()
                optimizer.step()
            run.pieces.store("network", named, capture(network, optimizer))
        states.append({k: v.detach().numpy().copy() for k, v in network.state_dict().items()})
    run.say(f"{name}: {epochs} epochs")
    return states


def private(run: Run, epsilon: float, epochs: int) -> Mapping[str, Any]:
    """DP-SGD for a given epsilon; the noise is not cryptographically secure."""
    s = run.sizes
    inputs = {"images": digest(*run.members), "epsilon": epsilon, "seed": run.seed}
    inputs["epochs"] = epochs
    inputs |= {k: getattr(s, f"private_{k}") for k in ("batch", "rate", "width")}

    def train() -> dict[str, Any]:
        torch = library("torch", "torch")
        try:
            from opacus import PrivacyEngine
        except ModuleNotFoundError:
            raise MissingExtra("opacus", "dpsgd") from None
        x, y = shown(torch, run.members[0]), torch.from_numpy(run.members[1].astype(np.int64))
        network = module_of(run, s.private_width)
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            torch.manual_seed(run.seed)
            engine = PrivacyEngine(accountant="prv")
            model, optimizer, loader = engine.make_private_with_epsilon(
                module=network,
                optimizer=torch.optim.Adam(network.parameters(), lr=s.private_rate),
                data_loader=torch.utils.data.DataLoader(
                    torch.utils.data.TensorDataset(x, y), batch_size=s.private_batch
                ),
                epochs=epochs,
                target_epsilon=epsilon,
                target_delta=DELTA,
                max_grad_norm=1.0,
                noise_generator=torch.Generator().manual_seed(run.seed),
            )
            for _ in range(epochs):
                for some, labels in loader:
                    optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(model(some), labels).backward()
                    optimizer.step()
            run.say(f"DP-SGD: epsilon {engine.get_epsilon(DELTA):.2f} at {DELTA:g}")
        return {k: v.detach().numpy() for k, v in network.state_dict().items()}

    return run.pieces.arrays("private", inputs, train)


def generate(run: Run, count: int) -> tuple[Array, Index]:
    """Images drawn pixel by pixel, labelled by the labeler."""
    taught = round(GENERATOR_SHARE * run.sizes.members)
    records = tables.read({"image": run.members[0][:taught], "label": run.members[1][:taught]})
    maker = PixelByPixel("label", steps=run.sizes.generator)
    inputs = {**maker.settings, "images": digest(*run.members), "taught": taught, "count": count}

    def tell(stage: str, done: int, total: int) -> None:
        if done % max(1, total // 5) == 0:
            run.say(f"generator, {stage}: {done} of {total}")

    made = run.pieces.table(
        "generated",
        {**inputs, "seed": run.seed},
        lambda: maker.generate_in_pieces(
            records,
            count,
            np.random.default_rng([run.seed, 1]),
            Training(pieces=run.pieces, progress=tell),
        ),
    )
    return np.array(made["image"].to_list(), dtype=float), np.array(made["label"].to_list())


def mixture_of(run: Run, count: int) -> tuple[Array, Index]:
    """The fast generator, for comparison."""
    from divulge.generators.images import PixelMixture

    taught = round(GENERATOR_SHARE * run.sizes.members)
    records = tables.read({"image": run.members[0][:taught], "label": run.members[1][:taught]})
    made = PixelMixture("label").generate(records, count, np.random.default_rng(run.seed))
    return np.array(made["image"].to_list(), dtype=float), np.array(made["label"].to_list())
