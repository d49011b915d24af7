raise ImportError("triton.profiler.mode: tilec's profiler has one mode; it samples no program "
                  "counters and instruments no kernels")
