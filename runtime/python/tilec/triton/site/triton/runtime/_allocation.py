"""Work space of kernels.  tilec's kernels take none; the allocator is kept for who asks."""
from contextvars import ContextVar
from typing import Optional, Protocol

from .. import _absent


class Buffer(Protocol):
    def data_ptr(self) -> int:
        ...


class Allocator(Protocol):
    def __call__(self, size: int, alignment: int, stream: Optional[int]) -> Buffer:
        ...


class NullAllocator:
    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set. "
                           "Use triton.set_allocator to specify an allocator.")


_allocator = ContextVar("_allocator", default=NullAllocator())


def set_allocator(allocator):
    if not callable(allocator):
        raise TypeError("an allocator is a function (size, alignment, stream) that returns a buffer; "
                        "found %r" % (allocator,))
    _allocator.set(allocator)


_absent.declare(globals())
