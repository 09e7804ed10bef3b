from __future__ import annotations

from divulge.work import machine


def test_it_names_versions_extras_and_room(tmp_path):
    found = {one.what: one for one in machine.examine(tmp_path)}
    assert found["divulge"].found == machine.__version__
    assert found["numpy"].fine
    assert "GiB" in found["memory"].found
    assert found["cache here"].found == "none"
    (tmp_path / ".divulge").mkdir()
    again = {one.what: one.found for one in machine.examine(tmp_path)}
    assert again["cache here"].endswith(".divulge")


def test_extras_come_from_the_metadata(monkeypatch):
    lines = ["numpy>=2", 'torch==2.13.0; extra == "torch"', "divulge[torch]; extra == 'all'"]
    monkeypatch.setattr(machine.metadata, "requires", lambda name: lines)
    assert machine.extras() == {"torch": ("torch",)}


def test_a_missing_package_of_the_core_is_pointed_at(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "CORE", ("no-such-package",))
    assert any(not one.fine for one in machine.examine(tmp_path))
