"""The documentation as a site: python docs/build_site.py [DIR] (default: build/site). Needs pip install -e '.[docs]'.

Every document stays where it is in the repository. They are laid out in a folder of their own, with what they link
to, beside `docs/site/`: its configuration, its first page, and the pages of the reference, which Sphinx fills from
docstrings. A warning is an error.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "FINDINGS.md"),
    *("programs/README.md", "benchmarks/RESULTS.md"),
)
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<to>[^)#\s]+)(?P<behind>[^)]*)\)")


def documents() -> Iterator[Path]:
    """What becomes a page, relative to the repository."""
    yield from map(Path, PAGES)
    for pattern in ("docs/*.md", "docs/results/*.md", "docs/reports/*.md", "notebooks/*.ipynb"):
        yield from sorted(path.relative_to(ROOT) for path in ROOT.glob(pattern) if ".intro" not in path.name)


def lay_out(folder: Path) -> None:
    """Every page and what it links to, at its place below ``folder``; the site's own files at the top."""
    shutil.copytree(ROOT / "docs" / "site", folder, dirs_exist_ok=True)
    for page in documents():
        _copy(page, folder)
        if page.suffix == ".md":
            text = _LINK.sub(lambda match, page=page: _linked(match, page, folder), (ROOT / page).read_text("utf-8"))
            (folder / page).write_text(text, encoding="utf-8")


def _linked(match: re.Match[str], page: Path, folder: Path) -> str:
    """A link as the site has it: a file goes with the pages, a folder is named only."""
    target = (ROOT / page.parent / match["to"]).resolve()
    if target.is_dir():
        return match["text"]
    if target.is_file() and target.is_relative_to(ROOT):
        _copy(target.relative_to(ROOT), folder)
    return match[0]


def _copy(path: Path, folder: Path) -> None:
    target = folder / path
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)


def build(out: Path) -> int:
    """Build the site; the status of Sphinx, 0 where all is well; 2 where it is not installed."""
    try:
        from sphinx.cmd.build import build_main
    except ModuleNotFoundError as missing:
        print(f"error: the site needs Sphinx ({missing.name} is missing): pip install -e '.[docs]'", file=sys.stderr)
        return 2

    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "pages")
        lay_out(folder)
        arguments = ["-b", "html", "-q", "-W", "--keep-going", "-d", f"{temporary}/doctrees", str(folder), str(out)]
        return build_main(arguments)


def main() -> int:
    own = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    own.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=ROOT / "build" / "site")
    return build(own.parse_args().folder)


if __name__ == "__main__":
    sys.exit(main())
