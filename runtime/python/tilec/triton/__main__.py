"""python -m tilec.triton [-m MODULE | PROGRAM] [ARGUMENT..]: runs it with tilec as `triton`."""
import importlib.util
import os
import runpy
import select
import sys

from tilec import meant
from tilec.triton import install
from tilec.triton._shown import show_own_lines


def _is_missing(module):
    try:
        return importlib.util.find_spec(module) is None
    except ImportError:
        return True


def _why_not(word):
    if word.startswith("-"):
        return ("there is no option '%s': the program comes first, its arguments after it: "
                "python -m tilec.triton PROGRAM.py ARGUMENT.." % word)
    if os.path.isdir(word):
        return "'%s' is a folder without __main__.py: name a program, a .py file" % word
    folder = os.path.dirname(word) or "."
    here = sorted(f for f in os.listdir(folder) if f.endswith(".py")) if os.path.isdir(folder) else []
    return "No such file: '%s'%s" % (word, meant(os.path.basename(word), here))


def _is_unread(stream):
    """Has what the stream is piped to, head for one, ended?"""
    try:
        output = select.poll()
        output.register(stream.fileno(), 0)
        return any(event & select.POLLERR for _, event in output.poll(0))
    except (AttributeError, OSError, ValueError):     # no stream, one without a file, a closed one
        return False


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help") or words == ["-m"]:
        print("usage: python -m tilec.triton [-m MODULE | PROGRAM.py] [ARGUMENT..]",
              file=sys.stderr)
        return 2
    if words[0] != "-m" and not os.path.isfile(words[0]) \
            and not os.path.isfile(os.path.join(words[0], "__main__.py")):
        print("tilec.triton: %s" % _why_not(words[0]), file=sys.stderr)
        return 2
    if words[0] != "-m" and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))   # was the current folder
    install()
    show_own_lines()
    if words[0] == "-m" and _is_missing(words[1]):
        print("tilec.triton: there is no module '%s'; a file is named without -m" % words[1],
              file=sys.stderr)
        return 2
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
        if sys.stdout:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_unread(sys.stdout):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())   # what is left is flushed at the exit
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
