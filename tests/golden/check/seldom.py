# `with` at module level, a descriptor's shape, special registers.
# RUN: %tilec build %s -s "*fp32, i32" -o %t.ptx
# RUN: cat %t.ptx | FileCheck --check-prefix=PTX %s
# PTX-DAG: %globaltimer
# PTX-DAG: %smid
import contextlib
import triton
import triton.language as tl

with contextlib.suppress(ImportError) as nothing:
    WIDTH: tl.constexpr = 16


@triton.jit
def k(x, n):
    d = tl.make_tensor_descriptor(x, [n, WIDTH], [WIDTH, 1], [8, WIDTH])
    rows, columns = d.shape
    t = tl.extra.cuda.globaltimer() + tl.extra.cuda.smid()
    tl.store(x + tl.arange(0, WIDTH), (rows + columns + t).to(tl.float32))
