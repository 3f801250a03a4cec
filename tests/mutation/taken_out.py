"""Rules that hold one odd shape of code, or one way to be judged wrongly: each taken out once, to see a test fail.

`tests.mutation` changes code at random places. Here the changes are chosen: a rule with a name, the text that takes it
out, and the test that has to notice. `docs/regenerate.py --odd-code` tries all of them and writes what became of each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple
from functools import partial
from pathlib import Path

from tests.mutation.orphans import end_with_parent
from tests.mutation.removed_rule import RemovedRule
from tests.mutation.rooms import ROOT
from tests.mutation.rules_of_files import FILES_OF_OTHERS

_COPIED = ("testbed", "unwinders", "programs", "tests", "docs", "pyproject.toml", "README.md")
_SECONDS = 900


_MOVED = "tests/truth/test_moved_returns.py"
_BEHIND = "tests/truth/test_behind_data.py"
_CALLS = "tests/truth/test_calls.py"
_JUMPS = "tests/truth/test_jumps.py"
_STRAIGHT = "tests/truth/test_straight.py"
_STACKS = "tests/truth/test_other_stacks.py"

TAKEN_OUT: dict[str, RemovedRule] = {
    "moved": RemovedRule(
        "a landing after which control comes, by hand, to the return address of who was thought gone was none",
        "testbed/truth/evidence.py",
        "        if by_hand:\n            self._no_landings.add(left.jump)",
        "        if by_hand:\n            pass",
        f"{_MOVED}::test_a_function_that_moved_its_return_address_returns_by_it",
    ),
    "arguments": RemovedRule(
        "a return to the return address with a higher SP is one (`ret 16`)",
        "testbed/truth/follow.py",
        "        elif event.pc == top.return_address:\n            self._over(event)",
        "        elif False:\n            self._over(event)",
        f"{_CALLS}::test_ret_n_takes_the_arguments_off_and_returns",
    ),
    "behind": RemovedRule(
        "a callee that jumps by hand behind its return address has come back there",
        "testbed/truth/follow.py",
        "return opening.site in self._learned.elsewhere and leads_back",
        "return opening.site < 0 and leads_back",
        f"{_BEHIND}::test_a_function_that_returns_behind_data_returns_to_its_caller",
    ),
    "right behind": RemovedRule(
        "a jump that goes to the function behind the call whatever the link register says is no return",
        "testbed/truth/straight.py",
        "            elif way is AddressFrom.DIRECT and _function(trace, fall) == fall:",
        "            elif False:",
        f"{_STRAIGHT}::test_a_jump_to_the_function_right_behind_the_call_is_no_return",
    ),
    "went on": RemovedRule(
        "it is a return if the caller returns later, or calls from the same place once more",
        "testbed/truth/straight.py",
        "jump[1] in self.stored}) - self.lived_on",
        "jump[1] in self.stored})",
        f"{_STRAIGHT}::test_who_calls_from_the_same_place_once_more_has_gone_on",
    ),
    "own function": RemovedRule(
        "a copy of the return address in another register leads back, unless the code there stores the link register",
        "testbed/truth/straight.py",
        "_function(trace, fall) == _function(trace, at))",
        "True)",
        f"{_STRAIGHT}::test_a_return_through_another_register_is_one_whoever_stored_the_address",
    ),
    "far branch": RemovedRule(
        "a call inside one function that a direct jump ends was none (`bl far`)",
        "testbed/truth/straight.py",
        "            if within and way is AddressFrom.DIRECT and fall != function:",
        "            if False:",
        f"{_STRAIGHT}::test_a_branch_that_does_not_reach_is_a_call_instruction_and_no_call",
    ),
    "promise": RemovedRule(
        "a jump with an address at the return place, to which control comes later, is a call, wherever that address is",
        "testbed/truth/follow.py",
        "events(transfers, find_promises(transfers, learned.arrived))",
        "events(transfers, find_promises(transfers, frozenset()))",
        "tests/truth/test_declared.py::test_the_right_stack_is_told",
    ),
    "pushed": RemovedRule(
        "a call whose word comes off the stack at once hands nothing over (`call next; pop`)",
        "testbed/truth/transfers.py",
        "    for distance in (1, 2):",
        "    for distance in ():",
        f"{_CALLS}::test_call_next_pop_is_no_call",
    ),
    "leftover": RemovedRule(
        "a leftover is what a word holds, whoever stored it",
        "testbed/truth/stack_words.py",
        "left=bool(left),",
        "left=False,",
        "tests/truth/test_stack_words.py::test_a_leftover_is_one_as_long_as_its_word_is_the_address_whoever_stores_it",
    ),
    "pointer first": RemovedRule(
        "a transition begins where FP is the target's already",
        "testbed/truth/sites.py",
        "            tail = min(tail, since)",
        "            tail = tail",
        f"{_JUMPS}::test_a_transition_begins_where_fp_is_the_targets_before_sp_is",
    ),
    "bottoms": RemovedRule(
        "SP above a stack's bottom is a fresh stack only for who was entered below that bottom",
        "testbed/truth/living.py",
        "sp > lowest > innermost.entry_sp",
        "sp > lowest",
        f"{_STACKS}::test_a_call_on_another_stack_above_the_bottom_of_the_first_one_keeps_the_chain",
    ),
    "distance": RemovedRule(
        "a pushed address may come off with the second instruction",
        "testbed/truth/transfers.py",
        "    for distance in (1, 2):",
        "    for distance in (1,):",
        f"{_CALLS}::test_a_pushed_address_is_taken_off_by_the_second_instruction_too",
    ),
    "declared": RemovedRule(
        "`testbed run` fails where declared frames were not watched",
        "testbed/cli/declared.py",
        "    return bool(run.disagreements)",
        "    return False",
        "tests/cli/test_run.py::test_declared_frames_that_were_not_watched_fail_the_run",
    ),
    "unlinked": RemovedRule(
        "`UNLINKED` is asked of the very frame: FP leads to no record of that activation",
        "testbed/truth/frame_rules.py",
        "    return called(truth, at) and not is_signal(truth, at) and not linked(truth, at)",
        "    return called(truth, at) and not is_signal(truth, at)",
        "tests/campaign/test_reasons.py",
    ),
    "crash": RemovedRule(
        "a strategy that raises costs the unit's others nothing",
        "testbed/campaign/matrix.py",
        "        except Exception:  # the strategy's own bug costs its own cell only\n            crashes.append",
        "        except MemoryError:\n            crashes.append",
        "tests/campaign/test_failures.py::test_a_strategy_that_crashes_costs_the_others_nothing",
    ),
    "run crash": RemovedRule(
        "whatever is raised on the way to a run is that unit's result",
        "testbed/campaign/matrix.py",
        "    except Exception:  # a bug",
        "    except MemoryError:  # a bug",
        "tests/campaign/test_failures.py::test_any_exception_on_the_way_to_a_run_is_the_result_of_its_unit",
    ),
    "kind": RemovedRule(
        "what a frame's pc is said to be is judged",
        "testbed/verdicts/comparing.py",
        "    if true.interrupted and claimed.kind is FrameKind.CALLER:",
        "    if False:",
        "tests/verdicts/test_comparing.py::test_what_a_signal_interrupted_is_not_behind_a_call",
    ),
    "column": RemovedRule(
        "every observed trait has a column; none is silently never there",
        "testbed/truth/columns.py",
        "        Trait.IN_NO_FILE: executing_at(Watched.is_in_no_file),\n",
        "",
        "tests/campaign/test_shares.py::test_every_observed_trait_has_a_rule_and_a_column",
    ),
    "interrupted CFA": RemovedRule(
        "a wrong CFA of the interrupted frame is a lie, also where the answer then stops",
        "testbed/verdicts/comparing.py",
        "        outcome = kind if kind.lying else Outcome.WRONG_REGISTER",
        "        outcome = kind",
        "tests/verdicts/test_one.py::test_a_wrong_cfa_of_the_interrupted_frame_is_a_lie_even_where_no_caller_is_said",
    ),
    "tail calls": RemovedRule(
        "no tail call lies between a frame and what a signal interrupted",
        "testbed/naming/symbolize.py",
        "    if caller.kind is not FrameKind.CALLER or image_covering",
        "    if image_covering",
        "tests/naming/test_symbolize.py::test_what_a_signal_interrupted_was_not_called_and_no_tail_call_lies_between",
    ),
    "red zone": RemovedRule(
        "a signal's frame lies below the red zone",
        "testbed/machine/signals.py",
        "    top = registers[arch.sp] - layout.red_zone",
        "    top = registers[arch.sp]",
        "tests/machine/test_signals.py",
    ),
    "page": RemovedRule(
        "two segments on one page share it with what either allows",
        "testbed/machine/load.py",
        "permissions.get(page, 0) | allowed",
        "allowed",
        "tests/machine/test_load.py::test_two_segments_on_one_page_share_it_with_what_either_allows",
    ),
    "below SP": RemovedRule(
        "a call leaves no slot below SP",
        "unwinders/analysis/abstract_machine.py",
        " if b != sp.base or o >= sp.offset}",
        "}",
        "tests/unwinders/analysis/test_prologue_instructions.py::test_a_call_uses_the_stack_below_sp_as_it_likes",
    ),
    "mask": RemovedRule(
        "addresses wrap at the word",
        "unwinders/rows/native/row.py",
        "(frame.cfa + rule.offset) & word_mask",
        "(frame.cfa + rule.offset)",
        "tests/unwinders/rows/test_apply.py::test_a_value_counted_from_the_cfa_wraps_at_the_word",
    ),
    "records": RemovedRule(
        "a program file can be told the layout of its frame records",
        "testbed/runs/program_file.py",
        "**facts.layouts(image.arch)}",
        "}",
        "tests/runs/test_program_file.py::test_a_file_can_be_told_the_layout_of_its_frame_records",
    ),
    "row begins": RemovedRule(
        "`ROW_BEGINS` holds behind an instruction that changed SP, FP or the signature, and nowhere else",
        "testbed/truth/frame_rules.py",
        "    sp, pointer = truth.trace.sp, truth.sites.frame_pointer\n    return bool(\n        sp[before]",
        "    sp, pointer = truth.trace.sp, truth.sites.frame_pointer\n    return True or bool(\n        sp[before]",
        "tests/campaign/test_reasons.py::test_where_a_row_is_said_to_begin_the_instruction_in_front_changed_something",
    ),
    **FILES_OF_OTHERS,
}


def missing(rule: RemovedRule) -> str:
    """Why a rule cannot be taken out as it is written; "" where it can."""
    text = (ROOT / rule.module).read_text(encoding="utf-8")
    if text.count(rule.before) != 1:
        return f"{rule.module} has the text {text.count(rule.before)} times: {rule.before}"
    file, _, function = rule.test.partition("::")
    if function and f"def {function}(" not in (ROOT / file).read_text(encoding="utf-8"):
        return f"{file} has no {function}"
    return ""


def kept_fates(file: Path, rules: Mapping[str, RemovedRule]) -> dict[str, bool]:
    """What became of each rule, by its name; those that were noticed before, as they are written now, are not retried.

    The file holds {name: the rule's text}, of the noticed ones: delete it, and all of them are tried again.
    """
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    fates = {name: known.get(name) == list(astuple(rule)) for name, rule in rules.items()}
    left = [name for name, settled in fates.items() if not settled]
    for name, fate in zip(left, noticed(rules[name] for name in left), strict=True):
        fates[name] = fate
        settled = {each: astuple(rules[each]) for each, is_noticed in fates.items() if is_noticed}
        file.write_text(json.dumps(settled, indent=1) + "\n", encoding="utf-8")
    return fates


def noticed(rules: Iterable[RemovedRule]) -> Iterator[bool]:
    """For each rule, taken out in a copy of the tree: does its test fail there, and pass on the code as it is?

    A test counts as failed by pytest's status 1 only: not where it is not found or is interrupted.
    """
    chosen = tuple(rules)
    with tempfile.TemporaryDirectory(prefix="testbed-taken-out-") as folder:
        root, skip = Path(folder), shutil.ignore_patterns("__pycache__", "*.png", "*.svg")
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, root / name, ignore=skip)
            else:
                shutil.copy(ROOT / name, root / name)
        all_pass = _status(root, *{rule.test for rule in chosen}) == 0
        for rule in chosen:
            place = root / rule.module
            text = place.read_text(encoding="utf-8")
            passes = all_pass or _status(root, rule.test) == 0
            place.write_text(text.replace(rule.before, rule.after), encoding="utf-8")
            yield passes and _status(root, rule.test) == 1
            place.write_text(text, encoding="utf-8")


def _status(root: Path, *tests: str) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--no-header", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    run = partial(subprocess.run, cwd=root, env=environment, capture_output=True, timeout=_SECONDS, check=False)
    return int(run(command, preexec_fn=end_with_parent).returncode)
