"""Return a private folder for temporary files: no other user can read it or write to it."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def private_folder() -> Path | None:
    """Return `gapwise-<user>` in the temporary folder, and create it if it is missing.

    Return `None` if it cannot be created, if its name belongs to a link or a file, or if other users have access to it.
    """
    folder = Path(tempfile.gettempdir()) / f"gapwise-{_user()}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = os.lstat(folder)  # not what a link points to
    except OSError:
        return None
    return folder if stat.S_ISDIR(found.st_mode) and _ours(found) else None


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"  # Windows: each user has a temporary folder


def _ours(found: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
