"""Names for the shell to complete: programs, recipes, architectures, strategies. A catalogue is loaded when asked for.

click completes commands and options: ``_TESTBED_COMPLETE=bash_source testbed`` prints the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem


def _programs() -> Mapping[str, str]:
    from programs import PROGRAMS

    return {name: program.summary for name, program in PROGRAMS.items()}


def _recipes() -> Mapping[str, str]:
    from testbed.build.recipes import RECIPES

    return {name: recipe.summary for name, recipe in RECIPES.items()}


def _arches() -> Mapping[str, str]:
    from testbed.arch import ARCHES

    return {name: ", ".join(isa.name for isa in arch.isas) for name, arch in ARCHES.items()}


def _strategies() -> Mapping[str, str]:
    from testbed.referee import REFEREES
    from unwinders import UNWINDERS

    real = {each.name: each.summary for referee in REFEREES.values() for each in referee.unwinders}
    return {**{name: unwinder.summary for name, unwinder in UNWINDERS.items()}, **real}


def _referees() -> Mapping[str, str]:
    from testbed.referee import REFEREES

    return {name: referee.summary for name, referee in REFEREES.items()}


# By the metavariable that stands in a command's help, or by its option.
_CATALOGUES: Mapping[str, Callable[[], Mapping[str, str]]] = MappingProxyType(
    {
        "program": _programs,
        "--program": _programs,
        "--recipe": _recipes,
        "--arch": _arches,
        "--unwinder": _strategies,
        "--format": _strategies,
        "tools": _referees,
    }
)


class _NameOf(click.ParamType[str]):
    """A string that is a name of a catalogue more often than not; a path is completed too."""

    name = "text"

    def __init__(self, catalogue: Callable[[], Mapping[str, str]], files: bool) -> None:
        self._catalogue, self._files = catalogue, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del ctx, param
        found = [
            CompletionItem(name, help=summary)
            for name, summary in self._catalogue().items()
            if name.startswith(incomplete)
        ]
        return found if found or not self._files else [CompletionItem(incomplete, type="file")]


def with_names(command: click.Command) -> click.Command:
    """The command, with names for the shell where it takes some."""
    for param in command.params:
        asked: Iterable[str] = (param.name or "", *param.opts) if isinstance(param, click.Argument) else param.opts
        catalogue = next((_CATALOGUES[key] for key in asked if key in _CATALOGUES), None)
        if catalogue is not None and param.type is click.STRING:
            param.type = _NameOf(catalogue, isinstance(param, click.Argument))
    return command
