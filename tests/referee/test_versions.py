"""Versions of real unwinders: which there are, how pip brings one, and what is said where it cannot."""

import base64
import dataclasses
import hashlib
import importlib.metadata
import os
import stat
import sys
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from testbed.cli.unwinders import unwinders_named
from testbed.referee import REFEREE_OF, REFEREES, versions
from testbed.referee.gdb import unwinder as gdb
from testbed.referee.gdb.unwinder import version_said
from testbed.referee.lldb import unwinder as lldb
from testbed.referee.llvm_libunwind import unwinder as llvm_libunwind
from testbed.referee.model import Finding, Found, OtherVersions, read_findings
from testbed.referee.process.limits import own_packages
from testbed.referee.versions import Version, brought, brought_already, forget_brought, of_tool, unwinders_of_versions
from testbed.runs.run import judge
from testbed.words.errors import DataFileError, UsageError, VersionMissing
from tests.corpus import ran as run_of
from tests.house.sources import ROOT

ALL = versions.versions()
TOY = Version(tool="gdb", version="1.5", holds="a toy", wheel="toy-gdb==1.5.post2", size="1 kB", licence="0BSD")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("GNU gdb (Debian 13.1-3) 13.1", "13.1"),
        ("GNU gdb (GDB) 18.1", "18.1"),
        ("GNU gdb (Ubuntu 15.0.50.20240403-0ubuntu1) 15.0.50.20240403-git", "15.0.50.20240403"),
        ("GNU gdb (Fedora Linux) 14.2-1.fc39", "14.2"),
        ("GNU gdb 6.3", "6.3"),
        ("lldb version 22.1.0", ""),
    ],
)
def test_gdb_says_its_version_as_distributions_print_it(line: str, version: str) -> None:
    assert version_said(f"{line}\nCopyright (C)\n") == version


