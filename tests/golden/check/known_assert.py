# RUN: %tilec check %s -k fill -s "*fp32, i32, 32" | FileCheck %s
# RUN: %tilec check %s | FileCheck --allow-empty --check-prefix=ALL %s
# ALL-NOT: assertion
# As in Triton an assertion is the run's, also where it is known not to hold.
import triton
import triton.language as tl


@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    if tl.program_id(0) > n:
        assert False, "more programs than there are"
    # CHECK: known_assert.py:12:9: warning[W0212]: this assertion does not hold whatever the run brings: more programs
    assert BLOCK >= 64, "BLOCK is too small"
    # CHECK: known_assert.py:14:5: warning[W0212]: this assertion does not hold whatever the run brings: BLOCK is too small
    tl.store(x + tl.arange(0, BLOCK), 1.0)
