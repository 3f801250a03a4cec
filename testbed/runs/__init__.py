"""A program built, run and watched: held whole, in pieces, in files, and by what a user types."""
