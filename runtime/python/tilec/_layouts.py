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
    reach the kernel in any way: as a number that leads through the array, a product of two, in an array of
    integers, in its text."""
    if any(_may_hold_strides(v) for v in values):
        return
    for i, (shape, strides, size) in layouts:
        steps = {s for n, s in zip(shape, strides) if n > 1 and s != 1}
        if steps <= {0}:
            continue
        known = _numbers(_leading(kernel, i, shape, strides, values, consts).values())
        if steps & known or any(s * size in known for s in steps):
            continue
        if _is_dense(shape, strides) and not any(
                _goes_along(shape, strides, v) for k, v in enumerate(values) if k != i):
            continue                          # whatever order its elements are taken in
        if any(re.search(r"(?<![\w.])%d(?![\w.])" % s, _text(kernel)) for s in steps):
            continue
        warnings.warn("'%s' is not contiguous: its strides are %s elements, and none of them leads through "
                      "it in the kernel, which takes its memory as it lies; numpy.ascontiguousarray(array) or "
                      "tensor.contiguous() is a copy in order, or pass the strides"
                      % (kernel._launch[i], strides), Warning, stacklevel=users_level())


def warn_of_mask(name, array):
    """numpy.ma: a kernel sees what lies under the mask."""
    if getattr(array, "mask", None) is not None and array.mask.any():
        warnings.warn("'%s' is a masked array, and the kernel is given all of its elements: array.filled(value) "
                      "puts a value where the mask is set" % name, Warning, stacklevel=users_level())


def _leading(kernel, i, shape, strides, values, consts):
    """Of what the kernel is given: those by which it may step through the array, by name."""
    params = {p["name"]: p for p in kernel.info["params"]}
    given = {n: p["default"] for n, p in params.items()}
    given.update(zip(kernel._launch, values))
    given.update(pair for pair in zip(kernel._consts, consts) if _number(pair[1]) is not None)
    named = {n: given[n] for n in params[kernel._launch[i]]["strides"]}
    if _is_square(shape, strides):
        named = {n: v for n, v in named.items() if not (params[n]["is_bound"] and _is_last_size(n, given))}
    return named


def _is_square(shape, strides):
    """A square turned over: its stride is each of its sizes, too."""
    return len(shape) == 2 and shape[0] == shape[1] and strides == (1, shape[0])


def _is_last_size(name, given):
    """Of a bound: is it the last of at most two parameters with its value, so that it is how many columns there
    are rather than how many rows?"""
    same = [n for n, v in given.items() if _number(v) == _number(given[name])]
    return name == same[-1] and len(same) <= 2


def _number(v):
    v = getattr(v, "value", v)                # tl.constexpr
    try:
        return int(v) if isinstance(v, str) else operator.index(v)
    except (TypeError, ValueError):
        return None


def _numbers(values):
    """The whole numbers among them, and the products of any two."""
    found = {n for n in map(_number, values) if n is not None}
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
