"""All targets: one catalogue, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tests.hostile.target import Target
from tests.hostile.targets import (
    commands,
    dumps,
    images,
    remote,
    serving,
    snapshots,
    tables,
    texts,
    traces,
    vector_answers,
)

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        target.name: target
        for module in (images, tables, dumps, traces, snapshots, texts, remote, serving, vector_answers, commands)
        for target in module.TARGETS
    }
)
