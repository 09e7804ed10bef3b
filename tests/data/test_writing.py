"""Files are whole or absent, and nothing that was not meant is replaced."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from divulge.data import writing
from divulge.data.writing import Output, replacing, reserve, write_all, write_bytes, write_text
from divulge.errors import InputError


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_files_appear_whole_with_the_rights_of_the_user(tmp_path):
    write_text(tmp_path / "a.txt", "ä")
    assert (tmp_path / "a.txt").read_bytes() == "ä".encode()
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~umask
    assert names(tmp_path) == ["a.txt"]


def test_a_failure_leaves_what_was_there(tmp_path):
    (tmp_path / "a").write_text("old")

    def fail() -> None:
        with replacing(tmp_path / "a") as place:
            place.write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_several_files_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_all({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert names(tmp_path) == ["b"]


def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch):
    def full(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_bytes(tmp_path / "a", b"1")
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["folder", "fifo", "link", "broken link", "device"])
def test_only_plain_files_are_replaced(tmp_path, kind):
    place = tmp_path / "out.json"
    if kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "link":
        (tmp_path / "other").write_text("kept")
        place.symlink_to(tmp_path / "other")
    elif kind == "broken link":
        place.symlink_to(tmp_path / "nothing")
    else:
        place = Path(os.devnull)
    before = place.lstat()
    for attempt in (
        lambda: reserve([Output("--out", place)], overwrite=True),
        lambda: write_text(place, "x"),
    ):
        with pytest.raises(InputError, match="never replaced"):
            attempt()
    assert place.lstat().st_mode == before.st_mode
    assert "nothing" not in names(tmp_path)


def test_outputs_are_no_inputs_however_they_are_spelled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("a")
    (tmp_path / "here").symlink_to(tmp_path)
    os.link(tmp_path / "in.csv", tmp_path / "hard.csv")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "0.parquet").write_text("a")
    for place, source in (
        ("in.csv", tmp_path / "in.csv"),
        (tmp_path / "here" / "in.csv", "in.csv"),
        ("parts/../in.csv", "in.csv"),
        ("hard.csv", "in.csv"),
        ("parts/new.json", "parts"),
        ("parts/0.parquet", "parts"),
        (tmp_path / "here" / "parts" / "x", "./parts"),
    ):
        with pytest.raises(InputError, match="never written to"):
            reserve([Output("--out", Path(place))], [None, source, "a:b"], overwrite=True)
    reserve([Output("--out", Path("out.json"))], ["in.csv", "parts", {"a": [1]}])


def test_two_outputs_have_two_places(tmp_path):
    (tmp_path / "here").symlink_to(tmp_path)
    twice = [Output("--out", tmp_path / "a"), Output("--report", tmp_path / "here" / "a")]
    with pytest.raises(InputError, match="--out and --report name the same file"):
        reserve(twice)


def test_an_existing_file_is_replaced_if_it_is_of_the_kind_or_if_told(tmp_path):
    place = tmp_path / "a"
    place.write_text("mine")
    with pytest.raises(InputError, match="--overwrite"):
        reserve([Output("--out", place)])
    reserve([Output("--out", place)], overwrite=True)
    reserve([Output("--out", place, lambda path: path.read_text() == "mine")])
    place.write_text("")
    reserve([Output("--out", place)])
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("place", "message"),
    [("no/such/a.json", "There is no folder"), ("a\0b", "Cannot write"), ("x" * 300, "Cannot")],
)
def test_places_that_cannot_be_written_are_said_before_the_work(tmp_path, place, message):
    with pytest.raises(InputError, match=message):
        reserve([Output("--out", tmp_path / place)])


def test_a_folder_that_refuses_is_said_before_the_work(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(writing.tempfile, "mkstemp", refused)
    with pytest.raises(InputError, match="Permission denied"):
        reserve([Output("--out", tmp_path / "a")])


KILLED = """
import sys, time
from divulge.data.writing import replacing
with replacing(sys.argv[1]) as place:
    place.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_run_left_is_removed_by_the_next_and_what_is_in_use_stays(tmp_path):
    runs = []
    for name in ("a.json", "b.json"):
        words = [sys.executable, "-c", KILLED, str(tmp_path / name)]
        runs.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        assert runs[-1].stdout.readline() == "writing\n"
    try:
        runs[0].send_signal(signal.SIGKILL)
        runs[0].wait()
        left = names(tmp_path)
        assert [n.split(".")[1] for n in left] == ["a", "b"]
        assert all(n.endswith(writing.TEMPORARY) for n in left)
        writing._sweep.cache_clear()
        write_text(tmp_path / "a.json", "whole")
        assert [n.split(".")[:2] for n in names(tmp_path)] == [["", "b"], ["a", "json"]]
    finally:
        for run in runs:
            run.kill()
            run.communicate()


def test_a_stranger_cannot_have_a_link_followed_when_sweeping(tmp_path):
    (tmp_path / "kept").write_text("kept")
    (tmp_path / f".x{writing.TEMPORARY}").symlink_to(tmp_path / "kept")
    writing._sweep.cache_clear()
    write_text(tmp_path / "a", "1")
    assert (tmp_path / "kept").read_text() == "kept"
