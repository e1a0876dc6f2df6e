"""Define heuristics as a user would write them: good, slow and broken ones."""

from __future__ import annotations

import builtins
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from instances import Answer, Options, Result
from instances.eva import EvaPacking


def one_each(data: EvaPacking) -> dict:
    """Every task on the most expensive type."""
    kind = max(data.instance_types, key=lambda k: k.usd_per_hour).name
    return {"instances": [{"type": kind, "count": t.count, "tasks": {t.key: 1}} for t in data.tasks]}


def seeded(data: EvaPacking, options: Options) -> dict:
    """As `one_each`, and as many idle instances as the seed says."""
    kind = max(data.instance_types, key=lambda k: k.usd_per_hour).name
    idle = {"type": kind, "count": options.seed, "tasks": {}}
    return {"instances": [*one_each(data)["instances"], idle]}


def with_bound(data: EvaPacking) -> Answer:
    return Answer(one_each(data), bound=1.0)


def overfull(data: EvaPacking) -> dict:
    kind = data.instance_types[0].name
    return {"instances": [{"type": kind, "count": 1, "tasks": {t.key: t.count for t in data.tasks}}]}


def sleeps(data: EvaPacking) -> dict:
    time.sleep(600)
    return {}


def raises(data: EvaPacking) -> dict:
    raise RuntimeError("no luck\ntoday")


def dies(data: EvaPacking) -> dict:
    os._exit(7)


def nonsense(data: EvaPacking) -> int:
    return 3


def malformed(data: EvaPacking) -> dict:
    return {"instances": [{"type": "nowhere", "count": 1, "tasks": {}}]}


def chatty(data: EvaPacking) -> dict:
    """Print as Python does and as a solver library does."""
    print("said by Python")
    os.write(1, b"said by a library\n")
    return one_each(data)


def forged(data: EvaPacking) -> Result:
    """Return a forged result without a solution."""
    return Result(
        problem=data.problem,
        method="f",
        status="optimal",
        termination="finished",
        objective=12.8,
        bound=12.8,
        gap=0.0,
        sense=data.sense,
        unit=data.unit,
    )


def tampers(data: EvaPacking) -> dict:
    """Tamper with the data: add capacity, and change prices."""
    for kind in data.instance_types:
        kind.capacity.update(gpu=1e9, cpu=1e9, ram_gb=1e9)  # type: ignore[attr-defined]
        object.__setattr__(kind, "usd_per_hour", 0.001)
    return overfull(data)


def claims(data: EvaPacking) -> Answer:
    """Claim a bound that does not hold."""
    return Answer(one_each(data), bound=48.0)


def claims_infeasible(data: EvaPacking) -> Answer:
    return Answer(None, termination="infeasible", reason="it is so")


def leaves(data: EvaPacking) -> dict:
    raise SystemExit(0)


def interrupts(data: EvaPacking) -> dict:
    raise KeyboardInterrupt


def invents(data: EvaPacking) -> dict:
    class Strange(BaseException):
        def __str__(self) -> str:
            raise ValueError

    raise Strange


def unpicklable(data: EvaPacking) -> Answer:
    return Answer(one_each(data), info={"made": (x for x in ())})


def backwards(data: EvaPacking) -> Answer:
    return Answer(one_each(data), solve_s=-5.0)


def timeless(data: EvaPacking) -> Answer:
    return Answer(one_each(data), solve_s=float("nan"))


def numpy_numbers(data: EvaPacking) -> Answer:
    solution = one_each(data)
    for entry in solution["instances"]:
        entry["count"] = np.int64(entry["count"])
    return Answer(solution, info={"scores": np.arange(3.0), "good": np.bool_(True)})


def sleeps_on_the_first(data: EvaPacking) -> dict:
    """Slow on the instance of 10 tasks, else at once."""
    if sum(t.count for t in data.tasks) == 10:
        time.sleep(600)
    return one_each(data)


def waits_for_a_file(data: EvaPacking) -> dict:
    """One task an instance, once there is a file; beside it a file tells of each process that has begun."""
    go = Path(os.environ["GAPWISE_TEST_FILE"])
    (go.parent / f"begun-{os.getpid()}").touch()
    while not go.exists():
        time.sleep(0.05)
    return one_each(data)


def takes_a_while(data: EvaPacking) -> dict:
    """One task an instance, after some time in which nothing is done."""
    time.sleep(0.4)
    return one_each(data)


def large(data: EvaPacking) -> Answer:
    """Hands back megabytes."""
    return Answer(one_each(data), info={"much": "x" * 4_000_000})


def own_folder() -> Path:
    """Where this run hands over what it finds, and no other command's folder."""
    frame = sys._getframe()
    while frame.f_code.co_name != "_work":
        assert frame.f_back is not None
        frame = frame.f_back
    place: Path = frame.f_locals["path"]
    return place.parent


def killed_while_handing_over(data: EvaPacking) -> Answer:
    """End by SIGKILL, as on a machine without memory, after the first of many megabytes are on their way."""

    folder = own_folder()

    def kill() -> None:
        while not any(place.stat().st_size for place in folder.glob("*.part")):
            time.sleep(0.0001)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    return Answer(one_each(data), info={"much": "x" * 60_000_000})


def ends_well(data: EvaPacking) -> dict:
    """As a library does that calls `exit(0)`."""
    os._exit(0)


def spoils_python(data: EvaPacking) -> dict:
    """No process that hands anything over after this can do it by Python's own means."""
    builtins.len = None  # type: ignore[assignment]
    builtins.open = None  # type: ignore[assignment]
    return {}


def halves_lengths(data: EvaPacking) -> dict:
    """Halve the result of `len`, so that the handed-over data are longer than stated."""
    solution, real = one_each(data), len
    builtins.len = lambda things: real(things) // 2  # type: ignore[assignment]
    return solution


def spoils_pipes(data: EvaPacking) -> dict:
    """Write into every open handle."""
    for handle in range(3, 64):
        with suppress(OSError):
            os.write(handle, b"\0\0\0\x04none" * 100)
    return one_each(data)


def removes_the_folder(data: EvaPacking) -> dict:
    """Remove only the folder that this process hands its result over by."""
    shutil.rmtree(own_folder())
    return one_each(data)


def leaks(data: EvaPacking) -> Answer:
    """Tells what it finds of an earlier call in its process, and changes all of it."""
    about = {"cwd": os.getcwd(), "variable": os.environ.get("LEFT_BEHIND"), "numpy": np.geterr()["divide"]}
    about |= {"files": resource.getrlimit(resource.RLIMIT_NOFILE)[0], "calls": len(CALLS), "drawn": np.random.rand()}  # noqa: NPY002
    CALLS.append(data)
    os.chdir("/")
    os.environ["LEFT_BEHIND"] = "yes"
    np.seterr(divide="raise")
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return Answer(one_each(data), info=about)


CALLS: list[EvaPacking] = []


def begins_another(data: EvaPacking) -> Answer:
    """Leaves a process behind, and goes on twice."""
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    os.fork()
    return Answer(one_each(data), info={"left": left.pid})


def kills_its_host(data: EvaPacking) -> dict:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
    return {}


def tells_of_its_process(data: EvaPacking) -> Answer:
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return Answer(one_each(data), info={"interrupt_blocked": blocked, "session": os.getsid(0)})


def says_exit(data: EvaPacking) -> dict:
    class Strange(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    raise Strange


def astronomical(data: EvaPacking) -> dict:
    solution = one_each(data)
    solution["instances"][0]["count"] = 10**400
    return solution


def prints_part_of_a_line(data: EvaPacking) -> dict:
    print("half a line", end="")
    return one_each(data)
