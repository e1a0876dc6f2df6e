"""Test round trips of instance files, and one-line errors with file, path and value."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from instances import InputError, Instance, dump, json_schema, load, parse, reading, save
from instances.eva import table_3, table_7
from tests.contents import changed

GOOD = dump(table_3("net-saving"))


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_round_trip(tmp_path: Path, suffix: str):
    for instance in (table_3(), table_3("net-saving"), table_7(50, 0, rows="ten", objective="net-saving")):
        path = tmp_path / f"x{suffix}"
        save(instance, path)
        assert load(path) == instance


def test_a_saved_file_is_the_same_every_time(tmp_path: Path):
    save(table_3(), tmp_path / "a.json.gz")
    save(table_3(), tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def change(path: str, value: object) -> dict:
    """GOOD with one value changed."""
    return changed(GOOD, path, value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("problem", "bin-packing", r"problem: must be one of eva-packing.*, got \"bin-packing\""),
        ("problem", 3, r"problem: must be one of"),
        ("problem", ..., r"problem: missing"),
        ("name", ..., r"name: missing"),
        ("name", "", r"name: must not be empty"),
        ("data", 3, r"data: must be an object, got 3"),
        ("data/tasks", 3, r"data\.tasks: must be a list, got 3"),
        (
            "reference",
            {"objective": 0.8, "bound": 0.7},
            r"reference\.bound: must be >= reference\.objective, 0\.8, got 0\.7",
        ),
        ("gapwise", 2, r"gapwise: must be 1, got 2"),
        ("gapwise", True, r"gapwise: must be 1, got True"),
        ("gapwise", 1.0, r"gapwise: must be 1, got 1.0"),
        ("colour", "red", r"colour: unknown field"),
        ("data/colour", "red", r"data\.colour: unknown field"),
        ("data/tasks", [], r"data\.tasks: must not be empty"),
        ("data/tasks", ..., r"data\.tasks: missing"),
        ("data/tasks/3/demand/default/gpu", -1, r"data\.tasks\[3\]\.demand\.default\.gpu: must be >= 0, got -1"),
        ("data/tasks/3/demand/default/gpu", float("nan"), r"data\.tasks\[3\]\.demand\.default\.gpu: .*finite.*nan"),
        ("data/tasks/3/demand/default/gpu", float("inf"), r"data\.tasks\[3\]\.demand\.default\.gpu: .*inf"),
        ("data/tasks/3/demand/default/gpu", "1", r"data\.tasks\[3\]\.demand\.default\.gpu: .*got \"1\""),
        ("data/tasks/3/demand/default/gpu", True, r"data\.tasks\[3\]\.demand\.default\.gpu: .*got True"),
        ("data/tasks/3/demand/default/gpu", ..., r"data\.tasks\[3\]\.demand\.default\.gpu: missing"),
        ("data/tasks/3/demand/default/tpu", 1, r"data\.tasks\[3\]\.demand\.default: unknown resource.*\"tpu\""),
        (
            "data/tasks/3/demand/h",
            {"gpu": 0, "cpu": 0, "ram_gb": 0},
            r"data\.tasks\[3\]\.demand: unknown family.*\"h\"",
        ),
        ("data/tasks/3/demand/default", ..., r"data\.tasks\[3\]\.demand\.default: missing"),
        (
            "data/tasks/3/demand/default/gpu",
            9,
            r"data\.tasks\[3\]: t4 fits on no instance type: it needs 9 gpu, and .* has 4",
        ),
        ("data/tasks/3/workload", "t1", r"data\.tasks: must be unique, occurs 2 times, got \"t1\""),
        ("data/tasks/3/count", 0, r"data\.tasks\[3\]\.count: must be >= 1, got 0"),
        ("data/tasks/3/count", 1.5, r"data\.tasks\[3\]\.count: .*got 1\.5"),
        ("data/tasks/3/tasks_in_job", 0, r"data\.tasks\[3\]\.tasks_in_job: must be >= 1"),
        ("data/instance_types/1/name", "it1", r"data\.instance_types: must be unique.*\"it1\""),
        ("data/instance_types/1/usd_per_hour", 0, r"data\.instance_types\[1\]\.usd_per_hour: must be > 0, got 0"),
        ("data/instance_types/1/capacity/cpu", ..., r"data\.instance_types\[1\]\.capacity\.cpu: missing"),
        ("data/instance_types/1/family", "default", r"data\.instance_types\[1\]\.family: "),
        ("data/resources", ["gpu", "gpu"], r"data\.resources: must be unique"),
        ("data/objective", "price", r"data\.objective: must be 'cost' or 'net-saving', got \"price\""),
        ("data/throughput/default", 1.2, r"data\.throughput\.default: must be <= 1, got 1\.2"),
        ("data/throughput/pairwise/0/0", "t9", r"data\.throughput\.pairwise\[0\]\[0\]: unknown workload, got \"t9\""),
        ("data/throughput/pairwise/1", ["t1", "t2", 1], r"data\.throughput\.pairwise\[1\]: must be unique"),
        ("reference", {"optimum": 3}, r"reference\.optimum: unknown field"),
    ],
)
def test_bad_content_is_refused_in_one_line(tmp_path: Path, path: str, value: object, message: str):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(change(path, value)))
    with pytest.raises(InputError, match=message) as caught:
        load(file)
    text = str(caught.value)
    assert text.startswith(f"{file}: ")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.json", json.dumps(GOOD).encode()[:-40], "not valid JSON"),
        ("a.json", b"", "not valid JSON"),
        ("a.json", b"\xff\xfe", "not valid JSON"),
        ("a.json", b"[]", "must be an object"),
        ("a.json", b'{"gapwise": 1, "gapwise": 1}', "duplicate field 'gapwise'"),
        ("a.json.gz", gzip.compress(json.dumps(GOOD).encode())[:-9], "a.json.gz: must be a complete gzip file"),
        ("a.json.gz", json.dumps(GOOD).encode(), "a.json.gz: must be a complete gzip file, because its name ends in"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, raw: bytes, message: str):
    file = tmp_path / name
    file.write_bytes(raw)
    with pytest.raises(InputError, match=message):
        load(file)


def test_another_version_is_told_before_anything_else():
    with pytest.raises(InputError, match="gapwise: must be 1, got 2"):
        parse({"gapwise": 2, "jobs": []})


def test_a_file_that_is_or_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "LARGEST_FILE", 1 << 20)
    (tmp_path / "a.json").write_bytes(b" " * ((1 << 20) + 1))
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b" " * (1 << 22)))
    for name in ("a.json", "a.json.gz"):
        with pytest.raises(InputError, match=f"{name}: must be at most 1 MiB"):
            load(tmp_path / name)


def test_pipes_and_devices_are_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", Path("/dev/zero"), Path("/dev/full")):
        with pytest.raises(InputError, match=f"{path}: not a regular file"):
            load(path)


def test_a_pipe_that_the_shell_has_opened_is_read(tmp_path: Path):
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(json.dumps(GOOD).encode()))
    os.close(writing)
    assert load(f"/dev/fd/{reading}").name == GOOD["name"]
    os.close(reading)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            load(path)


def test_saving_where_one_cannot_leaves_nothing(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        save(table_3(), tmp_path / "none" / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_jobs_must_be_consistent():
    content = change("data/tasks/0/job", "j")
    content["data"]["tasks"][1] |= {"job": "j", "tasks_in_job": 1}
    with pytest.raises(InputError, match=r"data\.tasks\[1\]\.tasks_in_job: must be >= 2"):
        parse(content)


def test_data_are_immutable():
    instance = table_3()
    with pytest.raises(ValueError, match="frozen"):
        instance.data.tasks[0].count = 2


def test_the_schema_describes_the_files():
    schema = json_schema("eva-packing")
    assert schema["properties"]["problem"] == {"const": "eva-packing"}
    assert set(schema["required"]) == {"gapwise", "problem", "name", "data"}
    assert "Task" in schema["$defs"]
    assert schema["additionalProperties"] is False
    with pytest.raises(InputError, match="problem"):
        json_schema("bin-packing")


def test_an_instance_is_made_of_data():
    data = table_3().data
    assert Instance.of(data, "x").problem == "eva-packing"
