"""The collector, which takes local reports over HTTP into durable campaigns, and the relay."""
