# && and || of C: both words, and for tiles the comparisons in parentheses.
# RUN: %tilec check %s | FileCheck %s
# EXIT: 1
import triton
import triton.language as tl


@triton.jit
def k(x, n, m):
    i = tl.arange(0, 64)
    # CHECK: help: write 'and'; for tiles '&', with comparisons in parentheses: (i < n) & (i >= m)
    a = tl.load(x + i, i < n && i >= m)
    # CHECK: help: write 'or'; for tiles '|', with comparisons in parentheses: (i < n) | a
    b = (i < n) || a
    # CHECK: help: write 'and'; for tiles '&', with comparisons in parentheses: (i[None, :] < 3) & (n > 2)
    if i[None, :] < 3 && n > 2 || m < 3:
        a = 3
