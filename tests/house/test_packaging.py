"""What a wheel installs: the three packages, with every file in their folders. `.ci/wheel` builds it and runs it."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
PACKAGES = ("testbed", "unwinders", "programs")


def test_a_wheel_installs_three_packages() -> None:
    assert SETUPTOOLS["packages"]["find"]["include"] == [f"{name}*" for name in PACKAGES]
    named = {path.name for path in ROOT.glob("*/") for name in PACKAGES if path.name.startswith(name)}
    assert {name for name in named if not name.endswith(".egg-info")} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_that_is_no_python_is_package_data(package: str) -> None:
    folder = ROOT / package
    there = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    data = {path for pattern in SETUPTOOLS["package-data"][package] for path in folder.glob(pattern)}
    modules = {path for path in there if path.suffix == ".py" and (path.parent / "__init__.py").exists()}
    assert there - modules - data == set()
