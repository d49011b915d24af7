"""triton_names.py PYTHON: the public names of Triton's modules, as the interpreter PYTHON has it
installed, that tilec.triton lacks.  Modules and names that it refuses are listed with their reason.
Needs tilec on PYTHONPATH here."""
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys

OTHERS = ("triton.experimental", "triton.backends.nvidia", "triton.backends.amd",
          "triton.language.extra.hip")               # refused whole
SKIPPED = ("triton.profiler.proton", "triton._C.libproton", "triton._C.libtriton")


def modules():
    import triton
    for found in pkgutil.walk_packages(triton.__path__, "triton.", onerror=lambda name: None):
        if not found.name.startswith(SKIPPED) and not found.name.endswith("__main__"):
            yield found.name


def own_names(module):
    """Without modules, what starts with "_", and what comes from elsewhere."""
    for name, value in vars(module).items():
        home = getattr(value, "__module__", None) or "triton"
        if not name.startswith("_") and not inspect.ismodule(value) and home.startswith("triton"):
            yield name


def listing():
    out = {}
    for name in ["triton", *modules()]:
        try:
            out[name] = sorted(own_names(importlib.import_module(name)))
        except Exception as e:                       # another vendor's, or a package is missing
            print("%s: not looked at: %s" % (name, e), file=sys.stderr)
    return out


def compare(theirs):
    for name, names in theirs.items():
        if name.startswith(OTHERS):
            continue
        try:
            here = importlib.import_module(name)
        except ImportError as e:
            print("refused: %s" % e)
            continue
        missing = [n for n in names if not hasattr(here, n)]
        if missing:
            print("%s: %s" % (name, " ".join(missing)))


if sys.argv[1:] == ["--list"]:
    print(json.dumps(listing()))
elif len(sys.argv) == 2:
    out = subprocess.run([sys.argv[1], __file__, "--list"], check=True, stdout=subprocess.PIPE)
    import tilec.triton
    tilec.triton.install()
    compare(json.loads(out.stdout))
else:
    sys.exit(__doc__)
