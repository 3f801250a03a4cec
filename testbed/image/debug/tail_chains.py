"""Which functions tail-called away between a call and what executes: the chain that call sites leave possible.

A caller's call site names the function it called. If another one executes on that frame, tail calls led there, and
each function's call sites list those it can make. With ``f -> g`` for "f has a tail call to g", the answer is the
walk from the call's target to the executing function:

* exactly one walk: it is certain;
* several, or one through a cycle (its laps leave no trace): ambiguous;
* a function on the way that may jump through a pointer, or whose call sites are not all listed: not known.

gdb's rule (``call_site_find_chain``, DWARF 5, section 3.4) is the model; it differs in passing each function once only:
of a cycle it shows one lap, which may be too few. Here that is ambiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from testbed.image.debug.functions import CallSite, Function
from testbed.image.debug.info import DebugInfo

CANDIDATES = 4  # how many of several chains are listed
MOST_FUNCTIONS = 256  # that tail calls lead to from one call: in compilers' code some ten


class Certainty(Enum):
    """How much the call sites say of the tail calls between two functions."""

    CERTAIN = "exactly one chain of tail calls leads there"
    AMBIGUOUS = "more than one chain of tail calls leads there"
    UNKNOWN = "the call sites do not say"


@dataclass(frozen=True, slots=True)
class Link:
    """A function that tail-called away; ``site`` is where, if it has just one tail call to the next in the chain."""

    function: Function
    site: CallSite | None


@dataclass(frozen=True, slots=True)
class Chain:
    """The answer; ``links`` (CERTAIN only) run from the call's target on, the executing function left out.

    ``candidates`` are some of the chains of an AMBIGUOUS answer, by function names.
    """

    certainty: Certainty
    links: tuple[Link, ...] = ()
    candidates: tuple[tuple[str, ...], ...] = ()
    because: str = ""

    @property
    def certain(self) -> bool:
        return self.certainty is Certainty.CERTAIN


def tail_chain(info: DebugInfo, return_pc: int, executing: Function) -> Chain:
    """The tail calls between the call that returns to ``return_pc`` (link-time) and the executing function."""
    call = info.call_returning_to(return_pc)
    if call is None:
        return Chain(Certainty.UNKNOWN, because="no call site is listed for this return address")
    if call.target is None:
        return Chain(Certainty.UNKNOWN, because="the call goes through a pointer")
    target = info.function_of(call.target)
    if target is None:
        return Chain(Certainty.UNKNOWN, because=f"{call.target.name} has no debug information")
    return chain_between(info, target, executing)


def chain_between(info: DebugInfo, target: Function, executing: Function) -> Chain:
    """The tail calls that lead from the called function to the one that executes, where just one chain does."""
    edges, unclear = _reach(info, target)
    into = _reversed(edges)
    on_the_way = _closure(executing, into) if executing in edges else set()
    if target in on_the_way and _has_cycle({f: edges[f] & on_the_way for f in on_the_way}):
        return _ambiguous(edges, target, executing, "a cycle of tail calls leaves no trace of its laps")
    walks = _walks(edges, target, executing) if target in on_the_way else []
    if len(walks) > 1:
        return _ambiguous(edges, target, executing, "several chains of tail calls lead there")
    if unclear:
        return Chain(Certainty.UNKNOWN, because=unclear)
    if not walks:
        return Chain(Certainty.UNKNOWN, because=f"no listed tail call leads from {target.name} there")
    walk = walks[0]
    links = tuple(Link(f, _only_site(info, f, g)) for f, g in pairwise(walk))
    return Chain(Certainty.CERTAIN, links)


Edges = dict[Function, set[Function]]


def _reach(info: DebugInfo, target: Function) -> tuple[Edges, str]:
    """Every function that tail calls can reach from ``target``, and why that may not be all ("": it is)."""
    edges: Edges = {}
    unclear = ""
    pending = [target]
    while pending:
        function = pending.pop()
        if function in edges:
            continue
        if len(edges) >= MOST_FUNCTIONS:
            return {}, f"more than {MOST_FUNCTIONS} functions can be reached by tail calls"
        edges[function] = set()
        if not function.complete:
            unclear = unclear or f"the call sites of {function.name} are not all listed"
        for site in function.call_sites:
            if not site.tail:
                continue
            callee = info.function_of(site.target) if site.target is not None else None
            if callee is None:
                what = site.target.name if site.target is not None else "a pointer"
                unclear = unclear or f"{function.name} has a tail call to {what}"
            else:
                edges[function].add(callee)
                pending.append(callee)
    return edges, unclear


def _closure(start: Function, edges: Edges) -> set[Function]:
    seen: set[Function] = set()
    pending = [start]
    while pending:
        function = pending.pop()
        if function not in seen:
            seen.add(function)
            pending.extend(edges[function])
    return seen


def _reversed(edges: Edges) -> Edges:
    into: Edges = {function: set() for function in edges}
    for function, callees in edges.items():
        for callee in callees:
            into[callee].add(function)
    return into


def _has_cycle(edges: Edges) -> bool:
    """Functions without edges are taken away until none is left, or none can be: then there is a cycle."""
    left = {function: set(callees) for function, callees in edges.items()}
    while left:
        ends = {function for function, callees in left.items() if not callees & left.keys()}
        if not ends:
            return True
        for function in ends:
            del left[function]
    return False


def _walks(edges: Edges, target: Function, executing: Function) -> list[list[Function]]:
    """Some of the paths from ``target`` to ``executing`` that pass each function once: more than one is enough.

    From each function only those are entered that lead there, so every branch ends in a path.
    """
    found: list[list[Function]] = []
    pending = [[target]]
    budget = len(edges) * CANDIDATES * CANDIDATES
    leads = _closure(executing, _reversed(edges))
    while pending and len(found) < CANDIDATES and budget:
        budget -= 1
        path = pending.pop()
        if path[-1] is executing:
            found.append(path)
            continue
        nexts = sorted(edges[path[-1]] & leads, key=lambda f: -f.entry)
        pending.extend([*path, f] for f in nexts if f not in path)
    return found


def _ambiguous(edges: Edges, target: Function, executing: Function, because: str) -> Chain:
    candidates = tuple(tuple(f.name for f in walk[:-1]) for walk in _walks(edges, target, executing))
    return Chain(Certainty.AMBIGUOUS, candidates=candidates, because=because)


def _only_site(info: DebugInfo, function: Function, callee: Function) -> CallSite | None:
    to = [
        site
        for site in function.call_sites
        if site.tail and site.target is not None and info.function_of(site.target) is callee
    ]
    return to[0] if len(to) == 1 else None
