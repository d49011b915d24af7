"""Batches of rows of one tensor through a single descriptor, each bounded by its own end.

A descriptor has one size for each dimension, so a batch that begins at `offset` and has `size` rows
is bounded by counting from the end: the ragged dimension has FAR rows and row r of the batch is
number FAR - size + r, outside exactly when r >= size.  Two more dimensions in front bring the address
back: of addresses modulo 2^64, FAR steps of 2^34 - stride are FAR * stride backwards, and
offset + size steps of the stride itself lead to the batch."""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

_FAR = 2**30            # rows; FAR * 2^34 elements of any size are 2^64 bytes, or a multiple
_MOST = 0x7FFF0000      # steps along the dimensions in front: more than any index
FAR = tl.constexpr(_FAR)


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """A host descriptor of tensor T (2 or 3 dimensions) for the functions below.  Each block is
    `block_shape`; batches are pieces along `ragged_dim`, which is not the last."""
    rank, block_shape = len(T.shape), list(block_shape)
    if ragged_dim < 0:
        ragged_dim += rank
    assert rank <= 3, "a ragged descriptor is of a tensor of at most 3 dimensions; got %d" % rank
    assert 0 <= ragged_dim < rank - 1, "the last dimension cannot be ragged"
    assert len(block_shape) == rank, \
        "block_shape has %d numbers, the tensor %d dimensions" % (len(block_shape), rank)
    assert T.shape[ragged_dim] <= _FAR, "more than 2^30 rows: %d" % T.shape[ragged_dim]
    step, shape = T.stride(ragged_dim), list(T.shape)
    shape[ragged_dim] = _FAR
    strides = [2**34 - step, step] + [T.stride(i) for i in range(rank)]
    return TensorDescriptor(T, [_MOST, _MOST] + shape, strides, [1, 1] + block_shape)


@triton.jit
def to_ragged_indices(batch_offset, batch_size, row):
    """The two indices in front, and that of the ragged dimension."""
    return FAR, batch_offset + batch_size, FAR - batch_size + row


@triton.jit
def _place(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr):
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "the descriptor is not a ragged one, or "
                     "coords have not as many numbers as the tensor has dimensions")
    far, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    return [far, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:]


@triton.jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """The block at `coords` of rows batch_offset .. batch_offset + batch_size; rows past them are
    zero."""
    block = TMA.load(_place(TMA, batch_offset, batch_size, coords, ragged_dim))
    return tl.reshape(block, block.shape[2:])


@triton.jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Writes the rows of the block that lie in the batch."""
    TMA.store(_place(TMA, batch_offset, batch_size, coords, ragged_dim),
              tl.reshape(data, TMA.block_shape))


@triton.jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds the rows of the block that lie in the batch to what is there."""
    TMA.atomic_add(_place(TMA, batch_offset, batch_size, coords, ragged_dim),
                   tl.reshape(data, TMA.block_shape))
