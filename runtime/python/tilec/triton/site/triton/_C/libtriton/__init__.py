"""Triton's compiler as a Python module.  tilec's is a library of its own: of this there is only
what programs use beside it."""
from . import nvidia

_COMPILERS = ("amd", "getenv", "getenv_bool", "gluon_ir", "instrumentation", "interpreter", "ir",
              "linear_layout", "llvm", "native_specialize_impl", "passes", "proton")


def __getattr__(name):
    if name in _COMPILERS:
        raise ImportError("triton._C.libtriton.%s is part of Triton's compiler: kernels are "
                          "compiled by tilec, which has none of its stages" % name)
    raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
