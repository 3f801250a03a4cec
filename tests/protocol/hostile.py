"""An unwinder that misbehaves as its argument says. It imports nothing of ours.

Run by ``python -S hostile.py MODE``.
"""

import json
import os
import signal
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "right"


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def say(**what):
    write(json.dumps(what) + "\n")


def frames(at, **besides):
    listed = besides.pop("frames", [{"pc": at["registers"][PC]}])
    return {"type": "frames", "id": at["id"], "frames": listed, **(besides or {"stopped": "I know nothing"})}


def endless():
    while True:
        write("x" * 65536)


def fork_and_hang():
    if os.fork() == 0:
        time.sleep(600)
    with open(sys.argv[2], "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)


def read_for_ever():
    while True:
        say(type="read", address="0x0", size=8)
        sys.stdin.readline()


def close_input():
    os.close(0)
    time.sleep(600)


SAYS = {  # what is written instead of an answer
    "nonsense": lambda at: write("nonsense\n"),
    "a list": lambda at: write("[1, 2]\n"),
    "no type": lambda at: write('{"id": 1}\n'),
    "half": lambda at: (write('{"type":"frames","id":'), sys.exit(0)),
    "utf-16": lambda at: sys.stdout.buffer.write(json.dumps(frames(at)).encode("utf-16-le") + b"\n"),
    "latin-1": lambda at: sys.stdout.buffer.write(b'{"type":"frames","stopped":"caf\xe9"}\n'),
    "nan": lambda at: say(**frames(at, frames=[{"pc": float("nan")}], root=True)),
    "deep": lambda at: write("[" * 200_000 + "\n"),
    "digits": lambda at: write('{"type":"frames","id":' + "1" * 10_000 + "}\n"),
    "another id": lambda at: say(**{**frames(at), "id": at["id"] - 1}),
    "another type": lambda at: say(type="backtrace", id=at["id"]),
    "gigabytes": lambda at: endless(),
    "silent": lambda at: time.sleep(600),
    "closes its input": lambda at: close_input(),
    "forks": lambda at: fork_and_hang(),
    "dies": lambda at: (print("assertion failed: row != NULL", file=sys.stderr), os.kill(os.getpid(), signal.SIGABRT)),
    "exits": lambda at: sys.exit(3),
    "ends": lambda at: sys.exit(0),
    "closes its output": lambda at: (os.close(1), time.sleep(600)),
    "reads for ever": lambda at: read_for_ever(),
    "reads too much": lambda at: say(type="read", address="0x0", size=1 << 40),
    "reads below zero": lambda at: say(type="read", address=-8, size=8),
    "no image": lambda at: say(type="read_file", image=7, offset=0, size=8),
    "no frames": lambda at: say(**frames(at, frames=[], root=True)),
    "frames are text": lambda at: say(**frames(at, frames="none", root=True)),
    "a frame is text": lambda at: say(**frames(at, frames=["main"], root=True)),
    "another pc": lambda at: say(**frames(at, frames=[{"pc": "0x10"}], root=True)),
    "negative pc": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC]}, {"pc": -1}], root=True)),
    "huge pc": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC]}, {"pc": 1 << 64}], root=True)),
    "float pc": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC]}, {"pc": 1.5}], root=True)),
    "true pc": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC]}, {"pc": True}], root=True)),
    "wild cfa": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC], "cfa": "sp"}], root=True)),
    "a register": lambda at: say(
        **frames(at, frames=[{"pc": at["registers"][PC]}, {"pc": "0x1", "registers": {"bx": "0x1"}}], root=True)
    ),
    "a million": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC]}] * 10**6, root=True)),
    "many frames": lambda at: say(**frames(at, frames=[{"pc": at["registers"][PC]}] * 5000, root=True)),
    "no end": lambda at: say(type="frames", id=at["id"], frames=[{"pc": at["registers"][PC]}]),
    "both ends": lambda at: say(**frames(at, root=True, stopped="here")),
    "escapes": lambda at: (print("\x1b[2Jgone", file=sys.stderr), say(**frames(at, stopped="\x1b[2J\nover\r"))),
    "text id": lambda at: say(**{**frames(at), "id": str(at["id"])}),
    "capitals": lambda at: say(
        **frames(at, frames=[{"pc": at["registers"][PC], "CFA": "0x1", "registers": {"RBX": "0x1"}, "line": 7}]), Root=0
    ),
    "right": lambda at: say(**frames(at)),
    "chatty": lambda at: (print("x" * 3_000_000, file=sys.stderr), say(**frames(at))),
    "forgetful": lambda at: say(**frames(at, stopped=f"I was asked {at['id']} times")),
    "more": lambda at: write(json.dumps(frames(at)) + "\n" + ("done" if at["id"] == 2 * 25 else "")),
    "twice": lambda at: (say(**frames(at)), say(**frames(at))),
    "dies at times": lambda at: say(**frames(at)) if at["id"] % 3 else os.abort(),
}
if MODE == "no hello":
    write("Unwinder 1.0, press ? for help\n")
if MODE == "silent start":
    time.sleep(600)
if MODE == "dies at the start":
    sys.exit("no licence found")
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        if MODE == "another version":
            say(type="hello", protocol=2)
        say(
            type="hello",
            protocol=1,
            name="host\x1b[31mile\n" if MODE == "name" else "hostile",
            version="0",
            arches=["amd64", "arm64", "vax"],
        )
    elif message["type"] == "session":
        PC = message["pc"]
        for _ in range(message["images"]):
            sys.stdin.readline()
        if MODE == "refuses":
            say(type="refused", reason="no symbols")
        elif MODE == "refuses silently":
            say(type="refused", reason="")
        elif MODE == "refuses one" and message["arch"] == "x86_64":
            say(type="refused")
        else:
            say(type="ready")
    elif message["type"] == "snapshot":
        SAYS.get(MODE, SAYS["right"])(message)
if MODE == "lingers":
    time.sleep(600)
