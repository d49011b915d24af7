"""Arrays that are not in C order, given to kernels that cannot know it."""
import operator
import os
import re
import warnings

from ._warnings import Warning, users_level

__all__ = ["warn_of_layouts", "warn_of_mask"]

_MOST_TOLD = 64            # elements of an array of integers that may hold strides


def warn_of_layouts(kernel, layouts, values, consts):
    """layouts: (number of the argument, _Reader.layout) of those of `values`.  Silent where a stride may
    reach the kernel in any way: as a number, a product of two, in an array of integers, in its text."""
    known = _numbers([*values, *consts, *(p["default"] for p in kernel.info["params"])])
    if any(_may_hold_strides(v) for v in values):
        return
    for i, (shape, strides, size) in layouts:
        steps = {s for n, s in zip(shape, strides) if n > 1 and s != 1}
        if steps <= {0} or steps & known or any(s * size in known for s in steps):
            continue
        if _is_dense(shape, strides) and not any(
                _goes_along(shape, strides, v) for k, v in enumerate(values) if k != i):
            continue                          # whatever order its elements are taken in
        if any(re.search(r"(?<![\w.])%d(?![\w.])" % s, _text(kernel)) for s in steps):
            continue
        warnings.warn("'%s' is not contiguous: its strides are %s elements, and none of them is given to the "
                      "kernel, which takes its memory as it lies; numpy.ascontiguousarray(array) or "
                      "tensor.contiguous() is a copy in order, or pass the strides"
                      % (kernel._launch[i], strides), Warning, stacklevel=users_level())


def warn_of_mask(name, array):
    """numpy.ma: a kernel sees what lies under the mask."""
    if getattr(array, "mask", None) is not None and array.mask.any():
        warnings.warn("'%s' is a masked array, and the kernel is given all of its elements: array.filled(value) "
                      "puts a value where the mask is set" % name, Warning, stacklevel=users_level())


def _numbers(values):
    """The whole numbers among them, and the products of any two."""
    found = set()
    for v in values:
        v = getattr(v, "value", v)            # tl.constexpr
        try:
            found.add(int(v) if isinstance(v, str) else operator.index(v))
        except (TypeError, ValueError):
            pass
    return found | {a * b for a in found for b in found}


def _may_hold_strides(v):
    shape = getattr(v, "shape", None)
    if not shape or "int" not in str(getattr(v, "dtype", "")):
        return False
    count = 1
    for n in shape:
        count *= n
    return count <= _MOST_TOLD


def _is_dense(shape, strides):
    """Its elements lie without gaps, in some order of the dimensions."""
    next_stride = 1
    for s, n in sorted((s, n) for n, s in zip(shape, strides) if n > 1):
        if s != next_stride:
            return False
        next_stride *= n
    return True


def _goes_along(shape, strides, other):
    """Does the order matter beside the other argument: an array of the same sizes in another order, or of some of
    them?"""
    sizes = tuple(getattr(other, "shape", None) or ())
    if sizes != shape:
        return any(n > 1 and n in shape for n in sizes)
    try:
        theirs = other.stride() if hasattr(other, "stride") else [n // other.itemsize for n in other.strides]
    except (AttributeError, TypeError):
        return True
    return tuple(theirs) != strides


def _text(kernel):
    if kernel.source is not None:
        return kernel.source
    try:
        with open(os.fspath(kernel.file), encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""
