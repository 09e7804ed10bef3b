"""Every attack by its name: the built-in ones, and those of other packages.

A package adds an attack by an entry point of the group ``divulge.attacks`` whose name is the
attack's and whose value is an ``Attack``. Other packages are imported only when asked for.
"""

from __future__ import annotations

import difflib
import warnings

from divulge.attacks import (
    confidence,
    difficulty,
    entropy,
    error_tokens,
    learned,
    lira_offline,
    lira_online,
    logit_gap,
    loss,
    lowercase,
    min_k,
    min_k_plus,
    modified_entropy,
    quantile,
    ratio,
    reference_ratio,
    rmia,
    rmia_online,
    windows,
    zlib_ratio,
)
from divulge.attacks.base import Attack, Observed
from divulge.errors import InputError
from divulge.work import plugins

GROUP = "divulge.attacks"

_COMBINED = (
    loss.ATTACK,
    confidence.ATTACK,
    entropy.ATTACK,
    modified_entropy.ATTACK,
    logit_gap.ATTACK,
    difficulty.ATTACK,
    ratio.ATTACK,
    rmia.ATTACK,
    rmia_online.ATTACK,
    lira_offline.ATTACK,
    lira_online.ATTACK,
    zlib_ratio.ATTACK,
    lowercase.ATTACK,
    reference_ratio.ATTACK,
    min_k.ATTACK,
    min_k_plus.ATTACK,
    error_tokens.ATTACK,
    windows.ATTACK,
)
"""What the learned combination may use: all that need not be fitted anew for every stand-in."""
BUILT_IN: tuple[Attack, ...] = (*_COMBINED, quantile.ATTACK, learned.combination(_COMBINED))
BY_NAME: dict[str, Attack] = {attack.name: attack for attack in BUILT_IN}


def names() -> tuple[str, ...]:
    """Names of all attacks, the built-in ones first; nothing is imported."""
    return tuple(dict.fromkeys([*BY_NAME, *(entry.name for entry in plugins.entries(GROUP))]))


def find(name: str) -> Attack:
    """The attack of that name; InputError with the nearest names if there is none."""
    if name in BY_NAME:
        return BY_NAME[name]
    entries = [entry for entry in plugins.entries(GROUP) if entry.name == name]
    if len(entries) > 1:
        both = " and ".join(plugins.package(entry) for entry in entries)
        raise InputError(f"Both {both} offer an attack {name!r}. Remove one of them.")
    if entries:
        return plugins.load(entries[0], Attack, "attack")
    known = names()
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise InputError(f"There is no attack {name!r}.{hint} There are: {', '.join(known)}.")


def plug_ins() -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """The attacks of other packages, and what is wrong with those that cannot be used."""
    found: dict[str, Attack] = {}
    problems: list[str] = []
    for entry in plugins.entries(GROUP):
        try:
            if entry.name in BY_NAME:
                raise InputError(
                    f"The attack {entry.name!r} of {plugins.package(entry)} is left out: a "
                    "built-in attack has that name."
                )
            found[entry.name] = find(entry.name)
        except InputError as error:
            problems.append(str(error))
    return tuple(found.values()), tuple(dict.fromkeys(problems))


def available(observed: Observed, *, others: bool = False) -> tuple[Attack, ...]:
    """The attacks for which enough was observed; with ``others`` also those of other packages."""
    added: tuple[Attack, ...] = ()
    if others:
        added, problems = plug_ins()
        for problem in problems:
            warnings.warn(problem, stacklevel=2)
    return tuple(attack for attack in (*BUILT_IN, *added) if not attack.missing(observed))


def direction(name: str) -> float:
    """The factor that makes larger scores of an attack speak for membership: +1 or -1."""
    return -1.0 if find(name).lower_is_member else 1.0
