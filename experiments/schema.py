"""`python -m experiments.schema PROBLEM`: the JSON Schema of the files of a problem or a workload."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from experiments.entry import run
from instances import json_schema


def schema(
    problem: Annotated[str, typer.Argument(help="Problem or workload, as in `gapwise list`.", show_default=False)],
) -> None:
    """Print the JSON Schema of the files of a problem."""
    print(json.dumps(json_schema(problem), indent=1))


if __name__ == "__main__":
    run(schema)
