"""What tests of images share."""

from pathlib import Path

import pytest

from testbed.image import Image, read_image
from tests.image.macho_files import File, Read


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(content: File | bytes) -> Image:
        path = tmp_path / "made.macho"
        path.write_bytes(content.bytes() if isinstance(content, File) else content)
        return read_image(path)

    return reading
