"""The plan of gradient canaries: directions among a model's parameters, and their coins.

No data are needed. The records to train on are the places of the included canaries, for whoever
inserts them; all places are the canaries to be scored (``divulge.attacks.gradient_canaries``).
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from divulge.attacks.gradient_canaries import KINDS
from divulge.errors import InputError, require, require_choice, require_probability, require_seed
from divulge.games.canaries import coins, planted
from divulge.games.canaries.planning import LEAST, ROW, Crafted, Plan

MOST = 1 << 40
"""Parameters of a model."""


def plan_gradients(
    strategy: str,
    count: int,
    parameters: int | None,
    *,
    probability: float = 0.5,
    seed: int | None = None,
) -> Plan:
    """``count`` orthonormal directions of a model with so many parameters, and a coin for each."""
    require_choice("strategy", strategy, KINDS)
    require_probability("probability", probability)
    if seed is not None:
        require_seed(seed)
    require(
        parameters is not None,
        f"{strategy} canaries are directions among the parameters: say how many the model trains.",
    )
    assert parameters is not None
    if not LEAST <= count < parameters <= MOST:
        raise InputError(
            f"The number of gradient canaries must be at least {LEAST} and below the number of "
            f"parameters. Found {count} canaries and {parameters} parameters."
        )
    used = coins.secret_seed() if seed is None else int(seed)
    words = f"gradient canaries\n{strategy}\n{parameters}\n{count}"
    digest = hashlib.sha256(words.encode()).hexdigest()
    key = coins.mix(used, digest)
    chosen = planted.generator(key, "places").choice(parameters, count, replace=False)
    signs = int(planted.generator(key, "signs").integers(2**53))
    included = coins.flip(key, count, probability)
    rows = tuple(int(place) for place in chosen)
    shown = pa.table({ROW: pa.array(rows, pa.int64()), "signs": np.full(count, signs)})
    return Plan(
        ids=rows,
        rows=rows,
        included=included,
        id=None,
        strategy=strategy,
        seed=used,
        probability=probability,
        input={"name": f"gradients of {parameters} parameters", "sha256": digest},
        details={
            "crafted": "gradients",
            "parameters": parameters,
            "signs": signs,
            "coins": coins.RULE,
            "content_sha256": digest,
        },
        crafted=Crafted(shown.filter(pa.array(included)), shown),
    )
