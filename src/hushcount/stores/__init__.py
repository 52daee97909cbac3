"""Connections to databases: their options, transactions and secrets."""
