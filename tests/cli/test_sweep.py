"""`testbed sweep`: what it keeps, what it goes on with, what it tells, and its exit statuses."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from testbed.checks.inputs import program_file
from testbed.report.json_forms import schema
from testbed.report.page import unpacked
from testbed.report.sweep_html import _at_most
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
NOTED = Path(__file__).parents[1] / "checks" / "declared" / "private_contract.x86_64.S"


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
    wanted = ["3 files, 2 entries", "a register is overwritten that the row says is unchanged", "/wrong.so: g ["]
    said = tells(testbed, 1, ("sweep", str(folder), "--out", database, "-j", "1"), out=wanted)
    assert testbed("sweep", "report", database).out.splitlines()[1:] == said.out.splitlines()[1:]
    data = data_of(testbed("sweep", "report", database, "--json").out, "sweep")
    assert (data["files"], data["contents"], data["suspect"], data["agreed"]) == (3, 2, 1, 1)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data | {"surprise": 1}, schema("sweep"))
    page = tmp_path / "sweep.html"
    answer = "1 of 2 entries is suspect."
    assert tells(testbed, 1, ("sweep", "report", database, "-o", str(page)), out=[answer]).out in said.out
    assert f"<strong>{answer}</strong>" in page.read_text()
    facts, _ = unpacked(page.read_text().partition('id="data">')[2].partition("<")[0])
    assert facts["suspects"][0][0] == str(folder / "wrong.so") and facts["suspects"][0][1].startswith("g [")
    assert not re.search("<link|src=", page.read_text())


def test_a_row_that_is_wrong_at_a_call_is_counted(testbed: Testbed, tmp_path: Path) -> None:
    """Of two suspects one calls where its row is wrong."""
    library(tmp_path, "wrong", WRONG)
    library(tmp_path, "calls", CALLS)
    said = testbed("sweep", str(tmp_path), "--out", str(tmp_path / "sweep.db"), "-j", "1")
    assert "1 of them at a call, too" in said.out and "1 between calls only" in said.out
    assert re.search(r"calls\.so: f \[.*wrong\s+at\s+a\s+call,\s+too", said.out, re.DOTALL)
    assert data_of(testbed("sweep", "report", str(tmp_path / "sweep.db"), "--json").out, "sweep")["at_call"] == 1


def test_it_goes_on_where_it_was(
    testbed: Testbed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept before an interrupt is not swept again."""
    swept: list[Path] = []

    def counted(path: Path, checksum: str) -> SweptContent:
        if len(swept) == most:
            raise KeyboardInterrupt
        swept.append(path)
        return sweep_file(path, checksum)

    command, most = ("sweep", str(folder), "--out", str(tmp_path / "sweep.db"), "-j", "1"), 1
    monkeypatch.setattr("testbed.cli.sweep.sweep_file", counted)
    tells(testbed, 130, command, err=["goes on where it was"])
    most = 9
    first = testbed(*command)
    assert testbed(*command).out == first.out
    assert [path.name for path in swept] == ["again.so", "wrong.so"]


def test_what_is_doubted_is_executed_once(testbed: Testbed, folder: Path, tmp_path: Path) -> None:
    """Suspects are confirmed, a sample of what agrees is right; what is kept is not called again."""
    command = ("sweep", str(folder), "--out", str(tmp_path / "sweep.db"), "-j", "1", "--execute", "--sample", "1")
    first = testbed(*command, "--json")
    data = data_of(first.out, "sweep")
    counts = {each["answer"]: each for each in data["executed"]}
    assert (counts["suspect"]["called"], counts["suspect"]["wrong"]) == (1, 1)
    assert (counts["agrees"]["called"], counts["agrees"]["right"]) == (1, 1)
    assert data["suspects"][0]["execution"] == "wrong"
    assert first.status == 1
    bound = "called, and was wrong about 0: at most 95 % of all"
    tells(testbed, 1, command, out=["executed, wrong:", bound, "is suspect, 1 of them wrong when executed."])


def test_what_nobody_sees_is_a_note_everywhere(testbed: Testbed, tmp_path: Path) -> None:
    """In the table, in the list, in JSON, on the page; it is not counted as wrong."""
    library(tmp_path, "private", NOTED.read_text())
    database, page = str(tmp_path / "sweep.db"), tmp_path / "sweep.html"
    command = ("sweep", str(tmp_path), "--out", database, "-j", "1", "--execute", "--sample", "1")
    told = "executed: note, and the first pass agreed: 1 in 1 file"
    said = tells(testbed, 0, command, out=[told, "executed, note: 0x", "was wrong about 0", "No row of 2 entries"])
    assert "executed, wrong" not in said.out
    data = data_of(testbed("sweep", "report", database, "--json").out, "sweep")
    assert [(each["wrong"], each["notes"], each["right"]) for each in data["executed"]] == [(0, 1, 1)]
    assert [each["execution"] for each in data["suspects"]] == ["note"]
    tells(testbed, 0, ("sweep", "report", database, "-o", str(page)))
    facts, _ = unpacked(page.read_text().partition('id="data">')[2].partition("<")[0])
    assert [(row[4].partition(":")[0], row[5]) for row in facts["suspects"]] == [("note", "")]


@pytest.mark.parametrize("libraries", [1, 2])
def test_a_file_that_is_executed_for_long_tells_how_far_it_is(tmp_path: Path, libraries: int) -> None:
    """Also where a process of its own executes it."""
    for number in range(libraries):
        library(tmp_path, f"wrong{number}", f"{WRONG}        .quad {number}\n")
    arguments = ("sweep", str(tmp_path), "--out", str(tmp_path / "sweep.db"), "-j", "2", "--execute")
    eager = "from testbed.cli import main, terminal; terminal.EVERY = 0.0; main()"
    done = subprocess.run([sys.executable, "-c", eager, *arguments], capture_output=True, text=True, check=False)
    for number in range(libraries):
        assert f"executing wrong{number}.so: 1 of 1 groups of functions, " in done.stderr


@pytest.mark.parametrize(
    ("found", "tried", "most"), [(0, 0, 1), (0, 2, 0.776), (1, 20, 0.216), (3, 1000, 0.0077), (5, 5, 1)]
)
def test_the_bound_of_a_sample_is_the_exact_one(found: int, tried: int, most: float) -> None:
    """Values of tables of Clopper and Pearson's interval, one side."""
    assert _at_most(found, tried) == pytest.approx(most, rel=0.005)


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
            Step("sweep {folder}/right.so --out old.db", out=["No row of 1 entry is suspect"]),
            Step("sweep {folder} --out new.db -j 1", 1),
            Step("sweep report new.db --against old.db", 1, out=["1 suspect new, 0 gone, 0 in both"]),
            Step("sweep report old.db --against new.db", out=["0 suspects new, 1 gone, 0 in both"]),
            Step("sweep report new.db --against new.db", out=["0 suspects new, 0 gone, 1 in both"]),
        ],
        folder=folder,
    )


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
    tells(testbed, 0, ("sweep", str(path), "--out", str(tmp_path / "sweep.db")), out=["not swept:"])
