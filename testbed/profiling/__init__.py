"""Real processes judged: every thread, every strategy, the functions whose rows are wrong, what a profiler sees."""
