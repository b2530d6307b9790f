"""Files are written whole, or not at all."""

from __future__ import annotations

import os

import pytest

from permed_measures import InputError
from permed_measures.files.output import write_whole


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "out.txt"
    write_whole(path, "one")
    path.chmod(0o640)
    write_whole(path, b"two")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", ".", "folder", "missing/out.txt", "file/out.txt"])
def test_where_no_file_can_be(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="cannot write there"):
        write_whole(name, "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_an_interruption_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    path.write_text("kept")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(path, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    path, behind = tmp_path / "link", tmp_path / "folder" / "file"
    path.symlink_to(behind)
    for content in ("one", "two"):
        write_whole(path, content)
        assert path.is_symlink()
        assert behind.read_text() == content
    assert list((tmp_path / "folder").iterdir()) == [behind]


def test_a_dash_is_standard_output(capsysbinary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    print("first")
    write_whole("-", "täxt\n")
    write_whole("-", b"\x1f\x8b")
    assert capsysbinary.readouterr().out == b"first\n" + "täxt\n".encode() + b"\x1f\x8b"
    assert list(tmp_path.iterdir()) == []
