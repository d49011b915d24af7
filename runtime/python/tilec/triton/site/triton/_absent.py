"""What Triton has in Python and tilec has not, by name: importing such a module is an error that
says why; such a name can be imported, since programs do without using it, and refuses its use."""
import importlib.machinery
import sys

_STAGES = "it is part of Triton's compiler, and kernels are compiled by tilec"
_PLUGINS = "tilec's backends are built in"
_INSTRUMENTS = "tilec's profiler instruments no kernels"
_MOVED = "nor has Triton 3.6; it is `%s` now"

MODULES = {
    "triton._C.libproton": "its times are those of CUDA events; triton.profiler is there",
    "triton._filecheck": _STAGES,
    "triton.backends.amd": "tilec compiles for NVIDIA's GPUs",
    "triton.backends.nvidia": _PLUGINS,
    "triton.compiler.code_generator": _STAGES,
    "triton.experimental.gsan": "tilec checks accesses itself: TRITON_INTERPRET=1, or debug=True",
    "triton.language.extra.hip": "tilec compiles for NVIDIA's GPUs; for any GPU it is "
                                 "`from triton.language.extra import libdevice`",
    "triton.language.libdevice": _MOVED % "from triton.language.extra import libdevice",
    "triton.language.semantic": _STAGES,
    "triton.ops": "nor has Triton 3.6; its kernels went to the repository triton-lang/kernels",
    "triton.profiler.hooks.hook": "knobs.runtime.launch_enter_hook and launch_exit_hook take hooks",
    "triton.profiler.hooks.instrumentation": _INSTRUMENTS,
    "triton.profiler.language": _INSTRUMENTS + "; scopes are the host's, triton.profiler.scope",
    "triton.profiler.mode": _INSTRUMENTS + " and samples no program counters",
    "triton.runtime.build": "launching needs no C compiler",
    "triton.runtime.interpreter": "TRITON_INTERPRET=1 means tilec's CPU executor",
    "triton.tools.build_extern": "tilec has libdevice's functions built in",
    "triton.tools.compile": "`tilec build` compiles ahead of time",
    "triton.tools.disasm": "tilec makes PTX; `cuobjdump -sass` shows what the driver makes of it",
    "triton.tools.experimental_descriptor": _MOVED % "from triton.tools.tensor_descriptor import "
                                                      "TensorDescriptor",
    "triton.tools.link": "`tilec build` compiles ahead of time",
    "triton.tools.triton_to_gluon_translater": "tilec does not compile Gluon",
}

# module: (why, names)
NAMES = {
    "triton._utils": (_STAGES, """
        canonicalize_dtype canonicalize_ptr_dtype find_paths_if get_iterable_path
        get_primitive_bitwidth is_namedtuple set_iterable_path"""),
    "triton.backends.driver": (_PLUGINS, "Benchmarker GPUDriver"),
    "triton.compiler.compiler": (_STAGES, """
        CompileTimer convert_type_repr filter_traceback get_sass max_shared_mem parse"""),
    "triton.knobs": ("tilec reads the variables that it follows", """
        BuildImpl CompilationListener InitHandleHook JITHook JITHookCompileInfo LaunchHook
        PipelineStagesHook env_base env_bool env_class env_int env_nvidia_tool
        env_opt_bool env_opt_str env_str env_str_callable_default"""),
    "triton.profiler.hooks": ("knobs.runtime.launch_enter_hook and launch_exit_hook take hooks",
                              "Hook HookManager InstrumentationHook"),
    "triton.runtime.cache": ("tilec has one cache, and keeps no stages in it", """
        RemoteCacheManager get_dump_manager get_override_manager make_so_cache_key"""),
    "triton.runtime._allocation": ("tilec's profiler takes no memory of the GPU's",
                                   "set_profile_allocator"),
    "triton.runtime.jit": ("it is part of Triton's launcher, and tilec has its own", """
        DependenciesFinder compute_cache_key convert_to_tuple_if_list
        create_function_from_signature mangle_type native_specialize_impl
        serialize_specialization_data"""),
    "triton.testing": ("`compute-sanitizer` and `nvidia-smi` do it", "cuda_memcheck set_gpu_clock"),
    "triton.tools": (_STAGES, "LinearLayout"),
}

# Names that versions before 3.6 had: what takes their place.
_FORMER = {
    "triton": {"ops": "its kernels went to the repository triton-lang/kernels",
               "libdevice": "from triton.language.extra import libdevice"},
    "triton.runtime": {"nvsmi": "`nvidia-smi`"},
    "triton.testing": {
        "allclose": "triton.testing.assert_close(x, y), or torch.allclose(x, y)",
        "assert_almost_equal": "triton.testing.assert_close(x, y)",
        "mask_tensor": "torch.where", "sparsify_tensor": "x.to_sparse() of torch",
        "random": "torch.randn", "nvsmi": "`nvidia-smi`"},
}


def attribute_of(space):
    """The __getattr__ of a module with these globals: what was meant, or took the name's place."""
    module = space["__name__"]

    def missing(name):
        if name.startswith("__"):
            raise AttributeError(name)
        import tilec
        former = _FORMER.get(module, {}).get(name)
        raise AttributeError("module '%s' has no attribute '%s'%s"
                             % (module, name, "; Triton 3.6 has none either: " + former if former
                                else tilec.meant(name, [n for n in space if n[0] != "_"])))
    return missing


class _Refusing(type):
    """The type of a name that is only there to be imported: no calls, no classes made of it."""

    def __new__(cls, name, bases, space):
        for base in bases:
            base()
        return super().__new__(cls, name, bases, space)

    def __call__(cls, *_, **__):
        raise NotImplementedError("%s.%s: tilec has none: %s"
                                  % (cls.__module__, cls.__name__, cls.why))


def declare(space):
    """Puts the names that a module lacks into its globals."""
    module = space["__name__"]
    why, names = NAMES[module]
    for name in names.split():
        space.setdefault(name, _Refusing(name, (), {"why": why, "__module__": module}))


class _Loader:
    def __init__(self, name):
        self.name = name

    def create_module(self, spec):
        raise ImportError("%s: tilec has none: %s" % (self.name, MODULES[self.name]),
                          name=self.name)

    def exec_module(self, module):
        pass

    get_code = create_module                    # of python -m


class _Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, _Loader(name)) if name in MODULES else None


sys.meta_path.append(_Finder())
