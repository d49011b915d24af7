"""Gluon's names, for programs that have kernels in it beside ordinary ones.  Gluon is another
language than Triton's, and tilec does not compile it: a kernel of it can be written and imported,
and its launch is refused by name.  Where a program says what to do without Gluon, an `except
ImportError` around the import, that is what happens."""
from . import _imports

_imports.refuse_where_caught()

from triton.language.core import must_use_result          # noqa: E402
from triton.runtime.jit import constexpr_function          # noqa: E402

from ._kernels import GluonJITFunction, jit                # noqa: E402
from . import amd, language, nvidia                        # noqa: E402

__all__ = ["constexpr_function", "jit", "must_use_result", "nvidia", "amd"]
