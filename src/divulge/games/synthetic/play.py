"""The synthetic game: known members against generated records, without any real non-member.

PANORAMIA (002): a baseline that never asks the target proves ``c_lb``, how well real and generated
records can be told apart anyway; an attack that asks it proves ``{c + eps}_lb``. The difference is
a measurement, not a bound. Beside it the same trials are weighed one by one: what the baseline says
of each record is its prior, and bets and balanced counts prove bounds beyond it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.bounds.closeness import RULES
from divulge.data.given import read_table
from divulge.data.tables import Frame
from divulge.errors import InputError, require, require_choice, require_probability
from divulge.games.public import provenance as provenance_of
from divulge.games.public import public
from divulge.games.synthetic import contest, guessers
from divulge.games.synthetic import findings as findings
from divulge.games.synthetic import prepare as generated_
from divulge.games.synthetic.answers import Work
from divulge.games.synthetic.guessers import COLUMNS
from divulge.games.synthetic.prepare import Material
from divulge.games.synthetic.reading import Reader
from divulge.models.handed import described, handed
from divulge.models.identity import identity, unnamed
from divulge.proof.rule import DELTAS
from divulge.result import Result
from divulge.types import Index, Progress
from divulge.work import SERIAL, Engine
from divulge.work.pieces import Pieces, digest


@public("synthetic")
def synthetic(
    members: Any,
    *,
    nonmembers: Any = None,
    generated: Any = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    target_loss: str | Sequence[str] = (),
    helper_loss: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    model: Any = None,
    public_model: str | os.PathLike[str] | None = None,
    attack: str | Sequence[str] = COLUMNS,
    generator: Any = "auto",
    drop_poor: float = 0.0,
    rule: str = "grid",
    gamma: float = 0.0,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Audit a model with members alone: generated records stand in for non-members.

    The target is a ``model`` (a Source, an object with ``predict_proba`` or a place as text, with a
    ``label``, a model of texts with the column of the ``text``, or a callable that returns a loss
    per row) or columns with its losses (``target_loss``); then ``generated`` must be given, with
    the same columns. Without ``generated`` the named ``generator`` learns from a part of the
    members (``"auto"``: ``trees``, or ``text`` where there is a text); ``drop_poor`` is the share
    of its samples that a filter may remove as low-quality. A helper is trained on generated records
    where there is a label; ``helper_loss`` names columns with the losses of the user's own. Texts
    are generated, described and helped by a ``public_model``, a folder. ``attack`` says who tells
    real from generated records: classifiers of ``columns``, the ``text`` network, the ``image``
    network, or several of them, the best of which on a validation split is taken.
    ``nonmembers`` are real ones: against generated records they must look like members to no audit,
    and members must be told from them too before a leak is claimed (``control.py``). ``rule`` says
    which levels of recall are tried: a fixed ``grid``, or ``all`` of them as published. ``gamma``
    is the mass on which the generator may fail to be close. ``repeats`` draws new splits and coins.
    ``n_jobs``, ``backend`` and ``address`` say who trains the generator and the helpers and plays
    the contests (``divulge.work.Engine``). What is finished is cached in the folder ``cache``; a
    model without content to name it by, such as a server's, only under a ``cache_key``.
    """
    engine = Engine(backend, n_jobs, address)
    require_probability("gamma", gamma, zero=True)
    require_choice("rule", rule, RULES)
    kinds = guessers.named(attack)
    own = read_table("the table of members", members)
    columns = generated_.read_columns(
        own.frame,
        features=_names(features),
        label=label,
        target=_names(target_loss),
        helper=_names(helper_loss),
        model=model,
        text=text,
    )
    reader = _reader(text, public_model, kinds)
    inputs = [own.fingerprint("members")]
    others: dict[str, Frame] = {}
    for source, name in ((generated, "generated records"), (nonmembers, "real non-members")):
        if source is not None:
            found = read_table(name, source)
            others[name] = found.frame
            inputs.append(found.fingerprint())
    keys = {"members": inputs[0]["sha256"]}
    if model is not None and cache is not None and unnamed(handed(model), cache_key) is None:
        keys["model"] = identity(handed(model), cache_key)
    work = Work(keys, seed, pieces=Pieces.at(cache), progress=progress, engine=engine)
    material = generated_.gather(
        own.frame,
        columns,
        generated=others.get("generated records"),
        nonmembers=others.get("real non-members"),
        generator=None
        if generated is not None
        else _generator(generator, drop_poor, label, reader is not None),
        model=model,
        work=work,
        reader=reader,
        attack=kinds,
    )
    about = None if model is None else described(model)
    return play(
        material,
        rule=rule,
        gamma=gamma,
        deltas=tuple(deltas),
        error=error,
        repeats=repeats,
        work=work,
        attack=kinds,
        provenance=provenance_of(command, seed, inputs, about),
    )


