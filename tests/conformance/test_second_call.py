"""Test that a second call of a command draws the same figures, for any hash seed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from instances import save
from instances.eva import table_7
from instances.sia import five_jobs
from tests.commands import call, python

HASH_SEEDS = "1", "2"


def gap_study(folder: Path) -> None:
    file = folder / "file.json"  # in a folder of one name, after which the set is called
    save(table_7(20, 0), file)
    methods = ("--method", "no-packing", "--method", "full-reconfiguration-first")
    done = call("gap_study", file, *methods, "--jobs", 1, "--out", folder / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    # the figures of the report, which are drawn where it is read, without the CPU seconds that they show
    report = (folder / "out" / "report.html").read_text()
    (figures,) = re.findall(r"id='figures'>(.*?)</script>", report, re.DOTALL)
    (folder / "report.figures").write_text(re.sub(r"[\d.e+-]+ CPU s", "", figures))


def simulate(folder: Path) -> None:
    save(five_jobs(), folder / "five.json")
    done = call("simulate", folder / "five.json", "--policy", "sia-vc", "--out", folder, "--quiet")
    assert done.returncode == 0, done.stderr


def excess(folder: Path) -> None:
    done = call("study", "aryl-excess", "--picture", folder / "excess.svg", "--seeds", 1, "--servers", 24, "--quiet")
    assert done.returncode == 0, done.stderr


KINDS = {".svg": "<path", ".figures": "hovertemplate"}  # files of pictures, and what is drawn in each
COMMANDS = {"gap_study": gap_study, "simulate": simulate, "excess": excess}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the folders of two processes that call every command; one process per command takes thrice as long."""
    folders = [tmp_path_factory.mktemp(seed) for seed in HASH_SEEDS]
    for folder, seed in zip(folders, HASH_SEEDS, strict=True):
        done = python("-m", "tests.conformance.test_second_call", folder, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
    return folders


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_the_pictures_are_the_same_at_every_call(command: str, drawn: list[Path]):
    one, two = (
        {path.name: path.read_text() for path in (f / command).iterdir() if path.suffix in KINDS} for f in drawn
    )
    assert one
    assert all(KINDS[Path(name).suffix] in text and "dc:date" not in text for name, text in one.items())
    assert one == two


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        place = Path(sys.argv[1]) / name
        place.mkdir()
        command(place)
