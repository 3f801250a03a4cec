"""What comes with the vectors works by itself: the checker in C, commands in any language, the README's example."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus import tool

_STRICT = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror")


def run(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(argument) for argument in arguments]
    env = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=120)


def built_checker(source: Path, folder: Path) -> Path:
    done = run(tool("cc gcc", "gcc"), *_STRICT, "-o", folder / "checker", source, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "checker"


def totals(printed: str) -> list[int]:
    """The columns of the C checker's table: exact, stop, foretold, SHORT, LIE."""
    rows = re.findall(r"^(?:entry|prologue|body|epilogue|call) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", printed, re.M)
    assert len(rows) == 5
    return [sum(int(row[i]) for row in rows) for i in range(5)]


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_the_example_in_c_follows_frame_pointers_as_our_unwinder_does(
    small_set: Path, tmp_path: Path, arch: str
) -> None:
    """Written anew, from the README: exact, stopped and deceived at the very same sites."""
    checker = built_checker(small_set / "check_vectors.c", tmp_path)
    done = run(checker, "--technique", "fp_chain", *sorted((small_set / arch).glob("*.json")), cwd=tmp_path)
    exact, stop, foretold, short, lie = totals(done.stdout)
    assert (done.returncode, short, lie) == (0, 0, 0), done.stdout
    assert exact and stop and foretold
    without = run(checker, *sorted((small_set / arch).glob("*.json")), cwd=tmp_path)
    assert totals(without.stdout) == [exact, stop, 0, 0, foretold]
    assert without.returncode == 1
    assert re.search(r"^ +testbed run \S+ --arch \w+ --recipe \S+ --machine --at @\d+$", without.stdout, re.M)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("cfa = pointer + 16", "cfa = pointer + 8"),
        ("return *root = 1, count", "return *root = 0, count"),
        ("caller->reg[0].value = pointer = saved", "pointer = saved, caller->reg[0].value = back"),
        ("if (!pointer) return", "if (!pointer || count == 2) return"),
    ],
)
def test_a_mistake_in_the_example_in_c_is_found(small_set: Path, tmp_path: Path, right: str, wrong: str) -> None:
    source = (small_set / "check_vectors.c").read_text()
    assert source.count(right) == 1
    (tmp_path / "wrong.c").write_text(source.replace(right, wrong))
    checker = built_checker(tmp_path / "wrong.c", tmp_path)
    done = run(checker, "--technique", "fp_chain", *(small_set / "x86_64").glob("*.json"), cwd=tmp_path)
    assert done.returncode == 1
    assert sum(totals(done.stdout)[3:]) > 0


