"""The polynomials of stdlib/, computed with mpmath at 200 bits.

    python3 fit_stdlib.py [FILE.tile ..]     what belongs into the file, with the error left
    python3 fit_stdlib.py --check DIR        whether the files in DIR hold what is computed here

A polynomial of n terms interpolates its function at the n Chebyshev points of its interval, which
leaves little more than the best polynomial does; it is written in powers of x - center, the highest
first.  The error is that of the coefficients rounded to their type, relative to the function.  Exits
with 77 (skipped) where there is no mpmath."""
import pathlib
import struct
import sys
import textwrap

try:
    from mpmath import (asin, atan2, besseli, besselj, besseljzero, bessely, besselyzero, cos, erfc,
                        exp, gamma, log, mp, mpf, pi, rgamma, sin, sqrt, tanh)
except ImportError:
    print("skipped: no mpmath")
    sys.exit(77)
mp.prec = 200


def chebyshev(f, low, high, n):
    """The coefficients of T0(t) .. T(n-1)(t) that interpolate f, t in -1 .. 1."""
    nodes = [cos(pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    values = [f((low + high) / 2 + (high - low) / 2 * t) for t in nodes]
    c = [2 * sum(values[k] * cos(pi * j * (2 * k + 1) / (2 * n)) for k in range(n)) / n
         for j in range(n)]
    return [c[0] / 2] + c[1:]


def powers(c):
    """A Chebyshev series in powers of t, the lowest first."""
    out, last, this = [mpf(0)] * len(c), [], [mpf(1)]
    for j, factor in enumerate(c):
        for i, v in enumerate(this):
            out[i] += factor * v
        after = [mpf(0)] + [v if j == 0 else 2 * v for v in this]
        for i, v in enumerate(last):
            after[i] -= v
        last, this = this, after
    return out


def substituted(p, scale, shift):
    """The polynomial p(scale * s + shift) in powers of s."""
    out = [mpf(0)]
    for v in reversed(p):
        after = [u * shift for u in out] + [mpf(0)]
        for i, u in enumerate(out):
            after[i + 1] += u * scale
        after[0] += v
        out = after
    return out[:len(p)]


def value(p, s):
    r = mpf(0)
    for v in reversed(p):
        r = r * s + v
    return r


def narrow(v):
    """v as fp32."""
    return struct.unpack("f", struct.pack("f", v))[0]


class Fit:
    def __init__(self, name, f, low, high, terms, center=0, is_fp32=False):
        low, high, self.name = mpf(low), mpf(high), name
        scale = 2 / (high - low)
        p = substituted(powers(chebyshev(f, low, high, terms)), scale,
                        (center - (low + high) / 2) * scale)
        self.coefficients = [narrow(float(v)) if is_fp32 else float(v) for v in p]
        self.text = [f"{v:.9g}" if is_fp32 else repr(v) for v in self.coefficients]
        self.error = 0
        for k in range(41):
            x = low + (high - low) * (k + mpf("0.37")) / 41
            want = f(x)
            self.error = max(self.error,
                             abs((value(map_mpf(self.coefficients), x - center) - want) / want))

    def __str__(self):
        body = ", ".join(reversed(self.text))
        lines = textwrap.wrap(body, width=92)
        return f"{self.name}: constexpr = (\n" + "\n".join("    " + l for l in lines) + ")\n"


def map_mpf(p):
    return [mpf(v) for v in p]


# ---- stdlib/bessel.tile ----
def phase(n, x):
    """Angle of (J, Y) beyond x - pi/4 - n pi/2."""
    j, y, t = besselj(n, x), bessely(n, x), x - pi / 4 - n * pi / 2
    return atan2(y * cos(t) - j * sin(t), j * cos(t) + y * sin(t))


def bessel_pieces(name, f, zeros, first, low=2, terms=18):
    """low .. 8 in four parts; parts first and first + 2 have a zero, which is divided away."""
    ends = [low, 3.125, 4.75, 6.25, 8]
    between = [2.5625, 3.9375, 5.5, 7.125]
    for i in range(4):
        if (i - first) % 2 == 0:
            z = zeros[(i - first) // 2]
            yield Fit(f"{name}_{i}", lambda x: f(x) / (x - z), ends[i], ends[i + 1], terms, z)
        else:
            yield Fit(f"{name}_{i}", f, ends[i], ends[i + 1], terms, mpf(between[i]))


def bessel():
    z = besselyzero(0, 1)
    yield Fit("J0_SMALL", lambda w: besselj(0, sqrt(w)), 0, 4, 11)
    yield Fit("J1_SMALL", lambda w: besselj(1, sqrt(w)) / sqrt(w), 0, 4, 11)
    yield Fit("Y0_SMALL", lambda w: (bessely(0, sqrt(w)) - 2 / pi * log(sqrt(w) / z)
                                     * besselj(0, sqrt(w))) / (w - z**2), 0, 4, 11)
    yield Fit("Y1_SMALL", lambda w: (bessely(1, sqrt(w)) - 2 / pi * (
        log(sqrt(w)) * besselj(1, sqrt(w)) - 1 / sqrt(w))) / sqrt(w), 0, 4, 11)
    yield from bessel_pieces("J0", lambda x: besselj(0, x), [besseljzero(0, k) for k in (1, 2)], 0)
    yield from bessel_pieces("J1", lambda x: besselj(1, x), [besseljzero(1, k) for k in (1, 2)], 1)
    yield from bessel_pieces("Y0", lambda x: bessely(0, x), [besselyzero(0, k) for k in (2, 3)], 1)
    yield from bessel_pieces("Y1", lambda x: bessely(1, x), [besselyzero(1, k) for k in (1, 2)], 0,
                             1.5, 22)
    for n in (0, 1):
        far = lambda w: 8 / sqrt(w)
        yield Fit(f"SIZE{n}", lambda w: sqrt(far(w) * (besselj(n, far(w))**2
                                                       + bessely(n, far(w))**2)), 1e-40, 1, 14)
        yield Fit(f"PHASE{n}", lambda w: phase(n, far(w)) * far(w), 1e-12, 1, 14)
    yield Fit("I0_SMALL", lambda w: besseli(0, sqrt(w)), 0, 64, 22)
    yield Fit("I1_SMALL", lambda w: besseli(1, sqrt(w)) / sqrt(w), 0, 64, 22)
    for n in (0, 1):
        yield Fit(f"I{n}_LARGE", lambda t: besseli(n, 8 / t) * exp(-8 / t) * sqrt(8 / t), 1e-9, 1,
                  26, mpf("0.5"))


# ---- stdlib/special.tile ----
def lgamma(x):
    return log(gamma(x))


def gamma_tail(w):
    """x times what log(gamma(x)) is beyond (x - 1/2) (log(x) - 1) + log(2 pi) / 2 - 1/2, w = x**-2."""
    x = 1 / sqrt(w)
    return (lgamma(x) - ((x - 0.5) * (log(x) - 1) + log(2 * pi) / 2 - 0.5)) * x


def gamma_factor(z):
    """gamma(x) over sqrt(2 pi / x) (x / e)**x, z = 1 / x."""
    x = 1 / z
    return exp(lgamma(x) - (x * log(x) - x - log(x) / 2 + log(2 * pi) / 2))


def erfinv_factor(w):
    """erfinv(x) / x where w = -log(1 - x**2)."""
    y = exp(-w) / (1 + sqrt(1 - exp(-w)))  # 1 - x
    t = sqrt(max(mpf("0.05"), w - log(w) / 2 - mpf("0.6"))) if w > 1 else sqrt(pi) / 2 * (1 - y)
    step = t
    while abs(step) > mpf(2)**-180 * abs(t):  # Newton's method on log(erfc(t))
        step = (log(erfc(t)) - log(y)) * erfc(t) * sqrt(pi) / 2 * exp(t * t)
        t += step
    return t / (1 - y)


def special():
    yield Fit("LGAMMA_0", lambda x: lgamma(x) / (x - 1), 0.75, 1.5, 21, 1)
    yield Fit("LGAMMA_1", lambda x: lgamma(x) / (x - 2), 1.5, 2.75, 21, 2)
    yield Fit("LGAMMA_2", lgamma, 2.75, 5, 21, mpf(3))
    yield Fit("LGAMMA_3", lgamma, 5, 8, 21, mpf(6))
    yield Fit("LGAMMA_TAIL", gamma_tail, 1e-6, 1 / 64, 8)
    yield Fit("GAMMA_UNIT", lambda f: rgamma(1 + f), -0.5, 1, 19)
    yield Fit("GAMMA_FACTOR", gamma_factor, 1e-6, 0.125, 10)
    yield Fit("ERFINV_0", erfinv_factor, 1e-20, 5, 24, mpf("2.5"))
    for i, (low, high) in enumerate([(2.234375, 4.5), (4.5, 10), (10, 27.5)]):
        yield Fit(f"ERFINV_{i + 1}", lambda s: erfinv_factor(s * s), low, high, 24,
                  (mpf(low) + mpf(high)) / 2)


# ---- stdlib/math.tile and math64.tile ----
def of_square(f):
    """(f(x) / x - f'(0)) / x**2 of x**2, f odd and f'(0) = 1."""
    return lambda z: (f(sqrt(z)) / sqrt(z) - 1) / z


def erfcx_far(u):
    """(1 + 2 a) exp(a**2) erfc(a), u = (a - 4) / (a + 4)."""
    a = 4 * (1 + u) / (1 - u)
    return (1 + 2 * a) * exp(a * a) * erfc(a)


def math32():
    yield Fit("ASIN", of_square(asin), 1e-30, 0.25, 6, is_fp32=True)
    yield Fit("SINPI", lambda z: (sin(pi * sqrt(z)) / sqrt(z) - pi) / z, 1e-30, 0.0625, 4,
              is_fp32=True)
    yield Fit("COSPI", lambda z: (cos(pi * sqrt(z)) - 1) / z, 1e-30, 0.0625, 5, is_fp32=True)
    yield Fit("ERFCX", erfcx_far, -0.78, 0.999, 14, is_fp32=True)


def math64():
    yield Fit("ASIN", of_square(asin), 1e-30, 0.25, 14)
    yield Fit("TANH", of_square(tanh), 1e-30, 0.39, 12)


FILES = {"bessel.tile": bessel, "special.tile": special, "math.tile": math32,
         "math64.tile": math64}


def main(args):
    if args[:1] == ["--check"]:
        text = {name: (pathlib.Path(args[1]) / name).read_text() for name in FILES}
        lost = [f"{name}: {fit.name} is not what this script computes"
                for name, fits in FILES.items() for fit in fits() if str(fit) not in text[name]]
        print("\n".join(lost) or "every polynomial is as computed")
        return bool(lost)
    for name in args or FILES:
        for fit in FILES[name]():
            print(f"# error {mp.nstr(fit.error, 3)}\n{fit}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
