"""Run one command: an error becomes a line on standard error and an exit status, never a traceback.

The flags of a command come from the parameters of functions.
"""

from __future__ import annotations

import errno
import inspect
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.main import get_command

if TYPE_CHECKING:
    from experiments.harness.store import Store
    from instances import Result


USAGE_ERROR: Any = typer.BadParameter.__mro__[2]  # click's ClickException, which newer releases of typer carry along
LONGEST_LINE = 800  # characters of an error: a path may be of any length
FAILED, REFUSED, UNSOLVED, SAVING, INTERRUPTED, ENDED, UNREAD = 1, 2, 3, 4, 130, 143, 141


def run(command: Callable[..., None]) -> None:
    """Run one command with the arguments of this process."""
    app = typer.Typer(add_completion=False)
    app.command()(command)
    keep_spare()
    run_app(app, sys.argv[1:], f"gapwise {command.__name__}")


def keep_spare() -> None:
    """Copy this process for its first host if its command runs methods in separate processes."""
    if harness := sys.modules.get("experiments.harness.host"):
        harness.keep_spare()


def group(
    like: Callable[..., Any],
    targets: Mapping[str, str],
    command: Callable[[Callable[..., Any]], Callable[..., None]],
    said: list[str],
) -> typer.Typer:
    """Build a command group with the docstring of `like`: `command` converts each of the `targets` to a subcommand.

    `said`: the arguments after the name of the group. If they call one of the subcommands, only this one is loaded.
    """
    from experiments.harness.user_functions import resolve

    app = typer.Typer(help=like.__doc__, no_args_is_help=True, add_completion=False)
    app.callback()(lambda: None)  # so that also a single command is called by its name
    for name in said[:1] if said and said[0] in targets else targets:
        app.command(name)(command(resolve(targets[name])))
    return app


def run_app(app: typer.Typer, arguments: list[str], name: str = "gapwise") -> None:
    """Run the commands of `app` with `arguments`, and end the process.

    Exit status: 0 done, 1 a method failed or output could not be written, 2 bad input, 3 ended without a solution,
    4 a plan saves more than was asked about, 130 interrupted, 141 standard output was closed by its reader.
    """
    _ready_streams()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ENDED))  # so that processes are ended on the way out
    try:
        command = get_command(app)
        if "--help" in arguments:
            plain_help(command)
        status = command.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except Exception as error:
        if not _is_interrupt(error):
            _fail(error)
        status = INTERRUPTED
    if status == INTERRUPTED:
        _exit("gapwise: interrupted", INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _is_interrupt(error: Exception) -> bool:
    """Return whether an error is an interrupt that came while compiled code ran, which numba reports otherwise."""
    return isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)


def _fail(error: Exception) -> NoReturn:
    """End the process with the status of an error. Raises the error if it is of no expected kind."""
    from experiments.harness.runner import Lost  # imported only here, because help does not need it
    from instances import InputError, OutputError

    if isinstance(error, USAGE_ERROR):
        said = usage(error)
        _exit(f"gapwise: {said}" if said else "", REFUSED)
    if isinstance(error, OutputError):
        _exit(f"gapwise: {error}", _status(error.__cause__))
    if isinstance(error, Lost):
        _exit(f"gapwise: {error}", FAILED)
    if isinstance(error, InputError):
        _exit(f"gapwise: {error}{WHAT_ONE_IS if NO_INSTANCE.search(str(error)) else ''}", REFUSED)
    if isinstance(error, OSError):
        _give_up(error)
    raise error


def refuse_unknown(where: str, name: str, known: Iterable[str]) -> None:
    """Raise InputError for a name, given at `where`, that is none of the known ones."""
    from instances import InputError
    from instances.text import meant

    known = tuple(known)
    if name not in known:
        raise InputError(f"{where}: must be one of {', '.join(known)}, got {name!r}{meant(known, name)}")


NO_INSTANCE = re.compile(r": gapwise: missing$|\.csv: not valid JSON")
WHAT_ONE_IS = (
    ": this is no instance file, an object with gapwise, problem, name and data (`gapwise schema eva-packing`); of "
    "tables of tasks, or pods, and prices `EvaPacking.from_frames` makes one (docs/library.md)"
)
"""Addition to the message if a file is not an instance, such as a dump of pods."""
NOT_ONE = re.compile(r"(?:Value error, )?'(?P<value>.*)' is not one of (?P<names>.*?)\.?", re.DOTALL)
NO_NUMBER = re.compile(r"Input should be a valid (?P<kind>number|integer)\b.*", re.DOTALL)

