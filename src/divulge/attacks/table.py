"""From a model and records to the table of scores that the games read.

The table is read, asked about and written chunk by chunk, so that it may be larger than memory.
With a folder every finished chunk is kept: a run that was killed goes on where it stopped. An
attack that looks at all records together is scored once all of them were asked about.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge import __version__
from divulge.attacks import registry
from divulge.attacks.base import Attack, Observed
from divulge.attacks.kept_columns import MEMBER, kept, left_out
from divulge.attacks.kept_shadows import read_kept, without
from divulge.attacks.observe import Question, observe, packed, unpacked
from divulge.data import chunked, tables
from divulge.data.arranged import arranged, order_of
from divulge.data.chunked import Chunks
from divulge.data.renaming import renaming
from divulge.data.table_files import require_table_name, write_table
from divulge.data.tables import Frame
from divulge.errors import Note, require
from divulge.models.handed import handed
from divulge.models.identity import by_answers, identity
from divulge.types import Array
from divulge.work import Engine
from divulge.work.pieces import Pieces, digest
from divulge.work.threads import single
from divulge.work.watching import watched

Arrays = Mapping[str, npt.NDArray[Any]]
Progress = Callable[[int, int], None]
Scored = tuple[Frame, dict[str, Array]]

CHUNK = 65_536
"""Records in one piece of work."""
FIRST = 32
"""Records asked about to see which attacks can run."""
_SCORE = "score "


@dataclass(frozen=True)
class Job:
    """All that the scores of a chunk depend on, besides the chunk."""

    question: Question
    attacks: tuple[str, ...]
    population: Observed | None = field(default=None, repr=False)
    sample: str | None = None
    """What names the population in a kept piece."""
    first: str = ""
    """What names the answers about the first records in a kept piece."""
    cache_key: str | None = None

    @property
    def pooled(self) -> bool:
        """Whether an attack looks at all records together."""
        return any(registry.find(name).pooled for name in self.attacks)

    def identity(self) -> dict[str, Any]:
        """What names this work in a kept piece."""
        asked = self.question
        models = [asked.target, *asked.references, *asked.shadows]
        coded = any(by_answers(model, self.cache_key) for model in models)
        return {
            "models": [identity(model, self.cache_key) for model in models],
            "first": self.first if coded else None,
            "columns": [asked.features, asked.label, asked.text, asked.shadow_columns],
            "attacks": self.attacks,
            "population": self.sample,
        }


@watched("scoring")
@single
@renaming
def score(
    data: Any = None,
    *,
    members: Any = None,
    nonmembers: Any = None,
    population: Any = None,
    columns: Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: Any,
    references: Sequence[Any] = (),
    shadows: Any = (),
    shadow_columns: Sequence[str] = (),
    attack: str | Sequence[str] = "all",
    chunk: int = CHUNK,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    table: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Frame | None:
    """Score records with attacks; the table is returned, or written as ``table`` (Parquet, CSV).

    ``data`` is one table, or ``members`` and ``nonmembers`` are given apart, which become the
    column ``member``. The table keeps what an audit of it needs (who is a member, the label, what
    the model was shown) and what ``keep`` names (``"*"``: everything), or only the ``columns``
    named. It gains one per attack, in the attack's own sign. ``attack="all"`` takes every attack
    that has what it needs. ``references``, ``shadows`` and ``population`` are what some attacks
    need; ``divulge attacks`` lists them. ``shadows`` is what ``divulge.shadows`` returned or wrote,
    or several models with the columns that say which records each trained on. Every model is a
    ``Source``, a fitted object, a callable or a place as text. Chunks of ``chunk`` records are
    asked about by ``n_jobs`` processes, ``backend`` and ``address`` (``divulge.work.Engine``). With
    a folder ``cache`` a second run repeats nothing. Models are named by their content there;
    ``cache_key`` names what has none, a server or an object of your own: change it whenever the
    model changes.
    """
    require(chunk >= 1, f"chunk must be at least 1. Found {chunk!r}.")
    engine = Engine(backend, n_jobs, address)
    if table is not None:
        require_table_name(table, (data, members, nonmembers, population))
    trained = None
    if shadows is not None and not isinstance(shadows, list | tuple):
        require(not shadow_columns, "A table of shadow models knows who each was trained on.")
        trained = read_kept(shadows)
        shadows, shadow_columns = trained.models, trained.marks
    question = Question(
        target=handed(model),
        features=(features,) if isinstance(features, str) else tuple(features),
        label=label,
        text=text,
        references=tuple(handed(reference) for reference in references),
        shadows=tuple(handed(shadow) for shadow in shadows or ()),
        shadow_columns=tuple(shadow_columns),
    )
    chunks = _chunks(data, members, nonmembers, chunk, None if trained is None else trained.marked)
    first = chunks.first(FIRST)
    job = replace(prepared(question, first, attack, population), cache_key=cache_key)
    marks = () if trained is None else trained.marks
    own = without(first, marks)
    names = kept(question, own, columns, keep)
    told = left_out(question, own, names) if columns is None else None
    for note in [*not_opened(attack, references, question.shadows), *([told] if told else [])]:
        warnings.warn(note, Note, stacklevel=5)
    pieces = Pieces.at(cache)
    made = _scored(job, chunks, pieces, engine, progress)
    shaped = (_table(chunk.select(*names), scores) for chunk, scores in made)
    if table is None:
        return tables.concat(list(shaped))
    write_table(table, (part.to_arrow() for part in shaped), _about(job))
    return None


def not_opened(
    attack: str | Sequence[str], references: Sequence[Any], shadows: Sequence[Any]
) -> list[str]:
    """Which models were given although no attack that was named needs them, in sentences."""
    if attack == "all":
        return []
    needs = set(_needs(registry.find(name) for name in _names(attack)))
    given = (
        ("reference", references, {"reference"}),
        ("shadow", shadows, {"shadows in", "shadows out"}),
    )
    return [
        f"No attack that was named needs a {role} model: {len(models)} not opened."
        for role, models, wanted in given
        if len(models) > 0 and not wanted & needs
    ]


def prepared(
    question: Question, first: Frame, attacks: str | Sequence[str], population: Any
) -> Job:
    """Which attacks are run, tried on the first records: what is missing is said at once."""
    every = attacks == "all"
    wanted = [registry.find(name) for name in (registry.names() if every else _names(attacks))]
    needs = _needs(wanted)
    sample, name = None, None
    if population is not None:
        read = tables.read(population)
        name = tables.fingerprint(population, read, "population")["sha256"]
        read = arranged(read, order_of(read, read.columns))  # attacks may draw folds of it
        sample = observe(question, read, needs, where="the population", outside=True)
    seen = observe(question, first, needs, population=sample)
    if every:
        wanted = [attack for attack in wanted if not attack.missing(seen)]
        require(len(wanted) > 0, "No attack has what it needs: see divulge attacks.")
    for attack in wanted:
        attack.check(seen)
    answers = digest(*(part for pair in sorted(packed(seen).items()) for part in pair))
    return Job(question, tuple(a.name for a in wanted), sample, name, answers)


def attacked(question: Question, frame: Frame, attacks: Sequence[str]) -> dict[str, Array]:
    """The scores of a table in memory, by attacks that need neither further models nor records."""
    wanted = [registry.find(name) for name in _names(attacks)]
    seen = observe(question, frame, _needs(wanted))
    return {attack.name: attack(seen) for attack in wanted}


def _names(given: str | Sequence[str]) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    require(len(names) > 0, "Name at least one attack, or all.")
    return list(dict.fromkeys(names))


def _needs(attacks: Iterable[Attack]) -> Collection[str]:
    return {need for attack in attacks for need in attack.needs}


def _chunks(
    data: Any, members: Any, nonmembers: Any, rows: int, change: chunked.Change = None
) -> Chunks:
    """The records in order; with a column of truths where members come apart."""
    given = [source is not None for source in (data, members, nonmembers)]
    require(
        given in ([True, False, False], [False, True, True]),
        "Give one table, or members and nonmembers separately.",
    )
    if data is not None:
        return chunked.open_chunks([(data, change)], rows)

    def marked(member: bool) -> Callable[[Frame], Frame]:
        def mark(chunk: Frame) -> Frame:
            require(
                MEMBER not in chunk.columns,
                "Members and non-members are given separately, but there is already a column "
                f"{MEMBER!r}.",
            )
            told = chunk.with_columns(nw.lit(member).alias(MEMBER))
            return told if change is None else change(told)

        return mark

    return chunked.open_chunks([(members, marked(True)), (nonmembers, marked(False))], rows)


def _scored(
    job: Job, chunks: Chunks, pieces: Pieces, engine: Engine, progress: Progress | None
) -> Iterator[Scored]:
    """Every chunk with its scores, in order."""
    keep = None
    if pieces.folder is not None:
        keep = pieces.tasks("score", partial(_inputs, job.identity()))
    whole: list[tuple[Frame, Arrays]] = []
    done = 0
    for place, found in enumerate(engine.run(partial(_ask, job), chunks, keep=keep)):
        chunk = chunks.take(place)
        done += len(chunk)
        if progress is not None:
            progress(done, chunks.rows)
        if job.pooled:
            whole.append((chunk, found))
        else:
            yield chunk, {name: found[_SCORE + name] for name in job.attacks}
    if whole:
        yield from _together(job, whole)


def _inputs(identity: Mapping[str, Any], chunk: Any) -> dict[str, Any]:
    return {**identity, "records": tables.fingerprint(None, tables.read(chunk), "")["sha256"]}


def _ask(job: Job, chunk: Any) -> dict[str, npt.NDArray[Any]]:
    """One piece of work: the scores of a chunk, and the answers where an attack pools them."""
    attacks = [registry.find(name) for name in job.attacks]
    seen = observe(job.question, tables.read(chunk), _needs(attacks), population=job.population)
    found = {_SCORE + a.name: a(seen) for a in attacks if not a.pooled}
    return {**found, **(packed(seen) if job.pooled else {})}


def _together(job: Job, whole: Sequence[tuple[Frame, Arrays]]) -> Iterator[Scored]:
    """Scores of the attacks that look at all records together, beside the others."""
    records = tables.concat([chunk for chunk, _ in whole])
    shown = [c for c in records.columns if c != MEMBER]  # a truth has no say in an order
    order = order_of(records, shown)  # attacks add up, and learn, in that order
    seen = unpacked([found for _, found in whole], job.question, [records])
    parts = {name: values[order] for name, values in packed(seen).items()}
    seen = unpacked([parts], job.question, [arranged(records, order)])
    back = np.argsort(order)
    pooled = {
        a.name: a(replace(seen, population=job.population))[back]
        for a in map(registry.find, job.attacks)
        if a.pooled
    }
    start = 0
    for chunk, found in whole:
        some = slice(start, start + len(chunk))
        yield (
            chunk,
            {
                name: pooled[name][some] if name in pooled else found[_SCORE + name]
                for name in job.attacks
            },
        )
        start += len(chunk)


def _table(kept: Frame, found: Mapping[str, Array]) -> Frame:
    """Columns of the records, and one per attack."""
    clash = [name for name in found if name in kept.columns]
    require(
        not clash,
        f"The table already has a column {clash[0] if clash else ''!r}, which is also the name of "
        "an attack. Rename it, or name the columns to keep without it.",
    )
    table = kept.to_arrow()
    for name, values in found.items():
        table = table.append_column(name, [values])
    return tables.read(table)


def _about(job: Job) -> dict[str, Any]:
    """What the table says of itself: which attacks made it, and their signs."""
    signs = {a: {"lower_is_member": registry.find(a).lower_is_member} for a in job.attacks}
    return {"divulge": __version__, "attacks": signs}
