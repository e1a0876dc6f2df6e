"""The best round over lists of patterns at increasing δ; see `models.eva.saving_search`.

Over a list, branch and bound over the numbers of instances searches only for a value above U - δ. A solution with an
unlisted pattern has at most this value, and the next list is longer. The search takes few linear programs, or very many
if other patterns are almost as good. In the second case, HiGHS solves an integer program over the list.
"""

from __future__ import annotations

from dataclasses import replace

from models.eva.counts import CountBranching
from models.eva.parameters import SavingParameters
from models.eva.saving_columns import SavingColumns
from models.eva.saving_pricing import SavingPricer
from models.eva.saving_search import Generated, SavingSearch

GROWTH = 2.5  # factor on δ; its square root is used if a list is too long, down to LEAST_GROWTH
LEAST_GROWTH = 1.05
LONGEST = 8  # factor by which a list may become longer if time is left
NODES_A_SECOND = 200_000  # nodes per second of a search for a list, a low estimate to keep the time limit
FEW = 30  # linear programs that suffice for most lists; other lists need very many more
UNLIMITED = 1 << 60  # limit on the linear programs if there is a time limit


class RoundSearch(SavingSearch):
    """The search for the best round; if effort is limited, over at most two lists, so that it is short."""

    def _count(self, made: Generated, pricer: SavingPricer) -> None:
        """Find the best round over lists at increasing δ, until unlisted patterns cannot improve it."""
        if self.options.effort is not None:
            super()._count(made, pricer)
            return
        p, growth = self.parameters, GROWTH
        delta, known, reason = p.count_share * abs(made.bound), 0.0, ""
        while not self.is_closed and not self.clock.has_expired:
            needed = self._compute_needed_delta()
            tried = min(delta, needed)
            listed = pricer.list_columns(made.duals, tried, p.counted)
            if listed is not None:
                finished, known = self._solve_list(listed, tried, pricer), tried
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
        if not self.is_closed:
            self._stop("time limit" if self.clock.has_expired else reason)

    def _longer(self, p: SavingParameters) -> SavingParameters | None:
        """Return the constants of longer lists; `None` if lists are at their longest, or there is no time limit."""
        limit, most = self.options.time_limit, LONGEST * self.parameters.counted
        if limit is None or p.counted >= most:
            return None
        nodes = min(2 * p.listing_nodes, int(NODES_A_SECOND * self.clock.remaining_s))
        return replace(p, counted=2 * p.counted, listing_nodes=nodes)

    def _solve_list(self, listed: SavingColumns, delta: float, pricer: SavingPricer) -> bool:
        """Find the best round over the list of all patterns with a reduced net of at least -δ.

        Return whether the search missed no round of a value above U - δ.
        """
        if self._branch_on_counts(listed, delta, pricer, FEW):
            return True
        total, floor = abs(self.value + self.moving_all), self.dual_bound - delta
        share = min(1.0, abs(self.value) / total) if total else 1.0
        solved = self._integer(listed, final=False, gap=self.options.gap * share)
        if solved.termination == "finished" and solved.bound is not None:
            self._lower(max(solved.bound - self.moving_all, floor))
            return True
        limited = self.options.time_limit is not None
        return self._branch_on_counts(listed, delta, pricer, UNLIMITED if limited else self.parameters.counts.nodes)

    def _branch_on_counts(self, listed: SavingColumns, delta: float, pricer: SavingPricer, nodes: int) -> bool:
        """Branch on the numbers of instances over such a list, only for values above U - δ.

        Return whether the search ended within `nodes` linear programs.
        """
        columns, floor = self._add_known(listed), self.dual_bound - delta
        program, best = (
            self.master.build_listed_program(columns, pricer.noise),
            max(self.value, floor) + self.moving_all,
        )
        counts = replace(self.parameters.counts, nodes=nodes)
        found = CountBranching(program, best, self.options, self.clock, counts).search()
        if found.x is not None:
            self.offer(columns, found.x)
        self._lower(max(found.bound + self.noise - self.moving_all, floor))
        return found.finished
