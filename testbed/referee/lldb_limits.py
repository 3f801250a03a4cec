"""What LLDB cannot know, by mode: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from testbed.unwinder import Limit

WITH_TABLES: tuple[Limit, ...] = ()
WITHOUT_TABLES: tuple[Limit, ...] = ()
