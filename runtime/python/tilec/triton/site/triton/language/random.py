from .core import declare

declare(globals(), "triton.language.random", """
    pair_uniform_to_normal philox philox_impl rand rand4x randint randint4x randn randn4x
    uint_to_uniform_float""")
