"""Compiled hooks that return at once."""

from __future__ import annotations

from testbed.machine.native.hooks import CODE_HOOK, WRITE_HOOK
from testbed.native.compiled import compiled


@compiled(signature=CODE_HOOK)
def on_code(engine: object, address: object, size: object, state: object) -> None:
    return


@compiled(signature=WRITE_HOOK)
def on_write(engine: object, kind: object, address: object, size: object, value: object, state: object) -> None:
    return
