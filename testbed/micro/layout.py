"""Where things lie for a function that is called alone: the file, the harness, stubs, arguments, a thread's block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unicorn import unicorn_const as uc

from testbed.conventions import Convention, platform
from testbed.conventions.chosen import chosen
from testbed.image import Image, LoadedImage, Segment, Symbol
from testbed.machine.start import PAGE, MappedPages, map_image, map_stack
from testbed.micro.call_code import CALL_CODE, STUB, CallCode
from testbed.micro.relocations import DynamicRelocation, RelocationKind, dynamic_relocations
from testbed.words.errors import ImageError

_BASE = {4: 0x2000_0000, 8: 0x5500_0000_0000}  # where a file that may lie anywhere is put, by bytes of a word
_ARENA = {4: 0x6000_0000, 8: 0x6600_0000_0000}
ARENA_SIZE = 0x1_0000
THREAD = ARENA_SIZE // 2  # offset of the thread pointer's block in the second arena
READ_WRITE = uc.UC_PROT_READ | uc.UC_PROT_WRITE
HARNESS = "testbed-harness"

# Functions that do not come back: a path that calls one of them is over (ISO C, POSIX, Itanium C++ ABI, glibc; OCaml's
# caml/fail.h and the entries of its runtime that raise; libobjc, libgfortran, libgnat, druntime).
_NAMES = """
abort exit _exit _Exit quick_exit __stack_chk_fail __stack_chk_fail_local __assert_fail __assert
__assert_perror_fail __chk_fail __fortify_fail __fortify_fail_abort __libc_fatal __libc_message __longjmp_chk
longjmp _longjmp siglongjmp __longjmp pthread_exit thrd_exit _Unwind_Resume _Unwind_Resume_or_Rethrow __cxa_throw
__cxa_rethrow __cxa_bad_cast __cxa_bad_typeid __cxa_throw_bad_array_new_length __cxa_call_unexpected
__cxa_call_terminate __cxa_end_cleanup __cxa_pure_virtual __cxa_deleted_virtual _ZSt9terminatev _ZSt10unexpectedv
err errx verr verrx panic __libc_start_main __libc_start_call_main svcraise __builtin_unreachable
__rust_start_panic rust_panic setcontext __gnu_Unwind_Resume _dl_signal_error __GI_abort __libc_assert_fail
_dl_fatal_printf malloc_printerr __libc_dlerror_result_free_fail
caml_raise_exn caml_reraise_exn caml_raise_exception caml_ml_array_bound_error caml_ml_array_align_error
caml_raise_stack_overflow_nat caml_raise caml_raise_constant caml_raise_with_arg caml_raise_with_args
caml_raise_with_string caml_failwith caml_failwith_value caml_invalid_argument caml_invalid_argument_value
caml_raise_out_of_memory caml_raise_stack_overflow caml_raise_sys_error caml_raise_end_of_file caml_raise_zero_divide
caml_raise_not_found caml_raise_sys_blocked_io caml_array_bound_error caml_array_align_error caml_fatal_error
objc_exception_throw objc_exception_rethrow _gfortran_stop_string _gfortran_error_stop_string _gfortran_runtime_error
_gfortran_runtime_error_at _gfortran_os_error __gnat_raise_exception __gnat_reraise_zcx _d_throwdwarf _d_assertp
"""
NEVER_RETURN = frozenset(_NAMES.split())


def never_returns(name: str) -> bool:
    """A function that does not come back, by its name; ``std::__throw_...`` are such."""
    return name.split("@")[0] in NEVER_RETURN or (name.startswith("_ZSt") and "__throw_" in name)


@dataclass(frozen=True, eq=False)
class CallableImage:
    """A file ready to have its functions called.

    ``stubs`` are the run-time addresses of what stands for imports, by name, ``stub_values`` what each of them returns
    that is answered where it is not executed: all but those with a convention of their own. These are executed
    whatever calls them, and so is the linkage table that leads to them: ``executed``, ranges of run-time addresses.
    ``never_return`` are those of functions, imported or the file's own, that do not come back.
    """

    loaded: LoadedImage
    harness: LoadedImage
    calls: CallCode
    mappings: tuple[MappedPages, ...] = field(repr=False)
    sp: int
    arena: int
    thread: int
    stubs: Mapping[str, int] = field(repr=False)
    stub_values: Mapping[int, int] = field(repr=False)
    never_return: frozenset[int] = field(repr=False)
    signs: bool = False
    executed: tuple[range, ...] = ()

    @property
    def convention(self) -> Convention:
        """That of its platform, which the harness and the stubs follow."""
        return platform(self.loaded.image.arch)

    def convention_of(self, target: int) -> Convention:
        """That of the function at a code pointer."""
        return chosen(self.loaded.image, self.loaded.image.arch.code_address(target) - self.loaded.bias).convention

    @property
    def images(self) -> tuple[LoadedImage, ...]:
        return (self.loaded, self.harness)


def make_callable(image: Image, data: bytes = b"") -> CallableImage:
    """Lay a file out in memory, its relocations applied, every import led to a stub; arguments point into ``data``.

    Raises ImageError for a file that cannot be mapped, or whose relocations cannot be read.
    """
    arch, calls = image.arch, CALL_CODE[image.arch.name]
    lowest = min((s.address for s in image.segments), default=0)
    highest = max((s.address + s.size for s in image.segments), default=0)
    if not highest:
        raise ImageError(image.path, 0, "it has no segments: there is nothing to load")
    anywhere = lowest < PAGE * 16
    loaded = LoadedImage(image, _BASE[arch.word] - (lowest & -PAGE) if anywhere else 0)
    relocations = tuple(dynamic_relocations(image)) if image.content[:4] == b"\x7fELF" else ()
    names = list(dict.fromkeys(r.symbol for r in relocations if r.value is None and r.symbol and not r.is_data))
    size = -(-(PAGE + STUB * (len(names) + 1)) // PAGE) * PAGE
    before = (lowest + loaded.bias & -PAGE) - size - 16 * PAGE
    at = before if before > 16 * PAGE else (highest + loaded.bias + PAGE & -PAGE) + 16 * PAGE
    arena = _ARENA[arch.word]
    stubs = {name: at + PAGE + STUB * (k + 1) for k, name in enumerate(names)}
    own = [name for name in names if name.split("@")[0] in calls.own_stubs]
    code = calls.harness.ljust(PAGE, b"\0") + b"".join(_stub(calls, name, arena) for name in ("", *names))
    pages = _relocated(loaded, relocations, stubs, at + PAGE, arena)
    stack, sp = map_stack(arch)
    kernel = (_kernel_page(calls),) if calls.kernel_page else ()
    return CallableImage(
        loaded,
        LoadedImage(_harness(image, at, code.ljust(size, b"\0"))),
        calls,
        (
            *pages,
            MappedPages(at, code.ljust(size, b"\0"), uc.UC_PROT_READ | uc.UC_PROT_EXEC),
            MappedPages(arena, _arena(arena, arch.word), READ_WRITE),
            MappedPages(arena + ARENA_SIZE, data.ljust(ARENA_SIZE, b"\0"), READ_WRITE),
            stack,
            *kernel,
        ),
        sp - 0x4000,
        arena,
        arena + ARENA_SIZE + THREAD,
        stubs,
        {stubs[name]: _stub_value(name, arena) for name in names if name not in own},
        frozenset(place for name, place in stubs.items() if never_returns(name))
        | {s.address + loaded.bias for s in image.symbols if s.is_function and never_returns(s.name)},
        any(sign in segment.data for segment in image.segments if segment.executable for sign in calls.signs),
        (*(range(stubs[name], stubs[name] + STUB) for name in own), *(_linkage_tables(loaded) if own else ())),
    )


def _harness(image: Image, at: int, code: bytes) -> Image:
    """The harness as a file of its own, so that what looks up code finds it."""
    segment = Segment(at, code, len(code), True, False, True)
    name = Symbol("_start", at, len(CALL_CODE[image.arch.name].harness), True)
    return Image(image.path.with_name(HARNESS), image.arch, at, (segment,), {}, (name,))


def _linkage_tables(loaded: LoadedImage) -> Iterator[range]:
    """Where calls of other files' functions go first, as linkers name it."""
    for section in loaded.image.sections.values():
        if section.name.startswith(".plt"):
            start = section.address + loaded.bias
            yield range(start, start + len(section.data))


