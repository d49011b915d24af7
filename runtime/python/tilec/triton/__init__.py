"""Triton's Python interface over tilec: programs written for Triton run without it.

    python -m tilec.triton program.py arguments..      import triton in it is tilec's
    import tilec.triton; tilec.triton.install()        the same from here on

The package `triton` lies in the folder site/ beside this file; install() puts that folder first on
the path.  It names what Triton 3.6 names; kernels are compiled and launched by tilec.
"""
import os
import sys

from . import _torch

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


def install():
    """`import triton` means tilec's from here on; returns the module.

    RuntimeError when another Triton has been imported already: two of them cannot be mixed."""
    loaded = sys.modules.get("triton")
    if loaded is not None and not os.path.abspath(loaded.__file__ or "").startswith(SITE + os.sep):
        raise RuntimeError("triton is imported already, from %s: call tilec.triton.install() first"
                           % loaded.__file__)
    if SITE not in sys.path:
        sys.path.insert(0, SITE)
    _torch.tell()
    import triton
    return triton
