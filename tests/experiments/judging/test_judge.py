"""Test the scores of the judge, and that programs cannot cheat it."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import platform
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from experiments.eva import prism
from experiments.eva.methods import METHODS
from experiments.harness import records
from experiments.harness.user_functions import ROOT
from experiments.judging import cell, confinement
from experiments.judging.confinement import MACHINES, REFUSED
from experiments.judging.judge import Judgement, JudgeTask, ProgramJudge
from experiments.judging.problems import task_of
from experiments.papers import JUDGED
from experiments.score import print_judgement
from instances import CheckFailed, InputError, Options, Result
from instances.eva import table_3, table_7
from instances.tables import read_packaged
from tests.commands import call, python
from tests.sampling import sample

HONEST = """
def solve(data):
    rented = []
    for task in data.tasks:
        kinds = sorted(data.instance_types, key=lambda kind: kind.usd_per_hour)
        need = {kind.name: task.demand_on(kind.family) for kind in kinds}
        fits = [k for k in kinds if all(need[k.name].get(r, 0) <= k.capacity.get(r, 0) for r in data.resources)]
        rented.append({"type": fits[0].name, "count": task.count, "tasks": {task.key: 1}})
    return {"instances": rented}
"""
NOTHING = "def solve(data):\n    return {'instances': []}\n"


def small() -> JudgeTask:
    return task_of("small", "two small packings", METHODS["eva-packing"][0], [table_3(), table_7(8, 0)])


@pytest.fixture(scope="module")
def judge() -> Iterator[ProgramJudge]:
    with ProgramJudge(small(), seconds=0.5, memory_mb=1024) as made:
        try:
            made.judge_text(HONEST)
        except InputError as error:
            pytest.skip(str(error))  # a machine whose users cannot have namespaces
        yield made


@pytest.fixture(scope="module")
def honest(judge: ProgramJudge) -> Judgement:
    return judge.judge_text(HONEST)


def test_an_honest_program_gets_its_gaps_and_the_same_every_time(judge: ProgramJudge, honest: Judgement):
    assert [case.status for case in honest.cases] == ["solved", "solved"]
    assert honest.failed == 0
    assert 0 < honest.combined_score < 1
    assert honest.worst_gap == max(case.gap or 0 for case in honest.cases)
    assert honest.cases[0].optimum == 12.8
    again = judge.judge_text(HONEST)
    assert (again.cases, again.combined_score, again.artifacts) == (
        honest.cases,
        honest.combined_score,
        honest.artifacts,
    )
    said = json.loads(json.dumps(honest.as_json()))
    names = ["task", "combined_score", "mean_gap", "worst_gap", "failed", "seconds", "cases", "artifacts"]
    assert list(said) == names


CHECKER = "import instances, instances.registry as r\ninstances.check = r.check = lambda data, solution: None"
SLEEPER = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()"
LIMIT = "import resource as r\ntry:\n    r.setrlimit(r.RLIMIT_AS, (-1, -1))\nexcept (OSError, ValueError):\n    pass"
BEFORE = {  # what a program does before it answers honestly: of no use
    "the checker is patched": CHECKER,
    "numpy is patched": "import numpy\nnumpy.sum = numpy.any = lambda *a, **k: 0",
    "JSON is read otherwise": "import json\njson.loads = lambda *a, **k: {}",
    "the clock is patched": "import time\ntime.monotonic = time.time = time.process_time = lambda: 0.0",
    "standard output": 'print(\'{"i": 0, "answer": {}}\' * 1000)',
    "threads that never end": SLEEPER,
    "everybody is killed": "import os, signal\ntry:\n    os.kill(-1, signal.SIGKILL)\nexcept OSError:\n    pass",
    "signals are ignored": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "a limit is raised": LIMIT,
    "what is done at the end": "import atexit, os\natexit.register(os.abort)",
    "it traces whoever runs it": "import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)",
    "its environment": "import os\nos.environ.update(PYTHONPATH='/tmp', LD_PRELOAD='/tmp/x.so')",
    "modules of the same name": "import sys\nopen('/tmp/json.py', 'w').write('1/0')\nsys.path.insert(0, '/tmp')",
    "its builtins": "import builtins\nbuiltins.float = builtins.sum = lambda *a: 0.0",
}


@pytest.mark.parametrize("name", BEFORE)
def test_what_a_program_does_to_itself_changes_no_score(judge: ProgramJudge, honest: Judgement, name: str):
    assert judge.judge_text(BEFORE[name] + "\n" + HONEST).cases == honest.cases


ADD_KEY = {"x86_64": 248}.get(platform.machine(), 217)
CLONE = MACHINES.get(platform.machine(), (0, 0))[1]
ENVIRONMENT = next(iter(Path(sys.prefix).relative_to(ROOT).parts), "") if ROOT in Path(sys.prefix).parents else ""
"""The folder of this clone that holds Python's environment, as README makes it."""
LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
FORBIDDEN = {  # what ends in an exception, or else in `got it` among the reasons
    "the exact method": "from models.eva import exact\nexact(data)",
    "this project's heuristics": "from heuristics.eva import full_reconfiguration",
    "the records": f"open({str(Path(records.__file__).with_name(records.TABLE))!r}).read()",
    "the records are written": f"open({str(Path(records.__file__).with_name(records.TABLE))!r}, 'w').write('')",
    "the records by their package": "from experiments.harness.records import read_records\nread_records()",
    "another file is written": f"open({str(Path(__file__).with_name('stolen'))!r}, 'w').write('')",
    "the files of the system": "open('/etc/gapwise', 'w')",
    "the network": "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)",
    "a name is looked up": "import socket\nsocket.getaddrinfo('example.org', 80)",
    "the memory of its parent": "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "the memory of the judge": f"open('/proc/{os.getpid()}/maps').read()",
    "namespaces within": "import ctypes\nassert ctypes.CDLL(None).unshare(0x10020000) == 0",
    "a folder is uncovered": "import ctypes\nassert ctypes.CDLL(None).umount(b'/tmp') == 0",
    "another user": "import os\nos.setuid(0)\nos.chown('/tmp/program.py', 0, 0)\nassert os.getuid() == 0",
    "the name of the instance": "data.name",
    "the reference of the instance": "data.reference",
    "the optimum of its seed": "from instances.eva import table_7\nassert table_7(8, 0).reference.objective",
    "memory": "x = bytearray(1 << 31)",
    "memory of no process": "import os\nos.memfd_create('x')",
    "memory that outlives it": "import ctypes\nassert ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600) >= 0",
    "a process": "import os\nos.fork()",
    "another program": "import subprocess\nsubprocess.run(['true'])",
    "a process of no libc": f"import ctypes\nassert ctypes.CDLL(None).syscall({CLONE}, 17, 0, 0, 0, 0) >= 0",
    "what lies beside the data": f"import os\nassert set(os.listdir({str(ROOT)!r})) - {{'instances', {ENVIRONMENT!r}}}",
    "devices": "import os\nassert len(os.listdir('/dev')) > 6",
    "the settings of the system": "open('/proc/sys/vm/drop_caches', 'w')",
    "the keys of the system": "open('/proc/sysrq-trigger', 'w')",
    "semaphores that outlive it": LIBC + "assert libc.semget(0, 8, 0o1600) >= 0",
    "messages that outlive it": LIBC + "assert libc.msgget(0, 0o1600) >= 0",
    "its parent's end changes nothing": LIBC + "assert libc.prctl(1, 0, 0, 0, 0) == 0",
    "the host of a virtual machine": "import socket\nsocket.socket(40, socket.SOCK_STREAM)",
    "the kernel's own sockets": "import socket\nsocket.socket(16, socket.SOCK_RAW)",
    "the network's own sockets": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "no end of CPU time": "import resource\nassert resource.getrlimit(resource.RLIMIT_CPU)[1] < 0",
    "the passwords of the system": "open('/etc/shadow').read()",
    "the sources of the system": "import os\nos.listdir('/usr/src')",
    "files without end": "for i in range(10_000):\n    open(f'/tmp/{i}', 'w').close()",
    "more in all folders than in one": """import os
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
    with open(folder + "/large", "wb") as file:
        file.write(bytes(30 << 20))""",
    "threads without end": """import threading, time
threading.stack_size(1 << 16)
for i in range(200):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(0.2)""",
}
CALLS = [numbers[0 if platform.machine() == "x86_64" else 1] for numbers in REFUSED.values()]
CALLS = [number for number in CALLS if number is not None] + [425, 434, 438, 451, 457, 9999]
"""Numbers of the calls that the filter refuses, and of new ones that it does not know."""


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_a_program_must_not_have_it_cannot_have(judge: ProgramJudge, name: str):
    body = textwrap.indent(FORBIDDEN[name] + "\nraise LookupError('got it')", "    ")
    found = judge.judge_text(f"def solve(data):\n{body}\n")
    assert {case.status for case in found.cases} <= {"error", "time"}
    assert "got it" not in found.cases[0].reason, name
    assert not Path(__file__).with_name("stolen").exists()


