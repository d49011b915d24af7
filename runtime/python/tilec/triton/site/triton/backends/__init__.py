"""tilec has one backend, NVIDIA's; there are no plug-ins."""
from .. import _absent
from .compiler import BaseBackend, GPUTarget
from .driver import DriverBase

backends = {}
_absent.declare(globals())
__all__ = ["BaseBackend", "DriverBase", "GPUTarget", "backends"]
