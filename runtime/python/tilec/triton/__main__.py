"""python -m tilec.triton [-m MODULE | PROGRAM] [ARGUMENT..]: runs it with tilec as `triton`."""
import os
import runpy
import sys

from tilec.triton import install


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help") or words == ["-m"]:
        print("usage: python -m tilec.triton [-m MODULE | PROGRAM.py] [ARGUMENT..]",
              file=sys.stderr)
        return 2
    install()
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
