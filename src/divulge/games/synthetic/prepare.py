"""What the synthetic game is played with: members, generated records, and what is seen of them.

Members are split: one part teaches the generator, the rest is played. Generated records are split
as well: one part teaches a helper, a model of the same task as the target that has never seen a
real record (002, Section 5.1), the rest is played. A second helper learns from the members that
taught the generator: a target that merely knows the population better than the generator does
would otherwise look like one that remembers. Everything slow is kept as a piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge.data import tables
from divulge.data.arranged import Rows, arranged, order_of
from divulge.data.features import encode
from divulge.data.tables import Frame
from divulge.errors import CannotConclude, InputError, require
from divulge.games.synthetic import answers, guessers, reading
from divulge.games.synthetic.answers import RecordColumns, Work
from divulge.games.synthetic.contest import least_records
from divulge.games.synthetic.helper_models import Teach, same_kind
from divulge.games.synthetic.seen import Seen
from divulge.generators.base import Generator, generate
from divulge.generators.copies import exact_copies, same_schema
from divulge.models.handed import estimator
from divulge.types import Index
from divulge.work import SERIAL

GENERATOR_SHARE = 0.35
"""Share of the members that teach the generator, where divulge trains it."""
LEAST_TAUGHT = 200
HELPER_SHARE = 0.25
"""Share of either side that teaches the helpers, where the generated records are the user's own."""
MOST_HELPED = 10_000
WORTH_SHARING = 50_000
"""Values to learn from below which no other process is started: a judgement, for starting them
alone takes seconds."""
MOST_COPIES = 0.05
"""More exact copies of members than this, beyond twins among the members, are refused."""


@dataclass(frozen=True)
class Material:
    """Records that are played, as rows of one table: which are what, and what is seen of them."""

    seen: Seen
    names: tuple[str, ...]
    """Of the record's encoded columns."""
    real: Index = field(repr=False)
    generated: Index = field(repr=False)
    outside: Index = field(repr=False)
    """Real non-members, for comparison; may be empty."""
    copies: int
    """Generated records that equal a member."""
    twins: float
    """Share of the members that equal another member."""
    odd: tuple[str, ...]
    """What is odd about the generated records, in sentences."""
    taught: int
    """Members that the generator learned from."""
    helper: str
    """What helped the baseline."""
    generator: str
    complete: bool = False
    """Whether the baseline sees all of a record that the target sees."""


def read_columns(
    members: Frame,
    *,
    features: Sequence[str],
    label: str | None,
    target: Sequence[str],
    helper: Sequence[str],
    model: Any,
    text: str | None = None,
) -> RecordColumns:
    """Resolve names and patterns; every column that is nothing else is a feature by default.

    Where there is a text, nothing else is a feature that was not named.
    """
    where = "the table of members"
    tables.require_columns(members, [c for c in (label, text) if c is not None], where)
    losses = tables.expand(members, list(target), where)
    helped = tables.expand(members, list(helper), where)
    if model is None and not losses:
        raise InputError(
            "Nothing is known of the target: give --model (and --label or --text), or name columns "
            "that hold its losses with --target-loss."
        )
    require(
        model is None or not losses,
        "Give the target as a model or as columns with its losses, not both.",
    )
    taken = {*losses, *helped, label, text}
    names = tables.expand(members, list(features), where) if features else None
    if names is None:
        names = [c for c in members.columns if c not in taken and text is None]
    wrong = [c for c in names if c in {*losses, *helped}]
    require(not wrong, f"Column {wrong[:1]} cannot be a feature and a loss.")
    names = [c for c in names if c not in (label, text)]
    require(len(names) > 0 or text is not None, "The members have no feature columns.")
    return RecordColumns(tuple(names), label, tuple(losses), tuple(helped), text)


