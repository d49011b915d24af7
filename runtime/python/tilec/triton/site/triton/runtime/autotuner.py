"""@autotune and @heuristics."""
import hashlib
import inspect
import json
import time
import warnings
from functools import cached_property

import tilec

from .. import knobs
from ..compiler.errors import CompileTimeAssertionFailure
from .cache import get_cache_manager, triton_key
from .driver import driver
from .errors import AutotunerError, OutOfResources, PTXASError
from .jit import JITFunction, KernelInterface, name_of
from .kernel_text import jit_of

_TO_BE_GIVEN = object()
_FAILED = [float("inf")] * 3


class Config:
    """A choice of meta-parameters and of what kernels take for every one."""
    _OWN = ("num_warps", "num_ctas", "num_stages", "maxnreg")

    def __init__(self, kwargs=None, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None,
                 pre_hook=None, ir_override=None, **unknown):
        for name in unknown:
            known = [*self._OWN, "pre_hook", "ir_override"]
            raise TypeError("triton.Config() got an unexpected keyword argument '%s'%s" % (
                name, tilec.meant(name, known) or "; the kernel's parameters stand in the dictionary: "
                "triton.Config({%r: %r})" % (name, unknown[name])))
        if not hasattr(kwargs, "keys"):
            raise TypeError("triton.Config(..) begins with a dictionary of the kernel's constexpr "
                            "parameters, such as {\"BLOCK\": 128}; found %r" % (kwargs,))
        self._check_function("triton.Config", "pre_hook", pre_hook)
        for name, value in (("num_warps", num_warps), ("num_stages", num_stages)):
            if value is not None and not hasattr(value, "__index__"):
                raise TypeError("triton.Config: %s is a whole number, not %r" % (name, value))
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
        self.num_ctas, self.maxnreg, self.pre_hook = num_ctas, maxnreg, pre_hook
        self.ir_override = ir_override

    @staticmethod
    def _check_function(what, name, value):
        if value is not None and not callable(value):
            raise TypeError("%s: %s is a function, not %r" % (what, name, value))

    def __setstate__(self, state):
        self.__init__({})
        self.__dict__.update(state)

    def all_kwargs(self):
        own = {n: getattr(self, n) for n in self._OWN + ("ir_override",)}
        return {**self.kwargs, **{n: v for n, v in own.items() if v is not None}}

    def __str__(self):
        return ", ".join("%s: %s" % (n, v) for n, v in
                         [*self.kwargs.items(), *((n, getattr(self, n)) for n in self._OWN)])

    def __hash__(self):
        return hash((*self.all_kwargs().items(), self.pre_hook))

    def __eq__(self, other):
        return type(other) is Config and (*self.all_kwargs().items(), self.pre_hook) == \
            (*other.all_kwargs().items(), other.pre_hook)


