# An argument that the launch gives has no value for a heuristic, but is not None: that decides, its value does not.
# RUN: %tilec build %s -k k -s '*fp32, fp32' --emit=ir | FileCheck --check-prefix=GIVEN %s
# RUN: %tilec build %s -k k -s '*fp32, None' --emit=ir | FileCheck --check-prefix=NONE %s
# RUN: not %tilec build %s -k by_value -s '*fp32, i32' 2>&1 | FileCheck --check-prefix=VALUE %s
# RUN: %tilec build %s -k by_value -s '*fp32, 100' --emit=ir | FileCheck --check-prefix=KNOWN %s
# GIVEN: HAS = "True", LACKS = "False"
# NONE: HAS = "False", LACKS = "True"
# VALUE: error[E0272]: constexpr parameter 'B' has no value
# VALUE: cannot use the value of 'n', which only the launch gives
# KNOWN: B = "64"
import triton
import triton.language as tl


@triton.heuristics({"HAS": lambda args: args["drop"] is not None, "LACKS": lambda args: args.get("drop") is None})
@triton.jit
def k(x, drop, HAS: tl.constexpr, LACKS: tl.constexpr):
    if HAS:
        tl.store(x, drop)
    if LACKS:
        tl.store(x, 5.0)


@triton.heuristics({"B": lambda args: 64 if args["n"] > 64 else 32})
@triton.jit
def by_value(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)