def test_files_that_are_none_are_told(small_set: Path, tmp_path: Path) -> None:
    checker = built_checker(small_set / "check_vectors.c", tmp_path)
    whole = next((small_set / "x86_64").glob("*.json")).read_text()
    for content, message in (
        (whole[:1000], "expected"),
        ("", "no test vectors"),
        ('{"format":"testbed vectors","version":1}', "no test vectors of version 2"),
    ):
        (tmp_path / "damaged.json").write_text(content)
        done = run(checker, tmp_path / "damaged.json", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
    assert run(checker, tmp_path / "nowhere.json", cwd=tmp_path).returncode == 2


def test_the_function_of_the_readme_runs_as_it_stands(small_set: Path, tmp_path: Path) -> None:
    text = (small_set / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S)
    (tmp_path / "mine.py").write_text(code[1])
    arguments = (
        sys.executable,
        small_set / "check_vectors.py",
        "--arch",
        "x86_64",
        small_set,
        "--function",
        "mine:unwind",
    )
    done = run(*arguments, "--technique", "fp_chain", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert run(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path)).returncode == 1


# A command that knows the innermost frame only: honest, and short of what tables can say.
_TIMID = """
import json, sys
file = json.load(open(sys.argv[1]))
for vector in file["vectors"][{first}:]:
    pc = vector["registers"].get("rip", file["registers"]["rip"])
    print(json.dumps({{"id": vector["id"], "frames": [{{"pc": pc}}], "stopped": "that is all I know"}}), flush=True)
{after}
"""


@pytest.mark.parametrize(
    ("first", "after", "options", "status", "told"),
    [
        (0, "", (), 0, ""),
        (0, "", ("--technique", "eh_frame"), 1, "SHORT"),
        (1, "", (), 1, "NONE"),
        (0, "sys.exit(3)", (), 0, ""),
    ],
)
def test_a_command_is_asked_about_each_file(
    small_set: Path, tmp_path: Path, first: int, after: str, options: tuple[str, ...], status: int, told: str
) -> None:
    (tmp_path / "timid.py").write_text(_TIMID.format(first=first, after=after))
    few = tmp_path / "few"
    shutil.copytree(small_set / "x86_64", few / "x86_64", ignore=lambda _, names: [n for n in names if "leaf" not in n])
    index = (small_set / "index.json").read_text()
    others = re.sub(r'  \{"file":"(?!x86_64/leaf).*\n', "", index)
    (few / "index.json").write_text(re.sub(r",\n \]", "\n ]", others))
    command = ("--", sys.executable, tmp_path / "timid.py")
    done = run(sys.executable, small_set / "check_vectors.py", *options, few, *command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    assert told in done.stdout
    stops = re.search(r"^x86_64 +body +(\d+) +0 +(\d+)", done.stdout, re.M)
    assert (stops[1] == stops[2]) == (told != "SHORT")


@pytest.mark.parametrize("key", ["mapped", "image", "blocks", "classes", "callers", "vectors", "memory", "segments"])
def test_a_damaged_file_is_told_by_its_name(small_set: Path, tmp_path: Path, key: str) -> None:
    """A member that is not there is no crash: one sentence, status 2, in both checkers."""
    checker = built_checker(small_set / "check_vectors.c", tmp_path)
    whole = next((small_set / "x86_64").glob("leaf_call.*.json"))
    shutil.copytree(whole.parent, tmp_path / "x86_64")
    damaged = tmp_path / "x86_64" / whole.name
    damaged.write_text(whole.read_text().replace(f'"{key}":', '"lost":'))
    done = run(checker, "--technique", "fp_chain", damaged, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"{damaged}: a member is missing: {key}\n"


def test_a_folder_and_an_unknown_technique_are_refused(small_set: Path, tmp_path: Path) -> None:
    checker = built_checker(small_set / "check_vectors.c", tmp_path)
    assert run(checker, ".", cwd=tmp_path).stderr == ".: is a folder, or too large: .\n"
    whole = next((small_set / "x86_64").glob("leaf_call.*.json"))
    for offset, size in (("0xffffffffffffffff", 4), ("0", 1 << 40)):
        text = re.sub(r'"offset":\d+', f'"offset":{int(offset, 0)}', whole.read_text(), count=1)
        (tmp_path / whole.name).write_text(re.sub(r'"file_size":\d+', f'"file_size":{size}', text, count=1))
        shutil.copyfile(whole.with_suffix(".elf"), tmp_path / whole.with_suffix(".elf").name)
        done = run(checker, tmp_path / whole.name, cwd=tmp_path)
        assert (done.returncode, "a segment is not in the file" in done.stderr) == (2, True)
    done = run(checker, "--technique", "fp_chian", whole, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "fp_chian: no file knows this technique; index.json names them\n")
    assert run(checker, cwd=tmp_path).returncode == 2


def test_a_command_is_stopped_that_prints_without_end(small_set: Path, tmp_path: Path) -> None:
    few = tmp_path / "few"
    shutil.copytree(small_set / "x86_64", few / "x86_64", ignore=lambda _, names: [n for n in names if "leaf" not in n])
    index = json.loads((small_set / "index.json").read_text())
    index["files"] = [entry for entry in index["files"] if entry["file"].startswith("x86_64/leaf_call.")][:1]
    (few / "index.json").write_text(json.dumps(index))
    endless = ("-c", "while True: print('x' * 65536)")
    limited = "import resource as r, runpy, sys; r.setrlimit(r.RLIMIT_AS, (1 << 28, 1 << 28)); del sys.argv[0]"
    start = (sys.executable, "-c", f"{limited}; runpy.run_path(sys.argv[0], run_name='__main__')")
    check = (*start, small_set / "check_vectors.py", few, "--")
    done = run(*check, sys.executable, *endless, cwd=tmp_path)
    assert done.returncode == 1 and "NONE" in done.stdout
    assert ": the command printed more than 16777216 bytes, and was stopped\n" in done.stderr
    done = run(*check, "./nothing", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (
        *(2, ""),
        "error: ./nothing does not start: No such file or directory\n",
    )
    (few / index["files"][0]["file"]).write_text("{}")
    done = run(*check, "true", cwd=tmp_path)
    assert done.returncode == 2 and "is no file of test vectors: KeyError" in done.stderr
    (few / "index.json").unlink()
    done = run(*check, "true", cwd=tmp_path)
    assert done.returncode == 2 and "index.json is no index of test vectors" in done.stderr


def test_a_command_that_answers_nothing_is_told_how_it_is_asked(small_set: Path, tmp_path: Path) -> None:
    """A program of the protocol waits on its standard input, and does not know that argument."""
    check = (sys.executable, small_set / "check_vectors.py", small_set, "--arch", "x86_64", "--")
    done = run(*check, sys.executable, "-c", "print('{\"protocol\": 1}')", cwd=tmp_path)
    assert done.returncode == 1 and "NONE" in done.stdout
    assert "there was no answer at all" in done.stderr and "--unwinder-cmd" in done.stderr
