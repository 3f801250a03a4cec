"""`testbed sweep`: what it keeps, what it goes on with, what it tells, and its exit statuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest

from testbed.checks.inputs import program_file
from testbed.report.json_forms import schema
from testbed.report.page import unpacked
from testbed.sweep.model import SweptContent
from testbed.sweep.sweep_file import sweep_file
from tests.cli.command import Step, Testbed, data_of, session, tells

pytest.importorskip("ziglang", reason="needs pip install ziglang")

RIGHT = """\
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
"""
CALLS = RIGHT.replace("        .cfi_offset %rbx, -16\n", "").replace(
    "        popq", "        call    *%rsi\n        popq"
)
WRONG = (
    RIGHT.replace("        .cfi_offset %rbx, -16\n", "").replace("\nf:", "\ng:").replace(" f", " g").replace("-f", "-g")
)


def library(folder: Path, name: str, text: str) -> None:
    """A library of that name, built from a source."""
    (folder / f"{name}.S").write_text(text)
    with program_file(folder / f"{name}.S", "x86_64", ()) as built:
        (folder / f"{name}.so").write_bytes(built.read_bytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three libraries, two of them alike, and what is none."""
    folder = tmp_path_factory.mktemp("libraries")
    library(folder, "right", RIGHT)
    library(folder, "wrong", WRONG)
    (folder / "again.so").write_bytes((folder / "right.so").read_bytes())
    (folder / "none.so").write_text("INPUT(libc.so.6)")
    return folder


def test_suspects_are_told_and_kept(testbed: Testbed, folder: Path, tmp_path: Path) -> None:
    database = str(tmp_path / "sweep.db")
    said = testbed("sweep", str(folder), "--out", database, "-j", "1")
    assert said.status == 1
    assert "3 files, 2 entries" in said.out
    assert "a register is overwritten that the row says is unchanged" in said.out
    assert f"{folder / 'wrong.so'}: g [" in said.out
    assert testbed("sweep", "report", database).out.splitlines()[1:] == said.out.splitlines()[1:]


def test_a_row_that_is_wrong_at_a_call_is_counted(testbed: Testbed, tmp_path: Path) -> None:
    """Of two suspects one calls where its row is wrong."""
    library(tmp_path, "wrong", WRONG)
    library(tmp_path, "calls", CALLS)
    said = testbed("sweep", str(tmp_path), "--out", str(tmp_path / "sweep.db"), "-j", "1")
    assert "1 of them at a call, too" in said.out and "1 between calls only" in said.out
    assert re.search(r"calls\.so: f \[.*wrong at a call, too", said.out)
    assert data_of(testbed("sweep", "report", str(tmp_path / "sweep.db"), "--json").out, "sweep")["at_call"] == 1


def test_json_follows_its_schema(testbed: Testbed, folder: Path, tmp_path: Path) -> None:
    said = testbed("sweep", str(folder), "--out", str(tmp_path / "sweep.db"), "-j", "1", "--json")
    data = data_of(said.out, "sweep")
    assert (data["files"], data["contents"], data["suspect"], data["agreed"]) == (3, 2, 1, 1)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data | {"surprise": 1}, schema("sweep"))


