"""The editor's server answers its own page on this machine, and nobody else."""

import http.client
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

from testbed.serve.edited_source import EditedSource, read_edit
from testbed.serve.server import KEPT_PAGES, MAX_BODY, MOST_CONNECTIONS, EditorServer
from testbed.serve.work_process import WorkProcess
from testbed.words.errors import TestbedError, UsageError

EDIT = {"program": "leaf_call", "suffix": ".arm64.S", "text": "ret", "arch": "arm64", "recipe": ""}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[EditorServer]:
    made = EditorServer(
        lambda: "the editor",
        lambda program, arch: {"program": program, "arch": arch},
        lambda edit: {"page": f"<p>{edit.text}", "steps": 7},
    )
    Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def _is_closed(one: socket.socket) -> bool:
    """Whether a connection is closed, after another byte on it."""
    try:
        one.sendall(b" ")
    except OSError:
        return True
    time.sleep(0.05)
    return False


def asked(server: EditorServer, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """A request behind the token, with a right Host unless another is given."""
    connection = http.client.HTTPConnection("127.0.0.1", server.guard.port, timeout=90)
    sent = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET" if sent is None else "POST", path, sent, named | (JSON if sent and not named else {}))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def raw(server: EditorServer, sent: bytes) -> bytes:
    """What comes back for bytes."""
    with socket.create_connection(("127.0.0.1", server.guard.port), timeout=90) as one:
        one.sendall(sent)
        one.shutdown(socket.SHUT_WR)
        parts = []
        while part := one.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_it_listens_on_the_loopback_address_alone(server: EditorServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.guard.url.startswith(f"http://127.0.0.1:{server.server_address[1]}/")
    assert len(server.guard.token) >= 32


def test_it_answers_its_own_page(server: EditorServer) -> None:
    root = f"/{server.guard.token}/"
    assert asked(server, root) == (200, "the editor")
    assert json.loads(asked(server, f"{root}source?program=a&arch=b")[1]) == {"program": "a", "arch": "b"}
    status, text = asked(server, f"{root}judge", EDIT)
    assert status == 200
    answer = json.loads(text)
    assert answer["steps"] == 7
    assert asked(server, root + answer["at"]) == (200, "<p>ret")


def test_only_the_last_pages_are_kept(server: EditorServer) -> None:
    root = f"/{server.guard.token}/"
    places = [json.loads(asked(server, f"{root}judge", EDIT)[1])["at"] for _ in range(KEPT_PAGES + 1)]
    assert asked(server, root + places[0])[0] == 404
    assert asked(server, root + places[-1])[0] == 200


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/judge", "/{wrong}/", "/{token}", "/%2e/{token}/x"])
def test_without_the_token_nothing_is_there(server: EditorServer, path: str) -> None:
    token = server.guard.token
    shown = path.format(token=token, wrong=token[:-1] + ("a" if token[-1] != "a" else "b"))
    status, text = asked(server, shown)
    assert status == 404 and "editor" not in text


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "10.0.0.1:{port}", ""]
)
def test_another_host_is_refused(server: EditorServer, host: str) -> None:
    """A page whose name resolves to 127.0.0.1 sends its own name."""
    port = server.guard.port
    assert asked(server, f"/{server.guard.token}/", Host=host.format(port=port))[0] == 421
    assert asked(server, f"/{server.guard.token}/", Host=f"LOCALHOST:{port}")[0] == 200


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_another_origin_is_refused(server: EditorServer, header: dict[str, str]) -> None:
    given = {name: value.format(port=server.guard.port) for name, value in header.items()}
    assert asked(server, f"/{server.guard.token}/judge", EDIT, Content_Type="application/json", **given)[0] == 403
    own = {"Origin": f"http://127.0.0.1:{server.guard.port}", "Sec_Fetch_Site": "same-origin"}
    assert asked(server, f"/{server.guard.token}/judge", EDIT, Content_Type="application/json", **own)[0] == 200


