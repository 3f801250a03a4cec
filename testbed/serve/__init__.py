"""The editor in a browser: a server on this machine alone, and the process that builds and judges for it."""
