from .core import declare

declare(globals(), "triton.language.math", """
    abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi""")
