"""The framing of gdb's remote protocol, spoken by hand."""

import contextlib
import socket

import pytest

from testbed.remote import listen, serving
from testbed.remote.packets import LONGEST, checksum, framed
from testbed.words.errors import UsageError


def echo(request: str) -> str | None:
    return None if request == "D" else request.upper()


def talk(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(sent)
        with contextlib.suppress(OSError):  # the server has hung up
            connection.shutdown(socket.SHUT_WR)
        heard = b""
        while more := connection.recv(4096):
            heard += more
        return heard


@pytest.mark.parametrize(
    ("sent", "heard"),
    [
        (b"+$m1#9e$g#67", b"+$M1#7e+$G#47"),
        (b"$g#68$g#67", b"-+$G#47"),
        (framed("QStartNoAckMode") + framed("g") + framed("h"), b"+" + framed("OK") + framed("G") + framed("H")),
    ],
    ids=["acknowledged and answered", "a wrong checksum", "no acknowledgments any more"],
)
def test_each_request_is_answered(sent: bytes, heard: bytes) -> None:
    with serving(lambda: echo) as port:
        assert talk(port, sent) == heard


def test_a_conversation_ends_by_its_last_request_and_the_next_gdb_is_served() -> None:
    with serving(lambda: echo) as port:
        assert talk(port, framed("D") + framed("g")) == b"+" + framed("OK")
        assert talk(port, framed("g")) == b"+" + framed("G")


def test_an_endless_request_is_hung_up_on() -> None:
    with (
        serving(lambda: echo) as port,
        socket.create_connection(("127.0.0.1", port), timeout=10) as connection,
        pytest.raises(ConnectionError),
    ):
        connection.sendall(b"$" + b"x" * 100 * LONGEST)


def test_what_means_something_to_the_protocol_is_escaped() -> None:
    packet = framed("a}b#c$d*")
    body = packet[1:-3]
    assert body == b"a}\x5db}\x03c}\x04d}\x0a"
    assert packet[-2:] == checksum(body)


def test_only_this_machine_can_connect_and_a_taken_port_is_told() -> None:
    with listen() as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be listened at.*choose another --port"):
            listen(port)
    with pytest.raises(UsageError, match="choose another --port"):
        listen(70_000)


def number(request: str) -> str | None:
    """As an answer that was not careful: some requests are errors."""
    return str(int(request, 16)) if request else {}[request]


def test_a_request_that_cannot_be_answered_ends_nothing() -> None:
    with serving(lambda: number) as port:
        sent = b"".join(framed(text) for text in ("xyz", "", "9" * 5000, "ff"))
        assert talk(port, sent) == 3 * (b"+" + framed("E01")) + b"+" + framed("255")


def test_half_packets_and_noise_end_no_server() -> None:
    with serving(lambda: echo) as port:
        for noise in (
            b"$",
            b"$m",
            b"$m1#",
            b"#",
            b"\0" * 1000,
            b"$$$$",
            b"\xff" * LONGEST,
            b"$m1#zz",
            b"+" * 3 * LONGEST,
        ):
            with contextlib.suppress(ConnectionError):
                talk(port, noise)
        assert talk(port, framed("g")) == b"+" + framed("G")
