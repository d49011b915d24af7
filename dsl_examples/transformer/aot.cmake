# decoder_kernels(TARGET): the kernels of the transformer example as C, compiled ahead of time for
# models in fp16 with heads of width 64, four of which share keys and values.

set(decoder_constants HEAD_DIM=64 GROUP=4 PAGE=16 SPLITS=8 ROW_BLOCK=4096 TOKEN_BLOCK=1024
    TOKEN_BLOCKS=256 TILE=64)
foreach(constant IN LISTS decoder_constants)
  string(REGEX MATCH "^([A-Z_]+)=(.*)$" matched "${constant}")
  set(DECODER_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()

# decoder_kernel(TARGET NAME FILE KERNEL SIGNATURE [DEFINE=VALUE ..]): for sizes that are multiples
# of 16, and for any.
function(decoder_kernel target name file kernel signature)
  string(REPLACE ":16" "" any "${signature}")
  set(options --ptxas=none)
  if(kernel STREQUAL matmul)
    list(APPEND options --num-warps=4)
  endif()
  tilec_add_kernels(${target} FILES "${CMAKE_CURRENT_SOURCE_DIR}/../${file}.tile" NAME ${name}
                    KERNELS ${kernel} ARCHS sm_80 sm_90a SIGNATURES "${signature}" "${any}"
                    DEFINES ${ARGN} OPTIONS ${options})
endfunction()

function(decoder_kernels target)
  set(h "*fp16:16")
  set(f "*fp32:16")
  set(n "*i32:16")
  set(d "D=${DECODER_HEAD_DIM}")
  set(heads ${d} "GROUP=${DECODER_GROUP}" "PAGE=${DECODER_PAGE}")
  set(tile "BLOCK_M=${DECODER_TILE}" "BLOCK_N=${DECODER_TILE}")
  decoder_kernel(${target} embed embedding embedding "${h},${n},${f},i32,i32:16")
  decoder_kernel(${target} rms_norm rms_norm rms_norm "${f},${h},${h},None,i32,i32:16,fp32"
                 "BLOCK=${DECODER_ROW_BLOCK}")
  decoder_kernel(${target} matmul matmul matmul
                 "${h},${h},${h},i32,i32:16,i32:16,i32:16,1,1,i32:16,i32:16,1" ${tile})
  decoder_kernel(${target} swiglu swiglu swiglu "${h},${h},${h},i32:16")
  decoder_kernel(${target} add vector_add vector_add "${f},${h},${f},i32:16")
  decoder_kernel(${target} matvec matvec matvec "${h},${f},${h},None,${h},i32:16,i32:16,fp32")
  decoder_kernel(${target} matvec_logits matvec matvec "${h},${f},${h},None,${f},i32,i32:16,fp32")
  decoder_kernel(${target} matvec_swiglu matvec matvec_swiglu
                 "${h},${f},${h},${h},i32:16,i32:16,fp32")
  decoder_kernel(${target} matvec_add matvec matvec "${h},${h},None,${f},${f},i32:16,i32:16,fp32")
  decoder_kernel(${target} rope_append paged_prefill rope_append
                 "${h},${h},${h},${n},${f},${n},${h},${h},i32,i32" ${heads})
  decoder_kernel(${target} prefill paged_prefill paged_prefill
                 "${h},${h},${h},${n},${h},i32,i32,i32,fp32" ${heads})
  decoder_kernel(${target} decode paged_attention paged_split
                 "${h},${h},${h},${n},${n},${f},${f},i32,i32,i32,i32,fp32" ${heads})
  decoder_kernel(${target} merge flash_decoding decode_merge "${f},${f},${h},i32,i32" ${d}
                 "SPLITS=${DECODER_SPLITS}")
  decoder_kernel(${target} best_of_block greedy best_of_block "${f},${f},${n},i32"
                 "BLOCK=${DECODER_TOKEN_BLOCK}")
  decoder_kernel(${target} next_token greedy next_token "${f},${n},${n},${n},${n},${n},i32"
                 "BLOCKS=${DECODER_TOKEN_BLOCKS}")
  list(TRANSFORM decoder_constants PREPEND "AOT_" OUTPUT_VARIABLE definitions)
  set_property(TARGET ${target} APPEND PROPERTY COMPILE_DEFINITIONS ${definitions})
endfunction()
