"""Files made to cost a reader as much as they can: what each costs is measured, and shown in ``docs/hard-input.md``."""
