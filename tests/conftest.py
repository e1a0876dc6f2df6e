"""Set up shared fixtures and the processes of the suite."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from experiments import canvas
from experiments.harness.runner import compile_first, list_kernels
from instances import save
from instances.eva import table_3

# where bytecode is not kept, each of the suite's many processes compiles the whole project
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

GC = 50_000, 20, 20
"""Thresholds of the garbage collector: with Python's own ones it takes a tenth of the time of the tests."""
canvas.SAME["pdf.use14corefonts"] = True  # to cut out the used part of a font takes half the time of drawing a PDF
canvas.KINDS = (".svg",)  # a PDF takes half the time of a command that draws; `both_kinds` of a picture are drawn once


def pytest_configure(config: pytest.Config) -> None:
    """Ask for all cases if the long tests are asked for; compile kernels once before several workers run the suite."""
    if config.option.markexpr == "long":
        os.environ["GAPWISE_WHOLE"] = "1"
    examples = 100 if os.environ.get("GAPWISE_WHOLE") else 30
    settings.register_profile("gapwise", max_examples=examples, deadline=None)  # a solver takes its time
    settings.load_profile("gapwise")
    gc.disable()  # until the tests are collected: nothing of what is imported and collected goes away
    if not hasattr(config, "workerinput") and config.args == config.getini("testpaths"):
        compile_first([SimpleNamespace(kernels=tuple(list_kernels()))], quiet=True, jobs=os.cpu_count() or 1)


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
    gc.set_threshold(*GC)
    gc.enable()


@pytest.fixture
def both_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw pictures in both formats, as commands do."""
    monkeypatch.setattr(canvas, "KINDS", (".svg", ".pdf"))


@pytest.fixture
def table_3_file(tmp_path: Path) -> Path:
    """Return the path of an instance file with Table 3 of Eva."""
    path = tmp_path / "table-3.json"
    save(table_3(), path)
    return path
