# RUN: %tilec list %s | FileCheck %s
# CHECK: rows(x, n)
# Python's bindings of the driver come with torch: what needs them is there.
import triton
import triton.language as tl

try:
    import cuda.bindings.driver as cuda
    HAS_DRIVER = True
except ImportError:
    HAS_DRIVER = False

if HAS_DRIVER:

    @triton.jit
    def rows(x, n):
        tl.store(x, n)
