"""Arrow batches from files, frames, SQL and standard input."""
