"""What a kernel's launch_metadata= function may say of a launch."""
COMPUTE_METADATA_SCOPE_NAME = "__proton_launch_metadata"


class LaunchHook:
    """hook="triton": operations have the names and metrics that launch_metadata= gives them."""
    flops_width = [8, 16, 32, 64]
    metrics = ["flops%d" % width for width in flops_width] + ["bytes", "flops"]
