"""Tables over time: keys pass a gate once, and are then counted in the nodes of a public calendar."""
