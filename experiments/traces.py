"""The public files behind the papers' traces: their places, their conversions, and checksums of the converted files.

The facts describe third-party repositories, each at a commit; this module downloads no file. A conversion reads a
checkout of the repository, and produces exactly the bytes from which the figures of the documentation were computed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from instances import InputError
from instances.reading import read_bytes

Rows = Iterable[Sequence[object]]
MONDAY = datetime(2017, 9, 4)
"""The origin of Philly's times."""
FILTERED = ("cifar10", "bert", "deepspeech2")
"""The applications of BOA's Figure 4 and filterTrace (section 6)."""
WORKLOADS = MappingProxyType(
    {
        "resnet18": "ResNet18",
        "sage": "GraphSAGE",
        "cyclegan": "CycleGAN",
        "gpt2": "GPT2",
        "gcn": "GCN",
        "openfoam": "OpenFOAM",
        "seq": "Diamond",
        "a3c": "A3C",
        "vit": "ViT",
    }
)
"""Eva's Table 7 by the names of its artifact."""
DELAYS = ("init_delay", "fetch_delay", "build_image_delay", "kill_delay", "upload_delay")


@dataclass(frozen=True)
class Source:
    """A public repository at a commit. `folder`: the name of a clone. `licence`: the licence that it states."""

    repository: str
    commit: str
    licence: str

    @property
    def folder(self) -> str:
        return self.repository.partition("/")[2]


ADAPTDL = Source("petuum/adaptdl", "c793c7089bd307462686339d29707925c461f9a9", "`Apache-2.0`, of its master branch")
SIA_ARTIFACT = Source("siasosp23/artifacts", "aaf7a0de7b6cb5eab06ea020467ede5d2fd18e70", "none stated")
EVA_ARTIFACT = Source("uw-mad-dash/Eva", "0d735cecb0d0d2e1fb84b787d2cab99ac8b3920c", "none stated; MIT in its setup.py")
ALIBABA = Source(
    "alibaba/clusterdata", "7a6c496e4f4b6ce6150be8f881cb051bf2abff42", "none stated; cite Weng et al., ATC'23"
)
HELIOS = Source("S-Lab-System-Group/HeliosArtifact", "bdaae10", "MIT; cite Hu et al., SC'21")
GAVEL = Source("stanford-futuredata/gavel", "e1bc49c", "MIT; cite Narayanan et al., OSDI'20")