def test_no_refused_and_no_new_call_reaches_the_kernel(judge: ProgramJudge):
    """The filter answers each with EPERM or ENOSYS; whatever the kernel says is something else."""
    program = f"""{LIBC}answered = []
for number in {CALLS}:
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
        answered.append(number)
def solve(data):
    raise LookupError(f"answered: {{answered}}")
"""
    assert {case.reason for case in judge.judge_text(program).cases} == {"LookupError: answered: []"}


OF = "{'instances': [{'type': data.instance_types[0].name, 'count': %s, 'tasks': {}}]}"
ANSWERS = {
    "a number": ("7", "malformed"),
    "nothing": ("None", "malformed"),
    "a function": ("len", "error"),
    "no instances": ("{'instances': []}", "violates"),
    "an unknown type": ("{'instances': [{'type': 'free', 'count': 1, 'tasks': {}}]}", "malformed"),
    "not a number": (OF % "float('nan')", "malformed"),
    "no end": (OF % "float('inf')", "malformed"),
    "less than nothing": (OF % "-5", "malformed"),
    "a huge number": (OF % "10**5000", "error"),
    "no bottom": ("eval('[' * 90 + ']' * 90) * 2", "malformed"),
    "what runs where it is unpacked": (
        "type('R', (dict,), {'__reduce__': lambda self: (exec, ('1/0',))})()",
        "malformed",
    ),
    "a dict that says it is empty": ("type('D', (dict,), {'__len__': lambda self: 0})()", "malformed"),
    "an objective of its own": ("{'objective': 0.0, 'instances': []}", "violates"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_solution_is_none(judge: ProgramJudge, name: str):
    answer, status = ANSWERS[name]
    found = judge.judge_text(f"def solve(data):\n    return {answer}\n")
    assert {case.status for case in found.cases} <= {status, "malformed", "no answer"}
    assert (found.combined_score, found.failed, found.mean_gap) == (0.0, 2, None)


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        ("import time; time.sleep(600)", {"time"}),
        ("while True: pass", {"time"}),
        ("import os; os._exit(0)", {"no answer"}),
        ("import sys; sys.exit('done')", {"error"}),
        ("import os; os.abort()", {"no answer"}),
        ("import ctypes; ctypes.string_at(0)", {"no answer"}),
        ("import os; os.closerange(0, 4096)", {"no answer"}),
        ("return {'instances': 'x' * (80 << 20)}", {"size", "time", "malformed", "error"}),
        ("import os\n    while True: os.fork()", {"error"}),
    ],
)
def test_a_program_that_does_not_answer_fails_and_hinders_nobody(
    judge: ProgramJudge, honest: Judgement, body: str, statuses: set[str]
):
    found = judge.judge_text(f"def solve(data):\n    {body}\n")
    assert {case.status for case in found.cases} <= statuses
    assert found.combined_score == 0.0
    assert judge.judge_text(HONEST).cases == honest.cases


