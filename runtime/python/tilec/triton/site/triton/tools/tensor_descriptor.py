"""Host tensor descriptors: a tensor with the block that kernels load and store of it."""
from dataclasses import dataclass
from typing import Any, List

import tilec

from .._utils import validate_block_shape


def _address(base):
    """Of a torch tensor or a numpy array."""
    if callable(getattr(base, "data_ptr", None)):
        return base.data_ptr()
    if hasattr(base, "__array_interface__"):
        return base.__array_interface__["data"][0]
    raise TypeError("the base of a TensorDescriptor is a torch tensor or a numpy array, not a %s.%s; "
                    "tilec.TensorDescriptor takes any array"
                    % (type(base).__module__, type(base).__name__))


def _is_floating_point(dtype):
    return dtype.is_floating_point if hasattr(dtype, "is_floating_point") else dtype.kind == "f"


def _block_of(block, rank):
    """A block of so many dimensions: the one that is given, cut, or with sides of 1, or of its own, before it."""
    block = list(block)
    side = block[0] if len(block) == 1 and rank == 2 else 1
    return [side] * (rank - len(block)) + block[max(0, len(block) - rank):]


def _ways_of_strides(base, strides):
    """What to do where the last of the strides is not 1."""
    name, copy = ("tensor", "tensor.contiguous()") if hasattr(base, "data_ptr") else \
        ("array", "numpy.ascontiguousarray(array)")
    if len(strides) < 2 or strides[-2] != 1:
        return "; %s is a copy whose is 1" % copy
    return "; it is turned over: take %s, or a descriptor of the %s as it lies, and turn each tile in the " \
        "kernel, desc.load(..).T" % (copy, name)


@dataclass
class TensorDescriptor:
    base: Any
    shape: List[int]
    strides: List[int]
    block_shape: List[int]
    padding: str = "zero"

    def __post_init__(self):
        for name in ("shape", "strides", "block_shape"):
            if not hasattr(getattr(self, name), "__len__") or isinstance(getattr(self, name), str):
                raise TypeError("%s of a TensorDescriptor is a list of numbers, one for each dimension; "
                                "found %r" % (name, getattr(self, name)))
        rank = len(self.shape)
        assert rank == len(self.strides) == len(self.block_shape), \
            "rank mismatch: shape has %d entries, strides %d, block_shape %d: each has one for each " \
            "dimension of the tensor, as block_shape=%s" \
            % (rank, len(self.strides), len(self.block_shape), _block_of(self.block_shape, rank))
        assert 0 < rank <= 5, "rank must be 1 to 5, not %d" % rank
        assert self.strides[-1] == 1, \
            "the last dimension must be contiguous, its stride 1; got %s%s" \
            % (self.strides, _ways_of_strides(self.base, list(self.strides)))
        if type(self.base).__name__ not in ("FakeTensor", "FunctionalTensor"):
            address = _address(self.base)
            assert address % 16 == 0, "base must be 16-byte aligned; its address is %#x, as of a slice: " \
                "%s begins at one" % (address, "tensor.clone()" if hasattr(self.base, "data_ptr")
                                      else "array.copy()")
        validate_block_shape(self.block_shape)
        size = self.base.dtype.itemsize
        for stride in self.strides[:-1]:
            assert stride >= 0, "strides must not be negative; got %s" % (self.strides,)
            assert stride * size % 16 == 0, "strides must be 16-byte aligned; %d elements of %d bytes " \
                "are %d: pad the rows to %d elements" \
                % (stride, size, stride * size, -(-stride * size // 16) * 16 // size)
        for n in self.shape:
            assert n > 0, "shape must be positive; got %s" % (self.shape,)
        assert self.padding in ("zero", "nan"), \
            "Illegal value for padding: 'zero' or 'nan', not %r" % (self.padding,)
        if self.padding == "nan":
            assert _is_floating_point(self.base.dtype), \
                "Padding option `nan` is only supported for floating point tensors"

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero"):
        _address(tensor)
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else \
            [n // tensor.itemsize for n in tensor.strides]
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding)


tilec._tensor_classes.add(TensorDescriptor)      # it has the fields of tilec's own
