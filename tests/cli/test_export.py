"""`testbed export` and `testbed backtrace` as a user meets them."""

import json
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest

from testbed.cli import COMMANDS
from testbed.image import read_image
from testbed.report.answers import NOTE
from testbed.report.json_forms import FOLDER, PRINTED, schema_text
from tests import corpus
from tests.cli.command import Step, Testbed, data_of, session, tells


@pytest.fixture(autouse=True)
def folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files are written to the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("form", ["core", "minidump", "json"])
@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_what_is_exported_unwinds_with_names_and_says_that_nothing_is_judged(
    testbed: Testbed, arch: str, form: str, tmp_path: Path
) -> None:
    status, out, err = testbed("export", "leaf_call", "-a", arch, "--at", "leaf_body", "--format", form)
    assert (status, err) == (0, "")
    (file,) = tmp_path.iterdir()
    assert file.name in out and f"{file.stat().st_size:,} bytes" in out
    status, out, err = testbed("backtrace", file.name, "--sysroot", "/")
    assert (status, err) == (0, "") and NOTE in out
    table = "debug_frame" if arch == "arm32" else "eh_frame"
    group = next(part for part in out.split("\n\n") if table in part.splitlines()[0])
    assert [line.split(" in ")[1] for line in group.splitlines() if " in " in line] == [
        f"{name} ()" for name in ("leaf", "middle", "main", "_start")
    ]
    status, out, err = testbed("backtrace", file.name, "--sysroot", "/", "--json", "-u", table, "-u", "fp_chain")
    data = data_of(out, "backtrace")
    assert set(data["backtraces"]) == {table, "fp_chain"} and data["judged"] is False
    assert data["backtraces"][table]["root_claimed"] is True


def test_a_folder_with_a_snapshot_and_its_program_file(testbed: Testbed, tmp_path: Path) -> None:
    out = testbed("export", "leaf_call", "-a", "arm64", "--at", "leaf_body", "-f", "json", "-o", "one.json")[1]
    program = Path(out.rsplit(": ", 1)[1].strip())
    folder = tmp_path / "folder"
    folder.mkdir()
    data = json.loads((tmp_path / "one.json").read_text())
    data["images"][0]["path"] = program.name
    (folder / "one.json").write_text(json.dumps(data))
    status, _, err = testbed("backtrace", "folder", "--sysroot", "/")
    assert status == 2 and program.name in err and "--skip-missing" in err
    (folder / program.name).write_bytes(program.read_bytes())
    status, out, _ = testbed("backtrace", "folder", "--sysroot", "/", "-u", "eh_frame")
    assert status == 0 and "_start ()" in out


@pytest.mark.parametrize("recipe", ["macho-O2", "keystone"])
def test_a_mach_o_core_names_its_program_file(testbed: Testbed, recipe: str) -> None:
    program, at = {"macho-O2": ("alloca_vla", "main+0x8"), "keystone": ("leaf_call", "leaf")}[recipe]
    out = testbed("export", program, "-a", "arm64", "-r", recipe, "--at", at, "-f", "macho-core", "-o", "a.mcore")[1]
    file = out.rsplit(": ", 1)[1].strip()
    steps = [
        Step("backtrace a.mcore", 2, err=[f"no file for the module {file}", "--sysroot /"]),
        Step("backtrace a.mcore --sysroot /", out=[f"{file} at 0x", "_start ()"], err=""),
    ]
    session(testbed, steps)


def test_a_mach_o_core_without_that_note_needs_to_be_told_where_the_program_lies(
    testbed: Testbed, tmp_path: Path
) -> None:
    out = testbed(
        "export", "alloca_vla", "-a", "arm64", "-r", "macho-O2", "--at", "main+0x8", "-f", "macho-core", "-o", "a.mcore"
    )[1]
    program, core = out.rsplit(": ", 1)[1].strip(), tmp_path / "a.mcore"
    core.write_bytes(core.read_bytes().replace(b"all image infos", b"not known to us"))
    steps = [
        Step("backtrace a.mcore -u compact_unwind", 1, out=["no image covers"], err=["--file PATH@0x400000"]),
        Step("backtrace a.mcore --file {program}", 2, err=["@0x..."]),
        Step("backtrace a.mcore --file {program}@0x10a5c4000 -u lr_leaf", out=["_start ()"]),
    ]
    session(testbed, steps, program=program)


@pytest.mark.parametrize("form", ["core", "minidump", "json", "macho-core"])
def test_without_any_program_file_what_needs_none_is_asked_and_it_is_said_what_would_help(
    testbed: Testbed, form: str
) -> None:
    testbed("export", "leaf_call", "-a", "arm64", "--at", "leaf", "-f", form, "-o", "a")
    status, out, err = testbed("backtrace", "a", "--skip-missing")
    assert status == 0 and "no program file is known" in err and "--file PATH@0x" in err
    assert out.splitlines()[0].endswith("arm64, pc 0x41004c, sp 0x7ffffffeffd0")  # the pc once: there is no name
    (chain,) = (part for part in out.split("\n\n") if part.startswith("fp_chain"))
    assert [line.split()[1] for line in chain.splitlines() if " in " in line] == [
        f"{pc:#018x}" for pc in (0x41004C, 0x410024, 0x41000C)
    ]
    status, out, err = testbed("backtrace", "a", "--skip-missing", "--json")
    assert status == 0 and len(json.loads(out)["backtraces"]["fp_chain"]["frames"]) == 3
    assert "no program file is known" in err


