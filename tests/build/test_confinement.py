"""What is taken from a child process: sockets, files, time; tried by processes that want all of it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.build.confinement import Confinement, confining, has_seccomp, landlock_version

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
