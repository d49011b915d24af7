raise ImportError("triton.profiler.language: tilec's profiler instruments no kernels; scopes are "
                  "those of the host, proton.scope(..)")