SUMS = """
0bff9c3a36b52c7025484b666d788001b1478cc4d84be409ca04b28f58f9d162  boa/workload_1.csv
83bec266667ec209a202c10975ab321e52eb4989e5ba420d18003ed03cf15c4e  boa/workload_2.csv
d76d5d1e3f9143b5453083de5c7a4c6576e884b41e86434a624b08f2c4277dc0  boa/workload_3.csv
22c400f59637ba0fc2c9be3b491f67e0765d1bf33d0a57d76101d770e4443f21  boa/workload_4.csv
4761ea418f2cb618f79e1dcfc003d24de2810ec8d0af2ecf8895690d088c3930  boa/workload_5.csv
d6517c4d57c72e4f362f9e99f285e4f7fee0348913287033f11f02f5cb88f074  boa/workload_6.csv
785eecaa84ea4e7a29069923e68a4e83747bca924256d4a66e5f9bdaa518c2ed  boa/filtertrace.csv
140a0f65aa29f379dd9e3848a3961345dcabe66c7333a07605d51ba000eab935  boa/newtrace.csv
636425e448e13e302b47c3a131c2cb558be226179c7d2eb0f237e0587da1a220  boa/newtrace_2.csv
902b2f161e87f34be25698560196d19a8146dc573a1caee44d54ad8600dd70b9  boa/newtrace_3.csv
5086d9b679077267cfd978a4da7b65bbbae7fd3b782b20704df700db1976676f  boa/newtrace_4.csv
329b421eedefed764d0868db1dbfaead6c38f2d274f603f2c0ebfe476fbcb496  boa/newtrace_5.csv
600a7bd378eccd9d548484451924d85c7825943062813fc7f5c0b5ef7eab702d  boa/newtrace_6.csv
0c3ed662c3ff54483e8ff1cc39bf4f1e63b8b33ad2b7f8424d418dec6acef33a  boa/newtrace_7.csv
a6ceec4edba7e23b3f82b0d4a37165d0891f1da463647c057106229ae46323d5  eva/trace_pai_200.csv
0623696bffe1758014b655b461a873e46133005399cfa1646be3202ab86b89ca  eva/trace_pai_full.csv
1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8  alibaba/openb_pod_list_default.csv
bec1c33fbdde61fd463877534ec79b393aec73e1cbb22d55fab9f166ac480982  alibaba/openb_pod_list_cpu100.csv
d9ec6f6c74fb980cc0b81239470c6353fceea077ea9abd610003b604c7cc2b01  alibaba/openb_pod_list_multigpu20.csv
6e5647aa60efb5f4b8902154f55eaaa5e205d0d96544af1a4166f51380886879  traces/philly.csv
b748bffe74f156421934c84d2bff375293c496800bf071853b0997acd2a959b8  traces/philly_pool_nodes.csv
9bd61f67c63ff69b4fe77ca912ff30a57cbd32a65c3bd4f879d02382b2e5837b  traces/gavel_msr_seed0.csv
e58c77f63d7d2d49733558467a0bf4977a2c922d1f6707c96d2ee3bc2dd2dea0  traces/helios_earth_vc_demand_10min.csv
cd85b21f9b2651a64ed7ecb86f2c5dea771a3bd55d41537eea976b61aa00642f  traces/helios_earth_vc_gpus.csv
"""
"""The checksums of the files, as `sha256sum -c` reads them."""
SHA256 = {name: digest for digest, name in map(str.split, SUMS.split("\n")[1:-1])}


@dataclass(frozen=True)
class Trace:
    """A file of `--traces`.

    `name`: its path there. `source`, `paths`: the repository and the files in it.
    `changes`: the changes by the conversion. `convert`: the text, from a checkout of the repository and the folder of
    checkouts.
    """

    name: str
    source: Source
    paths: tuple[str, ...]
    changes: str
    convert: Callable[[Path], str]

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return SHA256[self.name]

    def make_text(self, checkouts: Path) -> str:
        """Return the text of the file. Raises InputError if a file of the repository is missing or has another form."""
        try:
            return self.convert(checkouts)
        except InputError:
            raise
        except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
            where = checkouts / self.source.folder / self.paths[0]
            raise InputError(f"{where}: not of the form at {self.source.commit[:7]}: {error}") from error

    def state(self, folder: Path) -> str:
        """Return the state of the file in a folder of traces: `as here`, `another` or `missing`."""
        path = folder / self.name
        if not path.is_file():
            return "missing"
        return "as here" if digest(read_bytes(path)) == self.sha256 else "another"


def digest(content: bytes) -> str:
    """Compute the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _read(checkouts: Path, source: Source, path: str) -> str:
    return read_bytes(checkouts / source.folder / path).decode()


def _table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _csv(head: Sequence[str], rows: Rows) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return file.getvalue()


def _make_copy(source: Source, path: str) -> Callable[[Path], str]:
    return lambda checkouts: _read(checkouts, source, path)


def _applications(source: Source, path: str) -> Callable[[Path], str]:
    """Build the conversion that keeps only the rows of the applications of BOA's section 6."""

    def convert(checkouts: Path) -> str:
        rows = _table(_read(checkouts, source, path))
        return _csv(list(rows[0]), (list(row.values()) for row in rows if row["application"] in FILTERED))

    return convert


PHILLY = "simulator/traces/philly.csv"


def _philly(checkouts: Path) -> str:
    """Convert jobs in order of submission, in seconds from Monday, 4 September 2017."""
    jobs = [
        (int((datetime.fromisoformat(row["timestamp"]) - MONDAY).total_seconds()), row)
        for row in _table(_read(checkouts, ADAPTDL, PHILLY))
    ]
    jobs.sort(key=lambda job: job[0])
    return _csv(
        ("job_id", "pool", "submit_s", "duration_s", "gpus"),
        (
            (k, row["cluster"], when, round(float(row["duration"])), int(row["num_gpus"]))
            for k, (when, row) in enumerate(jobs)
        ),
    )


