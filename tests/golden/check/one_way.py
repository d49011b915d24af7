# A way that asks Triton 3.6 for a name that it does not have ends the import: the other one is gone.
# RUN: %tilec check %s -k squash -s "*fp32" -Rall | FileCheck %s
# CHECK: one_way.py:{{[0-9]*}}:14: remark[R0207]: module 'triton.language.math' has no name 'tanh'
# CHECK: one_way.py:{{[0-9]*}}:13: remark[R0207]: module 'triton.language.math' has no name 'power'
# CHECK: static_print: ways {{.*}}False {{.*}}True {{.*}}7
# CHECK: static_print: parts {{.*}}True {{.*}}False {{.*}}True {{.*}}False
# RUN: not %tilec build %s -k asks -s "*fp32" 2>&1 | FileCheck --check-prefix=BOTH %s
# BOTH: error[E0207]: a kernel cannot use is_new(): host code
import triton
import triton.language as tl
from settings import is_new, version

if version() >= 3:
    tanh, cast = tl.extra.cuda.libdevice.tanh, tl.cast
    OTHER = tl.constexpr(1) if is_new() else tl.constexpr(3)
else:
    before = tl.math.tanh
    OTHER = tl.constexpr(2)
    tanh = before

    @triton.jit
    def cast(x, dtype):
        return x.to(dtype)

PARTS = hasattr(tl.core, "load"), hasattr(tl.core, "sum"), hasattr(tl.standard, "sum"), hasattr(tl.random, "load")
HAS = hasattr(tl.math, "tanh"), hasattr(tl.math, "exp2"), getattr(tl.math, "pow", 7)
try:
    power = tl.math.power
except AttributeError:
    power = tl.exp2


@triton.jit
def squash(x):
    tl.static_print("ways", HAS[0], HAS[1], HAS[2])
    tl.static_print("parts", PARTS[0], PARTS[1], PARTS[2], PARTS[3])
    tl.store(x, cast(tanh(power(tl.load(x))), tl.float32))


@triton.jit
def asks(x):
    tl.store(x, OTHER)
