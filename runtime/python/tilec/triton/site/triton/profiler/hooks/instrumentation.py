raise ImportError("triton.profiler.hooks.instrumentation: tilec's profiler instruments no kernels")
