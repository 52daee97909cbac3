"""Jobs about trust in a release: plans, budgets in a ledger, and checks of how a release was made."""