def test_one_case_on_which_it_hangs_costs_no_other(judge: ProgramJudge, honest: Judgement):
    hang = HONEST.replace("rented = []", "rented = []\n    if len(data.tasks) == 4:\n        while True: pass")
    found = judge.judge_text(hang)
    assert [case.status for case in found.cases] == ["time", "solved"]
    assert found.cases[1] == honest.cases[1]


def test_the_parent_counts_the_time_of_a_program_and_of_its_threads(judge: ProgramJudge):
    burn = "import threading, time\ndef burn():\n    x = 0\n    for i in range(1_500_000): x += i\n"
    own = judge.judge_text(burn + "time.process_time = lambda: 0.0\nburn()\n" + HONEST).seconds
    thread = "one = threading.Thread(target=burn)\none.start()\none.join()\n"
    assert own > 0.02
    assert judge.judge_text(burn + thread + HONEST).seconds > 0.02


def test_threads_are_to_be_had_and_what_is_installed(honest: Judgement):
    uses = """import asyncio, os, threading, numba, numpy, pandas, scipy.optimize, socket
one = threading.Thread(target=print)
one.start()
one.join()
assert numba.njit(lambda x: x + 1)(numpy.ones(3)).sum() == 6.0
assert scipy.optimize.linprog([1.0], bounds=[(2.0, None)]).fun == 2.0
assert pandas.Timestamp("2026-01-01", tz="Europe/Berlin").utcoffset().seconds == 3600
assert asyncio.run(asyncio.sleep(0, 5)) == 5
one, other = socket.socketpair()
one.send(b"x")
assert other.recv(1) == b"x"
os.chmod("/tmp", 0o700)
"""
    with ProgramJudge(small(), seconds=60.0, memory_mb=1024) as patient:  # an import alone may take half a second
        assert patient.judge_text(uses + HONEST).cases == honest.cases


