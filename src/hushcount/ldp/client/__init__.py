"""The client's side: one report per user, in pure Python; and many clients at once, for simulations."""
