"""Set up shared fixtures and the processes of the suite."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from experiments.harness.warmup import compile_first, listed
from instances import save
from instances.eva import table_3

settings.register_profile("gapwise", deadline=None)  # a solver takes its time, and the machine may be busy
settings.load_profile("gapwise")

# where bytecode is not kept, each of the suite's many processes compiles the whole project
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """Ask for all cases if the long tests are asked for; compile kernels once before several workers run the suite."""
    if config.option.markexpr == "long":
        os.environ["GAPWISE_WHOLE"] = "1"
    if not hasattr(config, "workerinput") and config.args == config.getini("testpaths"):
        compile_first([SimpleNamespace(kernels=tuple(listed()))], quiet=True, jobs=os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the tests of a module that samples its cases among the long ones: it runs all cases then."""
    if config.option.markexpr == "long":
        for item in items:
            if hasattr(getattr(item, "module", None), "sample"):
                item.add_marker("long")


def pytest_collection_finish() -> None:
    """Freeze imported modules and collected tests, so that no garbage collection during the tests scans them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def table_3_file(tmp_path: Path) -> Path:
    """Return the path of an instance file with Table 3 of Eva."""
    path = tmp_path / "table-3.json"
    save(table_3(), path)
    return path
