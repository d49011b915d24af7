"""triton.language on the host: types, constants, and the names of what kernels call."""
from . import core, math, random, standard, target_info
from .core import (PropagateNan, TRITON_MAX_TENSOR_NUMEL, bfloat16, block_type, condition, const,
                   constexpr, constexpr_type, dtype, float16, float32, float64, float8e4b15,
                   float8e4b8, float8e4nv, float8e5, float8e5b16, int1, int16, int32, int64, int8,
                   pi32_t, pointer_type, range, slice, static_range, tensor, tensor_descriptor,
                   tensor_descriptor_type, tuple, tuple_type, uint16, uint32, uint64, uint8, void)
from . import extra

_from_core = """
    add advance arange associative_scan assume atomic_add atomic_and atomic_cas atomic_max
    atomic_min atomic_or atomic_xchg atomic_xor broadcast broadcast_to cast cat clamp debug_barrier
    device_assert device_print dot dot_scaled expand_dims full gather histogram
    inline_asm_elementwise join load load_tensor_descriptor make_block_ptr make_tensor_descriptor
    map_elementwise max_constancy max_contiguous maximum minimum mul multiple_of num_programs
    permute program_id reduce reshape split static_assert static_print store
    store_tensor_descriptor sub trans view where"""
_from_standard = """
    argmax argmin bitonic_merge cdiv cumprod cumsum flip interleave max min ravel reduce_or sigmoid
    softmax sort sum swizzle2d topk xor_sum zeros zeros_like"""
_from_math = """
    abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi"""
_from_random = """
    pair_uniform_to_normal philox philox_impl rand rand4x randint randint4x randn randn4x
    uint_to_uniform_float"""
for _module, _names in ((core, _from_core), (standard, _from_standard), (math, _from_math),
                        (random, _from_random)):
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
