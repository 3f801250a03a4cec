"""What a terminal shows."""

from io import StringIO

from rich.console import Console


def shown(page: object, width: int = 100, *, crop: bool = True) -> str:
    """A page on a terminal of some width."""
    text = StringIO()
    Console(file=text, width=width, highlight=False, markup=False).print(page, crop=crop)
    return text.getvalue()