def play(
    material: Material,
    *,
    rule: str = "grid",
    gamma: float = 0.0,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    repeats: int = 1,
    work: Work | None = None,
    attack: tuple[str, ...] = (COLUMNS,),
    provenance: dict[str, Any] | None = None,
) -> Result:
    """The contests, what they prove, and the same trials weighed one by one."""
    work = work or Work({})
    setting = findings.SyntheticSetting(rule, gamma, tuple(deltas), error)
    if 0 < material.outside.size < contest.least_records():
        raise InputError(
            f"{material.outside.size} real non-members are too few for a comparison: at least "
            f"{contest.least_records()} are needed."
        )
    tasks = [_Pairing("generated", k) for k in range(repeats)]
    if material.outside.size:
        tasks += [_Pairing("real non-members", 0), _Pairing("negative control", 0)]
    found = _contests(material, tasks, error, work, attack)
    outside, control = found[repeats:] or (None, None)
    games = found[:repeats]
    return findings.result(
        material,
        findings.Played(games, outside, control),
        setting,
        seed=work.seed,
        progress=work.progress,
        provenance=provenance or {},
    )


@dataclass(frozen=True)
class _Pairing:
    """Which records are told apart, and the number that seeds it."""

    kind: str
    number: int

    def sides(self, material: Material) -> tuple[Index, Index]:
        """The records that count as real, and the others."""
        real = material.outside if self.kind == "negative control" else material.real
        other = material.outside if self.kind == "real non-members" else material.generated
        return real, other


@dataclass(frozen=True)
class _Play:
    """Play one contest; ``tell`` only where it runs in the caller's process."""

    material: Material
    error: float
    seed: int
    attack: tuple[str, ...]
    tell: Progress | None = None

    def __call__(self, task: _Pairing) -> dict[str, Any]:
        tell = self.tell
        stage = f"baseline and attack, {task.kind} {task.number + 1}"
        found = contest.play(
            self.material.seen,
            *task.sides(self.material),
            error=self.error / 2.0,
            rng=np.random.default_rng([self.seed, 2, task.number]),
            attack=self.attack,
            progress=None if tell is None else lambda done, total: tell(stage, done, total),
        )
        return contest.to_arrays(found)


def _contests(
    material: Material,
    tasks: Sequence[_Pairing],
    error: float,
    work: Work,
    attack: tuple[str, ...],
) -> list[contest.Contest]:
    """Every contest, from its piece if it was finished before."""
    engine = work.engine if len(tasks) > 1 else SERIAL
    tell = work.progress
    seen = material.seen.digest()

    def inputs(task: _Pairing) -> dict[str, Any]:
        real, other = task.sides(material)
        return {
            "seen": seen,
            "real": digest(real),
            "other": digest(other),
            "error": error,
            "seed": work.seed,
            "number": task.number,
            "attack": attack,
        }

    results = engine.run(
        _Play(material, error, work.seed, attack, tell if engine.in_process else None),
        tasks,
        keep=work.pieces.tasks("contest", inputs),
        progress=None if engine.in_process else work.tell("baseline and attack"),
    )
    return [contest.from_arrays(found) for found in results]


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _reader(
    text: str | None, public: str | os.PathLike[str] | None, kinds: Sequence[str]
) -> Reader | None:
    require(
        text is not None or public is None,
        "A public model reads texts: name their column (--text).",
    )
    require(
        text is not None or guessers.TEXT not in kinds,
        "The attack 'text' reads texts: name their column (--text).",
    )
    return None if text is None else Reader(text, None if public is None else os.fspath(public))


def _generator(given: Any, drop_poor: float, label: str | None, reads: bool) -> Any:
    """A generator by name or as it was given; None where the reader of texts makes one."""
    from divulge.generators import AUTO, DEFAULT, by_name
    from divulge.generators.filter import Filtered

    require_probability("drop_poor", drop_poor, zero=True)
    if reads and isinstance(given, str):
        require(
            given in (AUTO, "text"),
            f"Texts are not generated by {given!r}: the generator is 'text'.",
        )
        require(drop_poor == 0.0, "Generated texts are not filtered: leave out drop_poor.")
        return None
    if isinstance(given, str):
        name = DEFAULT if given == AUTO else given
        return by_name(name, label=label, filter_share=drop_poor)
    return Filtered(given, drop_poor) if drop_poor > 0.0 else given
