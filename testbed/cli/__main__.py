"""``python -m testbed.cli`` is the command ``testbed``."""

from testbed.cli import main

main()
