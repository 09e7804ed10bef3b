"""From a torch network and its records to a plan: rehearse, rank, choose, flip, write."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.attacks.gradient import GradientSteps
from divulge.attacks.torch_rehearsal import COLUMNS, TIMES, Rehearsal, rehearse_exposure
from divulge.data import tables
from divulge.data.renaming import renaming
from divulge.errors import require, require_choice
from divulge.exposure.selection import MAHALANOBIS, NORM
from divulge.games.canaries import choosing, coins
from divulge.games.canaries.planning import Plan
from divulge.games.canaries.play import write_plan
from divulge.games.public import check_words
from divulge.models.trainable import trainable
from divulge.models.trainers import labelled
from divulge.work.threads import single
from divulge.work.watching import watched


@watched()
@single
def rehearse(
    model: Any,
    loss: Callable[[Any, Any], Any],
    tensors: tuple[Any, Any],
    data: Any = None,
    *,
    clip: float,
    noise_multiplier: float,
    rate: float,
    learning_rate: float,
    steps: int = 100,
    times: int = TIMES,
    parameters: Sequence[str] | None = None,
    columns: int = COLUMNS,
    id: str | None = None,
    count: int = 1000,
    strategy: str = MAHALANOBIS,
    probability: float = 0.5,
    seed: int | None = None,
    plan: str | os.PathLike[str] | None = None,
    records: str | os.PathLike[str] | None = None,
    canaries: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Plan:
    """Rehearse DP-SGD on all records, and plan canaries among those whose gradients stand out.

    ``tensors`` are (inputs, targets); ``data`` the same records as a table, in the same order, by
    default one of nothing but row numbers. ``clip``, ``noise_multiplier``, ``rate`` and
    ``learning_rate`` are those of the run to come. Clipped gradients of all records are taken at
    ``times`` of the rehearsal's ``steps``, distances measured in ``columns`` entries of the named
    ``parameters``, with the run's noise in every one, and ranks summed (004, Algorithm 6). With
    ``plan`` and ``records`` the files are written as by ``divulge canaries plan``. The rehearsal
    is drawn from the seed, as the coins are, but they do not depend on it.
    """
    require_choice("strategy", strategy, (MAHALANOBIS, NORM))
    require((plan is None) == (records is None), "Name both plan and records, or neither.")
    table = {"number": np.arange(len(tensors[1]))} if data is None else data
    frame = tables.read(table)
    require(
        len(frame) == len(tensors[1]),
        f"The data must have a row for each of the {len(tensors[1])} records, in their order. "
        f"Found {len(frame)}.",
    )
    choosing.require_count(count, len(frame))
    known = GradientSteps(rate, rate * len(frame), clip, noise_multiplier)
    setting = Rehearsal(known, learning_rate, steps, times, columns)
    used = coins.secret_seed() if seed is None else seed
    rng = np.random.default_rng([int.from_bytes(coins.mix(used, "rehearsal"), "big")])
    found = rehearse_exposure(
        model,
        loss,
        tensors,
        setting,
        rng,
        parameters=parameters,
        strategy=strategy,
        progress=progress,
    )
    made = choosing.choose(
        table,
        id=id,
        count=count,
        strategy=strategy,
        noise=noise_multiplier * clip / known.batch,
        averaged=known.batch,
        probability=probability,
        seed=used,
        exposures=found,
    )
    details = {"rate": rate, "clip": clip, "steps": steps, "times": times, "columns": columns}
    made = replace(made, details={**made.details, "rehearsal": details})
    if plan is None or records is None:
        return made
    written = write_plan(
        made, table, plan=plan, records=records, canaries=canaries, overwrite=overwrite
    )
    assert isinstance(written, Plan)
    return written


@watched()
@renaming
def rehearse_table(
    data: Any,
    *,
    features: str | Sequence[str],
    label: str,
    id: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: Any,
    count: int = 1000,
    strategy: str = MAHALANOBIS,
    parameters: Sequence[str] = (),
    columns: int = COLUMNS,
    probability: float = 0.5,
    clip: float,
    noise_multiplier: float,
    rate: float,
    learning_rate: float,
    steps: int = 100,
    times: int = TIMES,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Plan:
    """The same from a table: its ``features`` are what the network reads, ``label`` its classes.

    ``model`` is code that makes a fresh torch network from a seed (``module:name`` or a callable),
    or a Source of weights with their class; the loss is the cross-entropy. All else as in
    ``rehearse``.
    """
    if seed is not None:
        check_words({"seed": seed})
    frame = tables.read(data)
    names = tables.expand(frame, [features] if isinstance(features, str) else features, "the data")
    require(len(names) > 0, "Name the feature columns that the network reads.")
    tables.require_columns(frame, [label], "the data")
    require(label not in names, f"The label {label!r} is also among the features.")
    used = coins.secret_seed() if seed is None else seed
    start = int.from_bytes(coins.mix(used, "network")[:4], "big") >> 1
    network = trainable(model, start)
    tensors = network.tensors(frame.select(*names), labelled(frame, label, None))
    made = rehearse(
        network.module,
        network.loss,
        tensors,
        data,
        clip=clip,
        noise_multiplier=noise_multiplier,
        rate=rate,
        learning_rate=learning_rate,
        steps=steps,
        times=times,
        parameters=list(parameters) or None,
        columns=columns,
        id=id,
        count=count,
        strategy=strategy,
        probability=probability,
        seed=used,
        progress=progress,
    )
    told = {**made.details["rehearsal"], "model": network.name}
    return replace(made, details={**made.details, "rehearsal": told})
