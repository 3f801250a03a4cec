"""``testbed run ./program --at PLACE`` and ``-o page.html``: one step of a process, and pages that step through it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from testbed.cli import process_run
from tests.cli.command import Testbed, data_of, tells
from tests.process.builds import built
from tests.report.chromium import opened


def test_one_step_of_a_thread_is_shown(testbed: Testbed) -> None:
    hello, threads = str(built("hello", "x86_64", "dynamic")), str(built("threads", "x86_64", "static"))
    said = testbed("run", hello, "--at", "malloc", "-u", "eh_frame", "-u", "fp_chain", "--", "abc")  # in a library
    assert said.status == 0, said.err
    assert "malloc   " in said.out and "(root)" in said.out and "Its steps by cause" not in said.out
    own = testbed("run", threads, "--at", "work", "-u", "eh_frame")  # the first thread that comes there
    assert own.status == 0 and "start_thread" in own.out and "main" not in own.out.partition("#")[2]
    number = own.out.partition("thread ")[2].partition(":")[0]
    assert testbed("run", threads, "--at", f"{number}:work", "-u", "eh_frame").out == own.out
    assert testbed("run", threads, "--at", f"{number}:@0", "-u", "eh_frame").status == 0
    for wrong, why in (
        ("main#2", "is executed"),
        ("9:main", "no thread 9"),
        ("mian", "no symbol"),
        ("@99999999", "@0"),
    ):
        tells(testbed, 2, ("run", threads, "--at", wrong), err=[why])
    for place in ("work", f"{number}:@0", "main"):
        pieces = [testbed("run", threads, "--at", place, "-u", "eh_frame", *more) for more in ((), ("--chunk", "5000"))]
        assert pieces[0].out.partition("#")[2] == pieces[1].out.partition("#")[2] != ""
    tells(testbed, 2, ("run", threads, "--at", "main#2", "--chunk", "5000"), err=["is executed once"])


PLACES = """namespace kv {
__attribute__((noinline)) unsigned mix(unsigned a) { asm volatile("" : "+r"(a)); return a * 3; }
template <class T> __attribute__((noinline)) T twice(T a) { asm volatile("" : "+r"(a)); return a + a; }
}
int edge;
static inline int gone(int a) { asm volatile("xor $3, %0" : "+r"(a)); return a * 5; }
int both(int a) { asm volatile("xor $9, %0" : "+r"(a)); return a * 7; }
int main(int n, char **) { return kv::mix(n) + kv::twice<int>(n) + edge + gone(n) + both(n); }
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A C++ program with lines, dynamic; beside it ``kv-static``."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "kv.cpp").write_text(PLACES)
    for name, link in (("kv", ()), ("kv-static", ("-static",))):
        command = ("x86_64-linux-gnu-g++-12", "-O2", "-g", *link, "kv.cpp", "-o", name)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def test_a_place_is_named_as_reports_print_it_or_by_its_line(testbed: Testbed, places: Path) -> None:
    program = str(places / "kv")
    mix = tells(testbed, 0, ("run", program, "-u", "eh_frame", "--at", "_ZN2kv3mixEj")).out
    assert "kv::mix(unsigned int)   " in mix
    for same in ("mix", "kv::mix", "kv::mix(unsigned int)", "kv.cpp:2", f"{places.name}/kv.cpp:2#1"):
        assert testbed("run", program, "-u", "eh_frame", "--at", same).out == mix, same
    assert "int kv::twice<int>(int)   " in tells(testbed, 0, ("run", program, "--at", "kv::twice")).out
    for inlined in ("gone", "both"):  # that one has code of its own, too, which nobody calls
        said = tells(testbed, 0, ("run", program, "-u", "eh_frame", "--at", inlined))
        assert f"{inlined} [inlined] " in said.out or f"{inlined}(int) [inlined] " in said.out


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("mxi", "no symbol 'mxi'; did you mean kv::mix, "),
        ("gonne", "no symbol 'gonne'; did you mean gone"),  # which was inlined everywhere
        ("edge", "'edge' is no code"),
        ("kv.cpp:", "a source file of kv; a place in it is kv.cpp:LINE"),
        ("kv.cpp:4", "line 4 of kv.cpp has no code; the nearest that have some: 2, 3, 6"),
        ("nosuch.cpp:3", "no line of 'nosuch.cpp'"),
        ("1 + 1", "is no location"),
    ],
)
def test_a_place_that_does_not_exist_is_told_before_the_run(
    testbed: Testbed, places: Path, place: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ran(Exception):
        pass

    def run(*_: object, **__: object) -> None:
        raise Ran

    monkeypatch.setattr("testbed.process.run_process", run)
    if place.startswith("kv.cpp:"):  # it has libraries, and the source is its own
        tells(testbed, 2, ("run", str(places / "kv"), "--at", place), err=[why])
    said = tells(
        testbed, 2, ("run", str(places / "kv-static"), "--at", place), err=[why.replace(" kv;", " kv-static;")]
    )
    assert "__TMC_END__" not in said.err and "_edata" not in said.err


def test_of_a_program_with_libraries_it_is_told_before_and_they_are_looked_in(testbed: Testbed, places: Path) -> None:
    said = tells(testbed, 2, ("run", str(places / "kv"), "--at", "nosuch"), err=["its libraries are looked in as it"])
    assert "nosuch is not in kv: its" in said.err and said.err.count("no symbol 'nosuch' in kv or its libraries; ") == 1
    tells(testbed, 2, ("run", str(places / "kv"), "--at", "mallco"), err=["did you mean", " of libc.so.6?"])
    assert "__TMC_END__" not in said.err and "_edata" not in said.err
    tells(testbed, 0, ("run", str(places / "kv"), "--at", "__libc_start_main", "-u", "eh_frame"))


def test_a_place_without_a_symbol_is_shown_by_the_name_that_reports_give_it(testbed: Testbed) -> None:
    hello = str(built("hello", "x86_64", "dynamic"))
    said = testbed("run", hello, "-u", "eh_frame", "--no-debug-files", "--json", "--", "abc")
    (share,) = json.loads(said.out)["unwinders"]
    place = next(each for each in share["places"] if "+0x" in each["where"] and each["where"].startswith("ld-linux"))
    step = testbed("run", hello, "-u", "eh_frame", "--no-debug-files", "--at", place["where"], "--", "abc")
    assert step.status == 0 and f"step {place['first']}: {place['where']} " in step.out
    for wrong, why in (("ld-linux-x86-64.so.2+0x1ab71", "never executed"), ("libz.so+0x4", "no symbol")):
        tells(testbed, 2, ("run", hello, "--no-debug-files", "--at", wrong, "--", "abc"), err=[why])


def test_a_table_is_told_wrong_by_its_function_at_one_step(testbed: Testbed) -> None:
    """`_init` of a static program goes through a linkage table without rows."""
    said = testbed("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "--json", "--", "abc")
    (share,) = json.loads(said.out)["unwinders"]
    place = share["places"][0]
    step = tells(
        testbed,
        0,
        ("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "--at", f"@{place['first']}"),
        out=["no row"],
    )
    assert place["because"] == "the table has no row" and "UNEXPLAINED" not in step.out


def test_a_stack_of_more_frames_than_a_walk_goes_through_is_told_as_that(testbed: Testbed) -> None:
    wild = str(built("wild", "x86_64", "static", "-O1"))
    said = tells(testbed, 0, ("run", wild, "-u", "eh_frame", "--", "recursion"))
    assert "the stack is too deep" in " ".join(said.out.split()) and "UNEXPLAINED" not in said.out


def test_a_page_of_a_process_opens_in_its_own_code_with_the_shares_of_the_terminal_and_names_its_children(
    testbed: Testbed, tmp_path: Path
) -> None:
    page, program = tmp_path / "page.html", str(built("children", "x86_64", "dynamic"))
    asked = ("run", program, "-u", "fp_chain", "-u", "eh_frame")
    shares = data_of(testbed(*asked, "--json", "--", "fork").out, "process")["unwinders"]
    told = "eh_frame: right at every instruction of your code"
    said = tells(testbed, 0, (*asked, "-o", str(page), "--", "fork"), out=["it names 1 other program, and", told])
    own = [[code for code in each["code"] if code["part"] == "your code"] for each in shares]
    right = [str(100 * sum(c["within"] for c in of) // sum(c["called"] for c in of)) for of in own]
    with opened(page) as shown:
        shown_shares = [text.split(".")[0].rstrip(" %") for text in shown.locator(".unwinder .share").all_inner_texts()]
        assert shown_shares == right and right[1] == "100"
        assert shown.evaluate("stepper.model.col.own[stepper.at()]") == 1
        assert shown.locator("#others p").count() == 1 and "process" in shown.inner_text("#others"), said.out


def test_a_page_comes_with_the_report_and_no_two_files_of_one_kind_are_taken(testbed: Testbed, tmp_path: Path) -> None:
    page, hello = tmp_path / "page.html", str(built("hello", "x86_64", "static"))
    asked = ("run", hello, "-u", "eh_frame", "-o", str(page))
    said = tells(testbed, 0, (*asked, "--", "abc"), out=["Which stack does each unwinder show in your code?"])
    assert "hello-x86_64-static printed:" in said.out and f"{page}: " in said.out and page.exists()
    kept = tells(testbed, 0, (*asked, "--json", "--", "abc"), err=[f"{page}: "]).out
    assert data_of(kept, "process")["steps"]
    tells(testbed, 2, (*asked, "-o", str(tmp_path / "other.html")), err=["one file of a run ends so"])


def test_a_page_steps_through_the_first_thread(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, threads = tmp_path / "page.html", str(built("threads", "x86_64", "static"))
    said = tells(testbed, 0, ("run", threads, "-u", "eh_frame", "-o", str(page)))
    assert "; it names 3 other threads, and" in said.out and page.read_text().startswith("<!doctype html>")
    monkeypatch.setattr("testbed.cli.process_run.MOST_ON_A_PAGE", 2_000)
    monkeypatch.setattr("testbed.process.process_run.CHUNK", 500)
    asked = ("run", str(built("hello", "x86_64", "dynamic")), "-u", "eh_frame", "-o", str(page))
    part = tells(testbed, 0, (*asked, "--chunk", "500"), out=["eh_frame: right at every instruction of your code"]).out
    first = int(part.partition("steps, @")[2].partition(" ")[0])
    assert first > 10_000
    with opened(page, fragment=f"#step={first + 3}") as shown:
        assert shown.evaluate("stepper.place()") == f"#step={first + 3}" and shown.input_value("#step") == str(
            first + 3
        )
        shown.press("body", "Home")
        shown.press("body", "ArrowLeft")
        assert shown.input_value("#step") == shown.get_attribute("#step", "min") == str(first)
        assert "of the" in shown.inner_text("#words") and f"@{first} to @" in shown.inner_text("header")
    signals = ("run", str(built("signals", "x86_64", "static")), "-u", "eh_frame", "-o", str(page))
    said = tells(testbed, 0, signals, out=[": 2,000 steps of thread"], err=["handles a signal: held whole"])


def test_a_page_of_one_place_on_is_written_and_opens_there(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a process that one page shows whole, and of one that it does not: what older frames hold is there."""
    words = "stepper.model.stackAt(stepper.at()).words.map((word) => [word.kind, String(word.value), word.owner])"
    returns: list[list[str]] = []
    page, hello = tmp_path / "page.html", str(built("hello", "x86_64", "static"))
    asked = ("run", hello, "-u", "eh_frame", "--at", "main", "-o", str(page))
    for most, shown in ((1_000_000, r"[\d,]+ steps of"), (4_000, r"[\d,]+ steps, @\d+ to @\d+, of its [\d,]+ of")):
        monkeypatch.setattr(process_run, "MOST_ON_A_PAGE", most)
        said = tells(testbed, 0, (*asked, *(("--chunk", "2000") if most == 4_000 else ()), "--", "abc"))
        step = re.search(r"step ([\d,]+): main ", said.out)
        assert step is not None and re.search(rf"page\.html: {shown} thread 5228 of hello", said.out), said.out
        with opened(page) as shown_page:
            assert shown_page.evaluate("stepper.place()") == f"#step={step[1].replace(',', '')}"
            kinds = [(kind, value) for kind, value, _ in shown_page.evaluate(words)]
            returns.append([value for kind, value in kinds if kind == "RETURN_ADDRESS"])
            assert ("EARLIER" in dict(kinds)) == (most == 4_000)
    assert returns[0] == returns[1] != []


def test_a_page_of_a_run_that_a_signal_ended_opens_where_it_came(testbed: Testbed, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = tells(testbed, 0, ("run", "/bin/dash", "-u", "eh_frame", "-o", str(page), "--", "-c", "kill -SEGV $$"))
    steps = re.search(r"page\.html: ([\d,]+) steps of thread", said.out)
    with opened(page) as shown_page:
        assert steps and shown_page.evaluate("stepper.place()") == f"#step={int(steps[1].replace(',', '')) - 1}"


def test_a_page_has_the_source_above_the_instructions_that_were_made_from_it(
    testbed: Testbed, places: Path, tmp_path: Path
) -> None:
    """Not where the source was written behind the program: another text may stand there."""
    page, source, program = tmp_path / "page.html", places / "kv.cpp", places / "kv"
    text, built_at = source.read_text().splitlines()[1], program.stat().st_mtime
    for written_at, shown in ((built_at - 5, f"kv.cpp:2 {text}"), (built_at + 5, "kv.cpp:2 ")):
        os.utime(source, (written_at, written_at))
        tells(testbed, 0, ("run", str(program), "-u", "eh_frame", "--at", "mix", "-o", str(page)))
        with opened(page) as shown_page:
            above = shown_page.locator(".code tr[aria-current]").locator("xpath=preceding-sibling::tr[1]")
            assert above.get_attribute("class") == "source"
            assert above.inner_text().strip() == shown[:129].strip()


CHAIN = """struct Chain { int (*f)(Chain *); Chain *next; };
struct AClassWhoseNameIsLongAndThatIsTheFirst {};
struct AClassWhoseNameIsLongAndThatIsTheOther {};
template <class T> struct Link {
  __attribute__((noinline)) static int eval(Chain *c) { return c->f(c->next) + 1; }
};
__attribute__((noinline)) int leaf(Chain *) { asm volatile(""); return 1; }
int main() {
  Chain last{leaf, 0}, inner{Link<AClassWhoseNameIsLongAndThatIsTheOther>::eval, &last};
  return Link<AClassWhoseNameIsLongAndThatIsTheFirst>::eval(&inner);
}
"""


def test_frames_of_two_functions_of_one_short_name_are_not_told_as_one_that_comes_back(
    testbed: Testbed, tmp_path: Path
) -> None:
    (tmp_path / "chain.cpp").write_text(CHAIN)
    command = ("x86_64-linux-gnu-g++-12", "-O1", "-fno-ipa-icf", "chain.cpp", "-o", "chain")
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = tmp_path / "page.html"
    asked = ("run", str(tmp_path / "chain"), "-u", "eh_frame", "--at", "leaf", "-o", str(page))
    said = " ".join(tells(testbed, 0, asked).out.split())
    frame = re.search(r"Link<\.\.>::eval\+0x\w+", said)
    assert frame and said.count(frame[0]) == 4 and f"< {frame[0]} < {frame[0]} < main" in said, said
    with opened(page) as shown:
        assert shown.locator("#callers").inner_text().count(frame[0]) == 4
