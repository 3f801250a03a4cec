"""Real processes judged: every thread, every unwinder, the functions whose rows are wrong, what a profiler sees."""
