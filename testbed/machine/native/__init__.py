"""The kernels of the recorder: the hooks, and what they work on."""
