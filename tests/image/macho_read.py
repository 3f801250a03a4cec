"""What reading a Mach-O file made by hand gives: an image, or an error with its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from testbed.image import Image
from testbed.words.errors import ImageError
from tests.image.macho_files import (
    BASE,
    File,
)

DATA = BASE + 0x4000


Read = Callable[[File | bytes], Image]


def refusal(read: Read, content: File | bytes) -> ImageError:
    with pytest.raises(ImageError) as caught:
        read(content)
    assert "made.macho: at offset 0x" in str(caught.value)
    return caught.value
