"""The local model: every client randomises its own report; the collector never sees an item."""
