from . import _absent
from .language.core import TRITON_MAX_TENSOR_NUMEL


def validate_block_shape(shape):
    """The number of elements of a tile of this shape."""
    numel = 1
    for i, n in enumerate(shape):
        if not isinstance(n, int):
            raise TypeError("Shape element %d must have type `constexpr[int]`, got "
                            "`constexpr[%s]" % (i, type(n)))
        if n & (n - 1) or n <= 0:
            raise ValueError("Shape element %d must be a power of 2; it is %d" % (i, n))
        numel *= n
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError("numel (%d) exceeds triton maximum tensor numel (%d)"
                         % (numel, TRITON_MAX_TENSOR_NUMEL))
    return numel


def is_power_of_two(n):
    return n > 0 and n & (n - 1) == 0


_absent.declare(globals())
