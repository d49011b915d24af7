" Tile kernels: Python, with element types.
if exists('b:current_syntax')
  finish
endif
runtime! syntax/python.vim
unlet! b:current_syntax

syntax keyword tileType constexpr const i1 i8 i16 i32 i64 u8 u16 u32 u64
syntax keyword tileType fp16 fp32 fp64 bf16 fp8e4nv fp8e5 int1 int8 int16 int32 int64
syntax keyword tileType uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16
syntax keyword tileBuiltin program_id num_programs arange zeros full load store dot where
syntax keyword tileBuiltin atomic_add atomic_max atomic_min atomic_cas atomic_xchg
syntax keyword tileBuiltin cdiv reduce associative_scan sort gather histogram cat join split
syntax keyword tileBuiltin static_assert static_print device_assert device_print
syntax keyword tileBuiltin make_block_ptr make_tensor_descriptor multiple_of max_contiguous

highlight default link tileType Type
highlight default link tileBuiltin Function

let b:current_syntax = 'tile'
