"""What Triton has in C++; here what programs use of it."""
from . import libtriton