POOLS = "framework/QSSF Service/data/philly_vc.csv"


def _pool_nodes(checkouts: Path) -> str:
    return _csv(("pool", "nodes"), ((row["vc"], row["node num"]) for row in _table(_read(checkouts, HELIOS, POOLS))))


EARTH = "analysis/2_cluster characterization/Earth_vcs"
EARTH_POOLS = "vc3sl vc6YE vc8Sj vcJLV vcJkd vcLJZ vcMod vcSoL vcTJs vccaA vcdI0 vcgkz vchbv vcira vcpDC vcvlY"
MINUTES = 10


def _earth_demand(checkouts: Path) -> str:
    """Convert the jobs and GPUs that each pool requests, every tenth minute."""
    pools = EARTH_POOLS.split()
    tables = [_table(_read(checkouts, HELIOS, f"{EARTH}/{pool}/cluster_sequence_vc.csv")) for pool in pools]
    head = ["time"]
    for pool in pools:
        head += [f"{pool}_jobs", f"{pool}_demand_gpus"]
    lines: list[list[object]] = []
    for moment in zip(*(table[::MINUTES] for table in tables), strict=True):
        line: list[object] = [moment[0]["time"]]
        for row in moment:
            line += [int(row["total_gpujob_num"]), int(row["running_gpu_num"]) + int(row["pending_gpu_num"])]
        lines.append(line)
    return _csv(head, lines)


MSR = "scheduler/traces/msr/seed=0"
THROUGHPUTS = "scheduler/simulation_throughputs.json"
V100 = "v100"


def _throughputs(checkouts: Path) -> dict[tuple[str, str, int], float]:
    """Return the steps per second of a job alone, with five decimals, by GPU type, job type and number of GPUs."""
    found = {}
    for kind, jobs in json.loads(_read(checkouts, GAVEL, THROUGHPUTS)).items():
        for job, beside in jobs.items():
            name, _, gpus = job.strip("()").rpartition(", ")
            found[kind, name.strip("'"), int(gpus)] = round(float(beside["null"]), 5)
    return found


GAVEL_POOLS = "0e4a51 103959 11cb48 23dbec 2869ce 51b7ef 6214e9 6c71a0 795a4c 7f04ca 925e2b b436b2 e13805 ed69ec ee9e8c"


def _gavel_jobs(checkouts: Path) -> str:
    """Convert the jobs pool by pool, with the measured duration of each alone on V100s, if any."""
    speeds, lines = _throughputs(checkouts), []
    for pool in GAVEL_POOLS.split():
        for k, line in enumerate(_read(checkouts, GAVEL, f"{MSR}/{pool}.trace").splitlines()):
            kind, _, _, _, steps, submit, gpus = line.split("\t")[:7]
            speed = speeds.get((V100, kind, int(gpus)))
            lasts = round(int(steps) / speed) if speed else ""
            lines.append((f"{pool}-{k}", pool, round(float(submit)), lasts, int(gpus), kind, int(steps)))
    return _csv(("job_id", "pool", "submit_s", "duration_v100_s", "gpus", "job_type", "total_steps"), lines)


OPENB = "src/pai_trace/openb_pod_list_default.csv"
PAI = "src/pai_trace/traces/pai_{}.json"
COLUMNS = (
    "job_id arrival_s duration_s workload_class workload gpus vcpus ram_gb init_delay_s fetch_delay_s "
    "build_image_delay_s kill_delay_s upload_delay_s full_throughput_iters_per_s total_iters duration_alibaba_s "
    "alibaba_pod"
)


