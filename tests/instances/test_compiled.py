"""Test that compiled code is cached where possible, recompiled after changes and not timed."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core import caching

import instances
from instances import Stopwatch, clock
from instances.clock import end_process_after, resume_end, suspend_end
from tests.commands import python

FILES = {
    "__init__": "",
    "near": """
from instances.compiled import compile_lazily
from kept.far import STEP, moved

@compile_lazily
def near(x):
    return moved(x) + STEP
""",
    "far": """
from instances.compiled import compile_lazily
from kept.farther import scaled

STEP = 10

@compile_lazily
def moved(x):
    return scaled(x) + 100
""",
    "farther": """
from instances.compiled import compile_lazily

SCALE = 2

@compile_lazily
def scaled(x):
    return SCALE * x + 1000
""",
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build a package of three files whose functions call one another."""
    folder = tmp_path / "kept"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the clock of a file is too coarse for what follows
    monkeypatch.setattr(caching.config, "CACHE_DIR", "")
    return folder


def loaded(call: int) -> tuple[int, bool]:
    """Return the package's value, and whether its code came from the cache."""
    for name in [name for name in sys.modules if name.split(".")[0] == "kept"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    near = importlib.import_module("kept.near").near
    value = near(call)
    return value, sum(near.stats.cache_hits.values()) == 1


@pytest.mark.parametrize(
    ("file", "old", "new", "value"),
    [
        ("far", "STEP = 10", "STEP = 20", 1126),
        ("far", "+ 100", "+ 200", 1216),
        ("farther", "SCALE = 2", "SCALE = 3", 1119),
        ("farther", "+ 1000", "- 1000", -884),
        ("near", "+ STEP", "- STEP", 1096),
    ],
)
def test_a_change_in_any_file_is_compiled_anew(kept: Path, file: str, old: str, new: str, value: int):
    assert loaded(3) == (1116, False)
    assert loaded(3) == (1116, True)
    path = kept / f"{file}.py"
    path.write_text(path.read_text().replace(old, new))
    assert loaded(3) == (value, False)
    assert loaded(3) == (value, True)


def test_code_that_is_another_signatures_is_not_taken(kept: Path):
    """Two processes that begin at once give both their signatures the first number; numba took either for the other."""
    assert loaded(3) == (1116, False)
    (data,) = (kept / "__pycache__").glob("near.near-*.nbc")
    whole = data.read_bytes()
    shutil.rmtree(kept / "__pycache__")
    assert loaded(3.5) == (1117.0, False)
    data.write_bytes(whole)
    assert loaded(3.5) == (1117.0, False)
    data.write_bytes(whole[: len(whole) // 2])
    assert loaded(3.5) == (1117.0, False)


def test_a_full_disk_fails_no_call(kept: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", full)
    assert loaded(3) == (1116, False)
    assert loaded(3) == (1116, False)


def test_without_any_folder_there_is_no_cache_and_none_called_tilde(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def nowhere(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os.path, "expanduser", str)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    beside = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator  # before numba 0.62
    monkeypatch.setattr(beside, "ensure_cache_path", nowhere)
    monkeypatch.setattr("instances.compiled.private_folder", lambda: None)
    assert loaded(3) == (1116, False)
    monkeypatch.setattr(caching.config, "CACHE_DIR", "~/cache")
    assert loaded(3) == (1116, False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept"]


KERNEL = """
import instances
from heuristics.aryl.online_kernels import {name} as kernel
kernel.compile("{signature}")
print(instances.__file__, sum(kernel.stats.cache_hits.values()), kernel.stats.cache_path)
"""


def test_an_installation_that_cannot_be_written_and_no_home(tmp_path: Path):
    """As of a service: whoever runs it owns neither the package nor a home."""
    site, temporary = tmp_path / "site", tmp_path / "temporary"
    temporary.mkdir()
    for part in ("instances", "models", "heuristics", "experiments"):
        source = Path(instances.__file__).parent.parent / part
        shutil.copytree(source, site / part, ignore=shutil.ignore_patterns("__pycache__"))
    as_another: list[str] = []
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv")
        as_another = ["setpriv", "--bounding-set=-dac_override,-fowner"]
    for path in (site, *site.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
        if os.getuid() == 0:
            os.chown(path, 65534, 65534)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"HOME": str(site / "nobody"), "TMPDIR": str(temporary)}

    def run(*arguments: str) -> str:
        command = [*as_another, sys.executable, *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    try:
        assert "gap_study" in run("-m", "experiments.cli", "--help")
        kernel = KERNEL.format(name="speed", signature="float64(int64, int64, float64)")
        file, hits, cache = run("-c", kernel).split()
        assert (file, hits) == (str(site / "instances" / "__init__.py"), "0")
        assert cache.startswith(str(temporary / f"gapwise-{os.getuid()}" / "numba"))
        assert run("-c", kernel).split()[1] == "1"
    finally:
        for path in site.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)


def test_compilation_is_charged_to_no_clock(kept: Path):
    before = time.process_time()
    with Stopwatch(60.0) as clock:
        loaded(3)
    assert clock.cpu_s < (time.process_time() - before) / 2
    assert 60.0 - clock.remaining_s == pytest.approx(clock.cpu_spent_s, abs=1.0)


IMPORTS = """
import time
from instances import Stopwatch
before = time.process_time()
with Stopwatch(60.0) as clock:
    import instances.compiled
print(clock.cpu_s < (time.process_time() - before) / 2)
"""


def test_the_import_of_numba_within_a_run_is_charged_to_no_clock():
    done = python("-c", IMPORTS)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_waiting_is_charged_to_no_clock():
    with Stopwatch(0.05) as clock:
        time.sleep(0.1)
        assert not clock.has_expired
    assert clock.wall_s > 0.1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied")
@pytest.mark.parametrize("compiling_s", [0.0, 3600.0])
def test_a_process_is_ended_after_its_cpu_seconds_and_compilation_is_none(compiling_s: float):
    if (child := os.fork()) == 0:
        with end_process_after(0.0):
            suspend_end()
            resume_end(compiling_s)
            left = clock.resource.getrlimit(clock.resource.RLIMIT_CPU)[0] - time.process_time()
            while compiling_s == 0:
                pass
        os._exit(0 if left > 3500 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (-signal.SIGXCPU if compiling_s == 0 else 0)


def test_a_run_says_once_that_it_compiles(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """No clock counts compilation, so without a word a run seems to hang."""
    monkeypatch.setenv(clock.ANNOUNCE, "1")
    assert loaded(3) == (1116, False)
    assert capsys.readouterr().err == "compiling more functions for this instance, once\n"
    assert loaded(3.5) == (1117.0, False)
    assert capsys.readouterr().err == ""


DIGESTS = """
import importlib, json, pkgutil
import experiments.simulator, heuristics, instances, models
from numba.core.dispatcher import Dispatcher
from instances.compiled import _digest

found = {}
for root in (models, heuristics, instances, experiments.simulator):
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        try:
            content = vars(importlib.import_module(module.name))
        except ImportError:  # an optional package is missing
            continue
        for name, value in content.items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module.name:
                assert value.py_func.__closure__ is None, f"{name}: the digest does not cover captured values"
                found[f"{module.name}:{name}"] = _digest(value.py_func)
print(json.dumps(found))
"""


def test_the_digest_of_each_kernel_is_the_same_in_every_process():
    """A digest that contains the address of an object makes each process compile the kernel again."""

    def digests(seed: str) -> dict[str, str]:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(instances.__file__).parents[1])}
        run = subprocess.run(
            [sys.executable, "-c", DIGESTS], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(run.stdout)

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(DIGESTS, {})
    here, elsewhere = json.loads(said.getvalue()), digests("2" if os.environ.get("PYTHONHASHSEED") == "1" else "1")
    assert len(here) > 100
    assert [name for name, digest in here.items() if elsewhere[name] != digest] == []
