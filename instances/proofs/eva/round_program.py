"""Build the program of a round of Eva over the patterns that a certificate needs, and verify the certificate.

There are too many patterns to write all of them to a file. So the certificate states duals and an objective cutoff, the
`reach`. No pattern may have a value over its dual payment; then the total payment U bounds the value of every round. A
round with a value over `reach` contains no pattern whose value is below its payment by U - `reach` or more. The program
contains all other patterns. The value of a round is at most the optimum of the program, or at most `reach`.

Interchangeable tasks form a class, and identical existing instances form a group. The tasks of a class that are most
expensive to move are assumed to stay. A job with several tasks on existing instances is modelled separately. It pays
its migration once, and avoids it only if each of these instances keeps all tasks of the job.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from instances.errors import CheckFailed, InputError
from instances.eva.checker import Book, exact
from instances.eva.reconfiguration import EvaReconfiguration
from instances.options import Solution
from instances.proofs.certificate import NoCertificate, Proven, see_instance
from instances.proofs.derivation import proven_of
from instances.proofs.eva.content_search import ContentSearch, Held, ValuedTask, round_up
from instances.proofs.eva.packing_program import PackingAmounts, PatternProgram
from instances.proofs.vipr import Program, read_vipr

MOST = 20_000  # patterns that are written to a file
STEPS = 30_000_000  # of the search: for each pattern, the classes times those that may come next
WORTH = 64  # fractional bits of a value in USD
DIGITS = 40  # of a dual, as an integer multiple of 1 / scale

Content = tuple[int, ...]
"""The number of tasks of each class on an instance."""


@dataclass(frozen=True)
class ExistingGroup:
    """Identical existing instances, by index: of type `kind`, each with `now` tasks of each class.

    `stay`: the migration costs of the tasks of each class there, the highest first, without the separate jobs.
    """

    members: tuple[int, ...]
    kind: int
    now: Content
    stay: tuple[tuple[Fraction, ...], ...]

    def lost(self, content: Content) -> Fraction:
        """Return the migration cost in USD if such an instance holds `content` after the round."""
        return sum((sum(usd[n:], Fraction(0)) for usd, n in zip(self.stay, content, strict=True)), Fraction(0))


@dataclass(frozen=True)
class RoundDuals:
    """The duals in USD of a task of each class, of an instance of each group, and of each row that keeps a job."""

    tasks: tuple[Fraction, ...]
    groups: tuple[Fraction, ...]
    kept: tuple[Fraction, ...]


class ClassedRound:
    """A round in terms of classes of tasks and groups of existing instances.

    - `members`: the entries of each class.
    - `count`: the number of tasks of each class.
    - `jobs`: the migration cost in USD of each separate job.
    - `rows`: a separate job (by its index in `jobs`), a group that holds tasks of it, and their number per class.
    """

    def __init__(self, data: EvaReconfiguration) -> None:
        self.data, self.book, self.amounts = data, Book(data), PackingAmounts(data)
        entries = {task.key: i for i, task in enumerate(data.tasks)}
        there = Counter[str]()
        for instance in data.existing:
            for key, n in instance.tasks.items():
                if (job := data.tasks[entries[key]].job) is not None:
                    there[job] += n
        self.names = [job for job, n in there.items() if n > 1]
        self._classes(set(self.names))
        self.class_of = {data.tasks[i].key: c for c, some in enumerate(self.members) for i in some}
        self.kinds = {kind.name: k for k, kind in enumerate(data.instance_types)}
        usd = {task.job: exact(task.migration_usd) for task in data.tasks if task.job is not None}
        self.jobs = [usd[name] for name in self.names]
        self._groups({task.key: exact(task.migration_usd) for task in data.tasks})
        self.horizon = exact(data.horizon_hours)
        self.paid = [self.horizon * exact(kind.usd_per_hour) for kind in data.instance_types]
        self.new = [usd + exact(k.start_usd) for usd, k in zip(self.paid, data.instance_types, strict=True)]
        self.cheapest = sorted(range(len(self.new)), key=lambda k: (self.new[k], k))
        self.room = self.amounts.capacity
        self.need = [[self.amounts.need(k)[some[0]] for some in self.members] for k in range(len(self.room))]
        self.tnrp = cache(self._tnrp)

    def _classes(self, apart: set[str]) -> None:
        data = self.data
        found: dict[Any, list[int]] = {}
        for i, task in enumerate(data.tasks):
            demand = (tuple(of_family[i]) for of_family in self.amounts.demand)
            own = task.job if task.job in apart else None
            found.setdefault((task.workload, *demand, self.book.job_price(task.key), own), []).append(i)
        self.members = [tuple(some) for some in found.values()]
        self.first = [data.tasks[some[0]].key for some in self.members]
        self.count = tuple(sum(data.tasks[i].count for i in some) for some in self.members)

    def _groups(self, usd: Mapping[str, Fraction]) -> None:
        job_of = {task.key: task.job for task in self.data.tasks}
        found: dict[Any, list[int]] = {}
        parts: dict[int, dict[str, Counter[int]]] = {}
        for e, instance in enumerate(self.data.existing):
            now, jobs = Counter[int](), dict[str, Counter[int]]()
            stay: list[list[Fraction]] = [[] for _ in self.members]
            for key, n in instance.tasks.items():
                c, job = self.class_of[key], job_of[key]
                now[c] += n
                if job in self.names and job is not None:
                    jobs.setdefault(job, Counter())[c] += n
                else:
                    stay[c] += [usd[key]] * n
            held = tuple(now[c] for c in range(len(self.members)))
            dearest = tuple(tuple(sorted(each, reverse=True)) for each in stay)
            parts[e] = jobs
            found.setdefault((self.kinds[instance.type], held, dearest, e if jobs else None), []).append(e)
        self.groups = [ExistingGroup(tuple(some), kind, now, stay) for (kind, now, stay, _), some in found.items()]
        self.rows = [
            (self.names.index(job), g, tuple(held[c] for c in range(len(self.members))))
            for g, group in enumerate(self.groups)
            for job, held in parts[group.members[0]].items()
        ]

    def _tnrp(self, content: Content) -> Fraction:
        """Return the sum of the normalised reservation prices of a pattern in USD/h."""
        return self.book.worth({self.first[c]: n for c, n in enumerate(content) if n})

    def holds(self, kind: int, content: Content) -> bool:
        """Return whether `content` fits on an instance of a type."""
        used = (
            sum(n * need[r] for n, need in zip(content, self.need[kind], strict=True) if n)
            for r in range(len(self.data.resources))
        )
        return all(a <= b for a, b in zip(used, self.room[kind], strict=True))

    def kind_of_new(self, content: Content) -> int:
        """Return the cheapest type for a new instance with `content`."""
        return next(k for k in self.cheapest if self.holds(k, content))

    def alone(self, c: int) -> Content:
        """Return the pattern with one task of class c."""
        return tuple(int(d == c) for d in range(len(self.members)))

    def net_of_new(self, kind: int, content: Content) -> Fraction:
        """Return the net value in USD of a new instance of a type with `content`."""
        return self.horizon * self.tnrp(content) - self.new[kind]

    def net(self, g: int, content: Content) -> Fraction:
        """Return the net value in USD of an instance of a group with `content`, without the separate jobs."""
        group = self.groups[g]
        worth = self.horizon * self.tnrp(content) - self.paid[group.kind] if any(content) else Fraction(0)
        return worth - group.lost(content)

    def keeps(self, row: int, content: Content) -> bool:
        """Return whether an instance with `content` keeps all tasks of the job of a row."""
        return all(n >= k for n, k in zip(content, self.rows[row][2], strict=True))

    def pay(self, duals: RoundDuals) -> Fraction:
        """Return U, an upper bound on a round in USD if no pattern has a value over its dual payment."""
        total = sum((n * usd for n, usd in zip(self.count, duals.tasks, strict=True)), Fraction(0))
        total += sum((len(g.members) * usd for g, usd in zip(self.groups, duals.groups, strict=True)), Fraction(0))
        for j, cost in enumerate(self.jobs):
            given = sum((usd for usd, row in zip(duals.kept, self.rows, strict=True) if row[0] == j), Fraction(0))
            total += max(Fraction(0), given - cost) - given
        return total


class RoundProgram:
    """The program of a round over the patterns that a round with a value over `reach` can contain.

    Maximise the net value. The variables are integers:

    - `y_g_i`: the number of existing instances of group g that hold its pattern i after the round.
    - `x_k_i`: the number of new instances of type k that hold its pattern i.
    - `z_j`: 1 if separate job j moves.
    - `n_k`: the number of instances of type k with tasks.

    The rows are:

    - `tasks_c`: each task of class c is on one instance.
    - `group_g`: each instance of group g has one pattern.
    - `stays_i`: the job of row i moves, or the instance keeps its tasks.
    - `type_k`: the definition of `n_k`.

    Raises CheckFailed if the duals pay too little or are below 0. Raises NoCertificate if there are too many patterns.
    """

    def __init__(self, round_: ClassedRound, duals: RoundDuals, reach: Fraction) -> None:
        self.round, self.duals = round_, duals
        if min(duals.kept, default=Fraction(0)) < 0:
            raise CheckFailed("duals: those of the rows that keep a job must not be below 0")
        self.short = round_.pay(duals) - reach  # a pattern whose value is below its payment by this much is excluded
        if self.short < 0:
            raise CheckFailed("reach: the duals pay no more than that")
        self.steps = 0
        self.own: dict[tuple[int, Content], Fraction] = {}
        self.fresh: dict[tuple[int, Content], Fraction] = {}
        self.alone = [round_.net_of_new(round_.kind_of_new(one), one) for one in map(round_.alone, self._classes)]
        for c in self._classes:
            one = round_.alone(c)
            self.fresh[round_.kind_of_new(one), one] = self.alone[c]
        for g, group in enumerate(round_.groups):
            self.own[g, group.now] = round_.net(g, group.now)
            self._see(group.kind, g, ())
            self._search(group.kind, g)
        for kind in round_.cheapest:
            self._search(kind, None)

    @property
    def _classes(self) -> range:
        return range(len(self.round.members))

    def _search(self, kind: int, g: int | None) -> None:
        """Collect the patterns needed of a type, or of a group of existing instances of it.

        The dual of a row that keeps a job is divided equally among the tasks of the row.
        """
        round_, duals = self.round, self.duals
        book, horizon = round_.book, round_.horizon
        stay: list[list[Fraction]] = [[] for _ in self._classes]
        cost = round_.new[kind]
        if g is not None:
            own = round_.groups[g]
            stay = [list(usd) for usd in own.stay]
            cost = round_.paid[kind] + duals.groups[g] + own.lost((0,) * len(self._classes))
            for usd, (_, h, held) in zip(duals.kept, round_.rows, strict=True):
                if g == h:
                    for c, n in enumerate(held):
                        stay[c] += [usd / sum(held)] * n
        tasks = (
            ValuedTask(
                index=c,
                workload=round_.data.tasks[round_.members[c][0]].workload,
                count=round_.count[c],
                need=round_.need[kind][c],
                alone=horizon * book.price(key) - usd,
                loss=horizon * book.job_price(key),
                stay=stay[c],
            )
            for c, (key, usd) in enumerate(zip(round_.first, duals.tasks, strict=True))
            if round_.holds(kind, round_.alone(c))
        )
        least = round_up(cost - self.short, WORTH) - 1
        search = ContentSearch(
            tasks, round_.room[kind], least, WORTH, book, self._count_step, lambda held: self._see(kind, g, held)
        )
        search.grow()

    def _count_step(self, steps: int) -> None:
        """Count the search steps of a pattern."""
        self.steps += steps
        if self.steps > STEPS:
            raise NoCertificate(f"more than {STEPS:,} steps in listing contents")

    def _see(self, kind: int, g: int | None, held: Held) -> None:
        """Keep a pattern if a round above `reach` can contain it; a new instance has its cheapest type."""
        round_, duals = self.round, self.duals
        on_it = dict(held)
        content = tuple(on_it.get(c, 0) for c in self._classes)
        paid = sum((n * usd for n, usd in zip(content, duals.tasks, strict=True) if n), Fraction(0))
        if g is None:
            if not any(content) or round_.kind_of_new(content) != kind:
                return
            net = round_.net_of_new(kind, content)
        else:
            net = round_.net(g, content)
            paid += duals.groups[g]
            rows = enumerate(zip(duals.kept, round_.rows, strict=True))
            paid -= sum((usd for i, (usd, row) in rows if row[1] == g and round_.keeps(i, content)), Fraction(0))
        if net > paid:
            raise CheckFailed("duals: a content is worth more than they pay for it")
        if paid - net >= self.short:
            return
        if g is not None:
            self.own[g, content] = net
        elif sum(content) == 1 or net > sum(n * usd for n, usd in zip(content, self.alone, strict=True)):
            self.fresh[kind, content] = net
        if len(self.own) + len(self.fresh) > MOST:
            raise NoCertificate(f"more than {MOST:,} contents that may matter")

    def program(self) -> Program:
        """Return the program in the form of a VIPR file."""
        round_, program = self.round, PatternProgram(self.round.count)
        own: dict[int, tuple[int, Content]] = {}  # group and pattern of each variable of existing instances
        used: dict[int, list[int]] = {}  # patterns with tasks, by type
        for (g, content), net in self.own.items():
            group = round_.groups[g]
            i = program.add_pattern(f"y_{g}", dict(enumerate(content)), net, len(group.members))
            own[i] = g, content
            if any(content):
                used.setdefault(group.kind, []).append(i)
        for (k, content), net in self.fresh.items():
            i = program.add_pattern(f"x_{k}", dict(enumerate(content)), net)
            used.setdefault(k, []).append(i)
        moved = [program.add_variable(f"z_{j}", 1, -usd) for j, usd in enumerate(round_.jobs)]
        kinds = {k: program.add_variable(f"n_{k}", sum(round_.count)) for k in sorted(used)}
        self.numbers = frozenset(kinds.values())
        program.add_task_rows("E")
        for g, group in enumerate(round_.groups):
            program.add_row(f"group_{g}", "E", len(group.members), {i: 1 for i, (h, _) in own.items() if h == g})
        for row, (j, g, _) in enumerate(round_.rows):
            keep = {i: 1 for i, (h, content) in own.items() if h == g and round_.keeps(row, content)}
            program.add_row(f"stays_{row}", "G", 1, keep | {moved[j]: 1})
        for k, place in kinds.items():
            program.add_type_row(k, used[k], [place])
        return program.build("max")

    def point(self, solution: Solution) -> dict[int, Fraction] | None:
        """Return a round as a point of the program, `None` if the program omits one of its patterns.

        A new instance whose pattern is omitted is replaced by one instance per task, which is worth no less.
        """
        round_, own, fresh = self.round, list(self.own), list(self.fresh)
        places: dict[tuple[str, int, Content], int] = {("own", *p): i for i, p in enumerate(own)}
        places |= {("new", *p): len(own) + i for i, p in enumerate(fresh)}
        point, kinds, kept = Counter[int](), Counter[int](), Counter[int]()
        group_of = {e: g for g, group in enumerate(round_.groups) for e in group.members}
        for e, instance in enumerate(round_.data.existing):
            content, g = self._content(solution["existing"].get(instance.id, {})), group_of[e]
            if ("own", g, content) not in places:
                return None
            point[places["own", g, content]] += 1
            kinds[round_.groups[g].kind] += any(content)
            for i, (j, h, _) in enumerate(round_.rows):
                kept[j] += h == g and round_.keeps(i, content)
        for group in solution["instances"]:
            content = self._content(group["tasks"])
            parts = Counter({content: 1}) if any(content) else Counter[Content]()
            if any(content) and ("new", round_.kind_of_new(content), content) not in places:
                parts = Counter({round_.alone(c): n for c, n in enumerate(content) if n})
            for part, n in parts.items():
                kind = round_.kind_of_new(part)
                point[places["new", kind, part]] += n * group["count"]
                kinds[kind] += n * group["count"]
        rows, moved = Counter(j for j, _, _ in round_.rows), len(own) + len(fresh)
        for j in range(len(round_.jobs)):
            point[moved + j] = int(kept[j] < rows[j])
        used = sorted({k for k, _ in fresh} | {round_.groups[g].kind for g, content in own if any(content)})
        for place, k in enumerate(used, start=moved + len(round_.jobs)):
            point[place] = kinds[k]
        return {i: Fraction(n) for i, n in point.items() if n}

    def _content(self, tasks: Mapping[str, int]) -> Content:
        held = Counter[int]()
        for key, n in tasks.items():
            held[self.round.class_of[key]] += n
        return tuple(held[c] for c in self._classes)


def prove_reconfiguration(data: EvaReconfiguration, text: str) -> Proven:
    """Return the bound on a round that the VIPR file `text` proves.

    Raises InputError, NoCertificate, or CheckFailed.
    """
    file, round_ = read_vipr(text), ClassedRound(data)
    see_instance(data, file.header.get("problem"), file.header.get("instance"))  # before the enumeration, which is slow
    reach, duals = read_duals(round_, file.header.get("reach", ""), text)
    proven = proven_of(data, RoundProgram(round_, duals, reach).program(), file)
    return Proven(max(proven.bound, reach), proven.how)


def read_duals(round_: ClassedRound, reach: str, text: str) -> tuple[Fraction, RoundDuals]:
    """Return `reach` and the duals from the comments of a file.

    Raises InputError, and CheckFailed if the duals do not match the rows.
    """
    comments = re.findall(r"^% duals (.*)$", text, re.MULTILINE)
    if len(comments) > 1:
        raise InputError("duals: named twice in the comments")
    duals = comments[0] if comments else ""
    if not re.fullmatch(r"-?\d{1,100}(/[1-9]\d{0,99})?", reach, re.ASCII):
        raise InputError(f"reach: must be a rational number, got {reach[:40]!r}")
    whole = rf"-?\d{{1,{DIGITS}}}"
    if not re.fullmatch(rf"[1-9]\d{{0,{DIGITS - 1}}}:{whole}(,{whole})*", duals, re.ASCII):
        raise InputError(f"duals: must be a scale and whole numbers, got {duals[:40]!r}")
    scale, _, each = duals.partition(":")
    found = [Fraction(int(number), int(scale)) for number in each.split(",")]
    tasks, groups = len(round_.members), len(round_.groups)
    if len(found) != tasks + groups + len(round_.rows):
        raise CheckFailed(f"duals: {len(found)} are stated, for {tasks + groups + len(round_.rows)} rows")
    both = tasks + groups
    return Fraction(reach), RoundDuals(tuple(found[:tasks]), tuple(found[tasks:both]), tuple(found[both:]))


def add_duals(text: str, duals: RoundDuals, scale: int) -> str:
    """Return a VIPR file with the duals in front of it. Raises NoCertificate, see `format_duals`."""
    return f"% duals {format_duals(duals, scale)}\n{text}"


def format_duals(duals: RoundDuals, scale: int) -> str:
    """Return the duals in the format of the comments, as multiples of 1 / `scale`.

    Raises NoCertificate if a multiple has more than `DIGITS` characters.
    """
    each = [str(int(usd * scale)) for usd in (*duals.tasks, *duals.groups, *duals.kept)]
    if max(map(len, each)) > DIGITS:
        raise NoCertificate(f"a dual of more than {DIGITS} digits")
    return f"{scale}:" + ",".join(each)
