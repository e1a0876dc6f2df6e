"""Test that the private folder is made once and that only this user may enter it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from instances.private import private_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_made_once_and_closed_to_others(temporary: Path) -> None:
    folder = private_folder()
    assert folder is not None
    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_folder() == folder


@pytest.mark.parametrize("kind", ["fifo", "link", "file", "open"])
def test_what_somebody_else_has_put_there_is_not_taken(temporary: Path, kind: str) -> None:
    folder = private_folder()
    assert folder is not None
    folder.rmdir()
    if kind == "fifo":
        os.mkfifo(folder)
    elif kind == "link":
        (temporary / "theirs").mkdir(mode=0o700)
        folder.symlink_to(temporary / "theirs")
    elif kind == "file":
        folder.touch()
    else:
        folder.mkdir()
        folder.chmod(0o777)
    assert private_folder() is None


def test_a_temporary_folder_that_cannot_be_written_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/self")
    assert private_folder() is None
