"""The judge: the truth beside a backtrace, one at a time, or for every step of a trace."""
