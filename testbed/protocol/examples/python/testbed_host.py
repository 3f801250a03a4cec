"""The protocol of docs/protocol.md for one function, unwind(at). Python 3.8 or newer, nothing else.

`at` is a StoppedThread. The answer is ``(frames, stopped)``: dictionaries with ``pc`` and what is claimed (``cfa``,
``registers``, ``interrupted``), innermost first, the first one at ``at.pc``; and None, which claims that the last frame
is the outermost one, or the reason to stop. Numbers are ints. Print to standard error only.
"""

import bisect
import json
import sys

READ_AHEAD = 1024


class StoppedThread:
    """The machine before an instruction: all that you get. A register that is missing is unknown."""

    def __init__(self, session, message):
        self.session, self.arch, self.word = session, session["arch"], session["word"]
        self.images = session["files"]
        self.pac_mask = int(session["pac_mask"] or "0x0", 16)
        self.registers = {name: int(value, 16) for name, value in message["registers"].items()}
        self.pc, self.sp = self.registers[session["pc"]], self.registers[session["sp"]]
        self._pieces = [(int(message["stack_address"], 16), bytes.fromhex(message["stack"]))]

    def read(self, address, size):
        """The bytes at an address: fewer where what is mapped ends before, none where nothing is mapped."""
        if not 0 <= address < 1 << 64:
            return b""
        for start, data in self._pieces:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        data = ask({"type": "read", "address": hex(address), "size": max(size, READ_AHEAD)})
        self._pieces[1:] = [(address, data)]
        return data[:size]

    def word_at(self, address):
        """The word at an address, or None where it cannot be read."""
        data = self.read(address, self.word)
        return int.from_bytes(data, "little") if len(data) == self.word else None

    def image_at(self, address):
        """The image that maps an address, or None."""
        starts = [image["start"] for image in self.images]
        i = bisect.bisect_right(starts, address) - 1
        return self.images[i] if i >= 0 and address < self.images[i]["end"] else None

    def read_file(self, image, offset, size):
        """Bytes of an image's file. (Its path may be opened just as well, on the same machine.)"""
        return ask({"type": "read_file", "image": image["index"], "offset": offset, "size": size})


def write(message):
    """Write one message: a line of JSON."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def ask(request):
    """Ask for memory, and wait for its bytes."""
    write(request)
    return bytes.fromhex(json.loads(sys.stdin.readline())["bytes"])


def take_session(message):
    """A session and its images, sorted by address."""
    images = [json.loads(sys.stdin.readline()) for _ in range(message["images"])]
    for image in images:
        image.update({key: int(image[key], 16) for key in ("bias", "start", "end")})
    return {**message, "files": sorted(images, key=lambda image: image["start"])}


def frame(said):
    """A frame as the protocol writes it."""
    out = {"pc": hex(said["pc"])}
    if said.get("cfa") is not None:
        out["cfa"] = hex(said["cfa"])
    if said.get("interrupted"):
        out["interrupted"] = True
    if said.get("registers"):
        out["registers"] = {name: hex(value) for name, value in said["registers"].items()}
    return out


def serve(unwind, name, version="", arches=None):
    """Answer until the input ends."""
    session = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            hello = {"type": "hello", "protocol": 1, "name": name, "version": version}
            write(dict(hello, arches=arches) if arches else hello)
        elif message["type"] == "session":
            session = take_session(message)
            write({"type": "ready"})
        elif message["type"] == "snapshot":
            frames, stopped = unwind(StoppedThread(session, message))
            end = {"root": True} if stopped is None else {"stopped": stopped}
            write({"type": "frames", "id": message["id"], "frames": [frame(each) for each in frames], **end})
