"""Program files as values: read once, then everything is a look-up in link-time addresses."""

from testbed.image.model import (
    Image,
    LoadedImage,
    Section,
    Segment,
    Symbol,
    frame_record_at,
    function_covering,
    image_covering,
    once_per_image,
)
from testbed.image.read import linked_image, read_image
from testbed.image.symbols import describe

__all__ = [
    "Image",
    "LoadedImage",
    "Section",
    "Segment",
    "Symbol",
    "describe",
    "frame_record_at",
    "function_covering",
    "image_covering",
    "linked_image",
    "once_per_image",
    "read_image",
]
