"""The device: the GPU of torch's current device, or this computer's processor."""
import functools
import os
import sys
import time

import tilec

from .. import knobs
from ..backends.compiler import GPUTarget
from ..backends.driver import DriverBase


def _torch():
    import torch
    return torch


@functools.cache
def _has_gpu():
    if knobs.runtime.interpret:
        return False
    try:
        return _torch().cuda.is_available()
    except ImportError:
        pass
    try:
        tilec.Runtime.get("cuda", 0)
        return True
    except tilec.Error:
        return False


class _Event:
    """A point in time on the host."""

    def __init__(self, enable_timing=True):
        self.at = None

    def record(self, *_):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3

    def synchronize(self):
        pass


class _Host:
    """torch.cuda's part in timing, for a machine without a GPU."""
    Event = _Event

    @staticmethod
    def synchronize(*_):
        pass

    @staticmethod
    def current_device():
        return 0


class _Utils:
    def __init__(self, driver):
        self.driver = driver

    def __getattr__(self, name):
        raise AttributeError("triton.runtime.driver.active.utils.%s: tilec has "
                             "get_device_properties() alone; modules are loaded by its runtime"
                             % name)

    def get_device_properties(self, device=None):
        """What kernels are sized by.  On the host: its cores as multiprocessors, and the limits of
        the GPU that is compiled for."""
        if not self.driver.is_gpu:
            return {"max_shared_mem": 232448, "max_num_regs": 65536, "warpSize": 32,
                    "multiprocessor_count": os.cpu_count() or 1, "sm_clock_rate": 0,
                    "mem_clock_rate": 0, "mem_bus_width": 0}
        p = _torch().cuda.get_device_properties(device)
        return {"max_shared_mem": getattr(p, "shared_memory_per_block_optin", 232448),
                "max_num_regs": getattr(p, "regs_per_multiprocessor", 65536),
                "multiprocessor_count": p.multi_processor_count,
                "warpSize": getattr(p, "warp_size", 32),
                "sm_clock_rate": getattr(p, "clock_rate", 0),
                "mem_clock_rate": getattr(p, "memory_clock_rate", 0),
                "mem_bus_width": getattr(p, "memory_bus_width", 0)}


class Driver(DriverBase):
    """What triton.runtime.driver.active has."""

    def __init__(self):
        self.utils = _Utils(self)

    @property
    def is_gpu(self):
        return _has_gpu()

    @staticmethod
    def is_active():
        return True

    def get_current_device(self):
        return _torch().cuda.current_device() if self.is_gpu else 0

    def set_current_device(self, device):
        if self.is_gpu:
            _torch().cuda.set_device(device)

    def get_current_stream(self, device=None):
        return _torch().cuda.current_stream(device).cuda_stream if self.is_gpu else 0

    def get_device_capability(self, device=None):
        return _torch().cuda.get_device_capability(device) if self.is_gpu else (9, 0)

    def get_current_target(self):
        if not self.is_gpu:
            return GPUTarget("cpu", "host", 32)
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", major * 10 + minor, 32)

    def get_active_torch_device(self):
        torch = _torch()
        return torch.device("cuda", self.get_current_device()) if self.is_gpu \
            else torch.device("cpu")

    def get_device_interface(self):
        return _torch().cuda if self.is_gpu else _Host

    def get_benchmarker(self):
        from ..testing import do_bench
        return do_bench

    def get_empty_cache_for_benchmark(self):
        """As much memory as flushes the L2 cache; nothing on the host."""
        return _torch().empty(256 << 18, dtype=_torch().int32, device="cuda") if self.is_gpu \
            else None

    def clear_cache(self, cache):
        if cache is not None:
            cache.zero_()

    def map_python_to_cpp_type(self, ty):
        if ty.startswith("*"):
            return "CUdeviceptr"
        return {"i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t",
                "i64": "int64_t", "u1": "uint8_t", "u8": "uint8_t", "u16": "uint16_t",
                "u32": "uint32_t", "u64": "uint64_t", "fp16": "double", "bf16": "double",
                "fp32": "double", "f32": "double", "fp64": "double"}[ty]


class DriverConfig:
    """Drivers are made when they are first looked at."""

    def __init__(self):
        self._default = self._active = None

    @property
    def default(self):
        if self._default is None:
            self._default = Driver()
        return self._default

    @property
    def active(self):
        if self._active is None:
            self._active = self.default
        return self._active

    @property
    def on_gpu(self):
        """Whether kernels run on a GPU; a driver of the program's own need not say."""
        return getattr(self.active, "is_gpu", self.default.is_gpu)

    def set_active(self, driver):
        self._active = driver

    def reset_active(self):
        self._active = self.default


driver = DriverConfig()
