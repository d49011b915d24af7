# A library found through importlib, as programs do that run on several versions of Triton.
# RUN: %tilec build %s -s "*fp32:16" | FileCheck %s
# RUN: not %tilec build %s -s "*fp32:16" -D WHERE=nowhere 2>&1 | FileCheck --check-prefix=ABSENT %s
# CHECK: rsqrt.approx
# ABSENT: no such module
import importlib.util

import triton
import triton.language as tl
from packaging import version
from packaging.version import Version
from torch.utils._triton import has_triton


def find(name, place):
    if spec := importlib.util.find_spec(place):
        module = importlib.util.module_from_spec(spec)
        assert spec.loader is not None and spec.name == place
        spec.loader.exec_module(module)
        return getattr(module, name)
    return None


if version.parse(triton.__version__) >= version.parse("3.0") and Version("3.0.0") == Version("3") \
        and Version("3.10").minor == 10 and Version("3.10") > Version("3.9.1") != Version("3.9"):
    exact = tl.math.sqrt
else:
    exact = tl.math.fast_sqrt

if has_triton():
    rsqrt = find("rsqrt", "triton.language.extra.libdevice")
    nowhere = find("rsqrt", "triton.language.nowhere")


@triton.jit
def k(x, WHERE: tl.constexpr = "there", DOWN: tl.constexpr = tl.core.CONSTEXPR_0):
    if WHERE == "nowhere":
        tl.static_assert(nowhere is not None, "no such module")
    tl.store(x, rsqrt(exact(tl.load(x))) + DOWN)
