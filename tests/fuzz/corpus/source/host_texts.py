#choices 0000000
import triton
import triton.language as tl

S = "é日😀" + chr(955) + "\u200b a,b"
N = len(S[1:-1:2]) + S.find("a", 1) + S.rfind(",") + ord(S[0]) % 7 + int("0x1f", 0)
T = S.center(20, "日").strip("日 ").partition("a")[2].replace("b", "é", 1)
F = f"{N:#06x}|{0.5:08.3f}|{T!r:>8}|{S:.3}|{N:_}" + "%+05d %s" % (N, T) + "{0!a}{1:^9}".format(S, N)
V = len(F) + len(" ".join(sorted(F.split()))) + sum(c == "é" for c in reversed(S))


@triton.jit
def k(x, n, B: tl.constexpr = 16):
    i = tl.arange(0, B)
    tl.store(x + i, V * 1.0, mask=i < n)
