"""What the profiler is doing."""
from dataclasses import dataclass


@dataclass
class ProfilerFlags:
    profiling_on: bool = False
    instrumentation_on: bool = False        # never: tilec's profiler instruments no kernels
    command_line: bool = False              # sessions are those of `proton program.py`


flags = ProfilerFlags()
