# Programs that look whether Triton can be used before they import it.
# RUN: %tilec check %s -s "*fp32"
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

USABLE = find_spec("triton") is not None
if USABLE:
    try:
        from triton.backends import backends

        active = [b.driver for b in backends.values() if b.driver and b.driver.is_active()]
        hidden = os.environ.get("TILEC_TEST_NOT_SET")
        if not (hidden is not None and len(hidden.strip()) == 0) and len(active) != 1:
            USABLE = False
    except ImportError:
        USABLE = False

if TYPE_CHECKING or USABLE:
    import triton
    import triton.language as tl
else:
    triton = tl = None


@triton.jit
def k(x):
    tl.static_assert(not TYPE_CHECKING and "nvidia" in backends)
    tl.store(x, 1.0)
