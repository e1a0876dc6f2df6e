"""Run a command as a user does, in its own process, or in this one if the process does not matter."""

from __future__ import annotations

import importlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import typer

from experiments.cli import GROUPS
from experiments.entry import run_app
from experiments.harness import host
from experiments.papers import PAPERS

ROOT = Path(__file__).parents[1]
READY = ["pytest", "tests.warm", "experiments.harness.run", "experiments.simulator.simulation"]
READY += ["models.core.pyomo_model"]
READY += [f"{layer}.{paper}" for layer in ("models", "heuristics") for paper in PAPERS]
"""Modules that most methods load. The workers of a called command are copies of one process that has loaded them."""


def interruptible() -> None:
    """Prepare a process for an interrupt by a test: a shell's background processes ignore the interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(command: str, *arguments: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m experiments.<command>` with `arguments`; output is captured, the exit status not checked."""
    return python("-m", f"experiments.{command}", *arguments, cwd=cwd, **environment)


def python(*arguments: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with `arguments`, the project's packages on the path, and more variables in the environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )


def call(command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Call `run` in this process, at a tenth of the cost, and return what a command says, writes and answers.

    The output of methods themselves is not captured.
    """
    module = importlib.import_module(f"experiments.{command}")
    words, status = [str(argument) for argument in arguments], 0
    if command in GROUPS:
        app = getattr(module, command)(words)
    else:
        app = typer.Typer(add_completion=False)
        app.command()(getattr(module, command))
    said = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in said)
    kept = mock.patch.dict(os.environ)  # a command sets variables for its own children
    with kept, _signals_kept(), workers_copied(), redirect_stdout(out), redirect_stderr(err):
        try:
            run_app(app, words, f"gapwise {command}")
        except SystemExit as end:
            status = int(end.code or 0)
    return subprocess.CompletedProcess(words, status, *(stream.getvalue().decode() for stream in said))


@contextmanager
def _signals_kept() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def workers_copied() -> Iterator[None]:
    """Run tasks in copies of a process that has loaded what they need: as killable, and a tenth of the cost."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(READY)
    with mock.patch.object(host, "start_method", return_value=context):
        yield