def test_a_form_of_another_page_cannot_post(server: EditorServer) -> None:
    """Browsers send these three types across origins without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert asked(server, f"/{server.guard.token}/judge", EDIT, Content_Type=kind)[0] == 415


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("", 411),
        ("Transfer-Encoding: chunked\r\n", 411),
        ("Content-Length: -1\r\n", 400),
        ("Content-Length: 1e3\r\n", 400),
        ("Content-Length: \u0661\r\n", 400),
        (f"Content-Length: {MAX_BODY + 1}\r\n", 413),
        ("Content-Length: 99999999999999999999\r\n", 400),
        ("Content-Length: 10\r\n", 400),  # and then less
    ],
)
def test_a_body_is_bounded_before_it_is_read(server: EditorServer, head: str, status: int) -> None:
    guard = server.guard
    start = f"POST /{guard.token}/judge HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\nContent-Type: application/json\r\n"
    assert raw(server, f"{start}{head}\r\n{{}}".encode()).split()[1] == str(status).encode()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * 100_000, b"[]", b"7", b"\xff\xfe", json.dumps(EDIT | {"text": 7}).encode()]
    + [
        json.dumps(EDIT | bad).encode()
        for bad in (
            {"program": "../../etc/passwd"},
            {"program": "a/b"},
            {"program": ""},
            {"program": "a" * 41},
            {"suffix": "/../x.S"},
            {"suffix": ".sh"},
            {"arch": "arm64; ls"},
            {"recipe": "\x00"},
        )
    ],
)
def test_a_body_that_is_no_edit_is_told(server: EditorServer, body: bytes) -> None:
    with pytest.raises(UsageError):
        read_edit(body)
    status, text = asked(server, f"/{server.guard.token}/judge", body, Content_Type="application/json")
    assert status == 200 and json.loads(text)["error"]


def test_an_edit_is_what_was_sent() -> None:
    assert read_edit(json.dumps(EDIT).encode()) == EditedSource("leaf_call", ".arm64.S", "ret", "arm64", "")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00" * 100,
        b"GET\r\n\r\n",
        b"DELETE / HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200,
    ],
)
def test_what_is_no_request_does_no_harm(server: EditorServer, sent: bytes) -> None:
    assert b"editor" not in raw(server, sent)
    assert asked(server, f"/{server.guard.token}/")[0] == 200


@pytest.mark.parametrize("path", ["source?" + "&".join(f"a{i}=1" for i in range(20)), "//[", "source?a=1&b=%"])
def test_an_address_that_is_none_is_answered(server: EditorServer, path: str) -> None:
    assert asked(server, f"/{server.guard.token}/{path}")[0] in (200, 400)


def test_two_hosts_are_no_host(server: EditorServer) -> None:
    guard = server.guard
    head = f"GET /{guard.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\nHost: elsewhere\r\n\r\n"
    assert raw(server, head.encode()).split()[1] == b"421"


@pytest.mark.parametrize("post", [False, True])
def test_a_request_that_never_ends_is_ended(server: EditorServer, monkeypatch: pytest.MonkeyPatch, post: bool) -> None:
    """A byte now and then is no silence: what counts is when all of it has arrived."""
    monkeypatch.setattr("testbed.serve.server.WHOLE_SECONDS", 0.6)
    guard = server.guard
    head = f"POST /{guard.token}/judge HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\n"
    end = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n" if post else "X: "
    with socket.create_connection(("127.0.0.1", guard.port), timeout=90) as one:
        one.sendall((head + end).encode())
        assert any(_is_closed(one) for _ in range(200))
    assert asked(server, f"/{guard.token}/")[0] == 200


def test_connections_that_say_nothing_are_bounded(server: EditorServer) -> None:
    held = [socket.create_connection(("127.0.0.1", server.guard.port), timeout=90) for _ in range(MOST_CONNECTIONS)]
    late = socket.create_connection(("127.0.0.1", server.guard.port), timeout=90)
    assert late.recv(1) == b""  # closed at once, not queued
    for one in (*held, late):
        one.close()
    for _ in range(200):
        try:
            assert asked(server, f"/{server.guard.token}/")[0] == 200
            return
        except (ConnectionError, http.client.HTTPException):
            continue
    pytest.fail("the server does not recover")


def test_no_other_page_may_frame_or_read_it(server: EditorServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.guard.port, timeout=90)
    connection.request("GET", f"/{server.guard.token}/")
    headers = connection.getresponse().headers
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Access-Control-Allow-Origin"] is None
    connection.close()


# A process that works for the server is ended where it is too slow, and made anew where it dies.


def make() -> Callable[[Any], dict[str, Any]]:
    def work(asked: Any) -> dict[str, Any]:
        match asked:
            case "sleep":
                time.sleep(60)
            case "die":
                os._exit(3)
            case "refuse":
                raise UsageError("not that")
            case "fail":
                raise ZeroDivisionError("a defect")
        return {"pid": os.getpid(), "asked": asked}

    return work


@pytest.fixture(scope="module")
def process() -> Iterator[WorkProcess]:
    made = WorkProcess(make, seconds=5.0)
    yield made
    made.stop()


def test_it_answers_in_one_process_that_is_not_ours(process: WorkProcess) -> None:
    first, second = process.ask("a"), process.ask("b")
    assert first["pid"] == second["pid"] != os.getpid()
    assert second["asked"] == "b"


def test_errors_are_answers(process: WorkProcess) -> None:
    assert process.ask("refuse") == {"error": "not that"}
    assert process.ask("fail") == {"error": "ZeroDivisionError: a defect"}


@pytest.mark.parametrize(("asked", "told"), [("sleep", "took more than 5 seconds"), ("die", "died of it")])
def test_it_is_made_anew(process: WorkProcess, asked: str, told: str) -> None:
    before = process.ask("a")["pid"]
    with pytest.raises(TestbedError, match=told):
        process.ask(asked)
    assert process.ask("a")["pid"] != before
