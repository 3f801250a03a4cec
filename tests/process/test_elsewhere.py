"""What programs print, and how they end, is what they do natively or under qemu-user."""

import fcntl
import os
from pathlib import Path

import pytest

from testbed.process import run_process
from tests.process.builds import ALL, ENVIRONMENT, TARGETS, built, elsewhere, host_is_x86_64, outside, ran, told

# Each program on each architecture, static or dynamic by turns.
RUNS = (
    *(("hello", target, link, "abc") for target, link in ALL),
    *(("sort", target, link) for target, link in (("x86_64", "static"), ("arm64", "dynamic"), ("thumb", "static"))),
    *(("signals", target, link) for target, link in ALL if (target in ("a32", "x86_64")) == (link == "static")),
    *(("threads", target, link) for target, link in ALL if (target in ("a32", "arm64")) == (link == "static")),
    *((name, target, "static") for name in ("jumps", "contexts") for target in TARGETS),
    ("files", "x86_64", "dynamic"),
    ("files", "arm64", "static"),
    ("exceptions", "x86_64", "dynamic"),
)
# Programs that do something else by their argument, to themselves, their files and their children: no call is refused.
WAYS = {
    "children": "fork pipe signals broken exec vfork group poll orphan missing stopped unwatched",
    "channels": "echo pair local datagrams nonblocking watching named anonymous memfd shm",
    "arrivals": "mapped twice rights senders timer taken",
    "timers": "once again made threads queued",
    "own_files": "links modes times pipe locks moved paths limits",
}
LEFT_TO_NATIVE = {"exec", "vfork"}  # qemu-user hands execve to the host, which has no file there


SCRIPTS = (
    "echo a b | tr a-z A-Z | cat; echo $?",
    "x=$(echo hi | wc -c); echo $x; (exit 3); echo $?",
    "sleep 1 & wait $!; echo $?; false || echo or; ! true; echo $?",
    "trap 'echo term' TERM; kill -TERM $$; (kill -KILL $(exec sh -c 'echo $PPID')) ; echo $?",
    "printf '3\\n1\\n2\\n' | sort | head -n 2 | while read x; do echo got $x; done",
    "echo one > /tmp/x-$$; cat < /tmp/x-$$ | sed s/one/two/; rm /tmp/x-$$; test -e /tmp/x-$$ || echo gone",
    "exec expr 6 \\* 7",
    "no-such-program 2> /dev/null; echo $?; /bin 2> /dev/null; echo $?",
    "yes | head -n 3; seq 3 | xargs -n 1 echo n",
    "set -- a b; for i; do echo $i; done | awk '{ print NR, $1 }'",
    "cat <<end | tee /dev/null | grep -c x\nx\ny\nx\nend",
    "sleep 9 & kill -STOP $!; kill $!; kill -CONT $!; wait $!; echo $?",
    "cd /tmp; mkfifo p-$$; echo through > p-$$ & cat p-$$; rm p-$$; ln -s /bin/sh l-$$; readlink l-$$; rm l-$$",
    "cd /tmp; echo echo run > x-$$; chmod 750 x-$$; ls -l x-$$ | cut -c 1-10; flock x-$$ ./x-$$; rm x-$$",
    "echo in | cat /dev/stdin /dev/fd/3 3</dev/null; ulimit -n 20; ulimit -n",
)


@pytest.mark.parametrize("case", RUNS, ids="-".join)
def test_output_and_status_are_what_they_are_elsewhere(case: tuple[str, ...]) -> None:
    run = ran(*case)
    assert told(run) == elsewhere(*case)
    assert run.stdout


@pytest.mark.parametrize(("name", "way"), [(name, way) for name, ways in WAYS.items() for way in ways.split()])
@pytest.mark.parametrize("target", TARGETS)
def test_each_way_ends_as_it_does_elsewhere(name: str, way: str, target: str) -> None:
    run = ran(name, target, "static", way)
    there = "x86_64" if way in LEFT_TO_NATIVE else target
    if there == "x86_64" and not host_is_x86_64():
        pytest.skip("it is compared with a native run, and this machine is not x86_64")
    assert told(run) == elsewhere(name, there, "static", way)
    assert run.stdout and all(each.error == "ESRCH" for each in run.refused)  # a process that is over


def test_a_descriptor_of_the_testbed_is_no_file_of_the_host() -> None:
    with open(os.devnull) as file:
        kept = fcntl.fcntl(file, fcntl.F_DUPFD, 99)  # the program asks for /proc/self/fd/99
    try:
        assert run_process(built("own_files", "x86_64", "static"), ["paths"]).refused == ()
    finally:
        os.close(kept)


def test_files_are_the_same_on_a_machine_of_32_bits() -> None:
    """qemu-user on a machine of 64 bits lists no folder for it, so what the program says elsewhere is written here."""
    assert told(ran("files", "thumb", "static")) == elsewhere("files", "x86_64", "dynamic")


def test_nobody_says_that_he_is_another_process() -> None:
    """Tests may be run by a user who may: so what is printed stands here."""
    said = ran("arrivals", "x86_64", "static", "liar").stdout.decode().splitlines()
    assert said == ["as another -1 Operation not permitted", "as itself 5 ", "2 truth", "1"]


@pytest.mark.skipif(not host_is_x86_64(), reason="runs programs of the host")
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_print_what_they_print_natively(shell: str, script: str) -> None:
    run = run_process(shell, ["-c", script])
    assert told(run) == outside(Path(shell), "x86_64", ["-c", script], ENVIRONMENT), run.stderr
