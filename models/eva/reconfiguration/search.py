"""The best round over lists of contents at growing δ, see `models.eva.saving.search`.

Over a list, branch and bound over the numbers of instances looks for what is worth more than U - δ alone: a content
that is not in the list may be worth as much, and the next list is longer. That takes a few linear programs, or very
many where another content is little worse; then the list is an integer program at once, which HiGHS solves where the
list is short.
"""

from __future__ import annotations

from dataclasses import replace

from models.eva.counts import CountBranching
from models.eva.saving.columns import SavingColumns
from models.eva.saving.parameters import SavingParameters
from models.eva.saving.pricing import SavingPricer
from models.eva.saving.search import Generated, SavingSearch

GROWTH = (
    2.5  # Factor by which δ grows; its root is taken where a list is too long, unless it is no more than the least.
)
LEAST_GROWTH = 1.05
LONGEST = 8  # Where time is left, a list may be so many times as long.
NODES_A_SECOND = 200_000  # that a search for a list looks at, or more, where it is not to end after the time limit
FEW = 30  # Linear programs in which the numbers of instances settle most lists, or else need very many more.
UNLIMITED = 1 << 60  # of them, where there is a time limit


class RoundSearch(SavingSearch):
    """The search for the best round; under a limit of effort over two lists alone, so that it is short."""

    def _count(self, made: Generated, pricer: SavingPricer) -> None:
        """Find the best round over lists at growing δ, until what is left out does not matter."""
        if self.options.effort is not None:
            super()._count(made, pricer)
            return
        p, growth = self.parameters, GROWTH
        delta, known, reason = p.count_share * abs(made.bound), 0.0, ""
        while not self.closed and not self.clock.expired:
            needed = self._needed()
            tried = min(delta, needed)
            listed = pricer.within(made.duals, tried, p.counted)
            if listed is not None:
                finished, known = self._solved(listed, tried, pricer), tried
                if tried == needed:
                    reason = "what is left may be rounding" if finished else "the search was cut short"
                    break
            elif known and growth > LEAST_GROWTH:
                growth, delta = growth**0.5, known
            elif not known and delta > self.noise:
                delta /= GROWTH * growth
            else:
                longer = self._longer(p)
                if longer is None:
                    reason = f"more than {p.counted:,} columns may still matter"
                    break
                p, growth, delta = longer, GROWTH, max(known, self.noise)
                pricer = SavingPricer(self.master, p, self.clock)
            delta *= growth
        if not self.closed:
            self._stop("time limit" if self.clock.expired else reason)

    def _longer(self, p: SavingParameters) -> SavingParameters | None:
        """The constants of longer lists, `None` where no time is left for them or none is limited."""
        limit, most = self.options.time_limit, LONGEST * self.parameters.counted
        if limit is None or p.counted >= most:
            return None
        nodes = min(2 * p.listing_nodes, int(NODES_A_SECOND * self.clock.remaining_s))
        return replace(p, counted=2 * p.counted, listing_nodes=nodes)

    def _solved(self, listed: SavingColumns, delta: float, pricer: SavingPricer) -> bool:
        """Find the best round over a list of all contents that are short of their pay by no more than δ, or more.

        Whether nothing that is worth more than U - δ was missed.
        """
        if self._counted(listed, delta, pricer, FEW):
            return True
        total, floor = abs(self.value + self.moving_all), self.dual_bound - delta
        share = min(1.0, abs(self.value) / total) if total else 1.0
        solved = self._integer(listed, final=False, gap=self.options.gap * share)
        if solved.termination == "finished" and solved.bound is not None:
            self._lower(max(solved.bound - self.moving_all, floor))
            return True
        limited = self.options.time_limit is not None
        return self._counted(listed, delta, pricer, UNLIMITED if limited else self.parameters.counts.nodes)

    def _counted(self, listed: SavingColumns, delta: float, pricer: SavingPricer, nodes: int) -> bool:
        """Branch on the numbers of instances over such a list, for what is worth more than U - δ alone."""
        columns, floor = self._with_known(listed), self.dual_bound - delta
        program, best = self.master.listed(columns, pricer.noise), max(self.value, floor) + self.moving_all
        counts = replace(self.parameters.counts, nodes=nodes)
        found = CountBranching(program, best, self.options, self.clock, counts).search()
        if found.x is not None:
            self.offer(columns, found.x)
        self._lower(max(found.bound + self.noise - self.moving_all, floor))
        return found.finished
