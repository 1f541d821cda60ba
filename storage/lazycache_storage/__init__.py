"""The engine of lazycache: digests, bytes, files and locks.

It has never heard of expressions; ``FORMAT.md`` beside it says what is on disk.
"""
