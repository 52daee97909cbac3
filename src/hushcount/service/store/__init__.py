"""What a collector keeps: campaigns, tokens, and shuffled batches of reports."""
