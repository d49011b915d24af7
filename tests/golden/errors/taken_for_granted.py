# RUN: %tilec check %s -k combined -s "*i32" | FileCheck --strict-whitespace --check-prefix=COMBINED %s
# EXIT: 1
# RUN: %tilec check %s -k asserted | FileCheck --strict-whitespace --check-prefix=ASSERTED %s
# EXIT: 1
# RUN: %tilec check %s -k reversed_assert -s "*i32, i32" | FileCheck --strict-whitespace --check-prefix=REVERSED_ASSERT %s
# EXIT: 1
# RUN: %tilec check %s -k negated -s "*i32" | FileCheck --strict-whitespace --check-prefix=NEGATED %s
# EXIT: 1
# RUN: %tilec check %s -k named -s "*i32, i32" | FileCheck --strict-whitespace --check-prefix=NAMED %s
# EXIT: 1
# RUN: %tilec check %s -k smallest -s "*i32" | FileCheck --strict-whitespace --check-prefix=SMALLEST %s
# EXIT: 1
# RUN: %tilec check %s -k address -s "*i32, i32" | FileCheck --strict-whitespace --check-prefix=ADDRESS %s
# EXIT: 1
# What Python would let pass and Triton refuses: nothing of it is what its writer meant.
import triton
import triton.language as tl


@triton.jit
def wider(a, b):
    return a * 1.5 + b


@triton.jit
def combined(x):
    tl.store(x, tl.reduce(tl.arange(0, 16), 0, wider))
# COMBINED:{{.*}}.py:27:17: error[E0340]: the combine function of 'reduce' must return 1 value like its arguments; got fp32 where the argument is i32


@triton.jit
def asserted(x, n):
    assert (n > 3, "n is too small")
# ASSERTED:{{.*}}.py:33:12: error[E0216]: a tuple is no condition: it is always true


@triton.jit
def reversed_assert(x, n):
    tl.device_assert("n is too small", n > 3)
# REVERSED_ASSERT:{{.*}}.py:39:22: error[E0313]: 'device_assert' needs a number, pointer or tile; got string 'n is too small'


@triton.jit
def negated(x):
    if not (0, 0):
        tl.store(x, 1)
# NEGATED:{{.*}}.py:45:8: error[E0216]: a tuple is no condition: it is always true


@triton.jit
def named(x, kind):
    if kind == "relu":
        tl.store(x, 1)
# NAMED:{{.*}}.py:52:8: error[E0214]: operator '==' is not defined for i32 and string 'relu'


@triton.jit
def smallest(x):
    tl.store(x, min(0.0, -0.0))
# SMALLEST:{{.*}}.py:59:17: error[E0313]: 'min' needs constants that are in an order; got constexpr float -0.0


@triton.jit
def address(x, at):
    tl.store(at.to(tl.pointer_type(tl.int32)), 1)
# ADDRESS:{{.*}}.py:65:14: error[E0292]: i32 cannot be converted to ptr<i32>
