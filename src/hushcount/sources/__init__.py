"""Sources: raw data as batches of keys, from files, memory, SQL and standard input."""
