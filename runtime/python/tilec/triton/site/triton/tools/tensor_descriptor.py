"""Host tensor descriptors: a tensor with the block that kernels load and store of it."""
from dataclasses import dataclass
from typing import Any, List

import tilec

from .._utils import validate_block_shape


@dataclass
class TensorDescriptor:
    base: Any
    shape: List[int]
    strides: List[int]
    block_shape: List[int]
    padding: str = "zero"

    def __post_init__(self):
        rank = len(self.shape)
        assert len(self.strides) == rank, "rank mismatch: %s" % self
        assert len(self.block_shape) == rank, "rank mismatch: %s" % self
        assert 0 < rank <= 5, "rank must be 1 to 5"
        assert self.strides[-1] == 1, \
            "the last dimension must be contiguous, its stride 1; got %s" % (self.strides,)
        if type(self.base).__name__ not in ("FakeTensor", "FunctionalTensor"):
            if not hasattr(self.base, "data_ptr"):
                raise TypeError("the base of a TensorDescriptor is a torch tensor, not a %s.%s; "
                                "tilec.TensorDescriptor takes any array"
                                % (type(self.base).__module__, type(self.base).__name__))
            assert self.base.data_ptr() % 16 == 0, "base must be 16-byte aligned"
        validate_block_shape(self.block_shape)
        size = self.base.dtype.itemsize
        for stride in self.strides[:-1]:
            assert stride * size % 16 == 0, "strides must be 16-byte aligned"
        for n in self.shape:
            assert n > 0, "shape must be positive"
        assert self.padding in ("zero", "nan"), "Illegal value for padding"
        if self.padding == "nan":
            assert self.base.dtype.is_floating_point, \
                "Padding option `nan` is only supported for floating point tensors"

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero"):
        return TensorDescriptor(tensor, tensor.shape, tensor.stride(), block_shape, padding)


tilec._tensor_classes.add(TensorDescriptor)      # it has the fields of tilec's own
