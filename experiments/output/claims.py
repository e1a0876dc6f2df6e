"""Claims of papers on the terminal, as CSV, and as a report with pictures in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.experiment import Claim, Context, Experiment
from experiments.output.table import Kind, show_table
from experiments.output.terminal import out
from instances.files import write_whole
from instances.text import escape_text


@dataclass(frozen=True)
class Reproduction:
    """An experiment of a paper, its claims, and the outcomes that they are read from: none where it was not run."""

    paper: str
    experiment: Experiment
    claims: tuple[Claim, ...] = ()
    outcomes: Sequence[Any] = ()

    def conclude(self, context: Context, outcomes: Sequence[Any]) -> Reproduction:
        """Return the experiment with its claims, or with `not run` and the reason if a run failed."""
        lost = [outcome for outcome in outcomes if getattr(outcome, "status", None) == "error"]
        if lost:
            why = f"{len(lost)} of {len(outcomes)} runs failed: {lost[0].reason}"
            return replace(self, claims=(self.experiment.claim_not_run(why),))
        claims = tuple(self.experiment.claims(context, outcomes))
        if context.quick:
            claims = tuple(claim.when_cut() for claim in claims)
        return replace(self, claims=claims, outcomes=outcomes)

    @property
    def picture(self) -> str | None:
        """Return the name of the picture's file, `None` if there is none."""
        drawn = self.experiment.draw is not None and self.outcomes
        return f"{self.paper}-{self.experiment.name}.svg" if drawn else None


def record(found: Reproduction, claim: Claim) -> dict[str, Any]:
    """Return a claim as a flat record."""
    sample = claim.sample
    return {
        "experiment": f"{found.paper}/{found.experiment.name}",
        "where": claim.where,
        "what": claim.what,
        "paper": _plain(claim.paper),
        "ours": _plain(claim.ours),
        "verdict": claim.verdict,
        "note": claim.note,
        **{name: getattr(sample, name, None) for name in ("seeds", "low", "high", "least", "greatest")},
        "sentence": claim.sentence,
        "readings": "; ".join(claim.readings),
        "would_change": claim.would_change,
    }


def claims_csv(found: Sequence[Reproduction]) -> str:
    """Return one line per claim; unknown values are empty."""
    rows = [record(one, claim) for one in found for claim in one.claims]
    return pd.DataFrame(rows).to_csv(index=False)


CLAIM_HEAD: list[tuple[str, Kind]] = [
    ("where", "text"),
    ("what", "text"),
    ("paper", "number"),
    ("ours", "number"),
    ("verdict", "text"),
    ("note", "note"),
]


def _cells(claim: Claim) -> tuple[str, ...]:
    return claim.where, claim.what, _text(claim.paper), _ours(claim), claim.verdict, _format_note(claim)


def print_claims(found: Sequence[Reproduction]) -> None:
    """Print one table per experiment, and the number of claims with each verdict."""
    for one in found:
        out.print(f"{one.paper}: {escape_text(one.experiment.title)}", style="bold")
        rows = [[escape_text(value) for value in _cells(claim)] for claim in one.claims]
        places = {claim.where for claim in one.claims}
        first = int(len(places) == 1 and places.pop() in one.experiment.title)  # the title says where
        show_table(CLAIM_HEAD[first:], [row[first:] for row in rows])
        out.print()
    counts = Counter(claim.verdict for one in found for claim in one.claims)
    out.print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))


def write_claims(folder: Path, found: Sequence[Reproduction], context: Context) -> None:
    """Write `claims.csv`, the pictures, and `report.md` with all claims and pictures."""
    write_whole(folder / "claims.csv", claims_csv(found).encode())
    lines = ["# The papers' tables and figures, reproduced", ""]
    for one in found:
        lines += [f"## {one.paper}: {one.experiment.title}", "", "| where | what | paper | ours | verdict | note |"]
        lines.append("|---|---|---:|---:|---|---|")
        for claim in one.claims:
            lines.append("| " + " | ".join(escape_text(value).replace("|", r"\|") for value in _cells(claim)) + " |")
        lines.append("")
        if one.experiment.draw is not None and one.picture is not None:
            one.experiment.draw(folder / one.picture, context, one.outcomes)
            lines += [f"![{one.experiment.title}]({one.picture})", ""]
    write_whole(folder / "report.md", "\n".join(lines).encode())


def _plain(value: Any) -> float | str | None:
    """Convert a numpy number to a Python number."""
    return value.item() if hasattr(value, "item") else value


def _ours(claim: Claim) -> str:
    """Return our measurement, with its seeds."""
    return _text(claim.ours) if claim.sample is None else claim.sample.text()


def _format_note(claim: Claim) -> str:
    """Return the note, and the further statements of a claim against a paper."""
    parts = [claim.note, f'the paper: "{claim.sentence}"' if claim.sentence else ""]
    parts += [f"read otherwise: {'; '.join(claim.readings)}" if claim.readings else ""]
    parts += [f"would change our mind: {claim.would_change}" if claim.would_change else ""]
    return "; ".join(part for part in parts if part)


def _text(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.5g}"
