"""triton.language on the host: types, constants, and the names of what kernels call."""
from . import core, math, names, random, standard, target_info
from .. import _absent
from .core import (PropagateNan, TRITON_MAX_TENSOR_NUMEL, bfloat16, block_type, condition, const,
                   constexpr, constexpr_type, dtype, float16, float32, float64, float8e4b15,
                   float8e4b8, float8e4nv, float8e5, float8e5b16, int1, int16, int32, int64, int8,
                   pi32_t, pointer_type, range, slice, static_range, tensor, tensor_descriptor,
                   tensor_descriptor_type, tuple, tuple_type, uint16, uint32, uint64, uint8, void)
from . import extra

for _module, _names in ((core, names.LANGUAGE_CORE), (standard, names.LANGUAGE_STANDARD),
                        (math, names.MATH), (random, names.RANDOM)):
    globals().update((_n, getattr(_module, _n)) for _n in _names.split())

# the short names of signatures
_TYPES = {"i1": int1, "i8": int8, "i16": int16, "i32": int32, "i64": int64, "u1": int1, "u8": uint8,
          "u16": uint16, "u32": uint32, "u64": uint64, "B": int1, "fp8e5": float8e5,
          "fp8e5b16": float8e5b16, "fp8e4nv": float8e4nv, "fp8e4b8": float8e4b8,
          "fp8e4b15": float8e4b15, "fp16": float16, "bf16": bfloat16, "fp32": float32,
          "fp64": float64, "f32": float32, "f64": float64, "void": void}


def str_to_ty(name, c=None):
    """The type that a signature's word names: "*fp32", "i64", "constexpr"."""
    if name == "constexpr":
        return constexpr_type(c)
    if name.startswith("*k"):
        return pointer_type(str_to_ty(name[2:]), const=True)
    if name.startswith("*"):
        return pointer_type(str_to_ty(name[1:]))
    return _TYPES[name]


__getattr__ = _absent.attribute_of(globals())
