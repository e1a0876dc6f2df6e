"""Random small instances for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from instances.eva import EvaPacking, InstanceType, Task, Throughput

RESOURCES = ("gpu", "cpu")


@st.composite
def packings(draw: st.DrawFn, objective: str = "cost", most_tasks: int = 5) -> EvaPacking:
    """A packing instance of up to `most_tasks` tasks in two families, one type of which holds any task."""
    whole = st.integers(0, 6)
    kinds = [
        InstanceType(name="big", family="f", capacity={"gpu": 6, "cpu": 6}, usd_per_hour=draw(st.integers(4, 12)))
    ] + [
        InstanceType(
            name=f"k{i}",
            family=draw(st.sampled_from(["f", "g"])),
            capacity={"gpu": draw(whole), "cpu": draw(whole)},
            usd_per_hour=draw(st.integers(1, 60)) / 5,
        )
        for i in range(draw(st.integers(0, 3)))
    ]
    families = {k.family for k in kinds}
    tasks, left = [], most_tasks
    while left and (not tasks or draw(st.booleans())):
        count = draw(st.integers(1, min(left, 3)))
        demand = {"default": {"gpu": draw(whole), "cpu": draw(st.integers(1, 6))}}
        if "g" in families and draw(st.booleans()):
            demand["g"] = {"gpu": draw(whole), "cpu": draw(whole)}
        job = draw(st.sampled_from([None, "j"]))
        tasks.append(Task(workload=f"w{len(tasks)}", count=count, demand=demand, job=job))
        left -= count
    throughput = None
    if objective == "net-saving":
        names = [t.workload for t in tasks]
        shares = st.sampled_from([0.0, 0.5, 0.8, 0.9, 0.95, 1.0])
        pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), unique=True, max_size=6))
        throughput = Throughput(default=draw(shares), pairwise=tuple((a, b, draw(shares)) for a, b in pairs))
    return EvaPacking(
        resources=RESOURCES,
        instance_types=tuple(kinds),
        tasks=tuple(tasks),
        throughput=throughput,
        objective=objective,
    )