def _eva_jobs(path: str) -> Callable[[Path], str]:
    """Build the conversion to one row per job, with the pod that it represents and the pod's lifetime.

    The jobs' demands follow those of the pods in order.
    """

    def convert(checkouts: Path) -> str:
        jobs: Mapping[str, Mapping[str, Any]] = json.loads(_read(checkouts, EVA_ARTIFACT, path))
        pods = iter(row for row in _table(_read(checkouts, EVA_ARTIFACT, OPENB)) if row["pod_phase"] != "Failed")
        lines = []
        for name, job in jobs.items():
            (task,) = job["tasks"].values()
            demand = tuple(task["demand"]["any"])
            pod = next((pod for pod in pods if _asks(pod) == demand), None)
            if pod is None:
                raise ValueError(f"job {name}: no pod that is left asks for {demand}")
            delays = [{**task, **job}[delay] for delay in DELAYS]
            workload = WORKLOADS[job["name"].partition("[")[0]]
            life = int(pod["deletion_time"]) - int(pod["creation_time"])
            known = (name, job["arrival_time"], job["duration"], job["name"], workload)
            lines.append((*known, *demand, *delays, job["full_throughput"], job["total_iters"], life, pod["name"]))
        return _csv(COLUMNS.split(), lines)

    return convert


def _asks(pod: Mapping[str, str]) -> tuple[int, int, int]:
    """Return GPUs, CPUs and GiB, rounded up to integers."""
    cpus, memory = math.ceil(int(pod["cpu_milli"]) / 1000), math.ceil(int(pod["memory_mib"]) / 1024)
    return int(pod["num_gpu"]), cpus, memory


def _boa(source: Source, path: str, name: str, *, filtered: bool = False) -> Trace:
    if filtered:
        said = f"rows of {', '.join(FILTERED)}"
        return Trace(f"boa/{name}.csv", source, (path,), said, _applications(source, path))
    return Trace(f"boa/{name}.csv", source, (path,), "none", _make_copy(source, path))


def _openb(kind: str) -> Trace:
    path = f"cluster-trace-gpu-v2023/csv/openb_pod_list_{kind}.csv"
    return Trace(f"alibaba/{Path(path).name}", ALIBABA, (path,), "none", _make_copy(ALIBABA, path))


def _pai(jobs: str) -> Trace:
    path = PAI.format(jobs)
    said = "a row a job, in columns, beside the pod that it stands for and its life"
    return Trace(f"eva/trace_pai_{jobs}.csv", EVA_ARTIFACT, (path, OPENB), said, _eva_jobs(path))


NEWTRACE = "sia-simulator/workloads/newtrace/workload-{}.csv"
POLLUX = "simulator/workloads/workload-{}.csv"
EARTH_GPUS = f"{EARTH}/Earth_gpu_number.csv"
TRACES = (
    *(_boa(ADAPTDL, POLLUX.format(k), f"workload_{k}") for k in range(1, 7)),
    _boa(SIA_ARTIFACT, NEWTRACE.format(1), "filtertrace", filtered=True),
    *(_boa(SIA_ARTIFACT, NEWTRACE.format(k), "newtrace" if k == 1 else f"newtrace_{k}") for k in range(1, 8)),
    *(_pai(jobs) for jobs in ("200", "full")),
    *(_openb(kind) for kind in ("default", "cpu100", "multigpu20")),
    Trace(
        "traces/philly.csv",
        ADAPTDL,
        (PHILLY,),
        "in order of submission, in seconds from the Monday `2017-09-04`; jobs numbered",
        _philly,
    ),
    Trace("traces/philly_pool_nodes.csv", HELIOS, (POOLS,), "columns renamed", _pool_nodes),
    Trace(
        "traces/gavel_msr_seed0.csv",
        GAVEL,
        (f"{MSR}/*.trace", THROUGHPUTS),
        "pools in one table; a job lasts its steps over the steps a second of its type alone on V100s",
        _gavel_jobs,
    ),
    Trace(
        "traces/helios_earth_vc_demand_10min.csv",
        HELIOS,
        (f"{EARTH}/*/cluster_sequence_vc.csv",),
        "pools in one table, every tenth minute: jobs, and GPUs that run or are waited for",
        _earth_demand,
    ),
    Trace("traces/helios_earth_vc_gpus.csv", HELIOS, (EARTH_GPUS,), "none", _make_copy(HELIOS, EARTH_GPUS)),
)
"""All that `--traces` can hold, but for BOA's measured speedups."""
