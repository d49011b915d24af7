# Functions that are written as kernels and are none: each with the reason.
# RUN: %tilec list %s 2>&1 | FileCheck %s
# CHECK-DAG: 'old' is no kernel of this file: what hangs on 'not hasattr(tl, "gather")' does not go
# CHECK-DAG: 'tried' is no kernel of this file: the 'try' around it goes another way
# CHECK-DAG: unlisted.py:35:5: remark[R0208]: 'twice' is no kernel of this file: its name is bound again
# CHECK-DAG: 'low' is no kernel of this file: it is written in Gluon, which is another language
# CHECK-DAG: {{^}}twice(x)  {{.*}}unlisted.py:39
# RUN: not %tilec build %s -k low -s "*fp32" 2>&1 | FileCheck --check-prefix=LOW %s
# LOW: error[E0261]: no kernel is called 'low'
# LOW: help: a function of the file is called so, but it is written in Gluon
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

if not hasattr(tl, "gather"):

    @triton.jit
    def old(x):
        tl.store(x, 1.0)


try:
    import math
except ImportError:

    @triton.jit
    def tried(x):
        tl.store(x, 1.0)
else:
    tried = None


@triton.jit
def twice(x):
    tl.store(x, 1.0)


@triton.jit
def twice(x):  # noqa: F811
    tl.store(x, 2.0)


@gluon.jit
def low(x):
    gl.store(x, 1.0)
