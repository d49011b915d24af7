from . import names
from .core import constexpr, declare

N_ROUNDS_DEFAULT = constexpr(10)
declare(globals(), "triton.language.random", names.RANDOM)
