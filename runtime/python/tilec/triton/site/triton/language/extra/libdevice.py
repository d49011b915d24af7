from .. import names
from ..core import declare

declare(globals(), "triton.language.extra.libdevice", names.LIBDEVICE)
__all__ = names.LIBDEVICE.split()
