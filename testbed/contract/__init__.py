"""What an unwinder is asked and answers: rows, frames, backtraces, strategies with their assumptions."""
