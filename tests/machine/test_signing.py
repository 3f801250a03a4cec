"""The signing core: return addresses get signatures, keys and modifiers count, and the usual core does nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.arch import ARCHES
from testbed.image import Image, LoadedImage
from testbed.machine import record, record_light, start_machine
from testbed.machine.load import load
from testbed.machine.recording import record_native
from testbed.machine.start import powered
from testbed.machine.stops import Fault
from testbed.machine.unicorn_arches import UNICORN
from testbed.trace import Exited, Trace
from testbed.truth import observe
from testbed.words.errors import EmulationError
from tests.machine.snippets import image_of

ARM64 = ARCHES["arm64"]
FRAME = """
fn main
    paciasp
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl leaf
    ldp x29, x30, [sp], #16
back:
    autiasp
plain:
    ret
fn leaf
    pacibsp
inside:
    mov w0, #42
    autibsp
    ret
"""


def signing(body: str) -> Trace:
    return record(image_of("arm64", body), cpu="signing")


def links(trace: Trace) -> dict[str, int]:
    """The link register at each label."""
    image = trace.images[0].image
    symbols = {symbol.address: symbol.name for symbol in image.symbols}
    column = trace.column("x30").tolist()
    return {symbols[pc]: link for pc, link in zip(trace.pc.tolist(), column, strict=True) if pc in symbols}


def test_signing_changes_the_upper_bits_and_authenticating_gives_them_back() -> None:
    at = links(signing(FRAME))
    for entry, signed in (("main", "back"), ("leaf", "inside")):
        changed = at[entry] ^ at[signed]
        assert changed
        assert changed & ~ARM64.signature == 0
        assert ARM64.without_signature(at[signed]) == at[entry]
    assert at["plain"] == at["main"]


def test_the_program_runs_to_its_end_with_signatures_and_without() -> None:
    image = image_of("arm64", FRAME)
    assert record(image, cpu="signing").end == record(image).end == Exited(42)
    usual = links(record(image))
    assert usual["back"] == usual["main"] and usual["inside"] == usual["leaf"]


def test_the_two_keys_sign_differently_and_so_do_two_stack_pointers() -> None:
    text = "fn main\n mov x9, x30\n mov x10, #1\n {}\nsigned:\n mov x30, x9\n mov w0, #42\n ret\n"
    key_a, key_b = (links(signing(text.format(sign)))["signed"] for sign in ("paciasp", "pacibsp"))
    deeper = links(signing(text.format("sub sp, sp, #16\n paciasp\n add sp, sp, #16")))["signed"]
    assert len({key_a, key_b, deeper}) == 3


def test_signatures_are_the_same_in_every_run() -> None:
    first, second = (record(image_of("arm64", FRAME), seed=seed, cpu="signing") for seed in (1, 2))
    assert links(first) == links(second)


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("another key", "paciasp\n autibsp"),
        ("another stack pointer", "paciasp\n sub sp, sp, #16\n autiasp"),
        ("another address", "paciasp\n add x30, x30, #4\n autiasp"),
        ("no signature", "nop\n autiasp"),
    ],
)
def test_what_was_signed_otherwise_is_noticed(what: str, code: str) -> None:
    """Authentication leaves an address that is none; the run ends where it is jumped to."""
    trace = signing(f"fn main\n {code}\nreturning:\n ret\n")
    broken = links(trace)["returning"]
    assert broken & ARM64.signature, what
    assert isinstance(trace.end, EmulationError)
    assert trace.end.pc == broken
    assert int(trace.pc[-1]) == trace.images[0].image.symbol_named("returning").address  # type: ignore[union-attr]


def test_a_combined_return_authenticates_too() -> None:
    good = "fn main\n pacibsp\n mov w0, #42\n retab\n"
    bad = good.replace("retab", "retaa")
    march = ".arch armv8.3-a\n"
    assert signing(march + good).end == Exited(42)
    end = signing(march + bad).end
    assert isinstance(end, EmulationError) and end.pc is not None
    assert ARM64.without_signature(end.pc) != end.pc


def test_the_keys_of_the_machine_decide() -> None:
    usual = UNICORN["arm64"].cpus["signing"]
    other = replace(
        usual, system=tuple((at, keep, bits ^ (0xFF if keep == 0 else 0)) for at, keep, bits in usual.system)
    )
    signatures = set()
    for cpu in (usual, other):
        uc = powered(ARM64, cpu)
        uc.mem_map(0x1000, 0x1000)
        uc.mem_write(0x1000, bytes.fromhex("3f2303d5"))  # paciasp
        uc.reg_write(UNICORN["arm64"].registers["x30"], 0x1004)
        uc.emu_start(0x1000, 0x1004)
        signatures.add(uc.reg_read(UNICORN["arm64"].registers["x30"]))
    assert len(signatures) == 2


def test_both_recorders_write_the_same() -> None:
    image: Image = image_of("arm64", FRAME)
    light, native = (
        recorder(start_machine(load(image), seed=1, cpu="signing"), 1000) for recorder in (record_light, record_native)
    )
    assert not isinstance(light.ending, Fault)
    assert light.registers.tolist() == native.registers.tolist()


def test_an_architecture_without_the_model_has_its_usual_one() -> None:
    for arch in ARCHES.values():
        assert bool(arch.signature) == ("signing" in arch.cpus)
    image = image_of("x86_64", "fn main\n mov eax, 42\n ret\n")
    assert record(LoadedImage(image), cpu="signing").end == Exited(42)


def test_the_truth_closes_an_activation_however_it_authenticates() -> None:
    trace = signing(FRAME)
    truth = observe(trace)
    names = [trace.images[0].image.function_at(int(pc)).name for pc in trace.pc]  # type: ignore[union-attr]
    depth = {"_start": 1, "main": 2, "leaf": 3}
    assert [len(truth.stack(step)) for step in range(len(trace))] == [depth[name] for name in names]
