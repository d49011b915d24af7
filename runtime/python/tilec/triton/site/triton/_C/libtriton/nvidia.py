"""NVIDIA's part: products by cuBLAS, which tutorials compare with."""
from . import cublas

__all__ = ["cublas"]
