# What '==' of nested values cannot say is unknown, not a guess.
# RUN: %tilec build %s -s '*fp32' -k sizes 2>&1 | FileCheck --check-prefix=SIZES %s
# EXIT: 1
# RUN: %tilec build %s -s '*fp32' -k nans 2>&1 | FileCheck --check-prefix=NANS %s
# EXIT: 1
import triton
import triton.language as tl


class Size:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n % 8 == other.n % 8


SIZES = [Size(8)] == [Size(16)]
NANS = [1, 1e400 - 1e400] == [1, 1e400 - 1e400]


@triton.jit
def sizes(x):
    tl.store(x, 1.0 if SIZES else 2.0)


@triton.jit
def nans(x):
    tl.store(x, 1.0 if NANS else 2.0)


# SIZES: equal.py:24:24: error[E0207]: {{.*}}'==' cannot be evaluated: the class may say what is equal
# NANS: equal.py:29:24: error[E0207]: {{.*}}'==' cannot be evaluated: NaN in a list is equal to itself alone
