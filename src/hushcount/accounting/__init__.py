"""What several releases cost together: composition of privacy losses."""
