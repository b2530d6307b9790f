"""Files are written whole, or not at all."""

from __future__ import annotations

import pytest

from permed_measures import InputError
from permed_measures.output import write_whole


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
