"""Killed at any moment, a run loses the piece in work; nothing that was finished is done again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from divulge.work import SERIAL, Engine, versions
from divulge.work import pieces as pieces_
from divulge.work.pieces import Pieces

SCRIPT = """
import os, sys, time
import numpy as np
from divulge.work.pieces import Pieces
from divulge.work import Engine

folder, log, processes = sys.argv[1], sys.argv[2], int(sys.argv[3])

def work(seed):
    with open(log, "a") as stream:
        stream.write(f"{seed}\\n")
    time.sleep(0.01)
    return {"value": np.random.default_rng(seed).normal(size=20_000)}

keep = Pieces.at(folder).tasks("draws", lambda seed: {"seed": seed})
found = Engine("loky", processes).run(work, range(40), keep=keep)
print(sum(float(r["value"].sum()) for r in found).hex())
"""
SUM = sum(float(np.random.default_rng(s).normal(size=20_000).sum()) for s in range(40)).hex()


def start(tmp_path, processes=1, log="log"):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "kept"), str(tmp_path / log), str(processes)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def calls(tmp_path, log="log"):
    place = tmp_path / log
    return place.read_text().splitlines() if place.exists() else []


def test_a_kill_loses_at_most_the_piece_in_work(tmp_path):
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(4):
        before = len(calls(tmp_path))
        run = start(tmp_path)
        while run.poll() is None and len(calls(tmp_path)) < before + 3:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0.0, 0.03)))
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            kills += 1
        run.communicate()
    assert kills >= 2
    told, _ = start(tmp_path).communicate()
    assert told.strip() == SUM
    done = calls(tmp_path)
    assert set(done) == {str(k) for k in range(40)}
    assert len(done) <= 40 + kills
    again, _ = start(tmp_path).communicate()
    assert again.strip() == SUM
    assert calls(tmp_path) == done


@pytest.mark.slow
def test_two_runs_share_a_folder(tmp_path):
    runs = [start(tmp_path, log=f"log{k}") for k in range(2)]
    assert [run.communicate()[0].strip() for run in runs] == [SUM, SUM]
    kept = [p.name for p in (tmp_path / "kept").iterdir()]
    assert len(kept) == 40
    assert all(name.endswith(".piece") for name in kept)
    third, _ = start(tmp_path, log="log3").communicate()
    assert third.strip() == SUM
    assert calls(tmp_path, "log3") == []


def kept(folder, done):
    def work(seed):
        done.append(seed)
        return {"value": np.arange(100.0) + seed}

    keep = Pieces(folder).tasks("draws", lambda seed: {"seed": seed})
    return [float(r["value"].sum()) for r in SERIAL.run(work, range(5), keep=keep)]


def test_what_was_damaged_is_done_again(tmp_path):
    done: list[int] = []
    first = kept(tmp_path, done)
    place = Pieces(tmp_path)
    damages = {
        1: lambda raw: raw[:-7],
        2: lambda raw: raw[:200] + bytes([raw[200] ^ 1]) + raw[201:],
        3: lambda raw: b"",
    }
    for seed, damage in damages.items():
        path = place.path("draws", {"seed": seed})
        path.write_bytes(damage(path.read_bytes()))
    done.clear()
    assert kept(tmp_path, done) == first
    assert done == [1, 2, 3]
    done.clear()
    assert kept(tmp_path, done) == first
    assert done == []


def test_results_are_kept_as_they_arrive_not_in_their_order(tmp_path):
    """The first task waits until the piece of a later one is on disk: else it would fail."""
    folder = str(tmp_path)

    def work(seed):
        import glob
        import time

        end = time.monotonic() + 60
        while seed == 0 and not glob.glob(f"{folder}/*.piece"):
            if time.monotonic() > end:
                raise TimeoutError
            time.sleep(0.01)
        return {"value": seed}

    keep = Pieces(tmp_path).tasks("draws", lambda seed: {"seed": seed})
    found = Engine("loky", 2).run(work, range(4), keep=keep)
    assert [int(r["value"]) for r in found] == [0, 1, 2, 3]


def test_an_edited_source_finds_no_old_piece(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "a.py").write_text("x = 1\n")
    (package / "inner" / "b.py").write_text("y = 1\n")
    digests = [versions.source.__wrapped__(package)]
    (package / "a.py").write_text("x = 2\n")
    digests.append(versions.source.__wrapped__(package))
    (package / "a.py").rename(package / "c.py")
    digests.append(versions.source.__wrapped__(package))
    assert len(set(digests)) == 3

    before = Pieces(tmp_path).path("draws", {})
    assert before == Pieces(tmp_path).path("draws", {})
    monkeypatch.setattr(versions, "source", lambda: "another")
    monkeypatch.setattr(versions, "fingerprint", versions.fingerprint.__wrapped__)
    assert Pieces(tmp_path).path("draws", {}) != before


def test_other_data_have_another_digest():
    same = pieces_.digest(np.arange(3.0), (1, "a"))
    assert same == pieces_.digest(np.arange(3.0), (1, "a"))
    others = [(np.arange(4.0), (1, "a")), (np.arange(3), (1, "a")), (np.arange(3.0), 1, "a")]
    assert same not in [pieces_.digest(*other) for other in others]
