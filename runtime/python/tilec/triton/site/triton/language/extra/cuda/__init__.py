from ... import names
from ...core import declare
from . import libdevice

declare(globals(), "triton.language.extra.cuda", names.CUDA)
from . import gdc, utils
