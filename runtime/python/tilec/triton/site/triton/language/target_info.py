"""What is compiled for.  On the host these answer for the driver's device; in a kernel the compiler
answers for its target."""
from . import names
from .core import declare


def current_target():
    from ..runtime import driver
    return driver.active.get_current_target()


current_target.__triton_builtin__ = True


def _is_arch(arch):
    return current_target().arch == arch


def is_cuda():
    return current_target().backend == "cuda"


def cuda_capability_geq(major, minor=0):
    return is_cuda() and current_target().arch >= major * 10 + minor


def is_hip():
    return current_target().backend == "hip"


def is_hip_cdna3():
    return _is_arch("gfx942")


def is_hip_cdna4():
    return _is_arch("gfx950")


declare(globals(), "triton.language.target_info", names.TARGET_INFO)
