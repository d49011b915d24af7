from . import names
from .core import declare

declare(globals(), "triton.language.math", names.MATH)

_ROUNDED = "exp log log2 log10 sin cos tan pow divide"


def __getattr__(name):
    """Fast functions of CUDA are others' names for what is here, or in libdevice."""
    bare = name.removeprefix("fast_").removesuffix("f")
    if name.startswith("fast_") and bare in _ROUNDED.split():
        way_out = "triton.language.math has '%s'" % bare if bare in globals() else \
            "'from triton.language.extra import libdevice' has libdevice.fast_%sf" % bare
        raise ImportError("cannot import name %r from 'triton.language.math'; %s" % (name, way_out))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
