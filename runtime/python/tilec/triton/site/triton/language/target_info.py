from . import names
from .core import declare

declare(globals(), "triton.language.target_info", names.TARGET_INFO)
