"""A drawing: generators whose signatures and docstrings are the flags of `gapwise draw`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

import typer

from experiments.entry import option_of
from instances import InputError, Instance

Made = Instance[Any] | Sequence[Instance[Any]] | Mapping[str, bytes]
Generator = Callable[..., Made]
LINE = re.compile(r"^- (`\w+`(?:, `\w+`)*): (.*?)(?=^- |^$|\Z)", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"(?:[^:]+: ){0,2}(?:data\.)?(?P<field>\w+): ")
"""The field at the start of a message, after a file and a place in it."""
UNSAID = inspect.Parameter.empty


@dataclass(frozen=True)
class Flag:
    """Differences between a flag and the parameter of a generator that it sets.

    `name`: of the flag. `kind`: its type. `default`: its value where it is not given, `shown` in words. `least`: its
    least value. `value`: function from the flag's value to the parameter's. `scales`: pattern of the fields that it
    scales.
    """

    name: str | None = None
    help: str | None = None
    kind: Any = None
    default: Any = UNSAID
    shown: str | None = None
    least: float | None = None
    value: Callable[[Any], Any] | None = None
    scales: str = ""


@dataclass(frozen=True)
class Drawing:
    """Instances by flags: of the generator `drawn` or, if a trace is given, of `traced`.

    `about`: the help. `flags`: differences from a signature, by parameter. `left_out`: parameters without a flag. A
    flag that only one of the two generators has is refused with the other.
    """

    about: str
    drawn: Generator
    traced: Generator | None = None
    flags: Mapping[str, Flag] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.about)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature(self.parameters())

    def __call__(self, **said: Any) -> Made:
        """Draw. Raises InputError for a flag without effect, and the errors of the generator."""
        given = {p.name: said.get(p.name, p.default) for p in self.parameters()}
        made_by, other = self.drawn, self.traced
        why = "only --trace takes it"
        if self.traced is not None and given["trace"] is not None:
            made_by, other, why = self.traced, self.drawn, "--trace says it itself"
        mine = {flag: name for name, flag in self._names(made_by)}
        for p in self.parameters():
            value = given[p.name]
            if other is not None and p.name not in mine and value is not None:
                raise InputError(f"{option_of(p)}: {why}, got {value}")
        asked: dict[str, Any] = {}
        for flag, name in mine.items():
            own, otherwise = inspect.signature(made_by).parameters[name], self.flags.get(name, Flag()).default
            value = otherwise if given[flag] is None and otherwise is not UNSAID else given[flag]
            if value is not None:
                asked[name] = self._value(name, value)
            elif own.default is UNSAID:
                raise InputError(f"{_long(flag)}: must be given{' without --trace' if self.traced is not None else ''}")
        try:
            return made_by(**asked)
        except InputError as error:
            flags = {name: flag for flag, name in mine.items()}
            defaults = {name: p.default for name, p in inspect.signature(made_by).parameters.items()}
            scales = {name: self.flags.get(name, Flag()).scales for name in asked if asked[name] != defaults[name]}
            raise InputError(_name_flag(str(error), flags, asked, scales)) from None

    def parameters(self) -> list[inspect.Parameter]:
        """Return the flags. The default of a flag that only one of two generators has is `None`."""
        both = [made_by for made_by in (self.traced, self.drawn) if made_by is not None]
        known = [dict(self._names(made_by)) for made_by in both]
        found: dict[str, inspect.Parameter] = {}
        for made_by, names in zip(both, known, strict=True):
            texts, signature = _texts(made_by), inspect.signature(made_by, eval_str=True).parameters
            for name, flag in names.items():
                shared = all(flag in of.values() for of in known)
                text = _name_flags(texts.get(name, ""), names)
                if not shared and "--" not in text:
                    text += f" {'With' if made_by is self.traced else 'Without'} --trace."
                p = self._parameter(signature[name], flag, text, shared)
                if flag not in found or (found[flag].default is None and p.default is not None):
                    found[flag] = p
        return list(found.values())

    def _names(self, made_by: Generator) -> Iterator[tuple[str, str]]:
        """Yield the parameters of a generator that have a flag, each with the name of the flag."""
        for name in inspect.signature(made_by).parameters:
            if name not in self.left_out:
                yield name, self.flags.get(name, Flag()).name or name

    def _value(self, name: str, said: Any) -> Any:
        change = self.flags.get(name, Flag()).value
        return said if change is None else change(said)

    def _parameter(self, p: inspect.Parameter, flag: str, text: str, shared: bool) -> inspect.Parameter:
        said = self.flags.get(p.name, Flag())
        default = p.default if said.default is UNSAID else said.default
        some = [kind for kind in get_args(p.annotation) if kind is not type(None)]
        kind = said.kind or (some[0] if len(some) < len(get_args(p.annotation)) else p.annotation)
        option: dict[str, Any] = {"help": said.help or text, "min": said.least}
        if not shared:
            plain = default is None or default is False or default is UNSAID
            shown = False if plain else f"{default:g}" if kind is float else f"{default}"
            option["show_default"] = said.shown or shown
            default = None
        elif default is None:
            option["show_default"] = said.shown or False
        kind = kind | None if default is None else kind
        names = [_long(flag)] if kind in (bool, bool | None) else []
        info = typer.Option(*names, **option)
        return inspect.Parameter(
            flag, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
        )


def _name_flag(message: str, flags: Mapping[str, str], asked: Iterable[str], scales: Mapping[str, str]) -> str:
    """Return a message of a generator that names the flag instead of the parameter, or of the field that it sets.

    A parameter of those `asked` for sets the field of its name, with or without a unit: `budget` sets `budget_gpus`.
    Those of `scales` scale the fields that match their patterns.
    """
    if (found := FIELD.match(message)) is None:
        return message
    name = found["field"]
    at_fault = [one for one in asked if name == one or (len(one) > 1 and name.startswith(f"{one}_"))]
    scaling = [one for one, pattern in scales.items() if re.fullmatch(pattern, name)]
    if not at_fault and len(scaling) == 1:
        return f"{_long(flags[scaling[0]])}: sets {name}, which {message[found.end() :]}"
    if len(at_fault) != 1:
        return message
    return f"{_long(flags[at_fault[0]])}: {_name_flags(message[found.end() :], flags)}"


def _name_flags(text: str, flags: Mapping[str, str]) -> str:
    """Return a text with flags instead of the parameters that it names in backticks."""
    return re.sub(r"`(\w+)`", lambda found: _long(flags[found[1]]) if found[1] in flags else found[1], text)


def _long(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"


def _texts(made_by: Generator) -> dict[str, str]:
    """Return the sentence about each parameter in the docstring of a generator."""
    found = {}
    for names, text in LINE.findall(inspect.getdoc(made_by) or ""):
        said = " ".join(text.split()).rstrip(".")
        found.update(dict.fromkeys(re.findall(r"\w+", names), f"{said[0].upper()}{said[1:]}."))
    return found
