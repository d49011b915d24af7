# globals()["NAME"] = binds a global, also in a loop and in a function.
# RUN: %tilec check %s -s "*fp32"
import triton
import triton.language as tl

SIZE = tl.constexpr(1)
globals()["SIZE"] = tl.constexpr(8)
for name in ("LEFT", "RIGHT"):
    globals()[name] = tl.constexpr(len(name))


def bind(name):
    globals()[name] = tl.constexpr(3)


bind("COUNT")


@triton.jit
def kernel(x):
    tl.static_assert(SIZE == 8 and LEFT == 4 and RIGHT == 5 and COUNT == 3)
    tl.store(x, 1.0)
