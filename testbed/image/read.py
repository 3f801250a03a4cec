"""A program file of any kind as an image: its first bytes say which reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testbed.arch import Arch, FrameRecord
from testbed.image.elf import read_elf
from testbed.image.file_bytes import FileBytes, file_content
from testbed.image.model import Image
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.words.budget import Account, Budget
from testbed.words.errors import ImageError


def read_image(
    path: Path | str,
    frame_records: Mapping[str, FrameRecord] | None = None,
    *,
    arch: Arch | None = None,
    content: bytes | None = None,
    debug: DebugDirs = NOWHERE,
    budget: Budget | None = None,
) -> Image:
    """Read an ELF or Mach-O executable or library; ``arch`` chooses in a file that holds several.

    With ``content``, read these bytes as the file ``path``. ``debug`` are folders in which the separate debug file of
    an ELF file is looked for. Raises ImageError (file, offset, what is wrong) for anything else, and BudgetExceeded
    for a file that costs more to read than ``budget`` (None: the one of the process).
    """
    path = Path(path)
    content = file_content(path) if content is None else content
    account = Account(path, len(content), budget)
    if content[:4] == b"\x7fELF":
        return read_elf(path, content, frame_records or {}, debug, account)
    from testbed.image.macho import MAGICS, read_macho  # a run of an ELF file needs no reader of others

    if content[:4] in MAGICS:
        return read_macho(FileBytes(path, content, 0, account), frame_records or {}, arch)
    raise ImageError(path, 0, "not an ELF file (no 7f 45 4c 46), nor a Mach-O file (no cf fa ed fe)")


def linked_image(path: Path, *, arch: Arch | None = None, debug: DebugDirs = NOWHERE) -> Image:
    """Read a file for what it says at its addresses. Raises ImageError for an object file too: it has none yet."""
    image = read_image(path, arch=arch, debug=debug)
    if image.relocatable:
        raise ImageError(
            path,
            16,
            "an object file: its sections have no addresses and its tables are not filled in until it is linked; "
            "link it first, for example with `cc -shared -nostdlib`, or ld.lld -shared --unresolved-symbols=ignore-all",
        )
    return image
