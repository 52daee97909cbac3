"""The relay: it takes sealed reports, shuffles them, and forwards batches. It holds no key to open them."""
