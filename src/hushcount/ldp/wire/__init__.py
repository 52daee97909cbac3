"""What clients and collector agree on: manifests, encodings, questions, responses, reports. Pure Python."""
