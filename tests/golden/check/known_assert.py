# RUN: %tilec check %s -k fill -s "*fp32, i32, 32" | FileCheck %s
# RUN: %tilec check %s | FileCheck --allow-empty --check-prefix=ALL %s
# RUN: %tilec check %s -k assumed -s "*fp32, i32, 2" | FileCheck --check-prefix=ASSUMED %s
# ALL-NOT: warning
# As in Triton an assertion is the run's, also where it is known not to hold.
import triton
import triton.language as tl


@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    if tl.program_id(0) > n:
        assert False, "more programs than there are"
    # CHECK: known_assert.py:13:9: warning[W0212]: this does not hold whatever the run brings: more programs
    assert BLOCK >= 64, "BLOCK is too small"
    # CHECK: known_assert.py:15:5: warning[W0212]: this does not hold whatever the run brings: BLOCK is too small
    tl.store(x + tl.arange(0, BLOCK), 1.0)


# Likewise what is assumed: "no program gets here" is a promise like another.
@triton.jit
def assumed(x, n, STRIDE: tl.constexpr):
    if n > 0:
        tl.store(x, 1.0)
    else:
        tl.assume(False)
    # ASSUMED: known_assert.py:26:9: warning[W0212]: this does not hold whatever the run brings: False
    tl.assume(STRIDE == 1)
    # ASSUMED: known_assert.py:28:5: warning[W0212]: this does not hold whatever the run brings: STRIDE == 1
    tl.store(x + STRIDE, 1.0)
