"""The index: rows of bytes by key, in one SQLite database that diskcache writes."""