# ``--debug-dir`` of ``testbed backtrace`` and ``table``: names from separate debug files, only where the user says so.

NO_EH_FRAME = "-fno-asynchronous-unwind-tables -fno-unwind-tables"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A snapshot inside a stripped program, as a stranger would write it by hand, and the program's debug file."""
    if shutil.which("gcc") is None or shutil.which("objcopy") is None:
        pytest.skip("Debian packages: gcc, binutils")
    (tmp_path / "x.c").write_text("int inner(int n) { return n + 1; }\nint start(void) { return inner(4) + 2; }\n")
    machine = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True, timeout=60).stdout
    arch = {"x86_64": "x86_64", "aarch64": "arm64"}.get(machine.partition("-")[0])
    if arch is None:
        pytest.skip("gcc is for an architecture that is not in the catalogue")
    for command in (
        f"gcc -g -O0 {NO_EH_FRAME} -nostdlib -static -no-pie -Wl,-estart -o whole x.c",
        "objcopy --only-keep-debug whole program.debug",
        "objcopy --strip-all whole program",
        "objcopy --add-gnu-debuglink=program.debug program",
    ):
        subprocess.run(command.split(), cwd=tmp_path, check=True, timeout=60)
    inner = read_image(tmp_path / "whole").symbol_named("inner")
    pc = "rip" if arch == "x86_64" else "pc"
    sp = "rsp" if arch == "x86_64" else "sp"
    data = {
        "format": "testbed snapshot",
        "version": 1,
        "arch": arch,
        "registers": {pc: hex(inner.address), sp: "0x7fff0000"},
        "memory": [{"address": "0x7fff0000", "hex": "00" * 16}],
        "images": [{"path": "program", "bias": "0x0"}],
    }
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(data))
    return path


def test_names_come_from_the_debug_file_where_a_folder_is_given(testbed: Testbed, snapshot: Path) -> None:
    without = testbed("backtrace", str(snapshot), "--sysroot", "/", "-u", "eh_frame")
    assert without.status == 1 and "no unwinder found a caller" in without.err  # no table, and a stack of zeros
    assert "inner" not in without.out and "debug information" not in without.out
    found = testbed("backtrace", str(snapshot), "--sysroot", "/", "-u", "eh_frame", "--debug-dir", str(snapshot.parent))
    assert f"debug information from {snapshot.parent / 'program.debug'}" in found.out
    assert "inner" in found.out and "x.c:1" in found.out


def test_a_table_of_a_debug_file_is_shown(testbed: Testbed, snapshot: Path) -> None:
    steps = [
        Step("rows {folder}/program -f debug_frame", 2),
        Step("rows {folder}/program -f debug_frame --debug-dir {folder}", out=["inner"]),
    ]
    session(testbed, steps, folder=snapshot.parent)


def test_as_data_it_keeps_the_schema(testbed: Testbed, snapshot: Path) -> None:
    asked = ("backtrace", str(snapshot), "--sysroot", "/", "--json", "--debug-dir", str(snapshot.parent))
    debug = snapshot.parent / "program.debug"
    assert data_of(testbed(*asked).out, "backtrace")["images"][0]["debug_file"] == str(debug)
    debug.write_bytes(b"another file")
    (image,) = data_of(testbed(*asked).out, "backtrace")["images"]
    assert "debug_file" not in image and "the CRC is" in image["notes"][0]


# ``testbed rows``: the rows of a file, and files without tables or with damaged ones.


def test_a_damaged_table_is_one_message(testbed: Testbed, tmp_path: Path) -> None:
    built = corpus.built("leaf_call", "x86_64", "keystone")
    content = bytearray(built.path.read_bytes())
    content[built.image.sections[".sframe"].offset] ^= 0xFF
    path = tmp_path / "damaged.elf"
    path.write_bytes(content)
    tells(testbed, 2, ("rows", str(path), "-f", "sframe"), err=[".sframe+0x0: the magic number is"])


# Every ``--json`` has a schema, and what is printed follows it.


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["matrix", "--known-bugs", "clang", "--json"], "findings"),
        (["fuzz", "--seeds", "1", "-a", "x86_64", "-r", "keystone", "-u", "eh_frame", "--json"], "fuzz"),
        *(
            (["list", what, "--json"], "list")
            for what in ("programs", "unwinders", "referees", "recipes", "arches", "assumptions")
        ),
        (["score", "-u", "fp_chain", "-a", "x86_64", "--json"], "score"),
    ],
)
def test_what_is_printed_follows_its_schema(testbed: Testbed, arguments: list[str], name: str) -> None:
    data_of(tells(testbed, 0, arguments).out, name)


@pytest.mark.parametrize("name", PRINTED)
def test_a_schema_in_the_repository_is_the_one_that_its_form_makes(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert text == schema_text(PRINTED[name]), "python -m testbed.report.json_forms writes it"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_every_command_with_json_has_a_schema() -> None:
    commands = {name: import_module(f"testbed.cli.{name}").command for name in COMMANDS}
    with_json = {name for name, command in commands.items() if any("--json" in param.opts for param in command.params)}
    assert with_json - {path.stem for path in FOLDER.glob("*.json")} == set()
