class TritonError(Exception):
    """What every error of this package derives from."""
