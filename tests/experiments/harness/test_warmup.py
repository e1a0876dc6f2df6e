"""Test that methods are compiled once, before they run, and with a line only if compilation is needed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core import caching

from experiments.harness import runner as warmup
from experiments.harness.runner import Compilation, compile_first, list_kernels, types_of
from experiments.papers import METHODS
from experiments.plan import plan
from instances import Options
from instances.eva import table_3
from tests.kernels import said

KERNEL = """
from instances.compiled import compile_lazily

@compile_lazily
def {name}(x):
    return x + 1
"""
WANTED = {"warm:one": ["(int64,)", "(float64,)"], "warm:gone": ["(int64,)"], "nowhere:one": ["(int64,)"]}


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Forgets the module `warm`, as a new process does."""
    (tmp_path / "warm.py").write_text(KERNEL.format(name="one"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(caching.config, "CACHE_DIR", "")

    def forget() -> None:
        sys.modules.pop("warm", None)
        importlib.invalidate_caches()

    forget()
    yield forget
    forget()


def test_it_is_said_once_and_never_when_quiet(fresh, capsys: pytest.CaptureFixture[str]):
    Compilation(WANTED, quiet=False).work(None)
    first = capsys.readouterr()
    fresh()
    Compilation(WANTED, quiet=False).work(None)
    assert first.err.startswith("compiling 2 functions, once: ")
    assert first.err.endswith(" s\n")
    assert (first.out, capsys.readouterr().err) == ("", "")
    kernel = importlib.import_module("warm").one
    assert (kernel(1), sum(kernel.stats.cache_hits.values())) == (2, 1)


def test_it_is_not_said_when_quiet(fresh, capsys: pytest.CaptureFixture[str]):
    Compilation(WANTED, quiet=True).work(None)
    assert capsys.readouterr() == ("", "")
    fresh()
    kernel = importlib.import_module("warm").one
    assert (kernel(1), sum(kernel.stats.cache_hits.values())) == (2, 1)


def test_it_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun: list[Compilation] = []

    def finished(tasks, jobs):
        begun.extend(tasks)
        yield 0, SimpleNamespace(status="finished")

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(warmup, "as_finished", finished)
    runs = plan([table_3()], ["exact", "no-packing"], Options())
    compile_first(runs[1:])
    assert begun == []  # nothing of it is compiled
    compile_first(runs)
    compile_first(runs)
    (compilation,) = begun
    assert "models.eva.pattern_kernels:maximal_patterns" in compilation.kernels_wanted


def test_what_is_listed_is_there():
    names = {f"{problem} {entry.name}" for problem, entries in METHODS.items() for entry in entries}
    assert set(list_kernels()) <= names | {f"{problem} certificate" for problem in METHODS}
    for kernels in list_kernels().values():
        for kernel, signatures in kernels.items():
            module, _, name = kernel.partition(":")
            arguments = getattr(importlib.import_module(module), name).py_func.__code__.co_argcount
            for signature in signatures:
                types = types_of(signature)
                assert said(types) == signature
                assert len(types) == arguments
