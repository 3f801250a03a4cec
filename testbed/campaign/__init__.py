"""Many runs judged: the matrix and its kept results, generated programs, findings, names."""