def wheel(folder: Path, name: str, version: str) -> None:
    """A wheel whose one module says the version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {each: hashlib.sha256(text.encode()).digest() for each, text in files.items()}
    lines = [f"{each},sha256={base64.urlsafe_b64encode(it).rstrip(b'=').decode()}," for each, it in digests.items()]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for each, text in files.items():
            file.writestr(each, text)
        file.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,", ""]))


@pytest.fixture
def index(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip finds packages in, and an empty cache folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_every_tool_has_its_versions_once_pinned_from_the_oldest_on() -> None:
    assert Counter(map(str, ALL)).most_common(1)[0][1] == 1
    for tool in {each.tool for each in ALL}:
        numbers = [tuple(map(int, each.version.split("."))) for each in of_tool(tool)]
        assert numbers == sorted(numbers) and len(numbers) > 1
        assert REFEREES[tool].others is not None
    for each in ALL:
        if each.wheel:
            assert each.wheel.count("==") == 1 and each.size and each.licence and not each.program, each
        else:
            assert each.program and each.package and REFEREES[each.tool].others.by_program, each


def test_compilers_are_pinned_from_the_oldest_on() -> None:
    there = versions.compilers()
    numbers = [tuple(map(int, each.version.split("."))) for each in there]
    assert numbers == sorted(set(numbers)) and len(there) >= 9
    assert all(each.tool == "clang" and each.wheel.count("==") == 1 and each.size and each.licence for each in there)


def test_what_pip_installs_with_the_project_is_the_newest_of_each() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = set(project["optional-dependencies"]["referees"])
    compiler = versions.compilers()[-1].wheel  # it builds the programs, and is always there
    assert compiler in project["dependencies"]
    assert pinned | {compiler} == {of_tool(tool)[-1].wheel for tool in {each.tool for each in ALL}}


@pytest.mark.parametrize("tool", [gdb, lldb])
def test_a_wheels_debugger_is_found_beside_the_running_python_whatever_path_says(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packages = own_packages(tool.WHEEL)
    if not packages:
        pytest.skip(f"pip install {tool.WHEEL}")
    monkeypatch.setenv("PATH", str(tmp_path))
    tool.find.cache_clear()
    try:
        found = tool.find()
        assert found is not None and found.packages == packages
    finally:
        tool.find.cache_clear()


def test_the_libunwind_of_a_wheel_has_the_version_of_the_compiler_beside_it(tmp_path: Path) -> None:
    there = tmp_path / "ziglang" / "lib" / "libunwind"
    assert llvm_libunwind.in_packages(str(tmp_path / "nowhere")) is None
    (there / "src").mkdir(parents=True)
    (there / "src" / "UnwindCursor.hpp").touch()
    zig = tmp_path / "ziglang" / "zig"
    zig.write_text('#!/bin/sh\n[ "$*" = "cc --version" ] && echo "clang version 9.0.1 (a zig)"\n')
    zig.chmod(stat.S_IRWXU)
    assert llvm_libunwind.in_packages(str(tmp_path)) == Found("9.0.1", str(there), str(tmp_path))


def test_a_version_is_brought_once_and_said_before(index: Path) -> None:
    wheel(index, "toy_gdb", "1.5.post2")
    told: list[str] = []

    def tell(text: str) -> None:
        assert not list(brought_already()), "before the download"
        told.append(text)

    folder = Path(brought(TOY, tell))
    assert (folder / "toy_gdb.py").read_text() == "VERSION = '1.5.post2'\n"
    assert told == [f"gdb@1.5 is not here yet: pip brings toy-gdb==1.5.post2 (a toy; 1 kB, 0BSD) to {folder}"]
    (index / "toy_gdb-1.5.post2-py3-none-any.whl").unlink()
    assert brought(TOY, tell) == str(folder) and len(told) == 1
    assert list(brought_already()) == [folder]
    assert list(folder.parent.iterdir()) == [folder], "nothing half is left"
    folder.chmod(0o777)
    with pytest.raises(VersionMissing, match="other users may write it: chmod go-w"):
        brought(TOY, tell)
    assert forget_brought() == 1 and not folder.exists()


def test_without_the_network_it_says_what_pip_says_and_nothing_half_is_left(index: Path) -> None:
    with pytest.raises(VersionMissing) as raised:
        brought(TOY, lambda text: None)
    assert raised.value.named == "gdb@1.5"
    assert raised.value.why == "pip says: ERROR: No matching distribution found for toy-gdb==1.5.post2"
    assert "with a network, or an index of packages that has toy-gdb==1.5.post2, ask again" in str(raised.value)
    assert not list(brought_already())
    assert not list(versions.environments().iterdir())


@pytest.mark.parametrize(
    ("broken", "text", "why"),
    [
        ("cache", "a file", "set TESTBED_CACHE to a folder that can"),
        (
            "python",
            '#!/bin/sh\necho "$0: No module named pip" >&2; exit 1\n',
            r"No module named pip; .*python -m ensurepip brings it",
        ),
    ],
)
def test_a_cache_that_cannot_be_written_and_a_python_without_pip_are_told(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, text: str, why: str
) -> None:
    (tmp_path / broken).write_text(text)
    (tmp_path / broken).chmod(stat.S_IRWXU)
    if broken == "python":
        monkeypatch.setattr(sys, "executable", str(tmp_path / broken))
    with pytest.raises(VersionMissing, match=why):
        brought(TOY, lambda text: None)


def test_what_this_environment_has_in_that_version_is_taken(index: Path) -> None:
    here = importlib.metadata.version("click")
    mine = Version(tool="gdb", version="1", holds="", wheel=f"click=={here}")
    assert (Path(brought(mine, pytest.fail)) / "click").is_dir()
    with pytest.raises(VersionMissing):
        brought(Version(tool="gdb", version="1", holds="", wheel="click==0.0.1"), lambda text: None)


SYSTEM = Version(tool="gdb", version="13.1", holds="", program="gdb-multiarch", package="apt install it")


@pytest.mark.parametrize(
    ("version", "found", "why"),
    [
        (TOY, None, "does not start here"),
        (TOY, Found("1.4", "/toy"), "is 1.4"),
        (SYSTEM, None, "gdb-multiarch is not installed; .*apt install it"),
        (SYSTEM, Found("9", "/gdb"), "here is 9"),
    ],
)
def test_what_does_not_start_or_says_another_version_is_not_taken(
    index: Path, version: Version, found: Found | None, why: str
) -> None:
    wheel(index, "toy_gdb", "1.5.post2")
    ways = {"in_packages": lambda packages: found, "by_program": pytest.fail}
    if version is SYSTEM:
        ways = {"in_packages": pytest.fail, "by_program": lambda name: found}
    with pytest.raises(VersionMissing, match=why):
        versions._found(version, OtherVersions(**ways, unwinders=lambda find: ()), lambda text: None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gdb@15", r"no version matches 'gdb@15'; there is gdb@13.1, gdb@16.3, "),
        ("gdb_no_tables@15", r"no version matches .gdb_no_tables@15.; there is gdb@13.1, "),
        ("perf@*", "there are versions of gdb, lldb, libdw, llvm_libunwind, drgn, symbolic"),
    ],
)
def test_an_unknown_version_names_those_there_are(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        unwinders_named([name])


def test_of_a_pattern_what_cannot_be_had_is_told_and_one_at_least_must_be(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with pytest.raises(VersionMissing, match=r"symbolic@11.1.0: pip says"):
        unwinders_of_versions(["symbolic@11*"], told.append)
    monkeypatch.setattr(versions, "own_packages", lambda wheel, pinned: "/here" if pinned.startswith("12") else "")
    others = OtherVersions(
        in_packages=lambda packages: Found("12.18.3", packages, packages),
        unwinders=REFEREES["symbolic"].others.unwinders,
    )
    monkeypatch.setattr(versions, "REFEREES", {"symbolic": dataclasses.replace(REFEREES["symbolic"], others=others)})
    told.clear()
    (found,) = unwinders_of_versions(["symbolic@*"], told.append)
    assert found.name == "symbolic@12.18.3"
    assert [text.partition(" ")[0] for text in told if "left out" not in text] == ["symbolic@11.1.0", "symbolic@13.9.0"]
    assert sum(text.startswith("left out: symbolic@1") for text in told) == 2


@pytest.mark.parametrize("tool", sorted({each.tool for each in ALL}))
def test_a_version_that_is_here_says_that_it_is_it_and_unwinds(tool: str) -> None:
    """Of those that were brought already, or are this environment's or the system's: nothing is downloaded."""
    run = run_of("leaf_call", "x86_64", "clang-asm")
    whose = next(name for name, owner in REFEREE_OF.items() if owner == tool)
    there = 0
    for each in of_tool(tool):
        folder = versions.environments() / each.wheel.replace("==", "-")
        if each.wheel and not folder.is_dir() and not versions.own_packages(*each.wheel.split("==")):
            continue
        try:
            (unwinder,) = unwinders_of_versions([f"{whose}@{each.version}"], pytest.fail)
        except VersionMissing:
            if each.wheel:
                raise
            continue
        said = unwinder.unwind(run.at("leaf"))
        assert unwinder.name == f"{whose}@{each.version}"
        assert unwinder.tool is not None and unwinder.tool().split()[-1] == each.version
        assert judge(run, run.at("leaf"), said, unwinder).exact, f"{unwinder}: {said}"
        there += 1
    if not there:
        pytest.skip(f"no version of {tool} is here; testbed run leaf_call -u '{whose}@*' brings them (needs an index)")


# Findings from files.


FINDING = """
[[finding]]
title = "it is wrong"
unwinder = "gdb"
tool = "gdb 13.1"
since = "2026-11-21"
program = "push_ret"
arch = "x86_64"
recipe = "clang-asm"
at = "work+0x8"
because = "it asks no table"
"""


def read(folder: Path, text: str) -> tuple[Finding, ...]:
    (folder / "findings.toml").write_text(text)
    return read_findings(str(folder / "unwinder.py"))


def test_a_finding_has_its_reason_and_a_name(tmp_path: Path) -> None:
    (found,) = read(tmp_path, FINDING)
    assert (found.because, found.reference, found.of_technique) == ("it asks no table", "", False)
    assert found.id == "gdb-push_ret-x86_64-work+0x8"


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("program", "programs", "program: it is missing; a string is needed"),
        ("because", "limit", "because: it is missing; a string is needed"),
        ('"it asks no table"', "1", "because: a string is needed, not 1"),
    ],
)
def test_a_finding_without_what_it_needs_is_an_error(tmp_path: Path, written: str, instead: str, said: str) -> None:
    with pytest.raises(DataFileError, match=rf"findings\.toml: finding 1 'it is wrong': {said}"):
        read(tmp_path, FINDING.replace(written, instead, 1))
