# Kernels of classes are launched by Class.k, self.k and cls.k: read as any launch.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


class Outer:
    class Op:
        @staticmethod
        @triton.jit
        def copy(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(y + i, tl.load(x + i, i < n), i < n)

        def forward(self, x, y):
            self.copy[(1,)](x, y, 8, BLOK=16)

        @classmethod
        def backward(cls, x, y):
            cls.copy[(1,)](x, y, 8, B=16, m=2)


def run(x, y):
    Outer.Op.copy[(1,)](x, y, 8, B=16)
    Outer.Op.copy[(1,)](x, y, 8, 16, 17)


# CHECK: class_launches.py:17:38: error[E0271]: kernel 'Outer.Op.copy' has no parameter 'BLOK'
# CHECK: class_launches.py:21:43: error[E0271]: kernel 'Outer.Op.copy' has no parameter 'm'
# CHECK: class_launches.py:26:38: error[E0252]: 'Outer.Op.copy' takes at most 4 arguments by position; got 5
# CHECK-NOT: error[
