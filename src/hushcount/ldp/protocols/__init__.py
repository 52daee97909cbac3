"""The protocols: what each one asks its users, and how it finds the heavy items."""
