"""Compare exact methods with their peers (reference models): proofs, gaps, CPU seconds, and wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.experiment import Study, TextTable
from experiments.harness.gaps import score
from experiments.harness.records import compared
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.output.terminal import percent
from instances import InputError, Instance, Options, Result, agree
from instances.gaps import ahead

LIMIT_S = 10.0
ALIKE_S, ALIKE = 0.02, 1.25  # times within this difference or this factor are a tie
HEAD = (
    "work",
    "instances",
    "peer",
    "proven, peer",
    "proven, exact",
    "largest gap, peer",
    "largest gap, exact",
    "mean CPU s, peer",
    "mean CPU s, exact",
    "times as long",
    "peer's values are worse by",
    "who wins",
)
EACH = (
    "instance",
    "peer",
    "value, peer",
    "value, exact",
    "bound, peer",
    "bound, exact",
    "CPU s, peer",
    "CPU s, exact",
    "who wins",
)


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
    def name(self) -> str:
        """Return the prefix of its values in a record."""
        return f"{self.work}: {self.peer}"

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

    def cells(self) -> list[str]:
        """Return the row of the table."""
        theirs, ours = _seconds(self.theirs), _seconds(self.ours)
        times = Counter(self.wins)
        names = {"peer": self.peer, "exact": "exact", "tie": "tie"}
        return [
            self.work,
            str(len(self.ours)),
            self.peer,
            _proven(self.theirs),
            _proven(self.ours),
            _largest(self.theirs),
            _largest(self.ours),
            f"{fmean(theirs):.3f}",
            f"{fmean(ours):.3f}",
            f"{sum(theirs) / max(sum(ours), 1e-9):.3g}",
            percent(fmean(self.excess), 2) if self.excess else "no value",
            ", ".join(f"{name} {times[who]}" for who, name in names.items() if times[who]),
        ]

    def each(self) -> Iterator[list[str]]:
        """Yield a row for each instance."""
        for peer, own, wins in zip(self.theirs, self.ours, self.wins, strict=True):
            found = (peer.objective, own.objective, peer.bound, own.bound)
            told = ["-" if number is None else f"{number:.10g}" for number in found]
            seconds = [f"{spent:.3f}" for spent in (peer.cpu_s or 0.0, own.cpu_s or 0.0)]
            yield [own.instance, self.peer, *told, *seconds, wins]

    def values(self) -> Iterator[tuple[str, Sample | float | str]]:
        """Yield the figures by their names in a record."""
        for who, results in (("peer", self.theirs), ("exact", self.ours)):
            yield f"{self.name}: CPU s, {who}", Sample.of(_seconds(results))
            yield f"{self.name}: proven, {who}", _proven(results)
        yield f"{self.name}: wins of the peer", float(self.wins.count("peer"))
        if self.excess:
            yield f"{self.name}: excess of the peer", Sample.of(self.excess)
        yield f"{self.name}: solver", str(self.theirs[0].info.get("solver", self.peer))


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


def _largest(results: Sequence[Result]) -> str:
    """Return the largest gap between value and bound, or the number of runs without a gap."""
    gaps = [result.gap for result in results if result.gap is not None]
    return percent(max(gaps), 2) if len(gaps) == len(results) else f"none for {len(results) - len(gaps)}"


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
        each = [row for duel in found for row in duel.each()]
        return [TextTable(HEAD, [duel.cells() for duel in found]), TextTable(EACH, each)]

    def values(outcomes: Sequence[Result]) -> Mapping[str, Sample | float | str]:
        return dict(value for duel in duels(outcomes) for value in duel.values())

    return Study(runs, tables, values=values)


def refuse_false(runs: Sequence[Run], outcomes: Sequence[Result]) -> None:
    """Raise InputError if a checked solution is better than a bound of either side or of the library."""
    finished = list(zip(runs, outcomes, strict=True))
    said = [f"{one.run.instance.name}: {one.result.reason}" for one in score(finished) if one.failed]
    said += compared(finished).refuted
    if said:
        raise InputError(f"a bound is false: {'; '.join(said)}")
