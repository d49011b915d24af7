raise ImportError("triton.profiler.hooks.hook: tilec's profiler takes no hooks of the program's; "
                  "knobs.runtime.launch_enter_hook and launch_exit_hook do")
