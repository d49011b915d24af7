"""The command `tilec` of an installed package: tilec .., or python -m tilec .."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tilec")
    if not os.path.exists(program):
        sys.exit("tilec: there is no command beside this package, which is not from a wheel: %s"
                 % program)
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
