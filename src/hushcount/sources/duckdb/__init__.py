"""Sources that DuckDB reads, sorts or groups, in bounded memory and a private folder."""
