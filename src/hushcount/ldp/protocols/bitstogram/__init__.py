"""Bitstogram: heavy items are found in hash buckets, by chunks or by a code."""
