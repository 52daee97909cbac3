"""Reading the feed of a watch: checked files, sums over any time, and intervals, at no cost."""
