# What host code asks of the device follows the target, on a machine without one, too.
# RUN: %tilec build %s -s "*fp32" --arch=sm_80 -o %t.ptx | FileCheck --check-prefix=A100 %s
# RUN: %tilec build %s -s "*fp32" -o %t.ptx | FileCheck --check-prefix=H200 %s
# A100: int 8 {{.*}}int 80 cuda {{.*}}65504.0 {{.*}}127 {{.*}}True {{.*}}166912 {{.*}}False {{.*}}True
# H200: int 9 {{.*}}int 90 cuda {{.*}}65504.0 {{.*}}127 {{.*}}True {{.*}}232448 {{.*}}False {{.*}}True
import functools
import importlib
import torch
import triton
import triton.language as tl

MAJOR = tl.constexpr(torch.cuda.get_device_capability()[0])
TARGET = triton.runtime.driver.active.get_current_target()
ARCH = tl.constexpr(TARGET.arch)
BACKEND = tl.constexpr(TARGET.backend)
LARGEST = tl.constexpr(torch.finfo(torch.float16).max)
MOST = tl.constexpr(torch.iinfo(torch.int8).max)
HAS = tl.constexpr(torch.cuda.is_available() and not torch.xpu.is_available())
SHARED = tl.constexpr(triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"])
HOPPER = tl.constexpr("B200" in torch.cuda.get_device_name(0))
OTHER = tl.constexpr(importlib.import_module("math").pi > 3)


@functools.lru_cache
def width(n):
    return n * 2


@triton.jit
def k(x):
    tl.static_print(MAJOR, ARCH, BACKEND, LARGEST, MOST, HAS, SHARED, HOPPER, OTHER)
    tl.store(x, width(4))
