# A library found through importlib, as programs do that run on several versions of Triton.
# RUN: %tilec build %s -s "*fp32:16" | FileCheck %s
# RUN: not %tilec build %s -s "*fp32:16" -D WHERE=nowhere 2>&1 | FileCheck --check-prefix=ABSENT %s
# CHECK: rsqrt.approx
# ABSENT: no such module
import importlib.util

import triton
import triton.language as tl
from torch.utils._triton import has_triton


def find(name, place):
    if spec := importlib.util.find_spec(place):
        module = importlib.util.module_from_spec(spec)
        assert spec.loader is not None and spec.name == place
        spec.loader.exec_module(module)
        return getattr(module, name)
    return None


if has_triton():
    rsqrt = find("rsqrt", "triton.language.extra.libdevice")
    nowhere = find("rsqrt", "triton.language.nowhere")


@triton.jit
def k(x, WHERE: tl.constexpr = "there", DOWN: tl.constexpr = tl.core.CONSTEXPR_0):
    if WHERE == "nowhere":
        tl.static_assert(nowhere is not None, "no such module")
    tl.store(x, rsqrt(tl.load(x)) + DOWN)
