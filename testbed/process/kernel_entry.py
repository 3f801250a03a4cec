"""Why a program left for the kernel. The hooks only note it and stop the machine; the rest is done after."""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import Uc

from testbed.machine.hooked_run import HookedStops


@dataclass(frozen=True, slots=True)
class Called:
    """A system call."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The processor refused an access: ``kind`` is a UC_MEM_*, ``size`` the bytes at ``address``."""

    kind: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Raised:
    """A processor exception that is no system call, by its number."""

    number: int


KernelEntry = Called | Refused | Raised


class KernelStops(HookedStops):
    """Notes the first event of a piece of the run; nothing is recorded after it until the run goes on."""

    entered: KernelEntry | None = None

    def enter(self, entry: KernelEntry) -> None:
        self.entered = self.entered or entry
        self.state.ended = 1

    def _invalid_access(self, uc: Uc, access: int, address: int, size: int, value: int, _: object) -> bool:
        self.enter(Refused(access, address, size))
        return False

    def _exception(self, uc: Uc, number: int, _: object) -> None:
        self.enter(Called() if number == self._settings.call_exception else Raised(number))
        uc.emu_stop()

    def _system_call(self, uc: Uc, *_: object) -> None:
        self.enter(Called())
        uc.emu_stop()