def gather(
    members: Frame,
    columns: RecordColumns,
    *,
    generated: Frame | None,
    nonmembers: Frame | None,
    generator: Generator | None,
    model: Any,
    work: Work,
    reader: reading.Reader | None = None,
    attack: Sequence[str] = (guessers.COLUMNS,),
) -> Material:
    """Split, generate, train the helper, and ask both models about every record that is played.

    ``reader`` reads the texts where records are texts; without a ``generator`` it makes one.
    ``attack`` says what baseline and attack are to see of a record.
    """
    require(
        generated is not None or not columns.target,
        "Losses in columns are known for given records only: give the generated records, with the "
        "same columns, too.",
    )
    if generated is not None:
        same_schema(members.select(*columns.all), generated)
    if nonmembers is not None:
        tables.require_columns(nonmembers, columns.all, "the table of real non-members")
    remarks: list[str] = []
    if reader is not None:
        for frame in (members, nonmembers, generated):
            if frame is not None:
                reader.check(frame, "the records")
        if generated is None and generator is None:
            length = reader.shortest(*(f for f in (members, nonmembers) if f is not None))
            members = reader.cut(members, length)
            nonmembers = None if nonmembers is None else reader.cut(nonmembers, length)
            generator = reader.generator(length)
            remarks.append(f"Every text was cut to its first {length} tokens.")
    members, _ = _by_content(members, columns)
    rng = np.random.default_rng(work.seed)
    order = rng.permutation(len(members))
    taught_by = columns.label if reader is None else reader.place
    helps = model is not None and taught_by is not None and not columns.helper
    teaches = generated is None or helps
    own_share = GENERATOR_SHARE if reader is None else reading.SHARE
    share = own_share if generated is None else HELPER_SHARE if helps else 0.0
    taught, order = np.split(order, [round(share * order.size)])
    if order.size < least_records() or (teaches and taught.size < LEAST_TAUGHT):
        fewest = least_records() / (1.0 - share)
        fewest = max(fewest, LEAST_TAUGHT / share) if teaches else fewest
        parts = "a generator, " if generated is None else "helpers, " if helps else ""
        raise CannotConclude(
            f"{len(members)} members are too few to be split among {parts}a baseline, an attack "
            f"and a test: at least {int(np.ceil(fewest))} are needed."
        )
    training_records = members[np.sort(taught)].select(*columns.record)
    if len(training_records) * len(training_records.columns) < WORTH_SHARING:
        work = replace(work, engine=SERIAL)
    made, given = generated, None
    if made is None:
        assert generator is not None
        count = min(taught.size, MOST_HELPED) + order.size
        made = _generate(training_records, count, generator, work)
    else:
        made, given = _by_content(made, columns)
        mixed = rng.permutation(len(made))  # files are often sorted
        made, given = made[mixed], given[mixed]
    odd = same_schema(members.select(*columns.all), made)
    made = made.select(*columns.all)
    copies = exact_copies(members.select(*columns.record), made.select(*columns.record))
    twins = float(members.select(*columns.record).is_duplicated().to_numpy().mean())
    if copies.size > (MOST_COPIES + twins) * len(made):
        first = int(copies[0]) if given is None else int(given[copies].min())
        raise InputError(
            f"{copies.size} of {len(made)} generated records are exact copies of members (such as "
            f"row {first}), while {twins:.1%} of the members equal another member; at "
            f"most {MOST_COPIES:.0%} more are allowed. A copy is a member, so it cannot serve as a "
            "non-member."
        )
    first = 0
    if helps:
        first = len(made) - order.size
        if generated is not None:
            first = min(round(HELPER_SHARE * len(made)), MOST_HELPED)
    frames = [members[order].select(*columns.all), made[np.arange(first, len(made))]]
    if nonmembers is not None:
        frames.append(_by_content(nonmembers, columns)[0].select(*columns.all))
    if len(frames[1]) < least_records():
        raise CannotConclude(
            f"{len(frames[1])} generated records are left for the game: at least "
            f"{least_records()} are needed."
        )
    played = tables.concat(frames)
    target, spoken = answers.target(model, played, columns, work, attack)
    if np.ptp(target, axis=0).max() == 0.0:
        raise CannotConclude("The target's loss is the same for every record.")
    helper, name = np.zeros((len(played), 0)), "none"
    heard = np.zeros((len(played), 0, 0))
    if columns.helper:
        helper, name = answers.loss_columns(played, columns.helper), "given"
    elif helps and reader is not None:
        name = "the public model, fine-tuned"
        lessons = (made[np.arange(first)], training_records)
        heard = answers.reading_helpers(reader, lessons, played, columns, work, name)
        helper = np.asarray(np.nanmean(heard, axis=1))
    elif helps:
        kind = estimator(model)
        fresh, name = same_kind(kind, work.seed)
        stage = f"training two helpers ({name})"
        work.say(stage)
        named = hasattr(kind, "feature_names_in_")
        teach = Teach(
            fresh,
            named,
            (made[np.arange(first)], training_records),
            played,
            columns.features,
            columns.label,
        )
        helper = answers.helpers(teach, columns, work, work.tell(stage))
    encoded = (
        encode(played, columns.record, "the records")
        if reader is None
        else reader.encoded(played, columns.features)
    )
    cuts = np.cumsum([len(f) for f in frames])
    rows = np.split(np.arange(len(played)), cuts[:-1])
    return Material(
        seen=Seen(
            encoded.matrix,
            helper,
            target,
            spelled=None
            if reader is None or spoken is None
            else reader.spelled(played, heard, spoken),
            pixels=answers.pixels(played, columns) if guessers.IMAGE in attack else None,
        ),
        names=encoded.names,
        real=rows[0],
        generated=rows[1],
        outside=rows[2] if len(rows) > 2 else np.zeros(0, dtype=np.intp),
        copies=int(copies.size),
        twins=twins,
        odd=(*remarks, *odd),
        taught=int(taught.size),
        helper=name,
        generator="given" if generated is not None else generator.name if generator else "none",
        complete=model is not None and reader is None and encoded.whole,
    )


def _by_content(frame: Frame, columns: RecordColumns) -> tuple[Frame, Rows]:
    """A table in the order of its rows' content, and where they stood."""
    order = order_of(frame, [c for c in frame.columns if c in columns.all])
    return arranged(frame, order), order


def _generate(
    records: Frame,
    count: int,
    generator: Generator,
    work: Work,
) -> Frame:
    stage = f"generating {count} records ({generator.name})"
    work.say(stage)
    inputs = {
        "members": work.keys["members"],
        "columns": records.columns,
        "taught": len(records),
        "count": count,
        "generator": [generator.name, generator.settings],
        "seed": work.seed,
    }
    rng = np.random.default_rng([work.seed, 1])

    def tell(part: str, done: int, total: int) -> None:
        work.tell(f"{stage}: {part}")(done, total)

    training = replace(work, progress=tell)
    return work.pieces.table(
        "generated", inputs, lambda: generate(generator, records, count, rng, training)
    )
