"""Test that the public sources of the traces are converted and read correctly, on small files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from experiments.traces import EARTH, EARTH_POOLS, GAVEL_POOLS, SHA256, TRACES, digest
from instances import InputError
from instances.boa import from_trace
from instances.eva import trace_cloud
from instances.sia import gavel, philly
from tests.commands import ROOT, call

POD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = f"""{POD}
openb-0,4000,2048,1,1000,,LS,Failed,0,50,0
openb-1,3500,2000,1,1000,,LS,Succeeded,10,70,0
openb-2,9000,9000,0,0,,LS,Succeeded,10,70,0
openb-3,1000,1024,1,1000,,LS,Succeeded,20,25,20
"""
BOA = """name,time,application,num_replicas,batch_size
cifar10-0,3,cifar10,1,128
imagenet-1,5,imagenet,4,800
bert-2,60,bert,2,24
"""
SEQUENCE = "time,total_gpujob_num,running_gpu_num,pending_gpu_num"


def job(name: str, demand: list[int], arrival: int) -> dict[str, object]:
    task = {"demand": {"any": demand}, "fetch_delay": 1, "build_image_delay": 10, "kill_delay": 1, "upload_delay": 2}
    whole = {"arrival_time": arrival, "duration": 100, "init_delay": 80, "full_throughput": 2.1, "total_iters": 210}
    return {"name": name, **whole, "tasks": {"0": task}}


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """Clones of all repositories with a few rows in each file."""
    folder = tmp_path / "clones"
    jobs = {"0": job("resnet18[0]", [1, 4, 2], 30), "1": job("gcn[0]", [1, 1, 1], 70)}
    philly_csv = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-09-04 01:00:00,66.0,1,66.0,b\n"
    msr = "A3C\tcommand\t-n\t1\t700\t6.000000\t1\nunknown\tcommand\t-n\t1\t70\t9.400000\t2\n"
    files = {
        "adaptdl/simulator/traces/philly.csv": philly_csv + "2017-09-04 00:00:05,7.0,8,56.0,a\n",
        **{f"adaptdl/simulator/workloads/workload-{k}.csv": BOA for k in range(1, 7)},
        **{f"artifacts/sia-simulator/workloads/newtrace/workload-{k}.csv": BOA for k in range(1, 8)},
        "Eva/src/pai_trace/openb_pod_list_default.csv": PODS,
        "Eva/src/pai_trace/traces/pai_200.json": json.dumps(jobs),
        "Eva/src/pai_trace/traces/pai_full.json": json.dumps(jobs),
        **{
            f"clusterdata/cluster-trace-gpu-v2023/csv/openb_pod_list_{kind}.csv": PODS
            for kind in ("default", "cpu100", "multigpu20")
        },
        "HeliosArtifact/framework/QSSF Service/data/philly_vc.csv": "vc,node num\nb,3\n",
        f"HeliosArtifact/{EARTH}/Earth_gpu_number.csv": "date,vc3sl,total\n2020-04-01,8,8\n",
        **{
            f"HeliosArtifact/{EARTH}/{pool}/cluster_sequence_vc.csv": "\n".join(
                [SEQUENCE, *(f"2020-05-01 00:{minute:02}:00,{minute},8,{minute}" for minute in range(11)), ""]
            )
            for pool in EARTH_POOLS.split()
        },
        "gavel/scheduler/simulation_throughputs.json": json.dumps({"v100": {"('A3C', 1)": {"null": 7.0000001}}}),
        **{
            f"gavel/scheduler/traces/msr/seed=0/{pool}.trace": msr if pool == "0e4a51" else ""
            for pool in GAVEL_POOLS.split()
        },
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_every_file_is_converted_into_what_the_readers_take(checkouts: Path, tmp_path: Path):
    out = tmp_path / "traces"
    done = call("data", "convert", checkouts, "--out", out)
    assert done.returncode == 1  # none has the bytes of the figures, and every line says so
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [trace.name for trace in TRACES]
    assert done.stdout.count("not the bytes that the figures were made from") == len(TRACES)
    jobs = philly(out / "traces/philly.csv")
    assert jobs[["pool", "gpus"]].to_numpy().tolist() == [["a", 8], ["b", 1]]
    assert len(gavel(out / "traces/gavel_msr_seed0.csv")) == 1
    assert (out / "traces/gavel_msr_seed0.csv").read_text().splitlines()[1:] == [
        "0e4a51-0,0e4a51,6,100,1,A3C,700",
        "0e4a51-1,0e4a51,9,,2,unknown,70",
    ]
    cloud = trace_cloud(out / "eva/trace_pai_200.csv").data
    assert [j.arrival_seconds for j in cloud.jobs] == [30, 70]
    lives = [line.split(",")[-2:] for line in (out / "eva/trace_pai_200.csv").read_text().splitlines()[1:]]
    assert lives == [["60", "openb-1"], ["5", "openb-3"]]  # the failed pod is no job, and one stands for none
    assert {c.name for c in from_trace(out / "boa/filtertrace.csv", budget_over_load=2.0).data.classes} == {
        "cifar10",
        "bert",
    }
    demand = (out / "traces/helios_earth_vc_demand_10min.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in demand[1:]] == [
        ["2020-05-01 00:00:00", "0", "8"],
        ["2020-05-01 00:10:00", "10", "18"],
    ]


def test_a_folder_of_traces_is_checked_byte_for_byte(tmp_path: Path):
    trace = TRACES[0]
    path = tmp_path / trace.name
    assert trace.state(tmp_path) == "missing"
    path.parent.mkdir()
    path.write_text("name\n")
    assert trace.state(tmp_path) == "another"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SHA256, trace.name, digest(b"name\n"))
        assert trace.state(tmp_path) == "as here"
    done = call("data", "check", tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [f"{trace.name}: another", f"{TRACES[1].name}: missing"]
    path.unlink()
    assert call("data", "check", tmp_path).returncode == 0
    assert call("data", "check", tmp_path, "--only", trace.name).returncode == 1


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("check {folder}/none", "none: not a folder"),
        ("check {folder}/file", "file: not a folder"),
        ("convert {folder}/none --out {folder}/o", "none: not a folder"),
        ("convert {folder} --out {folder}/o", ": must hold clones of adaptdl, artifacts, "),
        ("convert {folder}/clones --out {folder}/file", "cannot be made a folder: "),
        ("check {folder} --only traces/phily.csv", "got 'traces/phily.csv', did you mean 'traces/philly.csv'?"),
    ],
)
def test_bad_input_is_one_line_and_status_2(checkouts: Path, tmp_path: Path, command: str, line: str):
    (tmp_path / "file").write_text("")
    done = call("data", *command.format(folder=tmp_path).split())
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert line in done.stderr
    assert not (tmp_path / "o").exists()


def test_what_is_not_cloned_is_passed_over_and_what_is_of_another_form_is_one_line(checkouts: Path, tmp_path: Path):
    shutil.rmtree(checkouts / "gavel")
    done = call("data", "convert", checkouts, "--out", tmp_path / "o")
    assert done.stderr == f"traces/gavel_msr_seed0.csv: not made, {checkouts / 'gavel'} is not there\n"
    (checkouts / "adaptdl/simulator/traces/philly.csv").write_text("timestamp\nyesterday\n")
    name = "traces/philly.csv"
    done = call("data", "convert", checkouts, "--out", tmp_path / "p", "--only", name)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "philly.csv: not of the form at c793c70: " in done.stderr
    assert not (tmp_path / "p").exists()
    with pytest.raises(InputError, match=r"philly\.csv: No such file"):
        next(trace for trace in TRACES if trace.name == name).make_text(tmp_path)


def test_every_file_is_on_the_page_with_its_source():
    page = (ROOT / "docs" / "data.md").read_text()
    for trace in TRACES:
        where = f"[{trace.source.repository}](https://github.com/{trace.source.repository}/tree/{trace.source.commit})"
        paths = ", ".join(f"`{path}`" for path in trace.paths)
        assert f"| `{trace.name}` | {where} | {paths} | {trace.changes} |\n" in page, trace.name
        assert trace.source.licence in page
