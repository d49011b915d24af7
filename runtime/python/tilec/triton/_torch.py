"""What torch is told of Triton.

torch.compile writes kernels of its own against Triton's compiler, which tilec is not, and takes a
program's kernels into its graphs: torch hears that there is no Triton, and leaves them where they are.
What it then cannot compile runs as it is written, and launches are none of its business.
A program that asks torch (torch.utils._triton.has_triton()) hears what it would with Triton."""
import functools
import importlib
import importlib.machinery
import os
import sys

def _is_torch(frame):
    return frame.f_globals.get("__name__", "").split(".")[0] == "torch"


def _answer_programs(module):
    torchs = module.has_triton

    @functools.cache
    def programs():
        config = importlib.import_module("torch._inductor.config")
        before, config.triton_disable_device_detection = config.triton_disable_device_detection, False
        try:
            return torchs.__wrapped__()
        finally:
            config.triton_disable_device_detection = before

    @functools.wraps(torchs)
    def has_triton():
        return torchs() if _is_torch(sys._getframe(1)) else programs()
    module.has_triton = has_triton


def _leave_launches_out(trace_rules):
    """Functions of these packages are called, not traced."""
    for package in ("tilec", "triton"):
        trace_rules.add(package)


def _run_what_fails(config):
    config.suppress_errors = os.environ.get("TORCHDYNAMO_SUPPRESS_ERRORS") != "0"


_CHANGED = {"torch.utils._triton": _answer_programs,
            "torch._dynamo.trace_rules": _leave_launches_out,
            "torch._dynamo.config": _run_what_fails}


class _Finder:
    """Changes such a module as soon as it is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        change = _CHANGED.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        run = getattr(spec and spec.loader, "exec_module", None)
        if run is not None:
            def exec_module(module):
                run(module)
                change(module)
            spec.loader.exec_module = exec_module
        return spec


def tell():
    """Once for a process."""
    if _Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _Finder)
    os.environ.setdefault("TORCHINDUCTOR_TRITON_DISABLE_DEVICE_DETECTION", "1")
    config = sys.modules.get("torch._inductor.config")
    if config is not None:
        config.triton_disable_device_detection = True
    for name, change in _CHANGED.items():
        if name in sys.modules:
            change(sys.modules[name])
