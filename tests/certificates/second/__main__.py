"""`python -m tests.certificates.second INSTANCE CERTIFICATE`: what a certificate in JSON proves of an instance."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.certificates.second.checker import proves
from tests.certificates.second.reading import Refused

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    instance, certificate = map(Path, sys.argv[1:])
    try:
        bound = proves(json.loads(instance.read_text()), certificate.read_text())
    except Refused as why:
        sys.exit(f"{certificate}: refused: {why}")
    except (OSError, ValueError) as error:
        sys.exit(f"{instance}, {certificate}: {error}")
    print(f"{certificate}: {'no solution' if bound is None else bound}")
