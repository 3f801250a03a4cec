"""What an unwinder is asked and answers: rows, frames, backtraces, unwinders with their assumptions."""
