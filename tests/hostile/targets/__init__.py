"""All targets: one catalogue, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.hostile.target import Target
from tests.hostile.targets import commands, images, serving, tables, traces

TARGETS: Mapping[str, Target] = MappingProxyType(
    {target.name: target for module in (images, tables, traces, serving, commands) for target in module.TARGETS}
)
