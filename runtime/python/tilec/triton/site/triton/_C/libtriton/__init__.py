"""Triton's compiler as a Python module.  tilec's is a library of its own: of this there is only
what programs use beside it."""
import sys

from . import nvidia

_COMPILERS = ("amd", "getenv", "getenv_bool", "gluon_ir", "instrumentation", "interpreter", "ir",
              "linear_layout", "llvm", "native_specialize_impl", "passes", "proton")


_TORCHS = "torch._higher_order_ops.triton_kernel_wrap"


class TorchCompileUnsupported(BaseException):
    """torch.compile asks Triton's compiler what a kernel writes to.  It takes an Exception for the
    answer "to nothing" and leaves the launch out; this is none, and so reaches the program."""


def __getattr__(name):
    if name in _COMPILERS and sys._getframe(1).f_globals.get("__name__") == _TORCHS:
        raise TorchCompileUnsupported(
            "torch.compile cannot look into a Triton kernel that tilec compiles: leave the "
            "function out of it (torch.compiler.disable), or make it a torch.library.custom_op")
    if name in _COMPILERS:
        raise ImportError("triton._C.libtriton.%s is part of Triton's compiler: kernels are "
                          "compiled by tilec, which has none of its stages" % name)
    raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
