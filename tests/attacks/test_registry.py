from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from planted import CLASSIFIER, LANGUAGE, auc, classifier, language, oriented

from divulge.attacks import registry, scoring
from divulge.attacks.base import NEEDS, Observed
from divulge.errors import InputError
from divulge.models.base import Answers


def test_names_are_unique_and_needs_are_explained():
    assert len(registry.BY_NAME) == len(registry.BUILT_IN)
    assert set(CLASSIFIER) | set(LANGUAGE) == set(registry.BY_NAME)
    for attack in registry.BUILT_IN:
        assert set(attack.needs) <= set(NEEDS)
        assert attack.paper
        assert attack.title


@pytest.mark.parametrize("name", sorted(registry.BY_NAME))
def test_games_read_a_column_of_that_name_in_the_attacks_direction(name):
    assert scoring.direction(name, None) == registry.direction(name)
    assert scoring.direction(name, True) == -1.0
    assert scoring.direction(name, False) == 1.0


def test_other_names_go_by_their_words():
    assert scoring.direction("my_loss_2", None) == -1.0
    assert scoring.direction("my score", None) == 1.0


@pytest.fixture(scope="module")
def observed() -> dict[str, tuple[Observed, np.ndarray]]:
    rng = np.random.default_rng(7)
    return {"classifier": classifier(rng), "language": language(rng)}


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("classifier", n) for n in CLASSIFIER), *(("language", n) for n in LANGUAGE)],
)
def test_every_attack_points_at_members(observed, kind, name):
    seen, member = observed[kind]
    assert auc(oriented(name, seen), member) > 0.6


@pytest.mark.parametrize(("kind", "names"), [("classifier", CLASSIFIER), ("language", LANGUAGE)])
def test_available_are_those_with_all_they_need(observed, kind, names):
    seen, _ = observed[kind]
    assert sorted(a.name for a in registry.available(seen)) == sorted(names)


def turned(observed: Observed, rows: np.ndarray) -> Observed:
    """Some of the records, in another order."""

    def some(answers: Answers) -> Answers:
        return Answers(log_probabilities=answers.log_probabilities[rows])

    return replace(
        observed,
        target=some(observed.target),
        labels=observed.labels[rows],
        references=tuple(map(some, observed.references)),
        shadows=tuple(map(some, observed.shadows)),
        inside=observed.inside[rows],
        features=observed.features[rows],
    )


@pytest.mark.parametrize("name", [n for n in CLASSIFIER if n != "learned"])
def test_scores_follow_the_records_and_equal_records_tie(observed, name):
    seen, _ = observed["classifier"]
    rows = np.arange(len(seen))[::-1]
    score = registry.find(name)
    assert score(turned(seen, rows)) == pytest.approx(score(seen)[rows], rel=1e-9, abs=1e-12)
    twice = score(turned(seen, np.append(rows, [5, 5])))
    assert twice[-1] == twice[-2]


def test_a_score_of_the_wrong_shape_is_refused():
    broken = replace(registry.find("loss"), score=lambda observed: np.zeros((2, 2)))
    with pytest.raises(
        InputError, match=r"one score per record: 2\. Found an array of shape \(2, 2"
    ):
        broken(Observed(Answers(losses=np.zeros(2))))


def test_an_unknown_name_lists_the_nearest():
    with pytest.raises(InputError, match=r"no attack 'lyra'. Did you mean 'lira'.*There are: loss"):
        registry.find("lyra")


PLUG_IN = """
    from divulge.attacks.base import Attack

    def half(observed):
        return observed.target.losses / 2

    GOOD = Attack("half_loss", "half the loss", "nobody 2030", True, ("losses",), half)
    OTHER_NAME = Attack("another", "half the loss", "nobody 2030", True, ("losses",), half)
    WRONG = 3
"""


def install(folder: Path, package: str, points: dict[str, str]) -> None:
    """An installed distribution as pip leaves it: a module and its metadata."""
    (folder / f"{package}.py").write_text(textwrap.dedent(PLUG_IN))
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {package}:{value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[divulge.attacks]", *lines]) + "\n")


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("plugone", "plugtwo"):
        sys.modules.pop(name, None)


def test_an_attack_of_another_package_is_found_used_and_listed(site):
    install(site, "plugone", {"half_loss": "GOOD"})
    seen = Observed(Answers(losses=np.array([1.0, 4.0])))
    assert "half_loss" in registry.names()
    assert "plugone" not in sys.modules  # a name is no reason to import
    assert registry.find("half_loss")(seen) == pytest.approx([0.5, 2.0])
    assert registry.direction("half_loss") == -1.0
    assert [a.name for a in registry.available(seen)] == ["loss"]
    assert [a.name for a in registry.available(seen, others=True)] == ["loss", "half_loss"]
    attacks, problems = registry.plug_ins()
    assert [a.name for a in attacks] == ["half_loss"]
    assert problems == ()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"wrong": "WRONG"}, "'wrong' of the package 'plugone': it is not an Attack but int"),
        ({"gone": "MISSING"}, "Cannot load the attack 'gone' of the package 'plugone': Attribute"),
        ({"mine": "OTHER_NAME"}, "'mine' of the package 'plugone': it calls itself 'another'"),
    ],
)
def test_a_broken_attack_is_an_error_by_name_and_a_problem_in_a_list(site, points, message):
    install(site, "plugone", {**points, "half_loss": "GOOD"})
    with pytest.raises(InputError, match=message):
        registry.find(next(iter(points)))
    attacks, problems = registry.plug_ins()
    assert [a.name for a in attacks] == ["half_loss"]
    assert len(problems) == 1
    assert message in problems[0]
    with pytest.warns(UserWarning, match=message):
        registry.available(Observed(Answers(losses=np.zeros(2))), others=True)


def test_a_built_in_name_stays_the_built_in_attack(site):
    install(site, "plugone", {"loss": "GOOD"})
    assert registry.find("loss") is registry.BY_NAME["loss"]
    attacks, problems = registry.plug_ins()
    assert attacks == ()
    assert "'loss' of the package 'plugone' is left out" in problems[0]


def test_two_packages_with_one_name_are_refused(site):
    install(site, "plugone", {"half_loss": "GOOD"})
    install(site, "plugtwo", {"half_loss": "GOOD"})
    with pytest.raises(InputError, match="'plugone' and the package 'plugtwo' offer"):
        registry.find("half_loss")
    attacks, problems = registry.plug_ins()
    assert attacks == ()
    assert len(problems) == 1


def test_importing_divulge_imports_no_plug_in(site):
    install(site, "plugone", {"half_loss": "GOOD"})
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r}); "
        "import divulge, divulge.attacks.registry; print('plugone' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
