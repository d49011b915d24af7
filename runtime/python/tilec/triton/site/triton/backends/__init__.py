"""tilec has one backend, NVIDIA's; there are no plug-ins."""
from .compiler import BaseBackend, GPUTarget

backends = {}
__all__ = ["BaseBackend", "GPUTarget", "backends"]
