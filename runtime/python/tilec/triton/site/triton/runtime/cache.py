"""Where tilec keeps compiled kernels, and Triton's names for it."""
import hashlib
import os
import threading

import tilec

from .. import _absent, knobs


class RemoteCacheBackend:
    def __init__(self, key):
        raise NotImplementedError("tilec has no remote cache")


class RedisRemoteCacheBackend(RemoteCacheBackend):
    pass


class CacheManager:
    """Files of one key under the cache's folder."""

    def __init__(self, key):
        self.key = key
        self.cache_dir = os.path.join(knobs.cache.dir, key)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        path = self._make_path(filename)
        return path if os.path.exists(path) else None

    def put(self, data, filename, binary=True):
        os.makedirs(self.cache_dir, exist_ok=True)
        path = self._make_path(filename)
        part = "%s.%d.%d" % (path, os.getpid(), threading.get_ident())
        with open(part, "wb") as f:
            f.write(data if isinstance(data, bytes) else str(data).encode())
        os.replace(part, path)         # whole or not at all
        return path


class FileCacheManager(CacheManager):
    """Triton's, which may dump the stages of a kernel or take others for them; this one keeps
    files."""

    def __init__(self, key, override=False, dump=False):
        if override or dump:
            raise NotImplementedError("FileCacheManager(override=, dump=): tilec has none of "
                                      "Triton's stages")
        super().__init__(key)


def get_cache_manager(key):
    return CacheManager(key)


def default_cache_dir():
    return knobs.cache.dir


def triton_key():
    return "tilec-" + hashlib.sha256(open(tilec.__file__, "rb").read()).hexdigest()[:16]


_absent.declare(globals())
