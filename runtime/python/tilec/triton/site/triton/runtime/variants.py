"""What has been compiled of a kernel, and the hooks around it."""
import json

import tilec

from .. import knobs
from ..language import core
from . import launch
from ._async_compile import active_mode
from .jit import JitFunctionInfo


class Variants:
    """{key: CompiledKernel} of one kernel.  A launch that takes the short way compiles without a
    word here: such variants are counted when somebody asks, and have no CompiledKernel."""

    def __init__(self, launcher):
        self.launcher, self.made, self.pending = launcher, {}, {}
        self.found = {}                      # facts of a call: its CompiledKernel
        self.launched, self.silent = set(), 0       # keys; variants of the short way seen so far

    def kernel(self, call, bound):
        facts = _facts_of(call)
        known = self.found.get(facts)
        if known is not None and known.key in self.made:
            return known
        from ..compiler.compiler import CompiledKernel
        compiled = CompiledKernel(self.launcher.jit, call, bound)
        known = self.made.get(compiled.key)
        if known is not None and facts is not None:
            self.found[facts] = known
        return known or compiled

    def get(self, call, bound, warmup):
        """The compiled kernel of such a call; None when a hook says that there should be none."""
        compiled = self.kernel(call, bound)
        if not warmup:
            self.launched.add(compiled.key)
        if compiled.key in self.made:
            return compiled
        if self._hook(knobs.runtime.jit_cache_hook, compiled, call, bound, warmup):
            return None
        mode = active_mode.get()
        if mode is None or not warmup:
            if compiled.key in self.pending:
                return self.pending.pop(compiled.key).result()
            return self._finish(compiled, call, bound, warmup)
        if compiled.key not in self.pending:
            self.pending[compiled.key] = mode.submit(
                compiled.prepared, lambda k: self._keep(k, call, bound, warmup))
        return self.pending[compiled.key]

    def _finish(self, compiled, call, bound, warmup):
        if warmup:
            compiled.prepared()
        elif knobs.runtime.kernel_load_start_hook or knobs.runtime.kernel_load_end_hook:
            what = None, None, compiled.name, {}, compiled.hash
            if knobs.runtime.kernel_load_start_hook:
                knobs.runtime.kernel_load_start_hook(*what)
            if knobs.runtime.kernel_load_end_hook:
                knobs.runtime.kernel_load_end_hook(*what)
        return self._keep(compiled, call, bound, warmup)

    def _keep(self, compiled, call, bound, warmup):
        self.made[compiled.key] = compiled
        if knobs.compilation.listener:
            compiled.tell(knobs.compilation.listener)
        self._hook(knobs.runtime.jit_post_compile_hook, compiled, call, bound, warmup)
        return compiled

    # -- as Triton shows them --

    def __getitem__(self, device):
        """device_caches[device]: the first of it is the dictionary."""
        handles = [h for p in self.launcher.programs.values() for k in p.kernels.values()
                   for h in k._handles.values()]
        silent = sum(map(_count, handles)) - len(self.launched)
        for i in range(self.silent, silent):
            self.made["variant %d" % i] = None
        self.silent = max(self.silent, silent)
        return self.made, {}, None, None, None

    def clear(self):
        self.made.clear()

    # -- hooks --

    def _hook(self, hook, compiled, call, bound, warmup):
        if not hook:
            return None
        jit, options = self.launcher.jit, call.options
        fields = {"num_warps": options.get("num_warps", 4),
                  "num_ctas": options.get("num_ctas", 1),
                  "num_stages": options.get("num_stages", 3),
                  "enable_fp_fusion": call.fuses,
                  "launch_cooperative_grid": bool(options.get("launch_cooperative_grid"))}
        name = jit.fn.__qualname__
        words = ", ".join("%s: %s" % w for w in compiled.specialization.signature.items())
        text = "%s[%s](%s)" % (name, ", ".join("%s=%s" % f for f in fields.items()), words)
        externs = options.get("extern_libs") or {}
        given = {"key": compiled.key, "signature": compiled.specialization.signature,
                 "device": 0, "constants": compiled.specialization.constants, **fields,
                 "extern_libs": tuple(externs.items()), "configs": [{}], "is_warmup": warmup,
                 "specialization_data": self._stored(bound, options)}
        return hook(key=compiled.key, repr=text, fn=JitFunctionInfo(jit.fn.__module__, name, jit),
                    compile=given, is_manual_warmup=warmup, already_compiled=False)

    # -- a variant as text: JITFunction.preload() --

    def _stored(self, bound, options):
        """None when an argument cannot be written down."""
        jit = self.launcher.jit
        try:
            args = {p.name: _written(bound[p.name], p) for p in jit.params}
            return json.dumps({"name": jit._fn_name, "args": args, "options": options})
        except TypeError:
            return None

    def preload(self, text):
        stored, jit = json.loads(text), self.launcher.jit
        if stored["name"] != jit._fn_name:
            raise RuntimeError("Specialization data is for %s but trying to preload for %s"
                               % (stored["name"], jit._fn_name))
        bound = {name: _read(v) for name, v in stored["args"].items()}
        return self.get(self.launcher.call_of(bound, stored["options"]), bound, True)


def _count(kernel):
    """Variants that Triton tells apart: to it, values divisible by 8 or 4 alone are none apart."""
    lib, seen = tilec.library(), set()
    for i in range(lib.tilec_kernel_variants(kernel)):
        info = lib.tilec_kernel_info(kernel, i).contents
        seen.add(tuple((a.type, a.value, a.divisible % 16 == 0 and a.divisible)
                       for a in info.args[:info.num_args]))
    return len(seen)


def _facts_of(call):
    """Two calls of the same facts are the same variant; None: to be looked at more closely."""
    facts = [call.program, call.check, call.strict, call.fuses, call.fp32_dot]
    facts += call.options.items()
    constants = () if call.program.entry != call.program.jit.__name__ else [
        p.name for p in call.program.jit.params if p.is_constexpr]
    for name, v in call.values.items():
        kind = type(v)
        if name in constants:
            facts += kind, repr(v)              # 0.0 and -0.0 are equal
        elif kind is int:
            facts.append((v == 1, v % 16 == 0, v >= 2**63 or v < -2**63,
                          -2**31 <= v < 2**31))
        elif v is None or kind in (float, bool):
            facts.append(kind)
        elif hasattr(v, "data_ptr"):
            try:
                facts.append((v.dtype, v.data_ptr() % 16 == 0))
            except RuntimeError:                # no memory of its own: it is refused by its name
                return None
        elif kind is tilec.Pointer:
            facts.append((v.dtype, v.address % 16 == 0))
        else:
            return None
    facts = tuple(facts)
    try:
        hash(facts)
    except TypeError:
        return None
    return facts


def _written(v, p):
    from ..compiler.compiler import word_of
    if isinstance(v, core.constexpr) or p.is_constexpr:
        v = launch.unwrap(v)
        return {"dtype": v.name} if isinstance(v, core.dtype) else {"constexpr": v}
    if isinstance(v, (tuple, list)):
        return {"tuple": [_written(x, p) for x in v]}
    if not launch.is_leaf(v):
        raise TypeError("%s cannot be written down" % type(v).__name__)
    return {"type": word_of(v, p)}


def _read(v):
    if "dtype" in v:
        return core.constexpr(core.dtype(v["dtype"]))
    if "constexpr" in v:
        return core.constexpr(v["constexpr"])
    if "tuple" in v:
        return tuple(map(_read, v["tuple"]))
    return launch.Typed(v["type"])
