"""The page for those who bring an unwinder: its files and commands, run as they stand; what it shows is what comes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "your-unwinder.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.S)
EXIT_1 = re.compile(r"-u my_unwinder:MY_UNWINDER( |$)|--unwinder-cmd \./my_unwinder$|^pytest")  # frame pointers lie


def consoles() -> list[str]:
    return [text for language, text in BLOCKS if language == "console"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's Python files, and a `testbed` that is this one."""
    folder = tmp_path_factory.mktemp("yours")
    for language, text in BLOCKS:
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            assert re.fullmatch(r"\w+\.py", name)
            (folder / name).write_text(text)
    (folder / "bin").mkdir()
    for name, module in (("testbed", "testbed.cli"), ("pytest", "pytest")):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        script.chmod(0o755)
    return folder


@pytest.mark.parametrize("text", consoles(), ids=["python", "assumption", "pytest", "another language"])
def test_a_session_goes_as_it_is_shown(text: str, folder: Path) -> None:
    if "cc -O2" in text and shutil.which("cc") is None:
        pytest.skip("no C compiler: apt install gcc")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "-p testbed.pytest_plugin -p no:cacheprovider",  # as where it is installed
        "COLUMNS": "100",
    }
    here = folder
    for command, shown in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", text, re.M):
        if command.startswith("cd "):
            here /= command.removeprefix("cd ")
            continue
        done = subprocess.run(command, shell=True, cwd=here, env=environment, capture_output=True, text=True)
        lies = EXIT_1.search(command) and "--check" not in command
        assert done.returncode == (1 if lies else 0), f"{command}\n{done.stdout}{done.stderr}"
        at = 0
        for line in (line for line in shown.splitlines() if line != "..."):
            assert line in done.stdout[at:], f"{command} does not print\n{line}\n{done.stdout}"
            at = done.stdout.index(line, at) + len(line)


def test_the_page_has_its_examples() -> None:
    assert [language for language, _ in BLOCKS].count("python") == 3
    assert len(consoles()) == 4
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists()
    for name in re.findall(r"`((?:testbed|programs|docs)/[\w./]+)`", PAGE):
        assert (ROOT / name).exists()
