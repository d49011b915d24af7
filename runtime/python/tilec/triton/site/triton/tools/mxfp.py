"""Microscaling types on the host: four-bit E2M1 values, and the E8M0 scales of their blocks."""
import torch

# magnitude of a code's low three bits: exponent 2 bits, fraction 1 bit
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


class _Codes:
    """A tensor of codes (uint8, one in each byte) made of floats, or of a size to be filled."""

    def __init__(self, data=None, size=None, device=None):
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "Parameter data must be a torch tensor"
            self.device = data.device
            self.data = self._from_float(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("Either parameter data or size must be provided")

    def _random(self, low, high):
        self.data = torch.randint(low, high, size=self.size, dtype=torch.uint8, device=self.device)
        return self


class MXFP4Tensor(_Codes):
    """Sign, two bits of exponent, one of fraction."""

    def random(self):
        return self._random(0, 16)

    def to(self, dtype):
        assert dtype == torch.float32, "E2M1 values convert to torch.float32 only"
        table = torch.tensor(_E2M1 + tuple(-v for v in _E2M1), device=self.data.device)
        return table[self.data.long() & 15]

    def _from_float(self, values):
        """To the nearest, ties to the even fraction; what is too large, and NaN, to 6."""
        size = values.abs().nan_to_num(nan=6.0, posinf=6.0)
        code = torch.zeros_like(size, dtype=torch.uint8)
        for i in range(7):                 # past the middle between two magnitudes: the larger one
            middle = (_E2M1[i] + _E2M1[i + 1]) / 2
            code += (size > middle) | ((size == middle) & (i % 2 == 1))
        return code | torch.signbit(values).to(torch.uint8) << 3

    def to_packed_tensor(self, dim):
        """Two codes a byte along a dimension, the first in the low bits; 0 fills an odd end."""
        data = self.data
        assert 0 <= dim < data.ndim, \
            "The dimension to pack along is not within the range of tensor dimensions"
        if data.size(dim) % 2:
            end = list(data.shape)
            end[dim] = 1
            data = torch.cat([data, data.new_zeros(end)], dim)
        pairs = data.unflatten(dim, (-1, 2))
        return pairs.select(dim + 1, 0) | pairs.select(dim + 1, 1) << 4

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        pairs = torch.stack((packed_tensor & 15, packed_tensor >> 4 & 15), dim=dim + 1)
        return pairs.flatten(dim, dim + 1).narrow(dim, 0, original_shape[dim]).to(torch.uint8)


class MXScaleTensor(_Codes):
    """Powers of two: the exponent and 127; 255 is NaN."""

    def random(self, low=None, high=None):
        def code(value, default):
            exponent = int(torch.tensor(float(value)).log2()) if value is not None else None
            return default if exponent is None else min(254, max(0, exponent + 127))
        first, last = code(low, 0), code(high, 254)
        assert first <= last, "Low must be less than or equal to high"
        return self._random(first, last + 1)

    def to(self, dtype):
        assert dtype == torch.float32, "E8M0 scales convert to torch.float32 only"
        value = torch.pow(2.0, self.data.to(torch.float32) - 127)
        return torch.where(self.data == 255, torch.nan, value)

    def _from_float(self, values):
        """The power of two at or below; NaN for what is not positive and finite."""
        usable = values.isfinite() & (values > 0)
        exponent = torch.where(usable, values, 1.0).log2().floor().to(torch.int32) + 127
        return torch.where(usable, exponent.clamp(0, 254), 255).to(torch.uint8)
