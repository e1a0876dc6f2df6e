"""`python -m experiments.cluster DUMP --types FILE`: compute the cost and the largest saving of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.entry import run
from experiments.harness.user_functions import resolve
from experiments.output.folder import ready_folder
from experiments.papers import CLUSTER
from experiments.plan import methods_for
from experiments.session import Session
from instances import InputError

PLAN_FILES = (".json", ".csv")


@flags.common(markdown=True, time_limit=5.0, jobs=2)
def cluster(
    session: Session,
    dump: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DUMP",
            help="Output of kubectl get nodes,pods,daemonsets,pdb,pvc,pv,csinodes -A -o json, in one file or several.",
            show_default=False,
        ),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Price table with name, usd_per_hour, and the cpu and ram_gb that pods may use.",
            show_default=False,
        ),
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            metavar="CLOUD/REGION",
            help="Prices of the small catalogue for aws, gcp or azure, such as aws/us-east-1.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="A rule to compare with, a heuristic of node-consolidation; repeatable.",
            show_default="karpenter-1.14",
        ),
    ] = None,
    max_evictions: Annotated[
        str | None,
        typer.Option(metavar="N", help="Pods that may lose their node, or a share: 10%.", show_default="any number"),
    ] = None,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", help="Also write the steps of the plan to FILE.json or FILE.csv.")
    ] = None,
    fail_above: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="End with status 4 if the plan saves more, such as 10%.", show_default=False
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="An earlier answer of --format json: also print what has changed.",
            show_default=False,
        ),
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Print the kubectl command that makes a complete dump, and stop.")
    ] = False,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Call nodes, workloads, zones and pools by a number.")
    ] = False,
) -> None:
    """Compute the cost of a Kubernetes cluster, a proven limit of the saving, and a plan that saves."""
    asked, answer = resolve(f"{CLUSTER}:ClusterQuestion"), resolve(f"{CLUSTER}:answer")
    if collect:
        asked.print_collect()
        return
    if not dump:
        raise InputError("give DUMP, the file of a dump; gapwise cluster --collect prints the command that makes one")
    if plan_file is not None:
        if plan_file.suffix not in PLAN_FILES:
            raise InputError(f"--plan: {plan_file}: a plan is written as {' or '.join(PLAN_FILES)}")
        ready_folder(plan_file.parent)
    said = asked(
        dump, types, rules or ("karpenter-1.14",), max_evictions, plan_file, anonymous, prices, since, fail_above
    )
    raise typer.Exit(answer(said, session, methods_for))


if __name__ == "__main__":
    run(cluster)
