# Names that have one word more, or less, than what there is.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 64}, num_warps=4),
        # CHECK: error[E0271]: kernel 'clear' has no parameter 'BLOCK_SIZE_M'
        # CHECK: help: did you mean 'BLOCK_M'?
        triton.Config({"BLOCK_SIZE_M": 64, "BLOCK_N": 64}, num_warps=8),
    ],
    key=["M", "N"],
)
@triton.jit
def clear(out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(out_ptr + i[:, None] * N + j[None, :], 0.0, mask=(i[:, None] < M) & (j[None, :] < N))
