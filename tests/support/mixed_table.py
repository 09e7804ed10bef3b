"""A small table with everything a real one has."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd

from divulge.data import tables


def frame(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    income = np.round(np.exp(rng.normal(3.0, 1.2, rows)) * (1 + age / 60), 2)
    income[rng.random(rows) < 0.3] = 0.0
    town = np.array(["north", "south", "east", "far away"])[
        np.minimum(rng.geometric(0.6, rows) - 1, 3)
    ]
    out = pd.DataFrame(
        {
            "age": age.astype(np.int16),
            "adult": age >= 21,
            "income": income,
            "town": town,
            "grade": pd.Categorical(np.where(age > 50, "senior", "junior")),
            "score": rng.normal(size=rows).astype(np.float32),
            "visits": pd.array(rng.poisson(1.0, rows), dtype="Int64"),
            "since": pd.to_datetime("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, rows), unit="D"),
            "country": "nowhere",
        }
    )
    out.loc[age > 70, "score"] = np.nan
    out.loc[rng.random(rows) < 0.1, "visits"] = pd.NA
    out.loc[rng.random(rows) < 0.2, "town"] = None
    out["day"] = [datetime.date(2021, 1, 1 + int(a) % 28) for a in age]
    return out


def records(rows: int = 600, seed: int = 0) -> tables.Frame:
    return tables.read(frame(rows, seed))
