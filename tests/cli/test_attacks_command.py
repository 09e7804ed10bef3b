from __future__ import annotations

import json
from subprocess import CompletedProcess

import pytest
from commands import run

from divulge.attacks import registry


def divulge(*words: str, columns: int = 80) -> CompletedProcess[str]:
    return run(*words, columns=columns)


@pytest.mark.parametrize("columns", [80, 60])
def test_the_table_fits_and_names_every_attack(columns):
    done = divulge("attacks", columns=columns)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    listed = [line.split()[:2] for line in lines]
    for attack in registry.BUILT_IN:
        assert [attack.name, "lower" if attack.lower_is_member else "higher"] in listed
    assert "…" not in done.stdout


def test_json_owns_stdout():
    done = divulge("attacks", "--json")
    listed = json.loads(done.stdout)["attacks"]
    assert [a["name"] for a in listed if a["built_in"]] == [a.name for a in registry.BUILT_IN]
    assert listed[0] == {
        "name": "loss",
        "title": "loss of the target",
        "paper": "Yeom et al. 2018, Adversary 2",
        "lower_is_member": True,
        "needs": ["losses"],
        "built_in": True,
    }
