# shellcheck shell=bash
# The example configurations whose PTX is built, assembled and held to zero spilled bytes.
# Sourced.  One row each: NAME, FILE, KERNEL and the remaining options of `tilec build`.
# Extents have :16 facts, as the runtime finds them for round sizes.

tilec_ptx_cases() { # CALLBACK: called once per row with its words
   local f=$1
   "$f" vector_add_fp32 vector_add.tile vector_add -s '*fp32:16, *fp32:16, *fp32:16, i32:16'
   "$f" vector_add_bf16 vector_add.tile vector_add -s '*bf16:16, *bf16:16, *bf16:16, i32'
   "$f" elu elu.tile elu -s '*fp32:16, *fp32:16, i32:16'
   "$f" elu_odd elu.tile elu
   "$f" pointwise pointwise.tile pointwise -s '*fp16:16, *fp16:16, *fp16:16, i32:16, fp32'
   "$f" softmax_fp32 softmax.tile softmax -s '*fp32:16, *fp32:16, i32, i32:16' -D BLOCK=4096
   "$f" softmax_fp16 softmax.tile softmax -s '*fp16:16, *fp16:16, i32, i32:16' -D BLOCK=1024
   "$f" layer_norm_fp32 layer_norm.tile layer_norm -D BLOCK=4096 \
      -s '*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, i32:16'
   local strides='i32:16, 1, i32:16, 1, i32:16, 1'
   local dtype
   for dtype in fp16 bf16 fp32; do
      "$f" "matmul_$dtype" matmul.tile matmul \
         -s "*$dtype:16, *$dtype:16, *$dtype:16, i32:16, i32:16, i32:16, $strides"
   done
   for dtype in 'i8 i32' 'fp8e4nv fp16'; do # K lies together
      "$f" "matmul_${dtype% *}" matmul.tile matmul -D BLOCK_K=64 \
         -s "*${dtype% *}:16, *${dtype% *}:16, *${dtype#* }:16, i32:16, i32:16, i32:16, i32:16, 1, 1, i32:16, i32:16, 1"
   done
   "$f" matmul_odd_relu matmul.tile matmul -D ACTIVATION=relu \
      -s '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32, 1, i32, 1, i32, 1'
   local kernel causal d warps
   for kernel in attn_fwd attn_fwd_bp; do
      local attention=attention.tile
      [[ $kernel == attn_fwd ]] || attention=attention_block_pointers.tile
      for causal in False True; do
         for d in 64 128; do
            warps=4
            ((d < 128)) || warps=8
            "$f" "${kernel}_d${d}_${causal,,}" "$attention" "$kernel" -D "D=$d" \
               -D "CAUSAL=$causal" --num-warps=$warps \
               -s '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32'
         done
      done
   done
   "$f" attn_fwd_bf16_d16 attention.tile attn_fwd -D D=16 -D BLOCK_M=64 \
      -s '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *fp32:16, i32, i32, fp32'
}

