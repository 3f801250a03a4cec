"""elfutils' libdw."""
