"""proton [options] program.py [arguments]: the program in one session."""
import argparse
import os
import runpy
import sys

from .flags import flags
from .profile import _begin, finalize


def _parser():
    p = argparse.ArgumentParser(prog="proton", description="Profiles a program or its tests.")
    p.add_argument("-n", "--name", help="of the file that is written (proton)")
    p.add_argument("-b", "--backend", choices=["cupti", "roctracer", "instrumentation"])
    p.add_argument("-c", "--context", default="shadow", choices=["shadow", "python"])
    p.add_argument("-m", "--mode")
    p.add_argument("-d", "--data", default="tree", choices=["tree", "trace"])
    p.add_argument("-k", "--hook", choices=["triton"])
    p.add_argument("target_args", nargs=argparse.REMAINDER, metavar="program.py | pytest ..")
    return p


def _run(words):
    if os.path.basename(words[0]) == "pytest":
        import pytest
        return int(pytest.main(words[1:]))
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = words, os.path.dirname(os.path.abspath(words[0]))
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv, sys.path[0] = before
    return 0


def main():
    parser = _parser()
    args = parser.parse_args()
    if not args.target_args:
        parser.error("no program")
    _begin(args.name, args.context, args.data, args.backend, args.mode, args.hook)
    flags.command_line = True
    try:
        return _run(args.target_args)
    finally:
        flags.command_line = False
        finalize()


if __name__ == "__main__":
    sys.exit(main())
