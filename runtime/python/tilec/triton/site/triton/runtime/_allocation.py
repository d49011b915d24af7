"""Work space of kernels.  tilec's kernels take none; the allocator is kept for who asks."""
from contextvars import ContextVar


class NullAllocator:
    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set. "
                           "Use triton.set_allocator to specify an allocator.")


_allocator = ContextVar("_allocator", default=NullAllocator())


def set_allocator(allocator):
    _allocator.set(allocator)
