"""Speed, memory and utility of hushcount beside other programs: python -m benchmarks."""
