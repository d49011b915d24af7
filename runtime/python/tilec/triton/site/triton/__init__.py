"""Triton's interface, by tilec.  What a name means is Triton 3.6's; tilec compiles and launches."""
__version__ = "3.6.0"
__tilec__ = True            # tells this package from Triton's own

from . import _C, _absent
from .errors import TritonError
from .runtime import (Config, InterpreterError, JITFunction, KernelInterface, MockTensor,
                      OutOfResources, TensorWrapper, autotune, heuristics, reinterpret)
from .runtime.jit import constexpr_function, jit
from .runtime._allocation import set_allocator
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .compiler import CompilationError, compile
from . import knobs, language, testing, tools

must_use_result = language.core.must_use_result

__all__ = ["AsyncCompileMode", "CompilationError", "Config", "FutureKernel", "InterpreterError",
           "JITFunction", "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper",
           "TritonError", "autotune", "cdiv", "compile", "constexpr_function", "heuristics", "jit",
           "language", "must_use_result", "next_power_of_2", "reinterpret", "runtime",
           "set_allocator", "testing", "tools"]


@constexpr_function
def cdiv(x, y):
    if isinstance(x, tuple):
        raise TypeError("cdiv takes integers; got the tuple %r: of a shape one size is shape[0]" % (x,))
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n):
    if not hasattr(n, "__index__"):
        raise TypeError("next_power_of_2 takes an integer, not %s %r; a quotient is one by //"
                        % (type(n).__name__, n))
    return 1 << (n - 1).bit_length() if n > 0 else 0


__getattr__ = _absent.attribute_of(globals())
