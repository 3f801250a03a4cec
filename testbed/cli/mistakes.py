"""What a user mistyped, in one style: ``error: what is wrong; what may have been meant``."""

from __future__ import annotations

from collections.abc import Iterable

import click

from testbed.words.catalogue import nearest

# Options of earlier versions, each with the end of the name of the file that is written now.
_MOVED = {
    "--html": ".html",
    "--svg": ".svg",
    "--badge": ".svg",
    "--timeline": ".timeline.json",
    "--junit": ".xml",
    "--markdown": ".md",
}


def told(error: click.ClickException, commands: Iterable[str]) -> str:
    """The lines for standard error: what is wrong, and where the help is. ``commands`` are those that there are."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    lines = [f"error: {_sentence(error, context, commands)}"]
    if context is not None:
        lines.append(f"{context.command_path} --help says what can be given")
    return "\n".join(lines)


def _sentence(error: click.ClickException, context: click.Context | None, commands: Iterable[str]) -> str:
    if isinstance(error, click.NoSuchOption):
        options = [name for param in context.command.params for name in param.opts] if context else []
        # Only of commands with arguments for somebody else: a program, a compiler.
        others = context and any(isinstance(p, click.Argument) and p.nargs == -1 for p in context.command.params)
        if error.option_name in _MOVED and "--output" in options:
            return f"no option {error.option_name} any more; in its place: -o FILE{_MOVED[error.option_name]}"
        hint = "; what is not for testbed stands behind --" if others else ""
        if not error.option_name.startswith("--") and hint:  # a letter is near to every other one
            return f"no option {error.option_name}{hint}"
        return f"no option {error.option_name}; {nearest(error.option_name, options)}{hint}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        choices = error.param.type.choices if isinstance(error.param.type, click.Choice) else ()
        return f"{_name(error.param)} is missing" + (f"; there are: {', '.join(map(str, choices))}" if choices else "")
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        given = error.message.partition("'")[2].partition("'")[0]
        names = [str(choice) for choice in error.param.type.choices]
        return f"{_name(error.param)} cannot be {given!r}; {nearest(given, names)}"
    message = error.format_message()
    unknown = message.partition("No such command '")[2].partition("'")[0]
    if unknown:
        return f"no command {unknown!r}; {nearest(unknown, commands)}"
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _name(param: click.Parameter) -> str:
    """An option by its long name, an argument as --help writes it."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name.upper()
