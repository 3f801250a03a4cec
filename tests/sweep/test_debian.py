"""Debian's packages: unpacked without being installed, whatever they hold, and named safely."""

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from testbed.sweep import debian
from testbed.sweep.debian import Apt, brought_together, check_name, unpacked
from testbed.words.errors import TestbedError, UsageError

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb: apt-get install dpkg")
ELF = b"\x7fELF" + bytes(60)


def package(folder: Path) -> Path:
    """A package with an ELF file, a link to it, and a text."""
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    fields = "Package: some\nVersion: 1:2-3\nArchitecture: arm64\nMaintainer: nobody <a@b>\nDescription: none\n"
    (root / "DEBIAN" / "control").write_text(fields)
    (root / "usr" / "lib").mkdir(parents=True)
    (root / "usr" / "lib" / "libsome.so.1").write_bytes(ELF)
    (root / "usr" / "lib" / "libsome.so").symlink_to("libsome.so.1")
    (root / "usr" / "lib" / "text").write_text("text")
    subprocess.run(["dpkg-deb", "--build", str(root), str(folder / "some.deb")], check=True, capture_output=True)
    return folder / "some.deb"


@needs_dpkg
def test_the_elf_files_of_a_package(tmp_path: Path) -> None:
    with unpacked(str(package(tmp_path)), tmp_path) as found:
        assert found.title == "some 1:2-3 arm64"
        (file,) = found.files
        assert file.told == "deb:some/usr/lib/libsome.so.1"
        assert file.path.read_bytes() == ELF
    assert not file.path.exists()


@needs_dpkg
@pytest.mark.parametrize("cut", [0, 100, 400])
def test_a_damaged_package_is_an_error(tmp_path: Path, cut: int) -> None:
    path = package(tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(TestbedError), unpacked(str(path), tmp_path):
        pass


def test_a_name_in_an_archive_leads_nowhere_else(tmp_path: Path) -> None:
    """Files are copied under names that are made here."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("../../out", "/out", "./usr/\x1b[31mout"):
            member = tarfile.TarInfo(name)
            member.size = len(ELF)
            tar.addfile(member, io.BytesIO(ELF))
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r|") as members:
        found = list(debian._copied(members, tmp_path, "some"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]
    assert not any("\x1b" in each.told for each in found)


def test_a_package_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_MOST_BYTES", 200)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for number in range(8):
            member = tarfile.TarInfo(str(number))
            member.size = len(ELF)
            tar.addfile(member, io.BytesIO(ELF))
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r|") as members, pytest.raises(TestbedError, match="more than"):
        list(debian._copied(members, tmp_path, "some"))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 200 + len(ELF)


@pytest.mark.parametrize("asked", ["", "-o", "../x", "a b", "A", "zlib1g:ARM", "zlib1g=1;rm", "/no/such.deb", "x\n"])
def test_what_is_no_package(asked: str) -> None:
    with pytest.raises(UsageError):
        check_name(asked)


@pytest.mark.parametrize("asked", ["zlib1g", "libstdc++6:arm64", "g++=4:12.2.0-3", "libc6:armhf=2.36-9+deb12u10"])
def test_what_is_one(asked: str) -> None:
    check_name(asked)


SAID = """\
W: Target Packages is configured multiple times
E: Failed to fetch http://deb/Packages.xz  File has unexpected size (1 != 2). Mirror sync in progress? [IP: 1.2.3.4 80]
   Hashes of expected file:
    - Filesize:2 [weak]
    - SHA256:0123
   Release file created at: Sat, 28 Nov 2026 10:00:00 +0000
E: Some index files failed to download. They have been ignored, or old ones used instead.
"""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (SAID, "has unexpected size .* Some index files"),
        ("dpkg-deb: error: no archive\n", "dpkg-deb: error: no archive"),
    ],
)
def test_what_went_wrong_is_told_with_its_cause(
    said: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What apt-get says last is only that it did not do it."""
    (apt := tmp_path / "apt-get").write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}END\nexit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(TestbedError, match=why) as error:
        Apt(tmp_path / "lists", "armhf").make_ready()
    assert "Hashes" not in str(error.value) and "W:" not in str(error.value)


def test_packages_are_brought_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """apt-get reads its lists once for an architecture; where it knows one name not, it brings nothing."""
    calls = []

    def run(apt: Apt, *arguments: str, where: Path) -> str:
        calls.append((apt.arch, *arguments))
        if "none" in arguments:
            raise TestbedError("E: Unable to locate package none")
        for name in arguments[1:]:
            (where / f"{name}_1%3a2_{apt.arch}.deb").write_text("")
        return ""

    monkeypatch.setattr(Apt, "run", run)
    monkeypatch.setattr(Apt, "make_ready", lambda apt: None)
    with brought_together(["a:arm64", "b:arm64", "c:i386", "none:armhf", "a=3", "./d.deb"], tmp_path) as found:
        names = {asked: path.name for asked, path in found.items()}
    assert names == {"a:arm64": "a_1%3a2_arm64.deb", "b:arm64": "b_1%3a2_arm64.deb", "c:i386": "c_1%3a2_i386.deb"}
    assert calls == [("arm64", "download", "a", "b"), ("i386", "download", "c"), ("armhf", "download", "none")]