class Autotuner(KernelInterface):
    """Chooses a Config for each combination of the key's arguments by measuring all of them."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None,
                 post_hook=None, prune_configs_by=None, warmup=None, rep=None,
                 use_cuda_graph=False, do_bench=None, cache_results=False):
        self.fn, self.arg_names, self.keys = fn, arg_names, key
        self._check_functions(pre_hook, post_hook, prune_configs_by)
        self._check_names(configs or [], key, reset_to_zero, restore_value)
        self.configs, self.has_configs = configs or [Config({})], bool(configs)
        self.cache = {}
        self.cache_results = (cache_results or knobs.autotuning.cache) \
            and not knobs.runtime.interpret
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._before
        self.post_hook = post_hook or self._after
        self.restore_copies = {}
        prune = prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        self.base_fn = jit_of(fn).fn
        self._do_bench = do_bench
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        if warmup is not None or rep is not None or use_cuda_graph:
            self._old_interface(warmup, rep, use_cuda_graph)

    def _check_functions(self, pre_hook, post_hook, prune_configs_by):
        what = "@autotune of '%s'" % name_of(self.fn)
        Config._check_function(what, "pre_hook", pre_hook)
        Config._check_function(what, "post_hook", post_hook)
        known = ("perf_model", "top_k", "early_config_prune")
        for name, value in (prune_configs_by or {}).items():
            if name not in known:
                warnings.warn("%s: '%s' in prune_configs_by= is not followed%s" % (
                    what, name, tilec.meant(name, known, "there are")),
                    stacklevel=tilec.users_level())
            elif name != "top_k":
                Config._check_function(what, name, value)

    def _check_names(self, configs, key, reset_to_zero, restore_value):
        if not isinstance(configs, (list, tuple)):
            raise TypeError("@autotune takes a list of triton.Config(..); found %r of type %s"
                            % (configs, type(configs).__name__))
        for config in configs:
            if not hasattr(config, "all_kwargs"):
                raise TypeError("@autotune takes a list of triton.Config(..); found %r of type %s"
                                % (config, type(config).__name__))
        for what, listed in (("key", key), ("reset_to_zero", reset_to_zero),
                             ("restore_value", restore_value)):
            if isinstance(listed, str):
                warnings.warn("@autotune of '%s': %s= is a list of names, as in [%r]"
                              % (name_of(self.fn), what, listed), stacklevel=tilec.users_level())
            for name in listed or ():
                if name not in self.arg_names:
                    warnings.warn("@autotune of '%s': '%s' in %s= is no parameter of the kernel%s"
                                  % (jit_of(self.fn).__name__, name, what,
                                     tilec.meant(name, self.arg_names, "it has")),
                                  stacklevel=tilec.users_level())

    def _refuse_given(self, given, config):
        """What a configuration chooses must not be passed, too."""
        conflicts = ({*given, *self.nargs}) & config.kwargs.keys()
        if conflicts:
            name = min(conflicts)
            grid = "" if callable(given.get("grid")) else (
                " The grid is to be of the one that is chosen, too, where blocks of %s are counted: "
                "grid = lambda meta: (triton.cdiv(n, meta[%r]),)" % (name, name))
            raise ValueError("Conflicting meta-parameters: %s. Make sure that you don't re-define "
                             "auto-tuned symbols: @autotune chooses them, do not pass them.%s"
                             % (", ".join(sorted(conflicts)), grid))

    def _old_interface(self, warmup, rep, use_cuda_graph):
        warnings.warn("warmup, rep, and use_cuda_graph parameters are deprecated. See "
                      "https://github.com/triton-lang/triton/pull/4496 for details.",
                      DeprecationWarning, stacklevel=1)
        from .. import testing
        rep = 100 if rep is None else rep
        if use_cuda_graph and driver.on_gpu:
            self._do_bench = lambda call, quantiles: testing.do_bench_cudagraph(
                call, rep=rep, quantiles=quantiles)
        else:
            self._do_bench = lambda call, quantiles: testing.do_bench(
                call, warmup=25 if warmup is None else warmup, rep=rep, quantiles=quantiles)

    def _before(self, kwargs, reset_only=False):
        for name in self.reset_to_zero:
            if not hasattr(kwargs.get(name), "zero_"):
                raise TypeError("@autotune of '%s': reset_to_zero= names tensors; '%s' is %s" % (
                    name_of(self.fn), name, type(kwargs[name]).__name__ if name in kwargs
                    else "no argument of the launch"))
            kwargs[name].zero_()
        if not reset_only:
            self.restore_copies = {n: kwargs[n].clone() for n in self.restore_value}

    def _after(self, kwargs, exception):
        for name, copy in self.restore_copies.items():
            kwargs[name].copy_(copy)
        self.restore_copies = {}

    @cached_property
    def do_bench(self):
        return self._do_bench or driver.active.get_benchmarker()

    # -- choosing --

    def _bench(self, *args, config, **meta):
        if knobs.autotuning.print:
            print("Autotuning kernel %s with config %s" % (self.base_fn.__name__, config))
        self._refuse_given(meta, config)
        current = dict(meta, **config.all_kwargs())
        full = {**self.nargs, **current}

        def kernel_call():
            if config.pre_hook:
                config.pre_hook(full)
            self.pre_hook(full)
            try:
                self.fn.run(*args, **current)
            except Exception as e:
                self.post_hook(full, exception=e)
                raise
            self.post_hook(full, exception=None)

        try:
            return self.do_bench(kernel_call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as e:
            if knobs.autotuning.print:
                print("Autotuning failed with %s" % e)
            return list(_FAILED)

    def _key(self, kwargs):
        given = {n: v for n, v in {**self.nargs, **kwargs}.items() if n in self.arg_names}
        return tuple([given[k] for k in self.keys if k in given]
                     + [str(v.dtype) for v in given.values() if hasattr(v, "dtype")])

    def _choose(self, key, args, kwargs):
        """True when a file held the choice."""
        configs = self.prune_configs(kwargs)

        def take(config):
            self.cache[key] = config
            self.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()}, reset_only=True)

        def measure():
            start = time.time()
            timings = {c: self._bench(*args, config=c, **kwargs) for c in configs}
            self.bench_time = time.time() - start
            take(min(timings, key=timings.get))
            self.configs_timings = timings

        if not self.is_measured:
            take(configs[0])
            return False

        if self.cache_results:
            return self.check_disk_cache(key, configs, measure)
        measure()
        return False

    @property
    def is_measured(self):
        """On the CPU executor times say nothing of the GPU: the first configuration is taken,
        unless the program brings its own measure, or a driver, which has one."""
        own = getattr(type(driver.active), "get_benchmarker", None)
        return self._do_bench is not None or own is not type(driver.default).get_benchmarker or \
            driver.on_gpu

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        if not tuning_key or any(c.pre_hook for c in configs):
            bench_fn()
            return False
        words = [triton_key(), str(driver.active.get_current_target()), jit_of(self.fn).cache_key,
                 str(tuning_key)] + [str(c) for c in configs]
        cache = get_cache_manager(hashlib.sha256("-".join(words).encode()).hexdigest())
        name = "%s.autotune.json" % self.base_fn.__name__[:150]
        path = cache.get_file(name)
        if path:
            with open(path) as f:
                stored = json.load(f)["configs_timings"]
            self.configs_timings = {Config(**c): t for c, t in stored}
            self.cache[tuning_key] = min(self.configs_timings, key=self.configs_timings.get)
            return True
        bench_fn()
        cache.put(json.dumps({"key": tuning_key, "configs_timings": [
            (c.__dict__, t) for c, t in self.configs_timings.items()]}), name, binary=False)
        return False

    def prune_configs(self, kwargs):
        configs = self.configs
        if self.early_config_prune:
            configs = self._pruned(kwargs)
            if not configs:
                raise AutotunerError("No valid autotuner configs after pruning. "
                                     "`early_config_prune` should return at least one config.")
        if self.perf_model:
            configs = self._best_by_model(configs, kwargs)
        return configs

    def _pruned(self, kwargs):
        try:
            inspect.signature(self.early_config_prune).bind(self.configs, self.nargs, **kwargs)
        except TypeError as e:
            raise TypeError("@autotune of '%s': early_config_prune is called as f(configs, named_args, "
                            "**kwargs): %s" % (name_of(self.fn), e)) from None
        except ValueError:                       # written in C
            pass
        return self.early_config_prune(self.configs, self.nargs, **kwargs)

    def _best_by_model(self, configs, kwargs):
        top_k = self.configs_top_k
        if isinstance(top_k, float) and top_k <= 1.0:
            top_k = int(len(self.configs) * top_k)
        elif not isinstance(top_k, int):
            raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 "
                            "or 2) an int")
        if len(configs) <= top_k:
            return configs
        times = {c: self.perf_model(**self.nargs, **kwargs, **c.all_kwargs()) for c in configs}
        return sorted(times, key=times.get)[:top_k]

    # -- running --

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        config = self.configs[0]
        if len(self.configs) > 1:
            key, stored = self._key(kwargs), True
            if key not in self.cache:
                stored = self._choose(key, args, kwargs)
            config = self.cache[key]
            if knobs.autotuning.print and not stored and hasattr(self, "bench_time"):
                print("Triton autotuning for function %s,\nwith key as %s,\nfinished after %.2fs,"
                      "\nbest config selected: %s;"
                      % (self.base_fn.__name__, key, self.bench_time, config))
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        self._refuse_given(kwargs, config)
        try:
            result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        except TypeError as e:
            given = [n for n in config.kwargs if "'%s' is none of its parameters" % n in str(e)]
            if given:
                raise TypeError("%s; '%s' comes from triton.Config(%r) in configs= of @autotune"
                                % (e, given[0], config.kwargs)) from None
            if self.has_configs or "missing" not in str(e):
                raise
            raise TypeError("%s; configs= of @autotune is empty, so that no triton.Config gives it"
                            % e) from None
        self.nargs = None
        return result

    def warmup(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        made = [self.fn.warmup(*args, **kwargs, **c.all_kwargs())
                for c in self.prune_configs(kwargs)]
        self.nargs = None
        return made


def _check_below(fn, what):
    if not hasattr(fn, "arg_names"):
        raise TypeError("@triton.%s stands above @triton.jit, which makes the kernel; found %s %s below "
                        "it" % (what, type(fn).__name__, getattr(fn, "__name__", repr(fn))))


def autotune(configs, key=_TO_BE_GIVEN, prune_configs_by=None, reset_to_zero=None, restore_value=None,
             pre_hook=None, post_hook=None, warmup=None, rep=None, use_cuda_graph=False,
             do_bench=None, cache_results=False, **unknown):
    for name in unknown:
        known = [n for n in inspect.signature(autotune).parameters if n != "unknown"]
        raise TypeError("autotune() got an unexpected keyword argument '%s'%s"
                        % (name, tilec.meant(name, known, "it takes")))
    if key is _TO_BE_GIVEN:
        raise TypeError("autotune() missing 1 required positional argument: 'key', a list of the "
                        "arguments whose values ask for a choice of their own, such as key=[\"n\"]")

    def decorate(fn):
        _check_below(fn, "autotune")
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook,
                         post_hook, prune_configs_by, warmup, rep, use_cuda_graph, do_bench,
                         cache_results)
    return decorate


class Heuristics(KernelInterface):
    """Computes meta-parameters from the others."""

    def __init__(self, fn, arg_names, values):
        self.fn, self.arg_names, self.values = fn, arg_names, values
        if not hasattr(values, "items"):
            raise TypeError("@heuristics of '%s' takes a dictionary, {\"EVEN\": lambda args: ..}; found %r"
                            % (name_of(fn), values))
        for name, value in values.items():
            if not callable(value):
                raise TypeError("@heuristics of '%s': '%s' is a function of the arguments, not %r"
                                % (jit_of(fn).__name__, name, value))

    def run(self, *args, **kwargs):
        for name, value in self.values.items():
            given = {**dict(zip(self.arg_names, args)), **kwargs}
            try:
                kwargs[name] = value(given)
            except (AttributeError, KeyError, TypeError) as e:
                what = "the heuristic '%s' of kernel '%s'" % (name, name_of(self.fn))
                better = tilec.wrong_call(what, value, given, e)
                if better is None:
                    raise
                raise better.with_traceback(e.__traceback__.tb_next) from None
        return self.fn.run(*args, **kwargs)


def heuristics(values):
    def decorate(fn):
        _check_below(fn, "heuristics")
        return Heuristics(fn, fn.arg_names, values)
    return decorate
