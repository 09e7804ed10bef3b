"""Deliberate errors, each applied in memory: what the self-test must see.

A mutation rewrites a piece of one function's source, compiles it in the function's own module and
puts the new code into the function object, so that everybody who imported it by name has it, too.
Compiled loops are run as plain Python meanwhile.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutation:
    """In ``where`` (module:function or module:Class.function) ``old`` becomes ``new``."""

    name: str
    where: str
    old: str
    new: str
    sees: tuple[str, ...]
    """Parts of the labels of the rows that it affects."""
    quick: bool = True
    """Whether rows of the quick form see it."""
    cheap: bool = False
    """Whether exact checks see it within a second: then it is tried in ``make test``."""


def _target(where: str) -> tuple[Any, Any, Any]:
    """The module, the function as it stands there, and the plain function behind it."""
    module_name, _, path = where.partition(":")
    module = importlib.import_module(module_name)
    found: Any = module
    for part in path.split("."):
        found = inspect.getattr_static(found, part)
    plain = found
    if isinstance(plain, property):
        plain = plain.fget
    plain = getattr(plain, "py_func", plain)
    return module, found, inspect.unwrap(plain)


def _rewritten(function: Any, old: str, new: str) -> Any:
    """The code of the function with ``old`` replaced, compiled under the same names."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {function}"
    tree = ast.parse(source.replace(old, new))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    flags = function.__code__.co_flags & 0x1000000  # annotations stay unevaluated
    names: dict[str, Any] = {}
    code = compile(tree, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    exec(code, function.__globals__, names)
    return names[function.__name__].__code__


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """The error is there inside the block, and nowhere afterwards."""
    module, found, function = _target(mutation.where)
    before = function.__code__
    compiled: dict[str, Any] = {}
    if hasattr(found, "py_func"):
        compiled = {k: v for k, v in vars(module).items() if hasattr(v, "py_func")}
        for name, dispatcher in compiled.items():
            setattr(module, name, dispatcher.py_func)
    function.__code__ = _rewritten(function, mutation.old, mutation.new)
    _forget()
    try:
        yield
    finally:
        function.__code__ = before
        for name, dispatcher in compiled.items():
            setattr(module, name, dispatcher)
        _forget()


def _forget() -> None:
    """Nothing that was computed with other code may be remembered."""
    for name, module in list(sys.modules.items()):
        if name.startswith("divulge."):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


_B = "divulge.bounds."
_COUNTING = _B + "counting:"
_CHECK = ("randomised response at the edge",)
_RECURSION = ("recursion mu | worst", "recursion epsilon | ")
_BETS = ("betting | null | all",)

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "binomial at twice the error",
        _COUNTING + "binomial_epsilon_lower_bound",
        "_, r, c = check_counts(trials, guesses, correct, error)",
        "_, r, c = check_counts(trials, guesses, correct, error); error = 2.0 * error",
        ("binomial | randomised response at the edge",),
        cheap=True,
    ),
    Mutation(
        "recursion at twice the error",
        _B + "recursion:_cached",
        "m, r, c, error, tau, 0.0, TOLERANCE",
        "m, r, c, 2.0 * error, tau, 0.0, TOLERANCE",
        _RECURSION,
        cheap=True,
    ),
    Mutation(
        "bet at twice the error",
        _B + "betting:_Game.__init__",
        "(1.0 + 1e-9) / error",
        "0.5 / error",
        _BETS,
        cheap=True,
    ),
    Mutation(
        "one correct guess too many",
        _B + "guessing:count_correct",
        "int((guess[made] == truth[made]).sum())",
        "min(int(made.sum()), int((guess[made] == truth[made]).sum()) + 1)",
        ("binomial | null",),
        cheap=True,
    ),
    Mutation(
        "delta dropped in the recursion",
        _B + "recursion:epsilon_lower_bound",
        "_cached(0, float(delta), m",
        "_cached(0, 0.0, m",
        _RECURSION,
        cheap=True,
    ),
    Mutation(
        "Clopper-Pearson not split over both errors",
        _B + "error_rates:upper_limits",
        "error / (2.0 * len(table))",
        "error / len(table)",
        ("clopper-pearson",),
        cheap=True,
    ),
    Mutation(
        "Clopper-Pearson not split over the rows",
        _B + "error_rates:upper_limits",
        "error / (2.0 * len(table))",
        "error / 2.0",
        ("clopper-pearson",),
        cheap=True,
    ),
    Mutation(
        "price of choosing unpaid",
        _B + "choice:price",
        "return error / shares, against",
        "return error, delta",
        ("price of choosing | worst mechanism, linear program | six",),
        cheap=True,
    ),
    Mutation(
        "canary scores that leak the truth",
        "divulge.games.canaries:audit",
        "joined.score,\n        made.truth,",
        "joined.score + 0.5 * made.truth[:, None],\n        made.truth,",
        ("from plan to result",),
    ),
    Mutation(
        "canaries listed included first",
        "divulge.games.canary_plan:Plan.canaries",
        "pa.array(self.rows, pa.int64())",
        "pa.array([r for _, r in sorted(zip(~(self.truth > 0), self.rows))], pa.int64())",
        ("from plan to result",),
    ),
    Mutation(
        "coins of the plan without the data",
        "divulge.games.coins:mix",
        "{seed}\\n{data_sha256}",
        "{seed}\\n",
        ("plan's coins",),
    ),
    Mutation(
        "coins of the plan from a fixed seed",
        "divulge.games.coins:secret_seed",
        "secrets.randbits(SEED_BITS)",
        "0",
        ("canaries, plan's coins",),
        cheap=True,
    ),
    Mutation(
        "signed bound with the sign of l flipped",
        _COUNTING + "signed_epsilon_lower_bound",
        "signed = guess[made] * prior[made]",
        "signed = -guess[made] * prior[made]",
        _CHECK,
        cheap=True,
    ),
    Mutation(
        "signed bound with |l| for both signs",
        _COUNTING + "signed_epsilon_lower_bound",
        "signed = guess[made] * prior[made]",
        "signed = np.abs(prior[made])",
        _CHECK,
        cheap=True,
    ),
    Mutation(
        "bisection returns its upper end",
        _COUNTING + "_largest",
        "return low",
        "return high",
        _CHECK,
        cheap=True,
    ),
    Mutation(
        "Poisson-binomial tail that starts one too far",
        _COUNTING + "poisson_binomial_tail",
        "pmf[max(0, correct - start) :]",
        "pmf[max(0, correct + 1 - start) :]",
        _CHECK,
        cheap=True,
    ),
    Mutation(
        "recursion counts one guess fewer wrong",
        _B + "compiled:rejects",
        "wrong = error * (r - correct) / m",
        "wrong = error * (r - correct + 1) / m",
        _RECURSION,
        cheap=True,
    ),
    Mutation(
        "recursion forgets the trials that are not guessed",
        _B + "recursion:mu_lower_bound",
        "m, r, c = check_counts(trials, guesses, correct, error)",
        "m, r, c = check_counts(trials, guesses, correct, error); m = r",
        _RECURSION,
        cheap=True,
    ),
    Mutation(
        "Gaussian curve of half the mu",
        _B + "compiled:_inverse",
        "- parameter)",
        "- 0.8 * parameter)",
        _RECURSION,
        cheap=True,
    ),
    Mutation(
        "tau ignored",
        _B + "recursion:mu_lower_bound",
        "float(error), float(tau), float(shift_mu)",
        "float(error), 0.0, float(shift_mu)",
        ("recursion mu, tau",),
        cheap=True,
    ),
    Mutation(
        "Steinke's failures counted once",
        _COUNTING + "steinke_p_value",
        "2.0 * trials * delta",
        "0.2 * trials * delta",
        ("steinke",),
        cheap=True,
    ),
    Mutation(
        "Steinke's difference with the sign of Algorithm 6",
        _COUNTING + "steinke_p_value",
        "(tails[correct - steps] - tails[correct]) / steps",
        "(tails[correct] - tails[correct - steps]) / steps",
        ("steinke",),
        cheap=True,
    ),
    Mutation(
        "Theorem 5.1.1 without its sum",
        _COUNTING + "zero_run_p_value",
        "+ extra)",
        "+ 0.0 * extra)",
        ("zero-run",),
        cheap=True,
    ),
    Mutation(
        "bets settled against the wrong prior",
        _B + "betting:_Game.reveal",
        "np.exp(-truths * log_odds)",
        "np.exp(truths * log_odds)",
        ("betting | randomised response under shift",),
        cheap=True,
    ),
    Mutation(
        "odds of won and lost bets exchanged",
        _B + "compiled:ruin_or_reach",
        "step = shrink if direction[k, i] > 0 else grow",
        "step = grow if direction[k, i] > 0 else shrink",
        ("betting | both edges",),
        cheap=True,
    ),
    Mutation(
        "largest wealth instead of the mean",
        _B + "compiled:ruin_or_reach",
        "total += wealth[k]",
        "total = max(total, wealth[k] * learners)",
        ("betting, averaged wealth | null, bets",),
        cheap=True,
    ),
    Mutation(
        "the first point not rejected is claimed",
        _B + "betting:_Game.epsilon",
        "len(self.rejected_at) - 1",
        "len(self.rejected_at)",
        ("betting",),
    ),
    Mutation(
        "bettors learn from the trials they bet on",
        _B + "betting:bet",
        "past = order[max(0, start - _LARGEST_FIT) : start]",
        "past = order[max(0, start - _LARGEST_FIT) : stop]",
        ("betting, noise columns",),
    ),
    Mutation(
        "balancing keeps the likely truth",
        "divulge.shift.balance:keep_probabilities",
        "np.maximum(0.0, truth * log_odds)",
        "np.maximum(0.0, -truth * log_odds)",
        ("balanced, kept",),
        cheap=True,
    ),
    Mutation(
        "balancing keeps all",
        "divulge.shift.balance:keep_probabilities",
        "np.exp(-np.maximum(0.0, truth * log_odds))",
        "np.ones_like(truth * log_odds)",
        ("balanced, kept",),
        cheap=True,
    ),
    Mutation(
        "tampering halved",
        "divulge.shift.conditional:discount",
        "np.exp(-against)",
        "np.exp(-0.5 * against)",
        ("conditional, tampered",),
        cheap=True,
    ),
    Mutation(
        "tampering of the wrong side",
        "divulge.shift.conditional:discount",
        "np.maximum(0.0, guess * log_odds) if signed",
        "np.maximum(0.0, -guess * log_odds) if signed",
        ("conditional, tampered",),
        cheap=True,
    ),
    Mutation(
        "shift not composed",
        _B + "compiled:_shifted",
        "math.hypot(x, offset)",
        "x",
        ("composition",),
        cheap=True,
    ),
    Mutation(
        "shift added instead of composed",
        _B + "compiled:_shifted",
        "math.hypot(x, offset)",
        "x + offset",
        ("composition",),
        cheap=True,
    ),
    Mutation(
        "overlap by the median",
        "divulge.shift.conditional:worst_shift",
        "(1.0 - failure) * log_odds.size",
        "0.5 * (1.0 - failure) * log_odds.size",
        ("composition",),
        cheap=True,
    ),
    Mutation(
        "allowance not deducted from epsilon",
        "divulge.games.corrections:_from_bet",
        "bet.epsilon - prepared.allowance",
        "bet.epsilon",
        ("headline of an audit",),
        cheap=True,
    ),
    Mutation(
        "allowance not deducted from mu",
        "divulge.games.corrections:_from_counts",
        "_mu(counts, error) - prepared.allowance_mu",
        "_mu(counts, error)",
        ("headline of an audit",),
        cheap=True,
    ),
    Mutation(
        "error not split between bets and counts",
        "divulge.games.corrections:audit",
        "half = error / 2.0",
        "half = error",
        ("headline of an audit",),
        cheap=True,
    ),
    Mutation(
        "learned trials counted too",
        "divulge.shift.prepared:Prepared.tail",
        "self.order[self.learned :]",
        "self.order[self.learned // 2 :]",
        ("headline of an audit",),
        cheap=True,
    ),
    Mutation(
        "guesses learned on the counted trials",
        "divulge.games.corrections:_evidence",
        "head = head[:MOST_LEARNED]",
        "head = tail[:MOST_LEARNED]",
        ("unequal pools",),
    ),
    Mutation(
        "c_lb not deducted",
        "divulge.shift.values:Priors.proved_epsilon",
        "epsilon - self.c_lb",
        "epsilon",
        ("blind baseline",),
        cheap=True,
    ),
    Mutation(
        "c_lb not deducted from mu",
        "divulge.shift.values:Priors.proved_mu",
        "mu * mu - shift * shift",
        "mu * mu",
        ("blind baseline",),
        cheap=True,
    ),
    Mutation(
        "no allowance for what both models missed",
        "divulge.shift.allowance:estimate_allowance",
        "reach * slope + c_lb, MU_SCALE * slope + gaussian",
        "c_lb, gaussian",
        ("membership, allowance",),
    ),
    Mutation(
        "negative control ignored",
        "divulge.games.findings:_verdict",
        "    if control:",
        "    if control and control > 1e9:",
        ("negative control",),
    ),
    Mutation(
        "blind baseline at ten times the error",
        "divulge.shift.blind:proved_shift",
        "error=error)",
        "error=10.0 * error)",
        ("blind baseline, c_lb | null |",),
        cheap=True,
    ),
    Mutation(
        "bootstrap not recentred",
        "divulge.shift.bootstrap:bootstrap",
        "raw + point - middle",
        "raw",
        ("bootstrap",),
        cheap=True,
    ),
    Mutation(
        "mean p-value instead of twice the mean",
        _B + "repeated:count_bound",
        "2.0 - 2.0 * _rung(",
        "2.0 - 1.0 * _rung(",
        ("replays, twice",),
        cheap=True,
    ),
    Mutation(
        "sum of e-values instead of their mean",
        _B + "repeated:bet_epsilon",
        "total * len(replays) >= goal * seen",
        "total * len(replays) >= goal",
        ("replays, mean e-value",),
        cheap=True,
    ),
    Mutation(
        "closeness at one level without the others' share",
        _B + "closeness:recall_bounds",
        "_binomial_lower(guesses, correct, error / guesses.size)",
        "_binomial_lower(guesses, correct, error)",
        ("closeness",),
    ),
    Mutation(
        "closeness without failures",
        _B + "closeness:relaxed_lower_bound",
        "float(expit(middle)), failures)",
        "float(expit(middle)), 0.0)",
        ("closeness | worst failures",),
        cheap=True,
    ),
    Mutation(
        "both kinds of guesses without a union bound",
        _B + "closeness:both_kinds",
        "error / each.size",
        "error",
        ("closeness, both",),
    ),
    Mutation(
        "draw with fixed totals",
        "divulge.games.draw:draw",
        "heads[part] = rng.random(part.stop - part.start) < coin",
        "heads[part] = rng.permutation(part.stop - part.start) < round(coin * m)",
        ("draw, counting",),
    ),
    Mutation(
        "the coin's log-odds ignored",
        "divulge.games.draw:Draw.log_odds",
        "math.log(self.coin / (1.0 - self.coin))",
        "0.0",
        ("unequal pools",),
    ),
    Mutation(
        "ties broken by the order of the rows",
        _B + "guessing:top_guesses",
        'first = np.argsort(np.concatenate([np.zeros(0), *luck]), kind="stable")',
        "first = np.arange(sum(part.size for part in luck))",
        ("sorted rows",),
    ),
    Mutation(
        "posterior with a prior of a tenth of the variance",
        _B + "priors:EpsilonPrior.log_density",
        "0.5 * e**2 / self.scale",
        "5.0 * e**2 / self.scale",
        ("posterior of epsilon",),
    ),
    Mutation(
        "posterior that counts every row twice",
        _B + "likelihood:Gains.pairs",
        "total += part",
        "total += 4.0 * part",
        ("posterior of",),
    ),
    Mutation(
        "correlated counts taken as independent",
        _B + "correlated:CorrelatedGrowth.__init__",
        "1.0 + (counts[:, 1::2] - 1.0) * tau",
        "1.0 + 0.0 * counts[:, 1::2]",
        ("correlated counts",),
        cheap=True,
    ),
    Mutation(
        "no error among correlated decisions, as if independent",
        _B + "correlated:log_none",
        "scale = (1.0 - tau)",
        "scale = (1.0 - 0.0 * tau)",
        ("correlated counts",),
        cheap=True,
    ),
    Mutation(
        "leakage without the square root",
        "divulge.exposure.scores:strength",
        "np.sqrt(m / rate)",
        "m / rate",
        ("leakage",),
        cheap=True,
    ),
    Mutation(
        "sub-sampling as in Theorem 4.3",
        "divulge.exposure.scores:power",
        "(1.0 - rate) * alpha + rate * sampled",
        "ndtr(ndtri(alpha) + rate * strength(leakage, rate))",
        ("leakage",),
        cheap=True,
    ),
    Mutation(
        "noise left out of the covariance",
        "divulge.exposure.scores:Release.covariance",
        "self.behind * self.noise**2",
        "1e-9 * self.noise**2",
        ("leakage, rank",),
    ),
    Mutation(
        "Algorithm 3 with its printed sign",
        "divulge.attacks.parametric:decide",
        "np.abs(z + shift) <= radius",
        "np.abs(z - shift) <= radius",
        ("test of two normals",),
        cheap=True,
    ),
    Mutation(
        "printed values rounded to the nearest",
        "divulge.result:floor_to",
        "math.floor(value * scale)",
        "round(value * scale)",
        ("printed values",),
        cheap=True,
    ),
)
