# RUN: %tilec list %s | FileCheck %s
# RUN: %tilec build %s -k rows -s "*fp32, i32" -o %t.ptx
# Kernels of a `try` whose body runs are kernels of the file, wherever they are in it.
# CHECK: rows(x, n)
# CHECK: inner(x)
# CHECK: last(x)
# CHECK-NOT: other
try:
    import triton
    import triton.language as tl

    @triton.jit
    def rows(x, n):
        tl.store(x, n)

    if True:

        @triton.jit
        def inner(x):
            tl.store(x, 1.0)

    HAS_TRITON = True
except ImportError:
    HAS_TRITON = False

    def other(x):
        return x
finally:

    @triton.jit
    def last(x):
        tl.store(x, 2.0)
