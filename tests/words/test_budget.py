"""The account of one file: what is too much, what it says, and whose share it was."""

import pickle
import time

import pytest

from testbed.words.budget import DEFAULT, KINDS, VARIABLE, Account, Budget, budget_of, current_budget
from testbed.words.errors import BudgetExceeded, UsageError


def test_too_much_names_file_offset_limit_and_option() -> None:
    account = Account("some.elf", 0, Budget(steps=10))
    account.spend("steps", 10)
    with pytest.raises(BudgetExceeded) as caught:
        account.spend("steps", 1, 0x40)
    assert str(caught.value) == (
        "some.elf: at offset 0x40: reading it takes more than 10 steps of interpretation; "
        "if you trust the file: --file-limit steps=20"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_limits_grow_with_the_file_but_not_those_that_a_user_gave() -> None:
    assert DEFAULT.most(1 << 20)["mapped"] == DEFAULT.mapped + (6 << 20)
    assert budget_of("mapped=5,seconds=0.5").most(1 << 20) == {**DEFAULT.most(1 << 20), "mapped": 5, "seconds": 0.5}


def test_all_limits_together_are_what_a_file_may_cost() -> None:
    """64 n + 256 MB, where an entry is 400 bytes; what is left of the fixed part is the interpreter's."""
    for size in (0, 1 << 20, 1 << 30):
        most = DEFAULT.most(size)
        assert most["mapped"] + most["unpacked"] + 400 * most["entries"] <= 64 * size + (256 << 20)


@pytest.mark.parametrize("text", ["stps=1", "steps", "steps=x", "steps=-1", "seconds=nan", f"steps={'9' * 5000}"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--file-limit"):
        budget_of(text)


def test_the_process_has_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_budget() == DEFAULT
    monkeypatch.setenv(VARIABLE, "entries=7")
    assert Account("x", 100).most["entries"] == 7


def test_a_reader_has_a_share_and_all_of_them_the_whole() -> None:
    account = Account("x", 0, Budget(steps=1000))
    with pytest.raises(BudgetExceeded):
        account.share("one").spend("steps", 751)
    account = Account("x", 0, Budget(steps=1000))
    account.share("one").spend("steps", 700)
    account.share("other").spend("steps", 300)
    with pytest.raises(BudgetExceeded):
        account.share("third").spend("steps")
    assert account.share("one") is account.share("one")


def test_cpu_time_counts_while_a_reader_works() -> None:
    account = Account("x", 0, Budget(seconds=0.05))
    until = time.process_time() + 0.1
    while time.process_time() < until:
        account.spend("steps", 0)
    with pytest.raises(BudgetExceeded, match="CPU seconds") as caught:
        _work_without_end(account)
    assert caught.value.kind == "seconds" and "seconds" in KINDS


def _work_without_end(account: Account, reader: Account | None = None) -> None:
    with account.working():
        while True:
            (reader or account).spend("steps", 0)


def test_the_time_of_a_file_is_that_of_all_who_read_it() -> None:
    account = Account("x", 0, Budget(seconds=0.05))
    with pytest.raises(BudgetExceeded, match="CPU seconds"):
        _work_without_end(account, account.share("one"))


def test_whoever_goes_on_when_time_is_over_is_told_each_time() -> None:
    account, told = Account("x", 0, Budget(seconds=0.05)), 0
    with account.working():
        for _ in range(1 << 20):
            try:
                account.share("one").spend("steps", 0)
            except BudgetExceeded:
                told += 1
                if told == 3000:
                    break
    assert told == 3000 and account.exceeded is not None and account.exceeded.kind == "seconds"
    assert "--file-limit seconds=" in account.exceeded.option


def test_each_kind_of_work_has_a_clock_of_its_own() -> None:
    account = Account("x", 1_000_000, Budget(seconds=0.0, analysis=1e9))
    with account.working("analysis"):
        for _ in range(5000):
            account.spend("steps", 0)
    assert account.spent["analysis"] > 0 == account.spent["seconds"]
    assert Budget().most(2_000_000)["analysis"] == 140 and budget_of("analysis=1.5").most(1 << 30)["analysis"] == 1.5
