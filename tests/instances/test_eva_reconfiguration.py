"""Test that bad files of a round are rejected in one line, and that the checker agrees with hand counts."""

from __future__ import annotations

import pytest

from instances import InputError, MalformedSolution, check, dump, parse
from instances.eva import random_round, table_3_round
from tests.contents import changed

GOOD = dump(table_3_round())


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("data/horizon_hours", -1.0, r"data\.horizon_hours: must be >= 0, got -1"),
        ("data/horizon_hours", 1e10, r"data\.horizon_hours: must be <= "),
        ("data/horizon_hours", ..., r"data\.horizon_hours: missing"),
        ("data/tasks/0/migration_usd", -0.5, r"data\.tasks\[0\]\.migration_usd: must be >= 0, got -0\.5"),
        (
            "data/tasks/0/count",
            10_001,
            r"data\.tasks\[0\]\.count: must leave no more than 10,000 tasks in all, got 10001",
        ),
        (
            "data/tasks/0/tasks_in_job",
            2,
            r"data\.tasks\[0\]\.job: missing, for tasks of a job of several tasks, got \"t1\"",
        ),
        ("data/instance_types/0/start_usd", "much", r"data\.instance_types\[0\]\.start_usd: must be a valid number"),
        ("data/existing/1/id", "a", r"data\.existing: must be unique, occurs 2 times, got \"a\""),
        ("data/existing/0/type", "it9", r"data\.existing\[0\]\.type: unknown instance type, got \"it9\""),
        ("data/existing/0/tasks", {}, r"data\.existing\[0\]\.tasks: must not be empty"),
        ("data/existing/0/tasks", {"t9": 1}, r"data\.existing\[0\]\.tasks: unknown task, got \"t9\""),
        ("data/existing/0/tasks", {"t1": 2}, r"data\.existing\[0\]\.tasks\.t1: must leave no more than 1 on instances"),
        ("data/existing/0/type", "it4", r"data\.existing\[0\]\.tasks: need more gpu than a it4 has, got \"a\""),
        ("data/existing/0/usd", 1, r"data\.existing\[0\]\.usd: unknown field"),
    ],
)
def test_bad_data_are_refused_in_one_line(path: str, value: object, message: str):
    with pytest.raises(InputError, match=message):
        parse(changed(GOOD, path, value))


def test_entries_of_a_job_must_agree_on_what_a_move_costs():
    content = dump(random_round(6, 0, tasks_per_job=3))
    places = [i for i, task in enumerate(content["data"]["tasks"]) if task["job"] == "j0"]
    assert len(places) > 1
    with pytest.raises(InputError, match=r"migration_usd: must agree within job j0"):
        parse(changed(content, f"data/tasks/{places[1]}/migration_usd", 7.5))


def test_the_checker_counts_savings_moves_and_starts():
    data = table_3_round().data
    alone = [{"type": "it3", "count": 1, "tasks": {"t3": 1}}, {"type": "it4", "count": 1, "tasks": {"t4": 1}}]
    stays = {"existing": {"a": {"t1": 1}, "b": {"t2": 1}}, "instances": alone}
    assert check(data, stays).objective == pytest.approx(-2 * 0.05)
    # t2 joins t1: 12 * 0.8 + 3 * 0.9 - 12 = 0.3 USD/h over an hour, less 0.2 for the move.
    joined = {"existing": {"a": {"t1": 1, "t2": 1}}, "instances": alone}
    assert check(data, joined).objective == pytest.approx(0.3 - 0.2 - 2 * 0.05)
    swapped = {"existing": {"b": {"t2": 1}}, "instances": [*alone, {"type": "it1", "count": 1, "tasks": {"t1": 1}}]}
    assert check(data, swapped).objective == pytest.approx(-0.8 - 3 * 0.05)


def test_a_job_of_several_tasks_is_charged_once():
    data = random_round(6, 0, tasks_per_job=3).data
    first = next(task for task in data.tasks if task.job == "j0")
    held = {e.id: dict(e.tasks) for e in data.existing}
    moving = [(name, key) for name, tasks in held.items() for key in tasks if key.endswith("@j0")]
    assert len(moving) > 1
    kinds = {kind.name: kind for kind in data.instance_types}
    tasks = {task.key: task for task in data.tasks}
    waiting = {key: t.count - sum(on.get(key, 0) for on in held.values()) for key, t in tasks.items()}

    def alone(moved: list[tuple[str, str]]) -> float:
        left = {name: {k: n for k, n in on.items() if (name, k) not in moved} for name, on in held.items()}
        loose = waiting | {key: waiting[key] + sum(held[n][k] for n, k in moved if k == key) for _, key in moved}
        new = [
            {"type": min((k.usd_per_hour, k.name) for k in kinds.values() if data.fits(tasks[key], k))[1], "count": n}
            | {"tasks": {key: 1}}
            for key, n in loose.items()
            if n
        ]
        with_moves = {"existing": left, "instances": new}
        free = data.model_copy(
            update={"tasks": tuple(task.model_copy(update={"migration_usd": 0.0}) for task in data.tasks)}
        )
        assert check(data, with_moves).violations == ()
        return check(free, with_moves).objective - check(data, with_moves).objective

    assert alone([]) == 0
    assert alone(moving[:1]) == pytest.approx(first.migration_usd)
    assert alone(moving) == pytest.approx(first.migration_usd)


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ({"instances": []}, "`existing`, an object"),
        ({"existing": {"z": {}}, "instances": []}, "unknown existing instance 'z'"),
        ({"existing": {"a": 1}, "instances": []}, "tasks of an instance must be an object"),
        ({"existing": {"a": {"t1": True}}, "instances": []}, "whole numbers"),
        ({"existing": {"a": {"t9": 1}}, "instances": []}, "unknown task 't9'"),
        ({"existing": {}}, "the list `instances`"),
        ({"existing": {}, "instances": [{"type": "it9", "count": 1, "tasks": {}}]}, "unknown instance type 'it9'"),
    ],
)
def test_a_solution_of_another_form_is_malformed(solution: dict, message: str):
    with pytest.raises(MalformedSolution, match=message):
        check(table_3_round().data, solution)


def test_what_is_left_out_and_what_is_too_much_is_named():
    verdict = check(table_3_round().data, {"existing": {"b": {"t1": 1, "t2": 1}}, "instances": []})
    assert "task t3 is placed 0 times, not 1" in verdict.violations
    assert any(said.startswith("a it2 holds") for said in verdict.violations)
