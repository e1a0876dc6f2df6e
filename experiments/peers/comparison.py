"""Compare exact methods with their peers (reference models): proofs, gaps, CPU seconds, and wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.experiment import Study, TextTable
from experiments.harness.gaps import score
from experiments.harness.records import compare_with_records
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.output.terminal import percent
from instances import InputError, Instance, Options, Result, agree
from instances.gaps import ahead

LIMIT_S = 10.0
ALIKE_S, ALIKE = 0.02, 1.25  # times within this difference or this factor are a tie


@dataclass(frozen=True)
class Peer:
    """A model and its solver: its name in the table, its method as `module:function`, and its number of workers.

    `extra`: whether it needs an optional package; quick runs omit it.
    """

    name: str
    target: str
    workers: int = 1
    extra: bool = False


@dataclass(frozen=True)
class PeerRow:
    """The exact method, by its `module:function`, and its peers on some instances: a row of the table for each peer."""

    work: str
    instances: Sequence[Instance[Any]]
    exact: str
    peers: Sequence[Peer]

    @property
    def cut(self) -> PeerRow:
        """Return the row with the first instance only, and only the peers that need no optional package."""
        return replace(self, instances=self.instances[:1], peers=[peer for peer in self.peers if not peer.extra])

    def runs(self, options: Options) -> list[Run]:
        """Return the runs of the exact method, then those of each peer. No run starts from another's solution."""
        entries = [(Entry("exact", self.exact), options)]
        entries += [(Entry(peer.name, peer.target), replace(options, threads=peer.workers)) for peer in self.peers]
        return [Run(instance, entry, said, self.work) for entry, said in entries for instance in self.instances]


@dataclass(frozen=True)
class Duel:
    """The results of a peer and of the exact method on the same instances."""

    work: str
    peer: str
    theirs: Sequence[Result]
    ours: Sequence[Result]

    @property
    def wins(self) -> list[str]:
        """Return the winner of each instance."""
        return [_winner(peer, own) for peer, own in zip(self.theirs, self.ours, strict=True)]

    @property
    def excess(self) -> list[float]:
        """Return the relative excess of each value of the peer over ours, if both have one."""
        pairs = ((r.objective, own.objective, r.sense) for r, own in zip(self.theirs, self.ours, strict=True))
        return [
            (1 if sense == "minimize" else -1) * (value - own) / abs(own)
            for value, own, sense in pairs
            if value is not None and own
        ]

    def values(self) -> Iterator[tuple[str, Sample | float | str]]:
        """Yield the figures by their names in a record."""
        name = f"{self.work}: {self.peer}"
        for who, results in (("peer", self.theirs), ("exact", self.ours)):
            yield f"{name}: CPU s, {who}", Sample.of(_seconds(results))
            yield f"{name}: proven, {who}", _proven(results)
        yield f"{name}: wins of the peer", float(self.wins.count("peer"))
        if self.excess:
            yield f"{name}: excess of the peer", Sample.of(self.excess)
        yield f"{name}: solver", str(self.theirs[0].info.get("solver", self.peer))


def _winner(peer: Result, own: Result) -> str:
    """Return the winner: the only one with a proof, or the faster one if both have a proof.

    Without a proof, the winner is no worse in value and in bound, and better in one of them.
    """
    proofs = peer.status == "optimal", own.status == "optimal"
    if all(proofs):
        theirs, ours = peer.cpu_s or 0.0, own.cpu_s or 0.0
        if abs(theirs - ours) <= ALIKE_S or max(theirs, ours) <= ALIKE * min(theirs, ours):
            return "tie"
        return "peer" if theirs < ours else "exact"
    if any(proofs):
        return "peer" if proofs[0] else "exact"
    other = "maximize" if own.sense == "minimize" else "minimize"
    marks = {_ahead(peer.objective, own.objective, own.sense), _ahead(peer.bound, own.bound, other)} - {"tie"}
    return marks.pop() if len(marks) == 1 else "tie"


def _ahead(theirs: float | None, ours: float | None, sense: Any) -> str:
    """Return the side with the better number; any number is better than `None`."""
    if theirs is None or ours is None:
        return "tie" if theirs is ours else "exact" if theirs is None else "peer"
    if agree(theirs, ours):
        return "tie"
    return "peer" if ahead(theirs, ours, sense) else "exact"


def _seconds(results: Sequence[Result]) -> list[float]:
    return [result.cpu_s or 0.0 for result in results]


