"""The catalogue of architectures: every value is there once."""

import copy
import pickle

import pytest

from testbed.arch import ARCHES, Arch


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_an_architecture_from_another_process_is_the_one_of_the_catalogue(arch: Arch) -> None:
    assert pickle.loads(pickle.dumps(arch)) is arch
    assert copy.deepcopy(arch) is arch
