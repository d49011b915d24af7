"""As much of torch as tilec looks at, for machines without it: install() puts it in sys.modules.
Tensors lie on the host; device "cuda" is the fake driver's, whose memory is host memory too."""
import array
import sys
import types


class Device:
    def __init__(self, kind, index=None):
        self.type, self.index = kind, index


class Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name


class Storage:
    def __init__(self, address, size):
        self.address, self.size = address, size

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.size


class Tensor:
    def __init__(self, values, dtype, device, index=None):
        self.data, self.dtype, self.device = values, dtype, Device(device, index)
        self.address = values.buffer_info()[0]
        self.nbytes = len(values) * values.itemsize
        self.number = -1 if device == "cpu" else index or 0

    def data_ptr(self):
        return self.address

    def get_device(self):
        return self.number

    def is_contiguous(self):
        return True

    def untyped_storage(self):
        return Storage(self.address, self.nbytes)


class Parameter(Tensor):
    pass


def install(stream=0):
    torch = types.ModuleType("torch")
    for name in ("float32", "float16", "bfloat16", "int32", "complex64"):
        setattr(torch, name, Dtype(name))
    for one in (Tensor, Parameter):
        one.__module__ = "torch"
    torch.Tensor, torch.stream = Tensor, stream
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda d: torch.stream)
    torch.zeros = lambda n, device="cuda", index=None: Tensor(array.array("f", [0] * n),
                                                              torch.float32, device, index)
    sys.modules["torch"] = torch
    return torch
