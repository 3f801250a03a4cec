"""Files made to cost a reader as much as they can: what each costs is on the page ``results/hard-input.md``."""