# Configurations chosen for Hopper, built for sm_90a alone.
tilec_ptx_hopper_cases() { # CALLBACK
   local f=$1 d mode mask drop
   local half='*fp16:16'
   local inputs="$half, $half, $half, $half, *fp32:16"
   local sizes='i32, i32:16, fp32'
   local rows='i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1' n
   for n in 128 256; do # boxes of tensors
      "$f" "matmul_boxes_$n" matmul.tile matmul --tma=on --num-warps=8 --num-stages=4 \
         -D BLOCK_M=128 -D "BLOCK_N=$n" -D BLOCK_K=64 -s "$half, $half, $half, $rows"
   done
   for mode in False True; do
      "$f" "attn_boxes_${mode,,}" attention.tile attn_fwd --tma=on --num-warps=8 -D D=128 \
         -D BLOCK_N=128 -D "CAUSAL=$mode" -s "$inputs, $sizes"
      for d in 64 128; do
         for n in 64 128; do
            "$f" "attn_persistent_d${d}_${n}_${mode,,}" attention_persistent.tile \
               attn_fwd_persistent --num-warps=8 -D "D=$d" -D BLOCK_M=128 -D "BLOCK_N=$n" \
               -D "CAUSAL=$mode" -s "$inputs, $sizes, i32"
         done
      done
   done
   for d in 64 128 256; do
      for mode in full causal window dropout; do
         if ((d == 256)) && [[ $mode == dropout ]]; then
            continue # spills, 16 and 136 bytes
         fi
         drop='None, None'
         case $mode in
         full) mask=(-D CAUSAL=False) ;;
         causal) mask=(-D CAUSAL=True -D GROUP=4) ;;
         dropout) mask=(-D CAUSAL=True) drop='fp32, i32' ;;
         window) mask=(-D WINDOW=1024 -D SOFTCAP=30.0 -D GROUP=4) ;;
         esac
         "$f" "attn_forward_d${d}_$mode" attention_forward.tile attn_forward \
            -s "$inputs, $sizes, $drop" -D "D=$d" "${mask[@]}"
         if ((d != 128)) || [[ $mode != dropout ]]; then # that spills 40 bytes
            "$f" "attn_bwd_kv_d${d}_$mode" attention_backward_kv.tile attn_bwd_kv \
               -s "$inputs, *fp32:16, $half, $half, $sizes, $drop" -D "D=$d" "${mask[@]}"
         fi
         "$f" "attn_bwd_q_d${d}_$mode" attention_backward_q.tile attn_bwd_q \
            -s "$inputs, *fp32:16, $half, $sizes, $drop" -D "D=$d" "${mask[@]}"
      done
   done
   "$f" attn_bwd_delta attention_backward.tile attn_bwd_delta -s "$half, $half, *fp32:16, i32:16"
   local bf='*bf16:16' fp='*fp32:16' rows='i32, i32:16'
   "$f" rms_norm rms_norm.tile rms_norm -s "$bf, $bf, $bf, $fp, $rows" -D BLOCK=4096
   "$f" rms_norm_bwd rms_norm.tile rms_norm_bwd -s "$bf, $bf, $bf, $fp, $bf, $fp, $rows, i32" \
      -D BLOCK=4096 --num-warps=8
   "$f" layer_norm_bwd layer_norm_backward.tile layer_norm_bwd -D BLOCK=4096 --num-warps=8 \
      -s "$bf, $bf, $bf, $fp, $fp, $bf, $fp, $fp, $rows, i32"
   "$f" column_sums column_sums.tile column_sums -s "$fp, $fp, $rows"
   "$f" group_norm group_norm.tile group_norm \
      -s "$bf, $bf, $bf, $bf, $fp, $fp, i32, i32, i32, i32:16"
   "$f" cross_entropy cross_entropy.tile cross_entropy -s "$bf, *i32:16, $fp, $fp, $rows, fp32"
   "$f" cross_entropy_bwd cross_entropy.tile cross_entropy_bwd \
      -s "$bf, *i32:16, $fp, $fp, $bf, $rows, fp32"
   "$f" rope rope.tile rope -s "$bf, *i32:16, $fp, $bf, $rows"
   "$f" swiglu swiglu.tile swiglu -s "$bf, $bf, $bf, i32:16"
   "$f" swiglu_bwd swiglu.tile swiglu_bwd -s "$bf, $bf, $bf, $bf, $bf, i32:16"
   "$f" embedding embedding.tile embedding -s "$bf, *i32:16, $bf, $rows"
   "$f" embedding_bwd embedding.tile embedding_bwd -s "$bf, *i32:16, $fp, $rows"
   "$f" adamw adamw.tile adamw -s "$bf, $bf, $fp, $fp, i32:16, , , , , , ,"
   "$f" quantize_i8 quantize.tile quantize -s "$bf, *i8:16, $fp, $rows" -D BLOCK=4096
   "$f" quantize_fp8 quantize.tile quantize -s "$bf, *fp8e4nv:16, $fp, $rows" -D BLOCK=4096
   "$f" dequantize quantize.tile dequantize -s "*i8:16, $fp, $bf, $rows" -D BLOCK=4096
   local mnk='i32:16, i32:16, i32:16'
   "$f" matmul_wide matmul_wide.tile matmul_wide \
      -s "$half, $half, $half, $mnk, i32:16, 1, i32:16, 1, i32:16, 1"
   "$f" matmul_split matmul_split.tile matmul_split -s "$half, $half, $half, $fp, *i32:16, $mnk"
   "$f" matmul_persistent matmul_persistent.tile matmul_persistent \
      -s "$half, $half, $half, $mnk, i32"
   "$f" matmul_batched matmul_batched.tile matmul_batched -s "$half, $half, $half, i32, $mnk"
   "$f" matmul_grouped matmul_batched.tile matmul_grouped \
      -s "$half, $half, $half, *i32:16, i32, i32:16, i32:16, i32"
   "$f" matmul_fused matmul_fused.tile matmul_fused -s "$half, $half, $half, $half, $half, $mnk"
   "$f" matmul_w8_fp8 matmul_weights.tile matmul_w8 -s "$half, *fp8e4nv:16, $fp, $half, $mnk"
   "$f" matmul_w8_i8 matmul_weights.tile matmul_w8 -s "$half, *i8:16, $fp, $half, $mnk"
   "$f" matmul_w4 matmul_weights.tile matmul_w4 -s "$half, *u8:16, $half, $half, $mnk"
   "$f" moe_gemm moe.tile moe_gemm \
      -s "$half, $half, $fp, *i32:16, *i32:16, $half, i32, i32, i32:16, i32:16"
   "$f" moe_sum moe.tile moe_sum -s "$half, $half, $rows"
   "$f" conv2d conv2d.tile conv2d \
      -s "$half, $half, $half, i32, i32, i32, i32:16, i32:16, i32, i32, i32, i32"
   local index='*i32:16' fp8='*fp8e4nv:16'
   "$f" decode_split flash_decoding.tile decode_split -D GROUP=8 \
      -s "$half, $half, $half, $index, $fp, $fp, i32, i32, i32:16, i32, fp32"
   "$f" decode_merge flash_decoding.tile decode_merge -s "$fp, $fp, $half, i32, i32"
   "$f" paged_split paged_attention.tile paged_split -D GROUP=8 \
      -s "$half, $half, $half, $index, $index, $fp, $fp, i32, i32, i32:16, i32, fp32"
   "$f" rope_append paged_prefill.tile rope_append -D GROUP=4 \
      -s "$half, $half, $half, $index, $fp, $index, $half, $half, i32, i32"
   for d in 64 128; do
      "$f" "paged_prefill_d$d" paged_prefill.tile paged_prefill -D "D=$d" -D GROUP=4 \
         -s "$half, $half, $half, $index, $half, i32, i32, i32, fp32"
   done
   "$f" matvec matvec.tile matvec -s "$half, $fp, $half, $fp, $fp, i32:16, i32:16, fp32"
   "$f" matvec_add matvec.tile matvec -s "$half, $half, None, $fp, $fp, i32:16, i32:16, fp32"
   "$f" matvec_swiglu matvec.tile matvec_swiglu -s "$half, $fp, $half, $half, i32:16, i32:16, fp32"
   "$f" best_of_block greedy.tile best_of_block -s "$fp, $fp, $index, i32"
   "$f" next_token greedy.tile next_token \
      -s "$fp, $index, $index, $index, $index, $index, i32"
   for d in 64 128; do
      "$f" "attn_fp8_d$d" attention_fp8.tile attn_fp8 -D "D=$d" \
         -s "$fp8, $fp8, $fp8, $fp, $fp, $fp, $half, $sizes"
      "$f" "linear_attention_d$d" linear_attention.tile linear_attention -D "D=$d" \
         -s "$half, $half, $half, $half, $fp, $sizes"
   done
   "$f" selective_scan selective_scan.tile selective_scan \
      -s "$half, $half, $fp, $half, $half, $fp, $half, i32, i32, i32:16"
   "$f" top_k top_k.tile top_k -s "$half, $half, $index, $rows" -D K=64
   "$f" radix_count sort_by_key.tile radix_count -s "$index, $index, i32, i32, i32"
   "$f" radix_offsets sort_by_key.tile radix_offsets -s "$index, $index, i32"
   "$f" radix_scatter sort_by_key.tile radix_scatter \
      -s "$index, $index, $index, $index, $index, i32, i32, i32"
   "$f" histogram histogram.tile count_values -s "$index, $index, i32, i32"
}
