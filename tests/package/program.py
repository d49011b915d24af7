"""A program for Triton that needs no other package: its arrays are the standard library's."""
import array

import triton
import triton.language as tl


class Floats:  # what numpy arrays show of themselves
    dtype = "float32"

    def __init__(self, values):
        self.data = array.array("f", values)
        self.shape = (len(self.data),)
        self.__array_interface__ = {"data": (self.data.buffer_info()[0], False),
                                    "typestr": "<f4", "shape": self.shape, "version": 3}


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask)
    y = tl.load(y_ptr + offsets, mask)
    tl.store(out_ptr + offsets, x + y, mask)


x, y, out = Floats(range(1000)), Floats([0.5] * 1000), Floats([0] * 1000)
add_kernel[(triton.cdiv(1000, 128),)](x, y, out, 1000, BLOCK=128)
assert list(out.data) == [i + 0.5 for i in range(1000)]
print("triton: 1000 sums are right")
