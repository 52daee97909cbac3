"""The Spark engine: shards on executors, one release on the driver."""