def test_nothing_of_one_call_reaches_the_next(judge: ProgramJudge):
    leave = "import builtins, sys\nopen('/tmp/left', 'w').write('x')\nbuiltins.left = sys.left = True\n"
    leave += f"import ctypes\nctypes.CDLL(None).syscall({ADD_KEY}, b'user', b'left', b'x', 1, -3)\n"
    judge.judge_text(leave + HONEST)
    seen = """import builtins, os, sys
assert "left" not in open("/proc/keys").read()
assert not (os.path.exists("/tmp/left") or hasattr(builtins, "left") or hasattr(sys, "left"))
"""
    assert judge.judge_text(seen + HONEST).failed == 0
    assert not Path("/tmp/left").exists()


WROTE = """import os
def write(text):
    for handle in range(3, 64):
        try:
            os.write(handle, text)
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    ("lie", "status"),
    [
        (b"", "malformed"),
        (b"[1", "malformed"),
        (b'{"i": 7, "score": 1.0}', "malformed"),
        (b'{"answer": NaN}', "malformed"),
        (b"\xff", "malformed"),
        (b"[" * 100_000, "malformed"),
        (b'{"answer": {"instances": []}}', "violates"),
        (b'{"answer": ' + b'{"a":' * 900 + b"0" + b"}" * 901, "malformed"),
    ],
)
def test_a_line_that_a_program_writes_itself_is_its_answer(judge: ProgramJudge, lie: bytes, status: str):
    """It finds the pipe of its answers, and says things: the line is of the case at hand, whatever it says."""
    found = judge.judge_text(f"{WROTE}write({lie!r} + bytes([10]))\n{HONEST}")
    assert status in {case.status for case in found.cases}
    assert found.failed > 0


def test_nobody_gets_time_for_a_case_by_writing_lines(judge: ProgramJudge):
    """Neither by those for other cases, nor by leaving and having the others asked again."""
    burn = (
        "import time\ndef burn():\n    since = time.process_time()\n    while time.process_time() < since + 0.3: pass\n"
    )
    late = HONEST.replace(
        "rented = []", "rented = []\n    for _ in range(3):\n        burn()\n        write(bytes([10]))"
    )
    found = judge.judge_text(WROTE + burn + late)
    assert found.failed == 2


def test_lines_after_the_last_case_are_not_read(judge: ProgramJudge, monkeypatch: pytest.MonkeyPatch):
    read: list[int] = []
    loads = json.loads

    def count_lines(text: bytes, **options: Any) -> Any:
        if "parse_constant" in options:  # a line of the program, and no message of the cell
            read.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", count_lines)
    flood = "for _ in range(64):\n    write(bytes([10]) * (1 << 16))\n"
    assert judge.judge_text(WROTE + flood + HONEST).failed == 2
    assert read == [0, 0]


def test_a_name_that_is_no_text_hides_no_time(judge: ProgramJudge):
    name = "import ctypes, time\nctypes.CDLL(None).prctl(15, bytes([255, 254, 41, 32]), 0, 0, 0)\n"
    burn = "\n    until = time.process_time() + 0.9\n    while time.process_time() < until: pass"
    found = judge.judge_text(name + HONEST.replace("rented = []", "rented = []" + burn))
    assert {case.status for case in found.cases} == {"time"}


def test_a_program_ends_with_its_judge(judge: ProgramJudge):
    """Even if it lets its parent's end pass: `close` has it ended."""
    endless = LIBC + "libc.prctl(1, 0, 0, 0, 0)\ndef solve(data):\n    while True: pass\n"
    with ProgramJudge(small(), seconds=100.0, memory_mb=1024) as own, ThreadPoolExecutor(1) as threads:
        before = children(os.getpid())
        own.judge_text(NOTHING)
        (cell_id,) = set(children(os.getpid())).difference(before)
        asked = threads.submit(own.judge_text, endless)
        while not (inside := [child for outside in children(cell_id) for child in children(outside)]):
            time.sleep(0.05)
        time.sleep(0.5)
        own.close()
        with pytest.raises(InputError, match="killed from outside"):
            asked.result()
    until = time.monotonic() + 10
    while Path(f"/proc/{inside[0]}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{inside[0]}").exists()


