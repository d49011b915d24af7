from . import names
from .core import _unwrap_if_constexpr, declare


def _log2(i):
    n = _unwrap_if_constexpr(i)
    return n.bit_length() - 1 if n else 0


def _is_power_of_two(i):
    n = _unwrap_if_constexpr(i)
    return n & (n - 1) == 0 and n != 0


declare(globals(), "triton.language.standard", names.STANDARD)
