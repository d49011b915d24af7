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
