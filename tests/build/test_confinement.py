"""What a confined command may read, write, reach and start, and which compilers are confined."""

import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.arch import ARCHES, Arch, Isa
from testbed.build import build, confined
from testbed.build.compile import assemble, assemble_gnu, compile_c, compile_gcc, is_installed
from testbed.build.confined import SYSTEM, Confinement, _limit, confining, has_seccomp, landlock_version, start_confined
from testbed.build.recipes import RECIPES
from testbed.program.model import Source, read_program
from testbed.program.start import START
from testbed.words.errors import BuildError

landlock = pytest.mark.skipif(not landlock_version(), reason="the kernel has no Landlock switched on")
seccomp = pytest.mark.skipif(not has_seccomp(), reason="no filters of system calls are known for this machine")
WANTS = """
import json, os, socket, sys
given = json.loads(sys.argv[1])
said = {}
def tried(name, what):
    try:
        what()
        said[name] = "done"
    except OSError as error:
        said[name] = type(error).__name__
def connected(port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        one.connect(("127.0.0.1", port))
tried("write inside", lambda: open(given["inside"], "w").close())
tried("write outside", lambda: open(given["outside"], "w").close())
tried("read", lambda: open(given["secret"]).close())
tried("tcp", lambda: connected(given["port"]))
tried("other port", lambda: connected(given["other"]))
tried("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close())
tried("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW).close())
tried("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close())
tried("unix", lambda: socket.socket(socket.AF_UNIX).close())
tried("listen", lambda: socket.create_server(("127.0.0.1", 0)).close())
tried("parent", lambda: os.kill(os.getppid(), 0))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def ports() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        yield one.getsockname()[1], other.getsockname()[1]


def said(
    folder: Path, ports: tuple[int, int], *, connect: tuple[int, ...] = (), readable: tuple[Path, ...] | None = None
) -> Mapping[str, str]:
    inside = folder / "own"
    inside.mkdir(exist_ok=True)
    (folder / "secret").write_text("x", encoding="utf-8")
    told = {"inside": str(inside / "a"), "outside": str(folder / "b"), "secret": str(folder / "secret")}
    told |= {"port": str(ports[0]), "other": str(ports[1])}
    numbers = {**told, "port": ports[0], "other": ports[1]}
    with confining(Confinement(60, 4 << 30, 1 << 20, readable, (inside,), connect)) as confine:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", WANTS, json.dumps(numbers)],
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=confine,
        )
    found: Mapping[str, str] = json.loads(done.stdout)
    return found


@seccomp
def test_no_socket_is_opened(tmp_path: Path, ports: tuple[int, int]) -> None:
    found = said(tmp_path, ports)
    for name in ("tcp", "other port", "udp", "raw", "packet", "unix", "listen"):
        assert found[name] == "PermissionError", name


@seccomp
@landlock
def test_one_port_of_this_machine_is_connected_to(tmp_path: Path, ports: tuple[int, int]) -> None:
    found = said(tmp_path, ports, connect=(ports[0],))
    assert found["tcp"] == "done"
    if landlock_version() < 4:
        pytest.skip("the kernel's Landlock knows no ports: Linux 6.7 does")
    for name in ("other port", "udp", "raw", "packet", "listen"):
        assert found[name] == "PermissionError", name


@landlock
def test_what_is_named_is_written_and_no_other_file(tmp_path: Path, ports: tuple[int, int]) -> None:
    found = said(tmp_path, ports)
    assert (found["write inside"], found["write outside"], found["read"]) == ("done", "PermissionError", "done")
    python = tuple(map(Path, ("/usr", "/lib", "/lib64", "/etc", "/bin", sys.prefix, sys.base_prefix)))
    assert said(tmp_path, ports, readable=python)["read"] == "PermissionError"


def test_limits_end_what_runs_wild(tmp_path: Path) -> None:
    def status(code: str) -> int:
        with confining(Confinement(1, 1 << 30, 1 << 20, None, (tmp_path,))) as confine:
            command = [sys.executable, "-I", "-S", "-c", code]
            return subprocess.run(
                command, cwd=tmp_path, capture_output=True, check=False, preexec_fn=confine, timeout=100
            ).returncode

    assert status("while True: pass") == -24, "SIGXCPU"
    assert status("x = bytearray(2 << 30)") == 1
    assert status("open('f', 'wb').write(bytes(2 << 20))") == 1
    assert status("pass") == 0


# What a build may use: limits that end in an error which names them, and no file but the source's own.


ARCH = ARCHES["x86_64"]
ISA = ARCH.isas[0]
HEAD = "// summary: t\n// exit: 0\n"
MAIN = "int main(void) { return 0; }\n"
gcc = pytest.mark.skipif(not is_installed(ARCH), reason="GCC 12 is missing: apt-get install gcc-12")


Builder = Callable[[Source, Arch, Isa], bytes]
ASSEMBLERS = pytest.mark.parametrize(
    "builder",
    [
        pytest.param(lambda source, arch, isa: assemble(source, arch, isa, ()), id="clang"),
        pytest.param(lambda source, arch, isa: assemble_gnu(source, arch, isa, ()), id="gnu", marks=gcc),
    ],
)
COMPILERS = pytest.mark.parametrize(
    "builder",
    [
        pytest.param(lambda source, arch, isa: compile_c(source, arch, isa, ("-O1",), START[isa.name]), id="clang"),
        pytest.param(
            lambda source, arch, isa: compile_gcc(source, arch, isa, ("-O1",), START[isa.name]), id="gcc", marks=gcc
        ),
    ],
)


def source(folder: Path, name: str, text: str) -> Source:
    path = folder / name
    path.write_text(HEAD + text)
    return next(iter(read_program(path).sources.values()))


def assembly(folder: Path, text: str) -> Source:
    return source(folder, "t.x86_64.S", f"_start: nop\n{text}\n")


@ASSEMBLERS
def test_a_file_that_grows_too_large_ends_the_build(tmp_path: Path, builder: Builder) -> None:
    with pytest.raises(BuildError, match=r"t\.x86_64\.S: the build was stopped: it wanted more than a file of 64 MB"):
        builder(assembly(tmp_path, ".space 0xfffffffff"), ARCH, ISA)


@ASSEMBLERS
def test_memory_that_is_wanted_without_end_ends_the_build(
    tmp_path: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "MEMORY", 600 << 20)  # so that it does not take half a minute
    with pytest.raises(BuildError, match=r"the build was stopped: it wanted more than \d GB of memory"):
        builder(assembly(tmp_path, ".rept 1000000000\nnop\n.endr"), ARCH, ISA)


@COMPILERS
def test_time_that_is_wanted_without_end_ends_the_build(
    tmp_path: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "CPU_SECONDS", 1)
    slow = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(x))))))))\n"
    slow += "int main(void) { return 0 B(+ 0); }\n"
    with pytest.raises(BuildError, match=r"t\.c: the build was stopped: it wanted more than (30 s|\d GB|a file)"):
        builder(source(tmp_path, "t.c", slow), ARCH, ISA)


def test_a_tool_that_was_killed_met_a_limit_and_one_that_crashed_did_not() -> None:
    """A tool that lives on behind SIGXCPU is killed a second later, without a word."""
    assert confined.limit_met(-signal.SIGKILL, "") == f"{confined.CPU_SECONDS} s of processor time"
    assert confined.limit_met(-signal.SIGSEGV, "") == confined.limit_met(1, "t.S:3: error: no such thing") == ""


@landlock
@ASSEMBLERS
@pytest.mark.parametrize(
    "text", ['.macro x a\n.inc\\a "/etc/passwd"\n.endm\nx bin', '.macro x a\n.inc\\a "/etc/passwd"\n.endm\nx lude']
)
def test_a_macro_that_spells_incbin_opens_nothing(tmp_path: Path, builder: Builder, text: str) -> None:
    with pytest.raises(BuildError, match=r"/etc/passwd.*\(a build reads the source's own files"):
        builder(assembly(tmp_path, text), ARCH, ISA)


@landlock
@COMPILERS
@pytest.mark.parametrize(
    "text",
    [
        '__asm__(".incbin \\"/etc/pass" "wd\\"");\n',
        '#define NAME "/etc/passwd"\n#include NAME\n',
        f'#define NAME "{Path(__file__)}"\n#include NAME\n',
    ],
)
def test_a_host_file_is_not_read_whatever_names_it(tmp_path: Path, builder: Builder, text: str) -> None:
    with pytest.raises(BuildError, match=r"\(a build reads the source's own files and what it names in its header"):
        builder(source(tmp_path, "t.c", text + MAIN), ARCH, ISA)


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("t.c", '#include "/etc/passwd"\n', 3),
        ("t.c", '# include "../secret.h"\n', 3),
        ("t.c", '\n__asm__(".incbin \\"/etc/passwd\\"");\n', 4),
        ("t.c", "const char x[] = {\n#embed </etc/passwd>\n};\n", 4),
        ("t.x86_64.S", '_start: nop\n .incbin "../../x"\n', 4),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_with_its_line(tmp_path: Path, name: str, text: str, where: int) -> None:
    """Also where the kernel has no Landlock."""
    path = tmp_path / name
    path.write_text(HEAD + text + (MAIN if name == "t.c" else ""))
    recipe = RECIPES["clang-O1" if name == "t.c" else "clang-asm"]
    with pytest.raises(BuildError, match=rf"{name}:{where}: .*: a source reads files of its own folder only"):
        build(read_program(path), ARCH, recipe)


# A confined tool finds what it would find if it had been executed at once, and whoever starts it is not confined.


ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "PYTHONPATH": "/nowhere"}


def printed(folder: Path, *command: str, environment: dict[str, str] = ENVIRONMENT) -> str:
    readable = (*SYSTEM, Path("/proc"))  # not the place of Python's own library
    what = Confinement(10, 1 << 30, 1 << 20, readable, (folder,))
    with start_confined(command, what, environment=environment, cwd=folder, stdout=subprocess.PIPE) as child:
        out, _ = child.communicate()
    assert child.returncode == 0
    return out.decode()


def test_no_signal_is_ignored_in_the_tool(tmp_path: Path) -> None:
    status = dict(line.split(":\t") for line in printed(tmp_path, "cat", "/proc/self/status").splitlines())
    assert int(status["SigIgn"], 16) == 0, "SIGPIPE or SIGXFSZ is what Python ignores"
    assert status["NoNewPrivs"] == "1"


def test_the_tool_has_no_descriptors_but_the_three(tmp_path: Path) -> None:
    assert printed(tmp_path, "ls", "/proc/self/fd").split() == ["0", "1", "2", "3"], "the fourth is that of the folder"


@pytest.mark.parametrize("environment", [ENVIRONMENT, {"PATH": "/usr/bin:/bin"}, {"LC_CTYPE": "C", **ENVIRONMENT}])
def test_the_environment_is_what_was_given(tmp_path: Path, environment: dict[str, str]) -> None:
    said = printed(tmp_path, "env", environment=environment)
    assert dict(line.split("=", 1) for line in said.splitlines()) == environment


def test_what_cannot_be_executed_is_told_as_by_subprocess(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-tool"):
        printed(tmp_path, "no-such-tool")
    script = tmp_path / "tool"
    script.write_bytes(b"\x00 is no program")
    with pytest.raises(PermissionError):
        printed(tmp_path, str(script))
    script.chmod(0o755)
    with pytest.raises(OSError, match="tool") as found:
        printed(tmp_path, str(script))
    assert found.value.errno == errno.ENOEXEC


def test_who_starts_it_is_not_confined(tmp_path: Path) -> None:
    assert printed(tmp_path, "sh", "-c", f"touch {tmp_path.parent}/outside; echo tried") == "tried\n"
    assert not (tmp_path.parent / "outside").exists()
    (tmp_path.parent / "outside").touch()
    socket.socket().close()
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text(encoding="ascii")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1 << 20


def test_limits_hold_for_what_was_started_before_they_were_set() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout
        inner = int(shell.stdout.readline())
        try:
            _limit(shell.pid, ((resource.RLIMIT_CPU, 7, 8),))
            for process in (shell.pid, inner):
                assert resource.prlimit(process, resource.RLIMIT_CPU) == (7, 8)
        finally:
            os.kill(inner, signal.SIGKILL)


def test_an_interrupt_leaves_no_tool_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def interrupted(process: int, _: object) -> None:
        seen.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(confined, "_limit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        printed(tmp_path, "sleep", "60")
    assert os.waitstatus_to_exitcode(os.waitpid(seen[0], 0)[1]) == -signal.SIGKILL


def test_where_memory_is_limited_no_thread_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_AS)

    def no_thread(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(confined.Thread, "start", no_thread)
    with pytest.raises(AssertionError):
        printed(tmp_path, "true")
    resource.setrlimit(resource.RLIMIT_AS, (1 << 45, unlimited[1]))
    try:
        assert "NoNewPrivs:\t1" in printed(tmp_path, "cat", "/proc/self/status")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