def children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


def test_the_limit_of_the_whole_machine_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Before Linux 6.14 the greatest number of a process is the machine's, and root may write it."""
    file = tmp_path / "pid_max"
    monkeypatch.setattr(confinement, "PID_MAX", str(file))
    for release in ("6.13.12", "6.1.0-32-amd64", "5.15.0", "3.16", "unknown"):
        confinement.limit_process_ids(release)
        assert not file.exists(), release
    for release in ("6.14.0-rc1", "6.18.44-fc", "7.0"):
        confinement.limit_process_ids(release)
        assert file.read_text() == str(confinement.LAST_THREAD)
        file.unlink()


CONFINED = """
import os, sys
from experiments.judging.confinement import CannotConfine, confine, leave
top = sys.argv[1]
try:
    leave()
    if os.fork() == 0:
        confine([f"{top}/lib", f"{top}/lib/project/instances"], [f"{top}/lib/project", f"{top}/lib/none"], 1024, 10)
        print(*(name for folder, _, names in os.walk(top) for name in names))
        os._exit(0)
except CannotConfine:
    print("cannot")
os.wait()
"""


def test_a_whole_project_within_a_folder_that_is_seen_is_hidden_but_for_its_data(tmp_path: Path):
    for name in ("lib/other", "lib/project/instances/data", "lib/project/models/exact", "lib/project/table"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    done = python("-c", CONFINED, tmp_path)
    if done.stdout == "cannot\n":
        pytest.skip("a machine whose users cannot have namespaces")
    assert sorted(done.stdout.split()) == ["data", "other"], done.stderr


def test_copies_of_the_project_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """On the path of modules, and among the packages of another Python of the system."""
    source, installed = tmp_path / "source", tmp_path / "lib" / "python3.9" / "dist-packages"
    for copy in (source, installed):
        (copy / "instances").mkdir(parents=True)
        (copy / "instances" / "registry.py").write_text("")
    (source / "pyproject.toml").write_text("")
    monkeypatch.setattr(cell, "SYSTEM", (str(tmp_path / "lib"),))
    monkeypatch.setattr(sys, "path", [*sys.path, str(source)])
    visible, hidden = cell.find_folders.__wrapped__()
    assert {str(source / "instances"), str(installed / "instances")} <= set(visible)
    assert {str(source), str(installed / "models"), str(installed / "experiments")} <= set(hidden)
    assert not {str(source), str(installed)} & set(visible)


def test_what_a_program_says_steers_no_terminal(judge: ProgramJudge, capsys: pytest.CaptureFixture[str]):
    found = judge.judge_text("def solve(data):\n    raise ValueError('\\x1b[2J\\ud800' + chr(10) + 'solved')\n")
    assert found.cases[0].reason == "ValueError: \\x1b[2J\\ud800\\nsolved"
    assert found.artifacts["error"] == found.cases[0].reason
    print_judgement(found)
    assert f"error: {found.cases[0].reason}\n" in capsys.readouterr().out


def test_a_program_that_is_no_file_is_refused_and_not_waited_for(judge: ProgramJudge, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(InputError, match="not a regular file"):
        judge(tmp_path / "pipe.py")


def test_a_program_that_beats_a_proven_optimum_is_an_error_of_ours(
    judge: ProgramJudge, monkeypatch: pytest.MonkeyPatch
):
    cases = [replace(case, optimum=1e6) for case in judge.task.cases]
    monkeypatch.setattr(judge, "task", replace(judge.task, cases=cases))
    with pytest.raises(CheckFailed, match=r"is better than 1000000\.0, which is proven"):
        judge.judge_text(HONEST)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("def other(data): pass", "the program has no function 'solve'"),
        ("def solve(data:", "SyntaxError"),
        ("import nothing_like_it", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_program_that_cannot_be_loaded_fails_everywhere_and_says_why(judge: ProgramJudge, program: str, says: str):
    found = judge.judge_text(program)
    assert found.failed == 2
    assert says in found.artifacts["error"]


def test_bad_input_is_a_line(tmp_path: Path, judge: ProgramJudge):
    with pytest.raises(InputError, match=r"none\.py: No such file"):
        judge(tmp_path / "none.py")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"binary\.py: is no text"):
        judge(tmp_path / "binary.py")
    (tmp_path / "large.py").write_bytes(b"#" * (1 << 21))
    with pytest.raises(InputError, match=r"large\.py: must be at most 1048576 bytes"):
        judge(tmp_path / "large.py")
    with pytest.raises(InputError, match="task: t has no cases"):
        ProgramJudge(JudgeTask("t", "t", "x:y", []))


def test_the_command_prints_one_object_and_an_evaluator_returns_numbers(tmp_path: Path, judge: ProgramJudge):
    program = tmp_path / "mine.py"
    program.write_text(HONEST.replace("def solve", "def pack"))
    done = call("score", f"{program}:pack", "--task", "eva-rounds", "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["task"], found["failed"]) == (1, "eva-rounds", 10)
    for flag in (["--gap", 0.1], ["--jobs", 3], ["--effort", 5]):
        done = call("score", str(program), "--task", "eva-packing", *flag)
        assert (done.returncode, "--task: not with --gap" in done.stderr) == (2, True)
    done = call("score", str(program), "--task", "eva-pack")
    assert (done.returncode, "--task: must be one of" in done.stderr) == (2, True)
    done = call("score", str(program))
    assert (done.returncode, "give --problem NAME or --task NAME" in done.stderr) == (2, True)
    program.write_text(HONEST)
    numbers = judge.evaluate(str(program))
    assert set(numbers) == {"combined_score", "failed", "seconds", "mean_gap", "worst_gap"}
    assert all(type(value) is float for value in numbers.values())


def test_threads_and_forked_processes_get_their_own_answers(judge: ProgramJudge, honest: Judgement):
    """Evaluators are called by several threads, and a thread that is late is left to itself."""
    programs = [HONEST, NOTHING] * 3
    with ThreadPoolExecutor(len(programs)) as threads:
        found = list(threads.map(judge.judge_text, programs))
    forked = multiprocessing.get_context("fork")
    receive, send = forked.Pipe(duplex=False)
    child = forked.Process(target=lambda: send.send(judge.judge_text(HONEST)))
    child.start()
    found += [judge.judge_text(NOTHING) for _ in range(3)]
    assert receive.poll(60)
    found.append(receive.recv())
    child.join()
    assert [one.combined_score for one in found] == [honest.combined_score, 0.0] * 3 + [0.0] * 3 + [
        honest.combined_score
    ]


def test_openevolve_calls_the_evaluator(tmp_path: Path, judge: ProgramJudge, honest: Judgement):
    """With OpenEvolve's own evaluator, where it is installed."""
    config = pytest.importorskip("openevolve.config", reason="OpenEvolve is not installed")
    made, file = config.Config().evaluator, tmp_path / "evaluator.py"
    made.cascade_evaluation = False
    file.write_text("evaluate = None\n")
    evaluator = pytest.importorskip("openevolve.evaluator").Evaluator(made, str(file))
    evaluator.evaluate_function = judge.evaluate
    found = asyncio.run(evaluator.evaluate_multiple([(HONEST, "one"), (NOTHING, "other")]))
    assert [one["combined_score"] for one in found] == [honest.combined_score, 0.0]


def test_every_task_has_proven_optima_and_another_seed_other_instances():
    names = ("eva-rounds", "boa-widths", "aryl-elastic", "prism", "node-placement")  # the others take longer
    made = {name: JUDGED[name](0) for name in names}
    assert all(case.optimum > 0 for name in names[:-1] for case in made[name].cases)
    for name in ("eva-rounds", "node-placement"):
        ours, other = made[name], JUDGED[name](3)
        assert ours.cases[3].content == other.cases[0].content != ours.cases[0].content
        assert ours.cases[3].optimum == pytest.approx(other.cases[0].optimum)


STAYS = """
def solve(data):
    free = [dict(node.capacity) for node in data.nodes]
    held = [dict(node.pods) for node in data.nodes]
    need = {pod.name: pod.demand for pod in data.pods}
    for room, on_it in zip(free, held):
        for name, count in on_it.items():
            for resource, amount in need[name].items():
                room[resource] -= count * amount
    for pod in data.pods:
        for _ in range(pod.count - sum(on_it.get(pod.name, 0) for on_it in held)):
            for room, on_it in zip(free, held):
                if all(room[resource] >= amount for resource, amount in pod.demand.items()):
                    on_it[pod.name] = on_it.get(pod.name, 0) + 1
                    for resource, amount in pod.demand.items():
                        room[resource] -= amount
                    break
    return {"nodes": {node.name: on_it for node, on_it in zip(data.nodes, held)}}
"""


def test_a_program_that_moves_nothing_leaves_out_pods_where_some_have_to_move():
    with ProgramJudge(JUDGED["node-placement"](0)) as placing:
        try:
            found = placing.judge_text(STAYS)
        except InputError as error:
            pytest.skip(str(error))
    assert {case.status for case in found.cases if case.optimum > 0} == {"violates"}
    assert {case.status for case in found.cases} <= {"violates", "solved"}
    assert found.combined_score <= 0.1


def brute(case: prism.PrismCase) -> Fraction:
    found = []
    for on in product(range(case.gpus), repeat=len(case.models)):
        try:
            found.append(case.pressure(on))
        except ValueError:
            continue
    return min(found)


def test_the_least_pressure_of_prism_by_brute_force_and_as_it_is_recorded(monkeypatch: pytest.MonkeyPatch):
    for seed in range(sample(3, 6)):
        (drawn,) = prism.cases(seed, 1)
        few = prism.PrismCase(2 + seed % 2, drawn.models[: 6 + seed % 2])
        least, on = prism.find_min_pressure(few)
        assert least == brute(few) == few.pressure(on)
    recorded = [Fraction(text) for text in read_packaged("experiments.eva", "prism").least_pressure]
    for i in (0, 49, 17)[: sample(2, 3)]:
        assert prism.find_min_pressure(prism.cases()[i])[0] == recorded[i]
    assert len(recorded) == prism.CASES
    monkeypatch.setattr("models.eva.exact", lambda data, options: Result.model_construct(status="feasible"))
    with pytest.raises(InputError, match="prism: not proven within"):
        prism.find_min_pressure(prism.cases()[1], Options(time_limit=1.0))


@pytest.mark.long
def test_a_program_of_prism_is_called_as_on_the_leaderboard():
    turns = (
        "def compute_model_placement(gpu_num, models):\n    return {g: models[g::gpu_num] for g in range(gpu_num)}\n"
    )
    drawn, task = prism.cases(count=2), prism.build_task(prism.SEED)
    with ProgramJudge(replace(task, cases=task.cases[:2])) as judge:
        try:
            found = judge.judge_text(turns)
        except InputError as error:
            pytest.skip(str(error))
        assert [case.objective for case in found.cases] == [float(case.file_order_makespan) for case in drawn]
        more = turns.replace("range(gpu_num)", "range(2 * gpu_num)").replace("gpu_num]", "2 * gpu_num]")
        assert {case.status for case in judge.judge_text(more).cases} == {"malformed"}  # more GPUs than there are
        twice = turns.replace("models[g::gpu_num]", "models[:1]")
        assert {case.status for case in judge.judge_text(twice).cases} == {"malformed"}
        assert {case.status for case in judge.judge_text(turns.replace("models[g::", "models[g + 1::")).cases} <= {
            "violates"
        }
