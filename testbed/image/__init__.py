"""Program files as values: read once, then everything is a look-up in link-time addresses."""

from testbed.image.elf import read_elf
from testbed.image.model import Image, LoadedImage, Section, Segment, Symbol, describe, image_covering

__all__ = ["Image", "LoadedImage", "Section", "Segment", "Symbol", "describe", "image_covering", "read_elf"]
