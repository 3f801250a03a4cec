"""The documentation builds as a site without a warning, with every document, notebook and docstring in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs import build_site

ROOT = Path(__file__).parents[1]


def test_every_document_is_laid_out_and_has_a_place_in_the_contents(tmp_path: Path) -> None:
    build_site.lay_out(tmp_path)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    for page in build_site.documents():
        assert (tmp_path / page).is_file()
        named = page.with_suffix("").as_posix()
        assert f"\n{named}\n" in index or (named.startswith("docs/") and "\ndocs/*\n" in index), named
    for page in tmp_path.rglob("*.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).is_file(), f"{page.name} links to {link}"


def test_it_has_help_and_says_what_is_missing(tmp_path: Path) -> None:
    """A folder of that name is none, and a module that is not there is no traceback."""
    script = str(ROOT / "docs" / "build_site.py")
    helped = subprocess.run(
        [sys.executable, script, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert helped.returncode == 0 and "[DIR]" in helped.stdout
    assert list(tmp_path.iterdir()) == []
    bare = subprocess.run(
        [sys.executable, "-S", script, "site"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert bare.returncode == 2
    assert bare.stderr.startswith("error: the site needs Sphinx (sphinx is missing): pip install -e '.[docs]'")
    assert "Traceback" not in bare.stderr


@pytest.mark.everything
def test_the_site_has_every_document_and_the_reference(tmp_path: Path) -> None:
    for needed in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(needed, reason="needs pip install 'unwind-testbed[docs]'")
    command = [sys.executable, "docs/build_site.py", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).with_suffix("").as_posix() for path in tmp_path.rglob("*.html")}
    wanted = {f"docs/{path.stem}" for path in (ROOT / "docs").glob("*.md") if ".intro" not in path.name}
    wanted |= {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert wanted | {"index", "README", "ARCHITECTURE", "api/testbed"} <= pages
    reference = (tmp_path / "api" / "contract.html").read_text(encoding="utf-8")
    assert 'id="testbed.contract.unwinder.Unwinder"' in reference
    assert "A fact about a technique" in reference  # a docstring
    prologue = (tmp_path / "notebooks" / "prologue.html").read_text(encoding="utf-8")
    assert "return to middle+0x10" in prologue  # an output that is kept with the notebook
    for page in pages:
        text = (tmp_path / f"{page}.html").read_text(encoding="utf-8")
        assert not re.search(r"<(script|link|img)[^>]*(src|href)=\"https?:", text), f"{page} loads something"
