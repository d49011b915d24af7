"""tilec has one backend, NVIDIA's; there are no plug-ins.  Programs ask its driver whether Triton
can be used here: it can without a GPU, too."""
import dataclasses

from ..runtime.driver import Driver
from .compiler import BaseBackend, GPUTarget
from .driver import DriverBase


@dataclasses.dataclass(frozen=True)
class Backend:
    compiler: type
    driver: type


backends = {"nvidia": Backend(BaseBackend, Driver)}
__all__ = ["Backend", "BaseBackend", "DriverBase", "GPUTarget", "backends"]