LIMIT = re.compile(r"Input should be (?P<side>greater|less) than or equal to (?P<limit>.*)")


def usage(error: Any) -> str:
    """Describe the error of a command line: the expected value, the value found, and a suggestion."""
    from instances.text import meant

    said: str = error.format_message()
    if (name := getattr(error, "option_name", None)) and said.startswith("No such option"):
        return f"No such option: {name}{meant(error.possibilities or (), name)}"
    parameter, message = getattr(error, "param", None), getattr(error, "message", None)
    if parameter is None or not message:
        return said
    place = max(parameter.opts, key=len)
    if found := NOT_ONE.fullmatch(message):
        names = found["names"].replace("'", "").split(", ")
        return f"{place}: must be one of {', '.join(names)}, got {found['value']!r}{meant(names, found['value'])}"
    if found := NO_NUMBER.fullmatch(message):
        value = error.__cause__.errors()[0]["input"]  # the message is pydantic's
        return f"{place}: must be {'an integer' if found['kind'] == 'integer' else 'a number'}, got {value!r}"
    if found := LIMIT.fullmatch(message):
        return f"{place}: must be {'>=' if found['side'] == 'greater' else '<='} {found['limit']}"
    return said


TYPES = {"bool": "", "str": "NAME", "path": "PATH", "Path": "PATH", "float,float...": "X X"}
TYPES |= {"int": "N", "int range": "N", "float": "X", "float range": "X"}


def plain_help(command: Any) -> None:
    """Make the help of a command name values instead of types, and show a default in words without brackets."""
    from rich.markup import escape

    for inner in getattr(command, "commands", {}).values():
        plain_help(inner)
    for parameter in command.params:
        if (shown := getattr(parameter, "display_type_rich", None)) is not None:  # as newer releases of typer have it
            parameter.display_type_rich = partial(_name_type, shown)
        if isinstance(getattr(parameter, "show_default", None), str):
            default = escape(f"[default: {parameter.show_default}]")
            parameter.help, parameter.show_default = f"{parameter.help} {default}", False


def _name_type(shown: Callable[..., str | None], ctx: Any) -> str:
    word = (shown(ctx=ctx) or "").replace("<", "").replace(">", "")
    word = word.removeprefix("list[").removesuffix("]")
    return TYPES.get(word, word)


def exit_status(results: Iterable[Result], store: Store | None = None) -> int:
    """Return the exit status: 0 done; 1 a method failed, or a result was not stored; 3 a limit left no solution."""
    statuses = {result.status for result in results}
    if "error" in statuses or (store is not None and store.fault):
        return FAILED
    return UNSOLVED if "no_solution" in statuses else 0


def _ready_streams() -> None:
    """Prepare the output streams: escape characters that they cannot encode, and replace closed streams."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _give_up(error: OSError) -> NoReturn:
    """End the process because standard output is closed or full, or a file could not be read or written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # otherwise flushing the buffer at exit would fail again
    if isinstance(error, BrokenPipeError):
        sys.exit(UNREAD)
    place = "standard output" if error.filename is None else error.filename
    _exit(f"gapwise: {place}: {error.strerror or error}", _status(error))


def _status(error: BaseException | None) -> int:
    """Return the exit status for a file that could not be read or written; a name that is too long is bad input."""
    return REFUSED if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG else FAILED


def _exit(message: str, status: int) -> NoReturn:
    if message:
        from instances.text import brief, escape_text

        print(brief(escape_text(" ".join(message.split())), LONGEST_LINE), file=sys.stderr)
    sys.exit(status)


def set_signature(call: Callable[..., None], like: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Give `call` the name and the docstring of a function and these parameters, by keyword all, for the flags."""
    update_wrapper(call, like)
    by_keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    call.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in by_keyword}


def flags_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a paper's function that become flags: the keyword-only ones."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]


def option_of(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter's flag on the command line."""
    said = [m.default for m in getattr(parameter.annotation, "__metadata__", ())]  # typer stores an own flag name there
    return said[0] if said and isinstance(said[0], str) else f"--{parameter.name.replace('_', '-')}"


def also(*functions: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the `**said` of a command by the flags of functions of the papers; return the decorator."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def call(**given: Any) -> None:
            command(**given)

        own = inspect.signature(command, eval_str=True).parameters.values()
        further = {p.name: p for function in functions for p in flags_of(function)}
        set_signature(
            call, command, [*(p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD), *further.values()]
        )
        return call

    return decorate
