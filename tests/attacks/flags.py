"""Try odd values for every flag of every generator: an instance is written, or one line names the bad value.

`python -m tests.attacks.flags [--cases N] [--seed K]` tries all, or so many of them, and prints what failed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main

from experiments.draw import draw
from instances import save
from instances.eva import synthetic_cloud
from tests.attacks.forked import called, campaign, wrong
from tests.sia_traces import write_philly

VALUES = (
    "nan", "inf", "-inf", "1e308", "-1e308", "1e400", "1e-320", "1e9", "1e15", "-0.0", "0", "0.0", "-1", "1", "2.5",
    "2147483647", "2147483648", "-2147483649", "99999999999999999999", "9" * 5000, "", " ", "１２", "1\n2", "\x1b[31m1",
    "0x10",
)  # fmt: skip
CLOUD = """arrival_s,duration_s,duration_alibaba_s,workload_class,workload,gpus,vcpus,ram_gb,init_delay_s,\
fetch_delay_s,build_image_delay_s,kill_delay_s,upload_delay_s,full_throughput_iters_per_s
0,600,60,a[0],ResNet18,1,4,16,80,3,10,1,2,5.5
700,1200,90,b[1],GCN,0,6,60,30,3,10,1,2,1.5
"""
RENTED = "name,time,application,num_replicas\nx,60,cifar10,1\ny,1800,bert,2\nz,7200,cifar10,4\n"
SPEEDUPS = "app,epoch_index,epoch_size_gpu_seconds,k,speedup\n" + "".join(
    f"{app},0,3600,{k},{k**0.8:.4f}\n" for app in ("cifar10", "bert") for k in (1, 2, 4)
)
SMALL = {  # what keeps a drawing quick, where its value is not the one that is tried
    "eva-cloud": {"": {"--jobs": "3"}, "trace": {"--trace": "cloud.csv"}},
    "boa-renting": {"": {"--hours": "1"}, "trace": {"--trace": "rented.csv", "--speedups": "speedups.csv"}},
    "eva-reconfiguration": {"": {"--workload": "workload.json", "--every": "5"}},
    "aryl-loaning": {"": {"--days": "0.1"}, "trace": {"--trace": "philly.csv", "--training-servers": "8"}},
    "sia-oracle": {"": {"--days": "0.1"}},
    "sia-local-oracle": {"": {"--days": "0.1"}},
    "eva-packing": {"": {"--pods": "5"}},
    "node-placement": {"": {"--nodes": "5"}},
    "node-consolidation": {"": {"--pods": "5"}},
    "kubernetes-dump": {"": {"--nodes": "2", "--pods": "20"}},
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A drawing with an odd value of one flag; `base` names the flags beside it."""

    drawing: str
    base: str
    flag: str
    value: str

    def __str__(self) -> str:
        return f"{self.drawing} {self.base} {self.flag}={self.value[:30]!r}"

    @property
    def arguments(self) -> list[str]:
        """As on the command line."""
        given = SMALL[self.drawing][self.base] | {self.flag: self.value}
        return ["draw", self.drawing, *(f"{flag}={value}" for flag, value in given.items()), "--out", "drawn.json"]


def every_case() -> list[Case]:
    """All flags of all drawings that take a value, in each of their forms, with all values."""
    commands: Any = typer.main.get_command(draw([]))
    return [
        Case(name, base, option.opts[0], value)
        for name, command in commands.commands.items()
        for option in command.params
        if not option.is_flag and option.name != "out"
        for base in SMALL[name]
        for value in VALUES
    ]


def fill(folder: Path) -> None:
    """Write the files that the cases name."""
    write_philly(folder / "philly.csv", days=3, pools=2)
    for name, text in {"cloud": CLOUD, "rented": RENTED, "speedups": SPEEDUPS}.items():
        (folder / f"{name}.csv").write_text(text)
    save(synthetic_cloud(3, 0), folder / "workload.json")


def tried(cases: Sequence[Case], folder: Path) -> Iterator[tuple[Case, int | None, str | None]]:
    """Each case with the exit status, and with what is wrong."""
    fill(folder)
    drawn = folder / "drawn.json"
    for case in cases:
        shutil.rmtree(drawn, ignore_errors=True)  # rounds are a folder
        drawn.unlink(missing_ok=True)
        done = called(case.arguments, folder)
        symptom = wrong(done, [drawn])
        if done.status == 0 and not drawn.exists():
            symptom = symptom or "status 0, but nothing was written"
        yield case, done.status, symptom


if __name__ == "__main__":
    raise SystemExit(campaign(__doc__, every_case(), tried))
