"""The cache: expressions over a store, single flight, early cutoff."""

from lazycache.caching.bridge import Cache
from lazycache.caching.default import cache, default_cache, enter, explain
from lazycache.current import register_default_cache
from lazycache.files import register_content_memo

__all__ = ["Cache", "cache", "default_cache", "explain"]

register_default_cache(default_cache, enter)
register_content_memo(lambda: default_cache()._content_memo())
