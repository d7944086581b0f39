"""What capturing costs, measured: `make bench` prints the tables. Every figure is a ratio against a peer in the same run."""
