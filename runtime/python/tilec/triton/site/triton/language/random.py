from . import names
from .core import constexpr as _constexpr, declare

N_ROUNDS_DEFAULT = _constexpr(10)
declare(globals(), "triton.language.random", names.RANDOM)
