# RUN: %tilec check %s | FileCheck --allow-empty %s
# RUN: %tilec list %s | FileCheck --check-prefix=LIST %s
# RUN: %tilec build %s -k Relu.forward -s "*fp32, *fp32, 64" | FileCheck --check-prefix=METHOD %s
# RUN: %tilec build %s -k "make.<locals>.filled" -s "*i32, 16" | FileCheck --check-prefix=INNER %s
# RUN: not %tilec build %s -k "make.<locals>.shifted" -s "*i32, 16" 2>&1 | FileCheck --check-prefix=UNKNOWN %s
# RUN: %tilec build %s -s "*fp32" | FileCheck --check-prefix=ONLY %s
# Kernels that are no names of their file: methods of classes, whatever their bases are, and
# functions inside of functions, of which only the run gives the other names.
# CHECK-NOT: error
# LIST: alone(x)
# LIST-NEXT: Relu.forward(
# LIST-NEXT: Twice.apply(x) {{.*}}(helper)
# LIST-NEXT: make.<locals>.filled(
# LIST-NEXT: make.<locals>.shifted(
# LIST-NEXT: Tests.run.<locals>.twice(x)
# METHOD: .entry Relu_forward(
# INNER: .entry make__locals__filled(
# UNKNOWN: error[E0207]: a kernel cannot use 'offset', which 'make' has when it runs
# ONLY-NOT: remark
# ONLY: .entry alone(
import triton
import triton.language as tl
from operators import Base, util


@triton.jit
def alone(x):
    tl.store(x, Twice.apply(tl.load(x)))


@util.register("relu")
class Relu(Base):
    @staticmethod
    @util.autotune([], ["n"])
    @triton.jit
    def forward(out, x, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.maximum(tl.load(x + i), 0.0))


class Twice(Base):
    @triton.jit
    def apply(x):
        return 2 * x


def make(offset):
    import triton.language as lang

    @triton.jit
    def filled(x, B: lang.constexpr):
        lang.store(x + lang.arange(0, B), 1)

    if offset:
        @triton.jit
        def shifted(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B) + offset, 1)
        return shifted
    return filled


class Tests:
    def run(self):
        @triton.jit
        def twice(x):
            tl.store(x, 2 * tl.load(x))
        twice[(1,)](self.x)