def _stub(calls: CallCode, name: str, arena: int) -> bytes:
    plain = calls.stub + _stub_value(name, arena).to_bytes(8, "little")
    return calls.own_stubs.get(name.split("@")[0], plain).ljust(STUB, b"\0")


def _stub_value(name: str, arena: int) -> int:
    """What gives memory or finds something gives an address; all others 0. Branches that need the other are forced."""
    wanted = ("alloc", "new", "get", "find", "dup", "open", "str", "mem", "_Znw", "_Zna", "chr")
    return arena + ARENA_SIZE // 4 if any(part in name for part in wanted) else 0


def _arena(at: int, word: int) -> bytes:
    """Two halves: words that point into the arena, and text with a small number in it now and then."""
    half = ARENA_SIZE // 2
    pointers = b"".join(
        (at + (k * 0x110 + 0x40) % half // 16 * 16).to_bytes(word, "little") for k in range(half // word)
    )
    # Words of text that are addresses of a program, too, where a function takes them for pointers.
    line = b"".join(text.ljust(8, b"\0") for text in (b"12 a=b", b"/usr:x", b"%d %s\n", b"-7", b"0x1f;", b"\3", b"\3"))
    return pointers + (line * (half // len(line) + 1))[:half]


def _kernel_page(calls: CallCode) -> MappedPages:
    assert calls.kernel_page is not None
    address, parts = calls.kernel_page
    content = bytearray(PAGE)
    for offset, code in parts:
        content[offset : offset + len(code)] = code
    return MappedPages(address, bytes(content), uc.UC_PROT_READ | uc.UC_PROT_EXEC)


def _relocated(
    loaded: LoadedImage,
    relocations: tuple[DynamicRelocation, ...],
    stubs: Mapping[str, int],
    resolved: int,
    arena: int,
) -> tuple[MappedPages, ...]:
    """The pages of a file with its relocations applied; those outside of its pages are left out."""
    arch, bias = loaded.image.arch, loaded.bias
    word, mask = arch.word, arch.word_mask
    mapped = map_image(loaded)
    contents = [bytearray(page.data) for page in mapped]
    for relocation in relocations:
        place = relocation.place + bias
        page = next((k for k, p in enumerate(mapped) if p.address <= place <= p.address + len(p.data) - 2 * word), None)
        if page is None:
            continue
        offset = place - mapped[page].address
        words = contents[page][offset : offset + word]
        addend = int.from_bytes(words, "little") if relocation.addend is None else relocation.addend
        base = bias if relocation.value is not None else 0
        symbol = relocation.value if relocation.value is not None else stubs.get(relocation.symbol, 0)
        if relocation.is_data and relocation.value is None:
            symbol = arena
        values: tuple[int, ...] = ()
        match relocation.kind:
            case RelocationKind.ADDRESS:
                values = (symbol + base + (addend if relocation.addend is not None or base else 0),)
            case RelocationKind.SLOT:
                values = (symbol + base + (relocation.addend or 0),)
            case RelocationKind.RELATIVE:
                values = (bias + addend,)
            case RelocationKind.RESOLVED:
                values = (resolved,)
            case RelocationKind.OFFSET:
                values = (addend,)
            case RelocationKind.MODULE:
                values = (1,)
            case RelocationKind.DESCRIBED:
                values = (resolved, addend)
        for k, value in enumerate(values):
            contents[page][offset + k * word : offset + (k + 1) * word] = (value & mask).to_bytes(word, "little")
    return tuple(
        MappedPages(page.address, bytes(content), page.permissions)
        for page, content in zip(mapped, contents, strict=True)
    )
