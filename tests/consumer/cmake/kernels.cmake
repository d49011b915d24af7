# ELU for aligned and for any arguments; attention, causal or not as the caller says.
function(consumer_kernels target)
  tilec_add_kernels(${target} FILES "${KERNELS}/elu.tile" ARCHS sm_80 sm_90a
                    SIGNATURES "*fp32:16, *fp32:16, i32:16" "*fp32, *fp32, i32" ${ARGN})
  tilec_add_kernels(${target} FILES "${KERNELS}/attention.tile" NAME attention KERNELS attn_fwd
                    ARCHS sm_80 sm_90a
                    SIGNATURES "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32, fp32, 64, True"
                               "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32, fp32, 64, False"
                    ${ARGN})
endfunction()
