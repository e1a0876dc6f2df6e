"""`python -m tests.certificates.second INSTANCE CERTIFICATE`: what a certificate in JSON proves of an instance.

Status 1 for a certificate that is refused, 2 for a file that cannot be read, each with one line of why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.certificates.second.checker import proves
from tests.certificates.second.reading import Refused


def main(arguments: Sequence[str]) -> int:
    """Print what is proved. Returns the exit status."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    instance, certificate = map(Path, arguments)
    said, status = f"{certificate}: ", 0
    try:
        bound = proves(json.loads(instance.read_text()), certificate.read_text())
        print(said + ("no solution" if bound is None else str(bound)))
    except Refused as why:
        said, status = f"{said}refused: {why}", 1
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        said, status = f"{instance}, {certificate}: cannot be read: {type(error).__name__}: {error}", 2
    if status:
        print(" ".join(said.split())[:500], file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
