"""Non-private state: update, merge, estimate, error bound, bytes."""
