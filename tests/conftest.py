"""Shared fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from instances import save
from instances.eva import table_3

settings.register_profile("gapwise", deadline=None)  # a solver takes its time, and the machine may be busy
settings.load_profile("gapwise")


@pytest.fixture
def table_3_file(tmp_path: Path) -> Path:
    """Table 3 of Eva as an instance file."""
    path = tmp_path / "table-3.json"
    save(table_3(), path)
    return path
