# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
# A module that is there is no function; only one that no file provides is missing.
import triton
import triton.language as tl
import nowhere


@triton.jit
def k(x: "*fp32"):
    tl.store(x, tl.math(3))
    tl.store(x, tl.extra.libdevice(3))
    tl.store(x, nowhere(3))
    tl.store(x, nowhere.part.f(3))


def host():
    return triton(3)


@triton.jit
def k2(x: "*fp32", N: tl.constexpr = host()):
    tl.store(x, N)
# CHECK: modules.py:6:8: error[E0304]: no file provides the module 'nowhere'
# CHECK: = help: looked for its .tile or .py file in {{.*}}golden/check, the folders above it; -I DIR
# CHECK: modules.py:13:17: note: it is needed here
# CHECK: modules.py:11:17: error[E0257]: module 'triton.language.math' cannot be called
# CHECK: modules.py:12:17: error[E0257]: module 'triton.language.extra.libdevice' cannot be called
# CHECK: error[E02{{.*}} cannot be called