def test_it_goes_on_where_it_was(
    testbed: Testbed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept before an interrupt is not swept again."""
    database = tmp_path / "sweep.db"
    swept: list[Path] = []

    def interrupted(path: Path, checksum: str) -> SweptContent:
        if len(swept) == 1:
            raise KeyboardInterrupt
        swept.append(path)
        return sweep_file(path, checksum)

    def counted(path: Path, checksum: str) -> SweptContent:
        swept.append(path)
        return sweep_file(path, checksum)

    command = ("sweep", str(folder), "--out", str(database), "-j", "1")
    monkeypatch.setattr("testbed.cli.sweep.sweep_file", interrupted)
    tells(testbed, 130, command, err=["goes on where it was"])
    monkeypatch.setattr("testbed.cli.sweep.sweep_file", counted)
    first = testbed(*command)
    assert [path.name for path in swept] == ["again.so", "wrong.so"]
    assert testbed(*command).out == first.out
    assert len(swept) == 2


def test_what_is_doubted_is_executed_once(testbed: Testbed, folder: Path, tmp_path: Path) -> None:
    """Suspects are confirmed, a sample of what agrees is right; what is kept is not called again."""
    command = ("sweep", str(folder), "--out", str(tmp_path / "sweep.db"), "-j", "1", "--execute", "--sample", "1")
    first = testbed(*command, "--json")
    data = data_of(first.out, "sweep")
    counts = {each["answer"]: each for each in data["executed"]}
    assert (counts["suspect"]["called"], counts["suspect"]["wrong"]) == (1, 1)
    assert (counts["agrees"]["called"], counts["agrees"]["right"]) == (1, 1)
    assert data["suspects"][0]["execution"] == "wrong"
    again = testbed(*command)
    assert first.status == again.status == 1
    assert "executed, wrong:" in again.out
    assert "was wrong about 0" in again.out


def test_a_file_over_which_every_process_dies_is_not_swept(
    testbed: Testbed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is swept all the same."""

    def sweep_or_die(path: Path, checksum: str) -> SweptContent:
        if path.name == "wrong.so":
            os.kill(os.getpid(), signal.SIGKILL)
        return sweep_file(path, checksum)

    monkeypatch.setattr("testbed.cli.sweep.sweep_file", sweep_or_die)
    monkeypatch.setattr(f"{__name__}.sweep_or_die", sweep_or_die, raising=False)
    sweep_or_die.__qualname__ = "sweep_or_die"  # pickled by its name
    said = testbed("sweep", str(folder), "--out", str(tmp_path / "sweep.db"), "-j", "2", "--json")
    data = json.loads(said.out)
    assert (data["contents"], data["agreed"], data["suspect"]) == (2, 1, 0)
    ((file, why),) = data["failures"]
    assert file.endswith("wrong.so") and "died, twice" in why


def test_what_is_right_is_no_finding_and_two_sweeps_are_compared(
    testbed: Testbed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session(
        testbed,
        [
            Step("sweep {folder}/right.so --out old.db", out=["suspect                0"]),
            Step("sweep {folder} --out new.db -j 1", 1),
            Step("sweep report new.db --against old.db", 1, out=["1 suspect new, 0 gone, 0 in both"]),
            Step("sweep report old.db --against new.db", out=["0 suspects new, 1 gone, 0 in both"]),
            Step("sweep report new.db --against new.db", out=["0 suspects new, 0 gone, 1 in both"]),
        ],
        folder=folder,
    )


def test_a_page_holds_all_suspects(testbed: Testbed, folder: Path, tmp_path: Path) -> None:
    database, page = str(tmp_path / "sweep.db"), tmp_path / "sweep.html"
    testbed("sweep", str(folder), "--out", database, "-j", "1")
    testbed("sweep", "report", database, "-o", str(page))
    text = page.read_text()
    data = re.search(r'id="data">([^<]*)<', text)
    assert data is not None
    facts, _ = unpacked(data[1])
    assert facts["suspects"][0][0] == str(folder / "wrong.so")
    assert facts["suspects"][0][1].startswith("g [")
    assert "<link" not in text and "src=" not in text


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb: apt-get install dpkg")
def test_a_package_is_swept(testbed: Testbed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are told as the package has them; the package is a column of its own."""
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(
        "Package: some\nVersion: 2\nArchitecture: amd64\nMaintainer: nobody <a@b>\nDescription: none\n"
    )
    (root / "lib.so").write_bytes((folder / "wrong.so").read_bytes())
    subprocess.run(["dpkg-deb", "--build", str(root), str(tmp_path / "s.deb")], check=True, capture_output=True)
    command = ("sweep", f"deb:{tmp_path / 's.deb'}", "--out", str(tmp_path / "sweep.db"), "-j", "1")
    said = testbed(*command, "--json")
    (suspect,) = json.loads(said.out)["suspects"]
    assert (suspect["file"], suspect["package"]) == ("deb:some/lib.so", "some 2 amd64")
    (tmp_path / "s.deb").write_bytes(b"no package")
    assert testbed(*command).status == 1  # it is kept
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    if shutil.which("apt-get") is not None:
        tells(
            testbed, 2, ("sweep", "deb:zlib1g", "--out", str(tmp_path / "none.db")), err=["error: deb:zlib1g: apt-get"]
        )
    other = tmp_path / "other.deb"
    other.write_bytes(b"no package")
    tells(testbed, 2, ("sweep", f"deb:{other}", "--out", str(tmp_path / "sweep.db")), err=["error: deb:"])


def test_an_object_file_says_what_to_do(testbed: Testbed, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "object.o"
    content = bytearray((folder / "right.so").read_bytes())
    content[16] = 1  # ET_REL
    path.write_bytes(content)
    said = testbed("sweep", str(path), "--out", str(tmp_path / "sweep.db"))
    assert said.status == 0
    assert "not swept:" in said.out
