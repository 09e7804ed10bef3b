"""What a membership audit says of its helpers, of the ladder, and of texts and documents."""

from __future__ import annotations

from dataclasses import dataclass

from divulge.result.form import Count, Number, Record, Series

WITHIN = 2.0
"""Doublings up to which a ladder of two rungs reaches."""


@dataclass(frozen=True, kw_only=True)
class HelpersRecord(Record):
    """Small models of the target's task that never saw the records audited with them."""

    trained: bool
    """By divulge; otherwise their losses were given."""
    learner: str
    count: Count
    """Helpers behind every mean loss."""
    records: Count | None = None
    """Members that each of them learned from."""
    exchanges: Count = 1
    """Audits, each with the helpers of the members that the others audit."""
    rule: str


@dataclass(frozen=True, kw_only=True)
class RungRecord(Record):
    """Helpers in the role of the target, with smaller helpers as the features."""

    records: Count
    """What the helpers in the role of the target learned from."""
    helpers: Count
    """What the helpers among the features learned from: half as many."""
    parameter: str
    delta: Number = None
    bias: Number
    """The raw finding, where nothing can leak: mean over the seeds."""
    upper: Number
    """Its upper confidence limit."""
    of_each_seed: Series


@dataclass(frozen=True, kw_only=True)
class Adjusted(Record):
    """One headline bound less the bias of all doublings: a sensitivity analysis, not a bound."""

    parameter: str
    delta: Number = None
    bound: Number
    bias_per_doubling: Number
    """Upper confidence limit, the larger of the two rungs."""
    value: Number = None
    """None: the number of doublings is unknown, or the ladder cannot be extrapolated."""


@dataclass(frozen=True, kw_only=True)
class LadderRecord(Record):
    """The bias that population knowledge leaves, per doubling of what the helpers learned from."""

    extrapolable: bool
    reason: str = ""
    """Why it cannot be extrapolated."""
    helpers: Count
    """Members that the helpers of the audit learned from."""
    training_size: Count | None = None
    doublings: Number = None
    """From the helpers to the target, at least 1; None without a training size."""
    error: Number
    """Of each upper limit; that of the bound comes on top."""
    survives: Number = None
    """Doublings after which epsilon would be 0."""
    rungs: tuple[RungRecord, ...] = ()
    adjusted: tuple[Adjusted, ...] = ()
    same_kind: bool = False
    """Whether the helpers are untrained copies of the target's own estimator."""
    sentence: str = ""

    @property
    def within_two_doublings(self) -> bool:
        """Whether the target learned from at most four times as many records as the helpers."""
        return self.doublings is not None and self.doublings <= WITHIN + 1e-9

    @property
    def leaves_something(self) -> bool:
        """Whether helpers near the target's size leave an adjusted bound above 0."""
        left = self.adjusted_epsilon
        return self.within_two_doublings and self.extrapolable and bool(left and left > 0.0)

    @property
    def supports(self) -> bool:
        """Whether it may stand in for a comparable control: what the target's kind learns."""
        return self.same_kind and self.leaves_something

    @property
    def adjusted_epsilon(self) -> float | None:
        """The adjusted epsilon at the smallest delta, if the ladder holds; None: there is none."""
        found = [a for a in self.adjusted if a.parameter == "epsilon" and a.value is not None]
        return min(found, key=lambda a: a.delta or 0.0).value if found else None


@dataclass(frozen=True, kw_only=True)
class TextRecord(Record):
    """The features that divulge made of a text."""

    column: str
    recognised: bool
    """By its looks, not named by the user."""
    features: Count
    sees: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class DocumentsRecord(Record):
    """Records of one document are one trial."""

    column: str
    documents: Count
    records: Count
    largest: Count
    """Records of the largest document."""
    sentence: str
