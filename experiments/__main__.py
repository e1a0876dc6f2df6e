"""The console script `gapwise`, also as `python -m experiments`: provides for interrupts before anything is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any

from experiments.first_word import announce_early


def main() -> None:
    """Run `gapwise`."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not if it is ignored, as in the background of a shell
        signal.signal(signal.SIGINT, _leave)
    if sys.argv[1:2] in (["gap_study"], ["gap-study"]):
        announce_early(sys.argv[2:])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread spins for a tenth of a second when numpy is loaded
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # pydantic would look through all installed packages
    gc.disable()  # loaded modules stay, and collections take a fifth of the start-up time
    from experiments.cli import app_of, words_of  # which loads the command
    from experiments.entry import keep_spare, run_app

    arguments = words_of(sys.argv[1:])
    app = app_of(arguments)
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, before)
    keep_spare()
    run_app(app, arguments)


def _leave(*_: Any) -> None:
    """Exit at once on an interrupt, because no work has begun and the teardown of half-loaded modules is unsafe."""
    os.write(2, b"gapwise: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
