from .core import declare

declare(globals(), "triton.language.standard", """
    argmax argmin bitonic_merge cdiv cumprod cumsum flip interleave max min ravel reduce_or sigmoid
    softmax sort sort_impl sum swizzle2d topk xor_sum zeros zeros_like
    _argmax_combine _argmin_combine _elementwise_max _elementwise_min _is_power_of_two _log2
    _or_combine _prod_combine _sum_combine _xor_combine
    _argmax_combine_tie_break_fast _argmax_combine_tie_break_left
    _argmin_combine_tie_break_fast _argmin_combine_tie_break_left""")
