from ...core import declare
from . import libdevice

declare(globals(), "triton.language.extra.cuda", """
    convert_custom_float8_sm70 convert_custom_float8_sm80 gdc_launch_dependents gdc_wait globaltimer
    num_threads num_warps smid""")
