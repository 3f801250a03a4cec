from random import Random

import numpy as np
import pytest

from testbed.trace.memory import History, Region, WordHistory, Writes
from testbed.words.errors import UnreadableMemory

SIZES = (1, 2, 4, 8)


def written(rng: Random, low: int, high: int) -> Writes:
    """Up to 40 writes of any size, wherever they fit."""
    steps = sorted(rng.randrange(20) for _ in range(rng.randrange(40)))
    sizes = [rng.choice(SIZES) for _ in steps]
    addresses = [rng.randrange(low, high - size + 1) for size in sizes]
    values = [rng.getrandbits(8 * size) for size in sizes]
    return Writes(
        np.array(steps, np.uint32),
        np.array(addresses, np.uint64),
        np.array(sizes, np.uint8),
        np.array(values, np.uint64),
    )


@pytest.mark.parametrize("word", [4, 8])
@pytest.mark.parametrize("base", [0x1000, 0x1003], ids=["aligned", "not aligned"])
def test_words_in_columns_are_those_that_are_read_one_by_one(word: int, base: int) -> None:
    rng, there = Random(f"{word} {base}"), 0
    for _ in range(40):
        first = Region(base, rng.randbytes(rng.choice((32, 40, 61))))
        second = Region(first.end, rng.randbytes(21))
        regions = [first, second, Region(second.end + 5, rng.randbytes(21))]
        writes = written(rng, base, second.end)
        history, words = History(regions, writes), WordHistory(word, regions, writes)
        asked = [(rng.randrange(25), rng.randrange(base - 12, regions[-1].end + 4)) for _ in range(100)]
        steps, addresses = np.array([step for step, _ in asked]), np.array([at for _, at in asked], np.uint64)
        for size in SIZES:
            values, mapped = words.at(steps, addresses, size)
            for (step, address), value, is_there in zip(asked, values.tolist(), mapped.tolist(), strict=True):
                if is_there:
                    assert value == int.from_bytes(history.read(address, size, step), "little")
                else:
                    with pytest.raises(UnreadableMemory):
                        history.read(address, size, step)
            there += int(mapped.sum())
    assert there > 8_000


def test_a_write_may_reach_over_the_end_of_memory() -> None:
    at, nobody = (1 << 64) - 4, np.array([1])
    each = (np.array([kind(one)]) for kind, one in ((np.uint32, 0), (np.uint64, at), (np.uint8, 8), (np.uint64, 7)))
    words = WordHistory(8, (Region(at - 4, bytes(8)),), Writes(*each))
    assert [each.tolist() for each in words.at(nobody, np.array([at], np.uint64), 4)] == [[7], [True]]
