"""The meanings of Triton's language, row by row, as cases that run on every executor.

    python3 tests/conformance/conform.py --on cpu [--outcomes FILE.jsonl] [--only TEXT]

TILEC_LIBRARY names the library, PYTHONPATH the folder of the package tilec.  --on cpu and sim need
numpy alone; cuda needs torch for its memory.  A case stands under the row whose meaning it holds;
a row says what its construct is.  tests/support/conformance.py makes a page of the outcomes."""
import argparse
import importlib
import json
import os
import sys
import time
import traceback

SECTIONS = ("creation", "shapes", "products", "memory", "operators", "reductions", "control",
            "dtypes")
CASES = []                               # (section, row, name, function, values)
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "support"))

from progress import Progress            # noqa: E402  (of tests/support)

place = None                             # "cpu", "sim" or "cuda"


def case(row, *values):
    """A case of a row, for each of the values; a tuple gives several arguments."""
    def add(f):
        section = f.__module__
        for v in values or ((),):
            v = v if isinstance(v, tuple) else (v,)
            name = f.__name__ + ("[%s]" % ",".join(map(_text, v)) if v else "")
            CASES.append((section, row, name, f, v))
        return f
    return add


def _text(v):
    return getattr(v, "__name__", None) or str(v)


def run(kernel, *args, grid=(1,), **named):
    """Launches on the chosen executor; arrays hold the results afterwards."""
    import numpy
    if place != "cuda":
        return kernel[grid](*args, **named)
    import torch
    arrays = [(a, torch.from_numpy(a).cuda()) for a in args if isinstance(a, numpy.ndarray)]
    there = iter([t for _, t in arrays])
    kernel[grid](*[next(there) if isinstance(a, numpy.ndarray) else a for a in args], **named)
    for a, t in arrays:
        a[...] = t.cpu().numpy()


def raises(words, call):
    """The text of the error that the call must raise, which says the words."""
    try:
        call()
    except Exception as e:               # whatever kind: the words say which
        assert words in str(e), "%r does not say %r" % (str(e), words)
        return str(e)
    raise AssertionError("accepted; wanted: %s" % words)


def close(got, want, ulp=0, digits=0):
    """Equal, NaN included; within so many units in the last place, or relative 10**-digits."""
    import numpy
    got, want = numpy.asarray(got), numpy.asarray(want)
    if ulp:
        numpy.testing.assert_array_max_ulp(got, want.astype(got.dtype), ulp)
    elif digits:
        numpy.testing.assert_allclose(got, want, rtol=10.0**-digits, atol=10.0**-digits)
    else:
        numpy.testing.assert_array_equal(got, want.astype(got.dtype))


def _install(on):
    import tilec.triton
    triton = tilec.triton.install()
    if on == "sim":                      # arrays in host memory mean the CPU executor otherwise
        from triton.runtime import launch
        launch.Launcher.where = lambda self, values: "sim"
    return triton


def main():
    global place
    a = argparse.ArgumentParser()
    a.add_argument("--on", default="cpu", choices=("cpu", "sim", "cuda"))
    a.add_argument("--outcomes")
    a.add_argument("--only", default="")
    a = a.parse_args()
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("no numpy: skipped")
        return 77
    sys.modules["conform"] = sys.modules["__main__"]
    sys.path.insert(0, HERE)
    place = a.on
    _install(a.on)
    for name in SECTIONS:
        importlib.import_module(name)
    failed, records, start = [], [], time.time()
    chosen = [c for c in CASES if a.only in "%s %s %s" % c[:3]]
    with Progress(len(chosen), "cases") as progress:
        for section, row, name, f, values in chosen:
            text = ""
            try:
                f(*values)
            except Exception:
                text = traceback.format_exc()
                failed.append("%s: %s: %s\n%s" % (section, row, name, text))
            progress.step(failed=text)
            records.append({"section": section, "row": row, "case": name, "on": a.on,
                            "outcome": "failed" if text else "passed", "text": text[-2000:]})
    if a.outcomes:
        with open(a.outcomes, "w") as out:
            out.writelines(json.dumps(r) + "\n" for r in records)
    print("\n".join(failed))
    print("%d cases of %d rows on %s in %.0f s, %d failed"
          % (len(records), len({(r["section"], r["row"]) for r in records}), a.on,
             time.time() - start, len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
