from .core import declare

declare(globals(), "triton.language.target_info", """
    current_target cuda_capability_geq is_cuda is_hip is_hip_cdna3 is_hip_cdna4""")
