# RUN: %tilec check %s -k fill -s "*fp32" | FileCheck %s
# EXIT: 1
# RUN: %tilec check %s -k fill -s "*fp32" --assume 'SIZE=64'
# RUN: %tilec check %s -k fill -s "*fp32" --assume 'profile() == "large"=True'
# RUN: %tilec check %s -k decided -s "*fp32"
import os
import torch
import triton
import triton.language as tl
from settings import profile, is_hip

if profile() == "large":
    SIZE: tl.constexpr = 1024
    SAME: tl.constexpr = 8
else:
    SIZE: tl.constexpr = 64
    SAME: tl.constexpr = 8

NO: tl.constexpr = is_hip() or "TILEC_TEST_NOT_SET" in os.environ or hasattr(torch, "npu")


@triton.jit
def fill(x):
    tl.store(x + tl.arange(0, SIZE), 1.0)


@triton.jit
def decided(x):
    tl.static_assert(SAME == 8 and not NO)
# CHECK: undecided.py:24:31: error[E0279]: a kernel cannot use 'SIZE'
# CHECK: help: say what holds: --assume 'profile() == "large"=True' or '..=False', or 'SIZE=VALUE'
# CHECK: undecided.py:12:4: note: the condition: profile() == "large"
# A function has no value that can be said: its condition has.
# RUN: %tilec check %s -k calls -s "*fp32" | FileCheck --check-prefix=CALLS %s
# EXIT: 1
# CALLS: error[E0279]: a kernel cannot use 'filling'
# CALLS: help: say what holds: --assume 'NEW=True' or '..=False', or 'filling=VALUE'
# RUN: %tilec check %s -k calls -s "*fp32" --assume NEW=True
NEW = "how" in profile("parameters")
if NEW:

    @triton.jit
    def filling():
        return 1.0
else:

    @triton.jit
    def filling():
        return 2.0


@triton.jit
def calls(x):
    tl.store(x, filling())


# What is made of a name that is undecided is undecided, too.
# RUN: %tilec check %s -k members -s "*fp32" | FileCheck --check-prefix=MEMBERS %s
# EXIT: 1
# MEMBERS: undecided.py:71:17: error[E0279]: a kernel cannot use 'library'
# MEMBERS: help: say what holds: --assume 'profile("library")=True' or '..=False'
# RUN: %tilec check %s -k members -s "*fp32" --assume 'profile("library")=True'
if profile("library"):
    from triton.language.extra import libdevice as library
else:
    library = None


@triton.jit
def members(x):
    tl.store(x, library.tanh(1.0))


# What a package does that is not known may raise, and a handler may bind a name otherwise; imports are
# decided, and a handler that binds nothing otherwise makes no difference.
# RUN: %tilec check %s -k tried -s "*fp32" | FileCheck --check-prefix=TRIED %s
# EXIT: 1
# TRIED: undecided.py:97:17: error[E0279]: a kernel cannot use 'WIDE'
# TRIED: note: the condition: profile.start()
# RUN: %tilec check %s -k tried -s "*fp32" --assume 'profile.start()=None'
# RUN: %tilec check %s -k settled -s "*fp32"
try:
    profile.start()
    WIDE = tl.constexpr(2.0)
    KNOWN = tl.constexpr(3.0)
except Exception:
    WIDE = tl.constexpr(4.0)
try:
    import no_such_package
    FOUND = tl.constexpr(1.0)
except ImportError:
    FOUND = tl.constexpr(0.0)


@triton.jit
def tried(x):
    tl.store(x, WIDE)


@triton.jit
def settled(x):
    tl.static_assert(KNOWN == 3.0 and FOUND == 0.0)


# Where all imports of a try are found, what is not known of the rest raises no ImportError.
# RUN: %tilec check %s -k present -s "*fp32"
# RUN: %tilec check %s -k tiled -s "*fp32" | FileCheck --check-prefix=TILED %s
# EXIT: 1
# TILED: undecided.py:134:17: error[E0279]: a kernel cannot use 'TILE'
# TILED: help: say what holds: --assume 'not DESCRIPTORS=True' or '..=False'
# RUN: %tilec check %s -k tiled -s "*fp32" --assume 'not DESCRIPTORS=True'
# RUN: %tilec check %s -k tiled -s "*fp32" --assume 'DESCRIPTORS=True'
try:
    import triton.language as language

    PRESENT = tl.constexpr(1.0)
    DESCRIPTORS = profile("gpu")[0] >= 9
except ImportError:
    PRESENT = tl.constexpr(0.0)
    DESCRIPTORS = False
if not DESCRIPTORS:
    TILE = tl.constexpr(64.0)
else:
    TILE = tl.constexpr(128.0)


@triton.jit
def present(x):
    tl.static_assert(PRESENT == 1.0)


@triton.jit
def tiled(x):
    tl.store(x, TILE)
