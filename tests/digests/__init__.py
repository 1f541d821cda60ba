"""Digests: equal values, different values, and what is refused."""
