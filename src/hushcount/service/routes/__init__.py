"""What the collector answers, by what the routes are about; `table` lists them all."""
