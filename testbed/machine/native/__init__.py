"""The native recorder: compiled hooks, and the machine that runs with them."""
