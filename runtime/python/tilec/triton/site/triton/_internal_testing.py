"""What Triton's own tests, and tests written after them, import from here.  Needs pytest, numpy and
torch."""
import os
import re

import numpy as np
import pytest
import torch

import triton
import triton.language as tl
from triton import knobs
from triton.runtime.jit import TensorWrapper, reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["u" + t for t in int_dtypes]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = float_dtypes + ["bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = dtypes + ["bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool"] + int_dtypes + ["uint8"] + float_dtypes + ["bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


# ---- where the tests run ----

def is_interpreter():
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def get_current_target():
    return None if is_interpreter() else triton.runtime.driver.active.get_current_target()


def _is_backend(name):
    target = get_current_target()
    return target is not None and target.backend == name


def is_cuda():
    return _is_backend("cuda")


def is_hip():
    return _is_backend("hip")


def is_xpu():
    return _is_backend("xpu")


def _major():
    return torch.cuda.get_device_capability()[0] if is_cuda() else 0


def is_ampere_or_newer():
    return _major() >= 8


def is_hopper_or_newer():
    return _major() >= 9


def is_hopper():
    return _major() == 9


def is_blackwell():
    return _major() == 10


def is_sm12x():
    return _major() == 12


def _never():
    """Another vendor's GPU: not with tilec."""
    return False


is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = _never
is_hip_gfx11 = is_hip_gfx12 = is_hip_gfx1250 = _never


def get_hip_lds_size():
    return 65536


def get_arch():
    target = get_current_target()
    return "" if target is None else str(target.arch)


# ---- data ----

def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """Random values of a type by its name; from a fixed seed unless rs is given."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = np.random.RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        x = rs.randint(low, high, shape, dtype=dtype_str)
        x[x == 0] = 1                      # tests divide by them
        return x
    if dtype_str and "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    normal = rs.normal(0, 1, shape)
    if dtype_str in float_dtypes:
        return normal.astype(dtype_str)
    if dtype_str == "bfloat16":            # fp32 values that bf16 holds
        return (normal.astype("float32").view("uint32") & np.uint32(0xffff0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return normal > 0.0
    raise RuntimeError("Unknown dtype %s" % dtype_str)


def to_triton(x, device, dst_type=None):
    """A tensor of a numpy array; dst_type where numpy has no such type."""
    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(name[1:]), device=device), getattr(tl, name))
    made = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(made, getattr(tl, dst_type))
    return made.bfloat16() if name == "float32" and dst_type == "bfloat16" else made


def to_numpy(x):
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
    if isinstance(x, torch.Tensor):
        return (x.float() if x.dtype is torch.bfloat16 else x).cpu().numpy()
    raise ValueError("Not a triton-compatible tensor: %s" % x)


def str_to_triton_dtype(x):
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype):
    if isinstance(dtype, tl.dtype):
        return dtype.name
    if isinstance(dtype, torch.dtype):
        return re.match(r"^torch\.(\w+)$", str(dtype)).group(1)
    raise TypeError("not a triton or torch dtype: %s" % type(dtype))


def unwrap_tensor(t):
    return t.base if isinstance(t, TensorWrapper) else t


def default_alloc_fn(size, align, _):
    return torch.empty(size, dtype=torch.int8, device="cuda")


# ---- what the machine can do ----

def supports_tma(byval_only=False):
    return is_interpreter() or is_hopper_or_newer()


def supports_ws():
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only=False):
    return "Requires TMA support (NVIDIA Hopper or higher)"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def _fresh_knobs_impl(skipped_attr=None):
    """(make all settings fresh, put them back)."""
    groups = {n: g for n, g in vars(knobs).items()
              if isinstance(g, knobs.base_knobs) and n not in (skipped_attr or ())}
    before = dict(os.environ)
    propagate = knobs.propagate_env

    def fresh():
        for name, group in groups.items():
            setattr(knobs, name, group.copy().reset())
            for knob in group.knob_descriptors.values():
                os.environ.pop(knob.key, None)
        knobs.propagate_env = True
        return knobs

    def reset():
        for name, group in groups.items():
            setattr(knobs, name, group)
        os.environ.clear()
        os.environ.update(before)
        knobs.propagate_env = propagate

    return fresh, reset