def _proven(results: Sequence[Result]) -> str:
    return f"{sum(result.status == 'optimal' for result in results)} of {len(results)}"


def largest_gap(results: Sequence[Result]) -> str:
    """Return the largest gap between value and bound, or the number of runs without a gap; a dash without runs."""
    gaps = [result.gap for result in results if result.gap is not None]
    lacking = len(results) - len(gaps)
    return f"none for {lacking}" if lacking else percent(max(gaps, default=None), 2)


def _format_wins(duel: Duel) -> str:
    times = Counter(duel.wins)
    names = {"peer": duel.peer, "exact": "exact", "tie": "tie"}
    return ", ".join(f"{name} {times[who]}" for who, name in names.items() if times[who])


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:.10g}"


TABLE: dict[str, Callable[[Duel], str]] = {
    "work": lambda duel: duel.work,
    "instances": lambda duel: str(len(duel.ours)),
    "peer": lambda duel: duel.peer,
    "proven, peer": lambda duel: _proven(duel.theirs),
    "proven, exact": lambda duel: _proven(duel.ours),
    "largest gap, peer": lambda duel: largest_gap(duel.theirs),
    "largest gap, exact": lambda duel: largest_gap(duel.ours),
    "mean CPU s, peer": lambda duel: f"{fmean(_seconds(duel.theirs)):.3f}",
    "mean CPU s, exact": lambda duel: f"{fmean(_seconds(duel.ours)):.3f}",
    "times as long": lambda duel: f"{sum(_seconds(duel.theirs)) / max(sum(_seconds(duel.ours)), 1e-9):.3g}",
    "peer's values are worse by": lambda duel: percent(fmean(duel.excess), 2) if duel.excess else "no value",
    "who wins": _format_wins,
}
"""The columns of the table, with a row for each peer."""
EACH: dict[str, Callable[[str, Result, Result], str]] = {
    "instance": lambda name, peer, own: own.instance,
    "peer": lambda name, peer, own: name,
    "value, peer": lambda name, peer, own: _number(peer.objective),
    "value, exact": lambda name, peer, own: _number(own.objective),
    "bound, peer": lambda name, peer, own: _number(peer.bound),
    "bound, exact": lambda name, peer, own: _number(own.bound),
    "CPU s, peer": lambda name, peer, own: f"{peer.cpu_s or 0.0:.3f}",
    "CPU s, exact": lambda name, peer, own: f"{own.cpu_s or 0.0:.3f}",
    "who wins": lambda name, peer, own: _winner(peer, own),
}
"""The columns of the second table, with a row for each peer and instance."""


def comparison(rows: Sequence[PeerRow], options: Options, few: Sequence[int] = ()) -> Study:
    """Build the study of these rows with the time limit of `options`, or of one instance of each row in `few`."""
    rows = [rows[i].cut for i in few] or rows
    made = [(row, row.runs(options)) for row in rows]
    runs = [run for _, mine in made for run in mine]

    def duels(outcomes: Sequence[Result]) -> Iterator[Duel]:
        refuse_false(runs, outcomes)
        left = iter(outcomes)
        for row, _ in made:
            ours = list(islice(left, len(row.instances)))
            for peer in row.peers:
                yield Duel(row.work, peer.name, list(islice(left, len(row.instances))), ours)

    def tables(outcomes: Sequence[Result]) -> list[TextTable | str]:
        found = list(duels(outcomes))
        rows = [[show(duel) for show in TABLE.values()] for duel in found]
        pairs = ((duel.peer, *pair) for duel in found for pair in zip(duel.theirs, duel.ours, strict=True))
        return [TextTable([*TABLE], rows), TextTable([*EACH], [[show(*of) for show in EACH.values()] for of in pairs])]

    def values(outcomes: Sequence[Result]) -> Mapping[str, Sample | float | str]:
        return dict(value for duel in duels(outcomes) for value in duel.values())

    return Study(runs, tables, values=values)


def refuse_false(runs: Sequence[Run], outcomes: Sequence[Result]) -> None:
    """Raise InputError if a checked solution is better than a bound of either side or of the library."""
    finished = list(zip(runs, outcomes, strict=True))
    said = [f"{one.run.instance.name}: {one.result.reason}" for one in score(finished) if one.has_failed]
    said += compare_with_records(finished).refuted
    if said:
        raise InputError(f"a bound is false: {'; '.join(said)}")
