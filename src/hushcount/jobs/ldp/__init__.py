"""Jobs of the local model: set up a campaign, randomise a table, collect reports, simulate."""
