"""The program of a round of Eva that a certificate rests on, from the data alone: the contents that may still matter.

All contents of instances are too many to write down. So the certificate states duals, and a worth that is to be
exceeded, the `reach`. No content may be worth more than the duals pay for it; then no round is worth more than they
pay in all, U, and one that is worth more than `reach` has no content that is short of its pay by U - `reach` or more.
The program has all other contents. A round is worth no more than its optimum, or than `reach`.

Tasks that are alike are one class, and existing instances that are alike one group. Of a class those that cost most to
move are taken to stay. A job of which several tasks are on existing instances is kept apart: it moves once, and stays
only where each of these instances keeps all of them that it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from instances.errors import CheckFailed
from instances.eva.checker import Book, exact
from instances.eva.reconfiguration import EvaReconfiguration
from instances.fields import steps
from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.vipr import Program, Row, box

MOST = 20_000  # contents that are written down
STEPS = 30_000_000  # of the search: classes, times those that may come next, of each content that is looked at
RATE, WORTH = 96, 64  # bits behind the point of a throughput, and of a worth in USD
MOST_TASKS = 500  # of an instance
ONE = Fraction(1)

Content = tuple[int, ...]
"""How many tasks of each class an instance holds."""


@dataclass(frozen=True)
class ExistingGroup:
    """Existing instances that are alike, by their places: of `kind`, each with `now` tasks of each class.

    `stay`: of each class what its tasks there cost to move, the dearest first, without those of the jobs kept apart.
    """

    members: tuple[int, ...]
    kind: int
    now: Content
    stay: tuple[tuple[Fraction, ...], ...]

    def lost(self, content: Content) -> Fraction:
        """What the moves cost where such an instance holds `content` then."""
        return sum((sum(usd[n:], Fraction(0)) for usd, n in zip(self.stay, content, strict=True)), Fraction(0))


@dataclass(frozen=True)
class RoundDuals:
    """What is paid for a task of each class, for an instance of each group, and for each row that keeps a job."""

    tasks: tuple[Fraction, ...]
    groups: tuple[Fraction, ...]
    kept: tuple[Fraction, ...]


class ClassedRound:
    """A round by classes of tasks and groups of existing instances.

    `members`: the entries of each class; `count`: its tasks; `rows`: a job that is kept apart (by its place in `jobs`),
    a group that has tasks of it, and how many of each class; `jobs`: what each costs to move.
    """

    def __init__(self, data: EvaReconfiguration) -> None:
        self.data, self.book = data, Book(data)
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
        self.need = [
            [[steps(data.tasks[some[0]].demand_on(kind.family)[r]) for r in data.resources] for some in self.members]
            for kind in data.instance_types
        ]
        self.room = [[steps(kind.capacity[r]) for r in data.resources] for kind in data.instance_types]
        self.tnrp = cache(self._tnrp)

    def _classes(self, apart: set[str]) -> None:
        data, families = self.data, self.data.families
        found: dict[Any, list[int]] = {}
        for i, task in enumerate(data.tasks):
            demand = [steps(task.demand_on(f)[r]) for f in families for r in data.resources]
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
        """The normalised reservation prices of what an instance holds, an hour."""
        on_it = {self.first[c]: n for c, n in enumerate(content) if n}
        return sum((n * self.book.normalised_price(key, on_it) for key, n in on_it.items()), Fraction(0))

    def holds(self, kind: int, content: Content) -> bool:
        """Whether an instance of a type has room for so many tasks."""
        used = (sum(n * need[r] for n, need in zip(content, self.need[kind], strict=True) if n) for r in self._all)
        return all(a <= b for a, b in zip(used, self.room[kind], strict=True))

    @property
    def _all(self) -> range:
        return range(len(self.data.resources))

    def kind_of_new(self, content: Content) -> int:
        """The type on which a new instance with `content` costs least."""
        return next(k for k in self.cheapest if self.holds(k, content))

    def alone(self, c: int) -> Content:
        """One task of a class."""
        return tuple(int(d == c) for d in range(len(self.members)))

    def net_of_new(self, kind: int, content: Content) -> Fraction:
        """What a new instance of a type with `content` is worth."""
        return self.horizon * self.tnrp(content) - self.new[kind]

    def net(self, g: int, content: Content) -> Fraction:
        """What an instance of a group with `content` is worth, less the moves; without the jobs kept apart."""
        group = self.groups[g]
        worth = self.horizon * self.tnrp(content) - self.paid[group.kind] if any(content) else Fraction(0)
        return worth - group.lost(content)

    def keeps(self, row: int, content: Content) -> bool:
        """Whether an instance with `content` keeps the tasks of a job."""
        return all(n >= k for n, k in zip(content, self.rows[row][2], strict=True))

    def pay(self, duals: RoundDuals) -> Fraction:
        """U: no round is worth more where no content is worth more than the duals pay for it."""
        total = sum((n * usd for n, usd in zip(self.count, duals.tasks, strict=True)), Fraction(0))
        total += sum((len(g.members) * usd for g, usd in zip(self.groups, duals.groups, strict=True)), Fraction(0))
        for j, cost in enumerate(self.jobs):
            given = sum((usd for usd, row in zip(duals.kept, self.rows, strict=True) if row[0] == j), Fraction(0))
            total += max(Fraction(0), given - cost) - given
        return total


class RoundProgram:
    """The program of a round over the contents that matter for what is worth more than `reach`.

    Whole `y_g_i` is how many existing instances of group g hold its content i from now on, `x_k_i` how many new ones of
    type k its content i, `z_j` is 1 where job j of those kept apart moves, and `n_k` counts instances of type k with
    tasks. Maximise what they are worth; `tasks_c`: each task is on one of them; `group_g`: each instance has one
    content; `stays_i`: the job of row i moves, or the instance keeps its tasks; `type_k`: what `n_k` counts.

    Raises CheckFailed where the duals pay too little or are below 0, NoCertificate where contents are too many.
    """

    def __init__(self, round_: ClassedRound, duals: RoundDuals, reach: Fraction) -> None:
        self.round, self.duals = round_, duals
        if min(duals.kept, default=Fraction(0)) < 0:
            raise CheckFailed("duals: those of the rows that keep a job must not be below 0")
        self.short = round_.pay(duals) - reach  # what is short of its pay by so much matters no more
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
            _ContentSearch(self, group.kind, g).grow()
        for kind in round_.cheapest:
            _ContentSearch(self, kind, None).grow()

    @property
    def _classes(self) -> range:
        return range(len(self.round.members))

    def looked(self, steps: int) -> None:
        """Count the steps that a content takes which is looked at."""
        self.steps += steps
        if self.steps > STEPS:
            raise NoCertificate(f"more than {STEPS:,} steps in listing contents")

    def see(self, kind: int, g: int | None, content: Content) -> None:
        """Keep a content where it may matter; new instances are of the type that is cheapest for it."""
        round_, duals = self.round, self.duals
        paid = sum((n * usd for n, usd in zip(content, duals.tasks, strict=True) if n), Fraction(0))
        if g is None:
            if not any(content) or round_.kind_of_new(content) != kind:
                return
            net = round_.net_of_new(kind, content)
        else:
            net = round_.net(g, content)
            paid += duals.groups[g]
            paid -= sum((usd for i, usd in enumerate(duals.kept) if self._kept(i, g, content)), Fraction(0))
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

    def _kept(self, row: int, g: int, content: Content) -> bool:
        return self.round.rows[row][1] == g and self.round.keeps(row, content)

    def program(self) -> Program:
        """The program."""
        round_, own, fresh = self.round, list(self.own), list(self.fresh)
        names, numbers = [], Counter[str]()
        for of in (*(f"y_{g}" for g, _ in own), *(f"x_{k}" for k, _ in fresh)):
            names.append(f"{of}_{numbers[of]}")
            numbers[of] += 1
        kinds = [*(round_.groups[g].kind if any(content) else None for g, content in own), *(k for k, _ in fresh)]
        contents = [content for _, content in (*own, *fresh)]
        moved, counted = len(names), len(names) + len(round_.jobs)
        used = sorted({k for k in kinds if k is not None})
        names += [f"z_{j}" for j in range(len(round_.jobs))] + [f"n_{k}" for k in used]
        upper = [Fraction(len(round_.groups[g].members)) for g, _ in own]
        upper += [
            Fraction(min(n // a for n, a in zip(round_.count, content, strict=True) if a)) for _, content in fresh
        ]
        upper += [ONE] * len(round_.jobs) + [Fraction(sum(round_.count))] * len(used)
        bounds, rows = box(names, upper), []
        for c, n in enumerate(round_.count):
            on = {i: Fraction(content[c]) for i, content in enumerate(contents) if content[c]}
            rows.append(Row(f"tasks_{c}", "E", Fraction(n), on))
        for g, group in enumerate(round_.groups):
            there = {i: ONE for i, (h, _) in enumerate(own) if h == g}
            rows.append(Row(f"group_{g}", "E", Fraction(len(group.members)), there))
        for i, (j, g, _) in enumerate(round_.rows):
            keep = {p: ONE for p, (h, content) in enumerate(own) if h == g and round_.keeps(i, content)}
            rows.append(Row(f"stays_{i}", "G", ONE, keep | {moved + j: ONE}))
        for place, k in enumerate(used, start=counted):
            counts = {i: ONE for i, kind in enumerate(kinds) if kind == k}
            rows.append(Row(f"type_{k}", "E", Fraction(0), counts | {place: -ONE}))
        nets = [*self.own.values(), *self.fresh.values(), *(-usd for usd in round_.jobs)]
        objective = {i: net for i, net in enumerate(nets) if net}
        self.numbers = frozenset(range(counted, len(names)))
        return Program(tuple(names), frozenset(range(len(names))), "max", objective, (*bounds, *rows), len(bounds))

    def point(self, solution: Solution) -> dict[int, Fraction] | None:
        """A round as a point, with tasks alone where that is worth no less; `None` where a content is left out."""
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


class _ContentSearch:
    """The contents of a type, or of a group of existing instances, depth first, that may matter.

    Throughputs only fall as tasks are added, so a task in the content, or one that is to come, is worth no more than
    now. What comes is bounded by the room in each resource, filled with what is worth most for it, and by all that is
    saved where tasks stay; a dual for keeping the tasks of a job is shared out among them. All of it is in whole
    numbers, rounded up: throughputs in 2^-`RATE`, worths in 2^-`WORTH` USD.
    """

    def __init__(self, program: RoundProgram, kind: int, group: int | None) -> None:
        round_, duals = program.round, program.duals
        book, horizon, classes = round_.book, round_.horizon, range(len(round_.members))
        self.program, self.kind, self.group = program, kind, group
        stay: list[list[Fraction]] = [[] for _ in classes]
        cost, least = round_.new[kind], -program.short
        if group is not None:
            own = round_.groups[group]
            stay = [list(usd) for usd in own.stay]
            cost = round_.paid[kind] + duals.groups[group] + own.lost((0,) * len(classes))
            for usd, (_, g, held) in zip(duals.kept, round_.rows, strict=True):
                if g == group:
                    for c, n in enumerate(held):
                        stay[c] += [usd / sum(held)] * n
        self.least = _up(cost + least) - 1  # what is worth no more than that does not matter
        alone = [horizon * book.price(key) - usd for key, usd in zip(round_.first, duals.tasks, strict=True)]
        fitting = [c for c in classes if round_.holds(kind, round_.alone(c))]
        self.classes = sorted(fitting, key=lambda c: (-alone[c] - max(stay[c], default=Fraction(0)), c))
        self.loss = [_up(horizon * book.job_price(round_.first[c])) for c in self.classes]
        self.fixed = [_up(alone[c] - horizon * book.job_price(round_.first[c])) for c in self.classes]
        self.stay = [[_up(usd) for usd in sorted(stay[c], reverse=True)] for c in self.classes]
        self.count = [round_.count[c] for c in self.classes]
        self.need = [round_.need[kind][c] for c in self.classes]
        workloads = [round_.data.tasks[round_.members[c][0]].workload for c in self.classes]
        self.pair = [[_rate(book.pairwise.get((a, b), book.default)) for b in workloads] for a in workloads]
        self.held = [0] * len(self.classes)

    def grow(self) -> None:
        """Look at all contents that may matter."""
        if self.group is not None:
            self.program.see(self.kind, self.group, (0,) * len(self.program.round.members))
        free = [1 << RATE] * len(self.classes)
        self._grow(0, list(self.program.round.room[self.kind]), 0, free, free)

    def _grow(self, first: int, room: list[int], tasks: int, beside: list[int], among: list[int]) -> None:
        """Go on from the tasks `held`; throughputs of a task of each class `beside` them, of one `among` them."""
        self.program.looked(len(self.classes) * (len(self.classes) - first))
        now = sum(n * self._worth(i, among[i]) + sum(self.stay[i][:n]) for i, n in enumerate(self.held) if n)
        if tasks and now > self.least:
            content = [0] * len(self.program.round.members)
            for c, n in zip(self.classes, self.held, strict=True):
                content[c] = n
            self.program.see(self.kind, self.group, tuple(content))
        if tasks == MOST_TASKS:
            raise NoCertificate(f"contents of more than {MOST_TASKS} tasks")
        for i in range(first, len(self.classes)):
            left = [a - b for a, b in zip(room, self.need[i], strict=True)]
            if self.held[i] == self.count[i] or min(left, default=0) < 0:
                continue
            slowed = [-(-rate * pair[i] >> RATE) for rate, pair in zip(beside, self.pair, strict=True)]
            others = [-(-rate * pair[i] >> RATE) for rate, pair in zip(among, self.pair, strict=True)]
            others[i] = beside[i]
            self.held[i] += 1
            if self._most(i, left, slowed, others) > self.least:
                self._grow(i, left, tasks + 1, slowed, others)
            self.held[i] -= 1

    def _most(self, first: int, room: list[int], beside: list[int], among: list[int]) -> int:
        """No less than what the content and more tasks of the classes from `first` on can be worth."""
        worth = sum(n * self._worth(i, among[i]) + sum(self.stay[i][:n]) for i, n in enumerate(self.held) if n)
        coming = []
        for i in range(first, len(self.classes)):
            value = self._worth(i, beside[i])
            worth += sum(max(0, usd + min(0, value)) for usd in self.stay[i][self.held[i] :])
            if value > 0:
                coming.append((i, value))
        gains = [sum(w * (self.count[i] - self.held[i]) for i, w in coming)]
        for r, amount in enumerate(room):
            if all(self.need[i][r] for i, _ in coming):
                gains.append(max((-(-amount * w // self.need[i][r]) for i, w in coming), default=0))
        return worth + min(gains)

    def _worth(self, i: int, rate: int) -> int:
        """What a task of a class is worth at a throughput, beyond what is paid for it."""
        return self.fixed[i] - (-rate * self.loss[i] >> RATE)


def _up(usd: Fraction) -> int:
    """A worth in 2^-`WORTH` USD, rounded up."""
    return -((-usd.numerator << WORTH) // usd.denominator)


def _rate(rate: Fraction) -> int:
    """A throughput in 2^-`RATE`, rounded up."""
    return -((-rate.numerator << RATE) // rate.denominator)
