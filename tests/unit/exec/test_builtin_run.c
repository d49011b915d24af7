/* Builtins run on the CPU executor against results computed here in plain C: reductions, scans,
 * shapes, memory, block pointers, dot, atomics, casts, and the known traps of the language. */
#include "support/builtin_run.h"

static uint64_t seed = 2024;

static void
fill(float *v, unsigned n)
{
   for (unsigned i = 0; i < n; i++)
      v[i] = (float)(random_unit(&seed) * 4 - 2);
}

static uint16_t
half(double v)
{
   return (uint16_t)tl_double_to_bits(TL_FP16, v, TL_ROUND_NEAREST_EVEN);
}

static double
from_half(uint16_t v)
{
   return tl_bits_to_double(TL_FP16, v);
}

static uint16_t
brain(double v)
{
   return (uint16_t)tl_double_to_bits(TL_BF16, v, TL_ROUND_NEAREST_EVEN);
}

/* ---- operators ---- */
static void
division_truncates_at_run_time_and_floors_at_compile_time(void **state)
{
   (void)state;
   static int32_t x[8] = {-7, 7, -7, 7, -8, 0, 1, -1}, y[8] = {2, 2, -2, -2, 3, 5, -3, 3}, q[8],
                  r[8];
   static int32_t known[6];
   RUN("def k(px: *i32, py: *i32, q: *i32, r: *i32, c: *i32, m: i32):\n"
       "    i = arange(0, 8)\n    x = load(px + i)\n    y = load(py + i)\n"
       "    store(q + i, x // y)\n    store(r + i, x % y)\n"
       "    A: constexpr = -7\n    store(c, A // 2)\n    store(c + 1, A % 2)\n"
       "    b = -7\n    store(c + 2, b // 2)\n    store(c + 3, b % 2)\n"
       "    store(c + 4, m // 2)\n    store(c + 5, m % 2)\n",
       1, BUF(x), BUF(y), BUF(q), BUF(r), BUF(known), NUM((uint32_t)-7));
   for (unsigned i = 0; i < 8; i++) {
      assert_int_equal(q[i], x[i] / y[i]);
      assert_int_equal(r[i], x[i] % y[i]);
   }
   static const int32_t want[6] = {-4, 1, -3, -1, -3, -1};
   assert_memory_equal(known, want, sizeof want);
}

static void
integer_operators_are_exact(void **state)
{
   (void)state;
   enum { N = 256 };
   static int32_t x[N], y[N], r[10][N];
   static uint32_t u[4][N];
   static int64_t w[2][N];
   static int8_t b[N];
   for (unsigned i = 0; i < N; i++)
      x[i] = (int32_t)next_random(&seed), y[i] = (int32_t)next_random(&seed);
   RUN("def k(px: *i32, py: *i32, r: *i32, u: *u32, w: *i64, b: *i8):\n"
       "    i = arange(0, 256)\n    x = load(px + i)\n    y = load(py + i)\n    s = y & 31\n"
       "    store(r + i, x + y)\n    store(r + 256 + i, x - y)\n    store(r + 512 + i, x * y)\n"
       "    store(r + 768 + i, x ^ ~y)\n    store(r + 1024 + i, x << s)\n    store(r + 1280 + i, x "
       ">> s)\n"
       "    store(r + 1536 + i, -x)\n    store(r + 1792 + i, (x < y) & (x != 3))\n"
       "    store(r + 2048 + i, x | y)\n    store(r + 2304 + i, not x)\n"
       "    a = x.to(uint32)\n    store(u + i, a >> s)\n    store(u + 256 + i, a // (y.to(uint32) "
       "| 1))\n"
       "    store(u + 512 + i, a % (y.to(uint32) | 1))\n    store(u + 768 + i, a < y)\n"
       "    store(w + i, x.to(int64) * y)\n    store(w + 256 + i, x.to(uint32).to(int64) + y)\n"
       "    store(b + i, x.to(int8) + y.to(int8))\n",
       1, BUF(x), BUF(y), BUF(r), BUF(u), BUF(w), BUF(b));
   for (unsigned i = 0; i < N; i++) {
      uint32_t a = (uint32_t)x[i], c = (uint32_t)y[i];
      assert_int_equal((uint32_t)r[0][i], a + c);
      assert_int_equal((uint32_t)r[1][i], a - c);
      assert_int_equal((uint32_t)r[2][i], a * c);
      assert_int_equal((uint32_t)r[3][i], a ^ ~c);
      assert_int_equal((uint32_t)r[4][i], a << (c & 31));
      assert_int_equal(r[5][i], x[i] >> (c & 31));
      assert_int_equal((uint32_t)r[6][i], 0 - a);
      assert_int_equal(r[7][i], x[i] < y[i] && x[i] != 3);
      assert_int_equal((uint32_t)r[8][i], a | c);
      assert_int_equal(r[9][i], !x[i]);
      assert_int_equal(u[0][i], a >> (c & 31));
      assert_int_equal(u[1][i], a / (c | 1));
      assert_int_equal(u[2][i], a % (c | 1));
      assert_int_equal(u[3][i], a < c); /* promoted to unsigned */
      assert_true(w[0][i] == (int64_t)x[i] * y[i]);
      assert_true(w[1][i] == (int64_t)a + y[i]);
      assert_int_equal(b[i], (int8_t)(a + c));
   }
}

static void
comparisons_order_nan_as_ieee(void **state)
{
   (void)state;
   static float x[4] = {NAN, 1, NAN, 0.0f}, y[4] = {1, NAN, NAN, -0.0f};
   static int32_t r[8][4];
   static float m[4][4];
   RUN("def k(px: *fp32, py: *fp32, r: *i32, m: *fp32):\n"
       "    i = arange(0, 4)\n    x = load(px + i)\n    y = load(py + i)\n"
       "    store(r + i, x == y)\n    store(r + 4 + i, x != y)\n    store(r + 8 + i, x < y)\n"
       "    store(r + 12 + i, x <= y)\n    store(r + 16 + i, x > y)\n    store(r + 20 + i, x >= "
       "y)\n"
       "    store(r + 24 + i, (x < y) or (x == y))\n    store(r + 28 + i, not (x != y))\n"
       "    store(m + i, maximum(x, y))\n"
       "    store(m + 4 + i, tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))\n"
       "    store(m + 8 + i, minimum(x, y))\n"
       "    store(m + 12 + i, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))\n",
       1, BUF(x), BUF(y), BUF(r), BUF(m));
   static const int32_t want[8][4] = {{0, 0, 0, 1}, {1, 1, 1, 0}, {0},          {0, 0, 0, 1},
                                      {0},          {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}};
   assert_memory_equal(r, want, sizeof want);
   for (unsigned i = 0; i < 2; i++) {
      assert_true(m[0][i] == 1 && m[2][i] == 1);
      assert_true(isnan(m[1][i]) && isnan(m[3][i]));
   }
   assert_true(isnan(m[0][2]) && isnan(m[2][2]));
}

/* ---- casts ---- */
static void
casts_round_saturate_and_wrap(void **state)
{
   (void)state;
   enum { N = 512 };
   static float x[N];
   static uint16_t h[2][N], b[N];
   static uint8_t e4[N], e5[N], one[N];
   static int32_t i32[N];
   static int8_t i8[N];
   static float back[N];
   for (unsigned i = 0; i < N; i++)
      x[i] = (float)ldexp(random_unit(&seed) * 2 - 1, (int)(next_random(&seed) % 40) - 20);
   x[0] = 0, x[1] = 1e6f, x[2] = -1e6f, x[3] = 65504, x[4] = 65520, x[5] = 0.5f;
   RUN("def k(px: *fp32, h: *fp16, b: *bf16, e4: *fp8e4nv, e5: *fp8e5, m: *i1, j: *i32, s: *i8, r: "
       "*fp32):\n"
       "    i = arange(0, 512)\n    x = load(px + i)\n"
       "    store(h + i, x)\n    store(h + 512 + i, x.to(float16, fp_downcast_rounding=\"rtz\"))\n"
       "    store(b + i, x.to(bfloat16))\n    store(e4 + i, x.to(float8e4nv))\n    store(e5 + i, "
       "x.to(float8e5))\n"
       "    store(m + i, x)\n    store(j + i, x.to(int32))\n    store(s + i, "
       "x.to(int32).to(int8))\n"
       "    store(r + i, x.to(int32, bitcast=True).to(float32, bitcast=True))\n",
       1, BUF(x), BUF(h), BUF(b), BUF(e4), BUF(e5), BUF(one), BUF(i32), BUF(i8), BUF(back));
   for (unsigned i = 0; i < N; i++) {
      assert_int_equal(h[0][i], half(x[i]));
      assert_int_equal(h[1][i], tl_double_to_bits(TL_FP16, x[i], TL_ROUND_TOWARD_ZERO));
      assert_int_equal(b[i], brain(x[i]));
      assert_int_equal(e4[i], tl_double_to_bits(TL_FP8E4NV, x[i], TL_ROUND_NEAREST_EVEN));
      assert_int_equal(e5[i], tl_double_to_bits(TL_FP8E5, x[i], TL_ROUND_NEAREST_EVEN));
      assert_int_equal(one[i], x[i] != 0);
      assert_int_equal(i32[i], (int32_t)x[i]);
      assert_int_equal(i8[i], (int8_t)(int32_t)x[i]);
      assert_true(back[i] == x[i]);
   }
   assert_true(tl_bits_to_double(TL_FP8E4NV, e4[1]) == 448);
   assert_true(tl_bits_to_double(TL_FP8E5, e5[1]) == 57344);
}

static void
subscripts_and_truth_as_triton_has_them(void **state)
{
   (void)state;
   static float x[4] = {1, 0, 2, 0}, y[4] = {0, 0, 5, 6};
   static int32_t both[4], one[4], taken[1];
   static float column[4];
   RUN("def k(p: *fp32, q: *fp32, a: *i32, o: *i32, c: *fp32, t: *i32, X: tl.constexpr | None = "
       "None, Y: Optional[constexpr] = 4):\n    tl.static_assert(X is None and Y == 4)\n"
       "    i = arange(0, 4)\n    x = load(p + i)\n    y = load(q + i)\n"
       "    store(a + i, x.logical_and(y))\n    store(o + i, x.logical_or(y))\n"
       "    store(c[:, None, :] + i[:, None, :], tl.sum(x)[:, None])\n"
       "    tl.static_assert(tl.tuple([1, 2]) + (3,) == (1, 2, 3))\n"
       "    tl.static_assert(isinstance(tl.tuple(()), tl.tuple))\n"
       "    tl.static_assert(i.shape == [4] and i[None].shape == (1, 4) and [4] == (4,))\n"
       "    if load(p + arange(0, 1)) > 0:\n        store(t, 7)\n",
       1, BUF(x), BUF(y), BUF(both), BUF(one), BUF(column), BUF(taken));
   for (unsigned i = 0; i < 4; i++) {
      assert_int_equal(both[i], x[i] != 0 && y[i] != 0);
      assert_int_equal(one[i], x[i] != 0 || y[i] != 0);
      assert_true(column[i] == 3);
   }
   assert_int_equal(taken[0], 7);
}

/* exp(x) needs fp32; x.exp() takes fp16 and bf16 too and is rounded to them. */
static void
methods_of_halves(void **state)
{
   (void)state;
   static uint16_t in[4] = {0x0000, 0x3c00, 0xbc00, 0x4400}; /* 0, 1, -1, 4 */
   static int32_t differ[1];
   RUN("def k(p: *fp16, t: *i32):\n    x = load(p + arange(0, 4))\n    w = x.to(fp32)\n"
       "    b = x.to(bf16)\n    pos = x * x\n    wpos = pos.to(fp32)\n"
       "    d = (x.exp() != exp(w).to(fp16)) | (x.exp2() != exp2(w).to(fp16))\n"
       "    d |= (b.exp() != exp(w).to(bf16)) | (b.sin() != sin(w).to(bf16))\n"
       "    d |= (pos.sqrt() != sqrt(wpos).to(fp16)) | (x.cos() != cos(w).to(fp16))\n"
       "    d |= ((pos + 1).log() != log(wpos + 1).to(fp16)) | (x.erf() != erf(w).to(fp16))\n"
       "    d |= ((x / 2).floor() != floor(w / 2).to(fp16)) | (b.ceil() != ceil(w).to(bf16))\n"
       "    static_assert(x.exp().dtype == fp16 and b.exp().dtype == bf16)\n"
       "    store(t, sum(d.to(i32)) + 7)\n",
       1, BUF(in), BUF(differ));
   assert_int_equal(differ[0], 7);
}

/* Operators by Python's names for them are the operators; __r..__ exchanges the operands. */
static void
operators_as_methods(void **state)
{
   (void)state;
   static int8_t in[8] = {-128, -7, -1, 0, 1, 2, 7, 127};
   static int32_t differ[1];
   RUN("def k(p: *i8, t: *i32):\n    x = load(p + arange(0, 8))\n    y = x.to(i32)\n"
       "    d = (x.__rshift__(1) != (x >> 1)) | (x.__lshift__(3) != (x << 3))\n"
       "    d |= (y.__add__(3) != y + 3) | (y.__radd__(3) != 3 + y)\n"
       "    d |= (y.__sub__(3) != y - 3) | (y.__rsub__(3) != 3 - y)\n"
       "    d |= (y.__mul__(3) != y * 3) | (y.__rmul__(3) != 3 * y)\n"
       "    z = where(y == 0, 5, y)\n"
       "    d |= (z.__truediv__(4) != z / 4) | (z.__rtruediv__(4) != 4 / z)\n"
       "    d |= (z.__floordiv__(3) != z // 3) | (z.__rfloordiv__(9) != 9 // z)\n"
       "    d |= (z.__mod__(3) != z % 3) | (z.__rmod__(9) != 9 % z)\n"
       "    s = y & 7\n"
       "    d |= (s.__rlshift__(1) != 1 << s) | (s.__rrshift__(99) != 99 >> s)\n"
       "    d |= (y.__and__(6) != y & 6) | (y.__or__(6) != y | 6) | (y.__xor__(6) != y ^ 6)\n"
       "    d |= (y.__rand__(6) != 6 & y) | (y.__ror__(6) != 6 | y) | (y.__rxor__(6) != 6 ^ y)\n"
       "    d |= (y.__eq__(1) != (y == 1)) | (y.__ne__(1) != (y != 1))\n"
       "    d |= (y.__lt__(1) != (y < 1)) | (y.__le__(1) != (y <= 1))\n"
       "    d |= (y.__gt__(1) != (y > 1)) | (y.__ge__(1) != (y >= 1))\n"
       "    d |= (y.__neg__() != -y) | (y.__invert__() != ~y) | (y.__not__() != (y == 0))\n"
       "    store(t, sum(d.to(i32)) + 7)\n",
       1, BUF(in), BUF(differ));
   assert_int_equal(differ[0], 7);
}

static void
a_way_without_return(void **state)
{
   (void)state;
   static float out[4];
   RUN("@jit\ndef f(x, n):\n    if n > 0:\n        return x + 1\n"
       "@kernel\ndef k(p: *fp32, n: i32):\n    store(p, f(3.0, n))\n"
       "    i = arange(0, 2)\n    store(p + 2 + i, f(i.to(fp32), n))\n",
       1, BUF(out), NUM(1));
   assert_true(out[0] == 4 && out[2] == 1 && out[3] == 2);
}

static void
products_of_batches(void **state)
{
   (void)state;
   static float a[2][2][16][16], c[2][2][16][16];
   for (unsigned i = 0; i < 2 * 2 * 16 * 16; i++)
      (&a[0][0][0][0])[i] = (float)(next_random(&seed) % 9) - 4;
   RUN("def k(p: *fp32, q: *fp32):\n"
       "    i = arange(0, 1024)\n    x = load(p + i).reshape([2, 2, 16, 16])\n"
       "    y = tl.dot(x, tl.trans(x, (0, 1, 3, 2)), x)\n    store(q + i, y.reshape([1024]))\n",
       1, BUF(a), BUF(c));
   for (unsigned b = 0; b < 4; b++)
      for (unsigned i = 0; i < 16; i++)
         for (unsigned j = 0; j < 16; j++) {
            float sum = a[b / 2][b % 2][i][j];
            for (unsigned k = 0; k < 16; k++)
               sum += a[b / 2][b % 2][i][k] * a[b / 2][b % 2][j][k];
            assert_true(c[b / 2][b % 2][i][j] == sum);
         }
}

static void
microscaled_products(void **state)
{
   (void)state;
   enum { M = 16, N = 16, K = 64 };
   static const float e2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
   static uint8_t a[M][K / 2], a_scale[M][K / 32], b[K][N], b_scale[N][K / 32];
   static float c[M][N], turned[M][N];
   for (unsigned i = 0; i < M * K / 2; i++)
      (&a[0][0])[i] = (uint8_t)next_random(&seed);
   for (unsigned i = 0; i < K * N; i++) /* exponents around that of 1 */
      (&b[0][0])[i] = (uint8_t)((next_random(&seed) & 0x87) | (6 + next_random(&seed) % 3) << 3);
   for (unsigned i = 0; i < M * K / 32; i++) {
      (&a_scale[0][0])[i] = (uint8_t)(125 + next_random(&seed) % 5);
      (&b_scale[0][0])[i] = (uint8_t)(125 + next_random(&seed) % 5);
   }
   a_scale[3][1] = 255;
   RUN("def k(a: *u8, sa: *u8, b: *u8, sb: *u8, c: *fp32, d: *fp32):\n"
       "    m = arange(0, 16)\n    k = arange(0, 64)\n    h = arange(0, 32)\n    g = arange(0, 2)\n"
       "    x = load(a + m[:, None] * 32 + h[None, :])\n"
       "    y = load(b + k[:, None] * 16 + m[None, :])\n"
       "    xs = load(sa + m[:, None] * 2 + g[None, :])\n"
       "    ys = load(sb + m[:, None] * 2 + g[None, :])\n"
       "    at = m[:, None] * 16 + m[None, :]\n"
       "    store(c + at, tl.dot_scaled(x, xs, 'e2m1', y, ys, 'e4m3', full((16, 16), 1, fp32)))\n"
       "    w = tl.dot_scaled(trans(y), ys, 'e4m3', trans(x), xs, 'e2m1')\n"
       "    store(d + at, trans(w))\n",
       1, BUF(a), BUF(a_scale), BUF(b), BUF(b_scale), BUF(c), BUF(turned));
   for (unsigned i = 0; i < M; i++)
      for (unsigned j = 0; j < N; j++) {
         double sum = 1;
         for (unsigned k = 0; k < K; k++) {
            unsigned code = a[i][k / 2] >> (k % 2 * 4) & 15;
            double x = (code & 8 ? -1 : 1) * e2m1[code & 7] * ldexp(1, a_scale[i][k / 32] - 127);
            double y = tl_bits_to_double(TL_FP8E4NV, b[k][j]) * ldexp(1, b_scale[j][k / 32] - 127);
            sum += x * y;
         }
         bool is_nan = i == 3;
         assert_true(is_nan ? isnan(c[i][j]) : fabs(c[i][j] - sum) < 1e-3);
         assert_true(is_nan ? isnan(turned[i][j]) : fabs(turned[i][j] - (sum - 1)) < 1e-3);
      }
}

static void
half_arithmetic_rounds_each_step(void **state)
{
   (void)state;
   enum { N = 256 };
   static uint16_t x[N], y[N], sum[N], product[N];
   static float quotient[N], widened[N];
   for (unsigned i = 0; i < N; i++)
      x[i] = half(random_unit(&seed) * 8 - 4), y[i] = half(random_unit(&seed) * 8 + 1);
   RUN("def k(px: *fp16, py: *fp16, s: *fp16, p: *fp16, q: *fp32, w: *fp32):\n"
       "    i = arange(0, 256)\n    x = load(px + i)\n    y = load(py + i)\n"
       "    store(s + i, x + y * 1.0)\n    store(p + i, x * y)\n    store(q + i, x / y)\n"
       "    one = 1.0\n    store(w + i, x * one + y)\n",
       1, BUF(x), BUF(y), BUF(sum), BUF(product), BUF(quotient), BUF(widened));
   for (unsigned i = 0; i < N; i++) {
      double a = from_half(x[i]), b = from_half(y[i]);
      assert_int_equal(sum[i], half(a + b));
      assert_int_equal(product[i], half(a * b));
      assert_true(ulp_error(quotient[i], a / b) <= 1);
      assert_true(widened[i] == (float)(a + b));
   }
}

/* ---- reductions and scans ---- */
static void
reductions_fold_along_their_axis(void **state)
{
   (void)state;
   enum { R = 8, C = 32 };
   static float x[R][C], rows[5][R], cols[2][C], all[4];
   static int32_t arg[4][R], bits[R], in[R][C];
   fill(&x[0][0], R * C);
   x[0][3] = x[0][9] = 9, x[1][4] = x[1][20] = -9;
   for (unsigned i = 0; i < R * C; i++)
      in[i / C][i % C] = (int32_t)next_random(&seed);
   RUN("def k(p: *fp32, q: *i32, r: *fp32, c: *fp32, a: *fp32, g: *i32, b: *i32):\n"
       "    i = arange(0, 8)\n    j = arange(0, 32)\n    x = load(p + i[:, None] * 32 + j[None, "
       ":])\n"
       "    store(r + i, sum(x, axis=1))\n    store(r + 8 + i, tl.max(x, 1))\n    store(r + 16 + "
       "i, x.min(axis=-1))\n"
       "    v, n = tl.max(x, 1, return_indices=True)\n    store(r + 24 + i, v)\n    store(g + i, "
       "n)\n"
       "    v, n = tl.min(x, axis=1, return_indices=True)\n    store(r + 32 + i, v)\n    store(g + "
       "8 + i, n)\n"
       "    store(g + 16 + i, argmax(x, axis=1))\n    store(g + 24 + i, tl.argmin(x, 1, "
       "tie_break_left=True))\n"
       "    store(c + j, sum(x, 0))\n    store(c + 32 + j, tl.sum(tl.max(x, 0, keep_dims=True), "
       "0))\n"
       "    store(a, sum(x))\n    store(a + 1, tl.max(x))\n    store(a + 2, tl.min(x))\n"
       "    store(a + 3, tl.sum(x, keep_dims=True).item())\n"
       "    store(b + i, tl.xor_sum(load(q + i[:, None] * 32 + j[None, :]), 1))\n",
       1, BUF(x), BUF(in), BUF(rows), BUF(cols), BUF(all), BUF(arg), BUF(bits));
   double total = 0, top = -INFINITY, bottom = INFINITY;
   for (unsigned i = 0; i < R; i++) {
      double s = 0;
      unsigned hi = 0, lo = 0;
      int32_t b = 0;
      for (unsigned j = 0; j < C; j++) {
         s += x[i][j];
         hi = x[i][j] > x[i][hi] ? j : hi;
         lo = x[i][j] < x[i][lo] ? j : lo;
         b ^= in[i][j];
      }
      total += s, top = fmax(top, x[i][hi]), bottom = fmin(bottom, x[i][lo]);
      assert_true(fabs(rows[0][i] - s) < 1e-5);
      assert_true(rows[1][i] == x[i][hi] && rows[2][i] == x[i][lo]);
      assert_true(rows[3][i] == x[i][hi] && rows[4][i] == x[i][lo]);
      assert_int_equal(arg[0][i], hi);
      assert_int_equal(arg[1][i], lo);
      assert_int_equal(arg[2][i], hi);
      assert_int_equal(arg[3][i], lo);
      assert_int_equal(bits[i], b);
   }
   for (unsigned j = 0; j < C; j++) {
      double s = 0, m = -INFINITY;
      for (unsigned i = 0; i < R; i++)
         s += x[i][j], m = fmax(m, x[i][j]);
      assert_true(fabs(cols[0][j] - s) < 1e-5 && cols[1][j] == (float)m);
   }
   assert_true(fabs(all[0] - total) < 1e-4 && all[1] == (float)top && all[2] == (float)bottom);
   assert_true(all[3] == all[0]);
}

static void
reductions_widen_as_triton_does(void **state)
{
   (void)state;
   enum { N = 4096 };
   static uint16_t h[N], h_sum[1], b[16];
   static int8_t s8[N];
   static uint8_t u8[N], bools[N];
   static int32_t sums[3];
   static float top[3];
   static float nan_in[4] = {NAN, 1, NAN, -3};
   for (unsigned i = 0; i < N; i++)
      h[i] = half(0.1), s8[i] = 127, u8[i] = 200, bools[i] = i % 3 == 0;
   for (unsigned i = 0; i < 16; i++)
      b[i] = brain(i * 0.1);
   RUN("def k(h: *fp16, ho: *fp16, s: *i8, u: *u8, m: *i1, b: *bf16, n: *fp32, o: *i32, t: "
       "*fp32):\n"
       "    i = arange(0, 4096)\n    store(ho, sum(load(h + i)))\n    store(o, sum(load(s + i)))\n"
       "    store(o + 1, tl.max(load(u + i)))\n    store(o + 2, sum(load(m + i)).to(int32))\n"
       "    store(t, tl.max(load(b + arange(0, 16))))\n"
       "    store(t + 1, tl.max(load(n + arange(0, 4))))\n    store(t + 2, tl.min(load(n + "
       "arange(0, 4))))\n",
       1, BUF(h), BUF(h_sum), BUF(s8), BUF(u8), BUF(bools), BUF(b), BUF(nan_in), BUF(sums),
       BUF(top));
   assert_int_equal(sums[0], 127 * N);
   assert_int_equal(sums[1], 200);
   assert_int_equal(sums[2], (N + 2) / 3);
   assert_true(top[0] == (float)tl_bits_to_double(TL_BF16, b[15]));
   assert_true(top[1] == 1 && top[2] == -3); /* NaN loses */
   /* a balanced tree of fp16 sums: every level doubles exactly */
   assert_true(from_half(h_sum[0]) == from_half(half(0.1)) * (double)N);
}

static void
user_combines_take_tuples(void **state)
{
   (void)state;
   enum { N = 64 };
   static float x[N], mean[3], scan[2][N];
   fill(x, N);
   RUN("def welford(ma, m2a, na, mb, m2b, nb):\n"
       "    n = na + nb\n    d = mb - ma\n    w = nb / n\n"
       "    return ma + d * w, m2a + m2b + d * d * na * w, n\n"
       "def weight(fa, xa, fb, xb):\n    return fa * fb, fb * xa + xb\n"
       "@kernel\n"
       "def k(p: *fp32, o: *fp32, s: *fp32):\n    i = arange(0, 64)\n    x = load(p + i)\n"
       "    m, m2, n = tl.reduce((x, zeros((64,), float32), full((64,), 1.0, float32)), 0, "
       "welford)\n"
       "    store(o, m)\n    store(o + 1, m2)\n    store(o + 2, n)\n"
       "    f, y = tl.associative_scan((full((64,), 0.5, float32), x), 0, weight)\n    store(s + "
       "i, y)\n"
       "    f, y = tl.associative_scan((full((64,), 0.5, float32), x), 0, weight, reverse=True)\n  "
       "  store(s + 64 + i, y)\n",
       1, BUF(x), BUF(mean), BUF(scan));
   double m = 0, v = 0, y = 0;
   for (unsigned i = 0; i < N; i++)
      m += x[i] / (double)N;
   for (unsigned i = 0; i < N; i++)
      v += (x[i] - m) * (x[i] - m);
   assert_true(fabs(mean[0] - m) < 1e-5 && fabs(mean[1] - v) < 1e-3 && mean[2] == (float)N);
   for (unsigned i = 0; i < N; i++) {
      y = 0.5 * y + x[i];
      assert_true(fabs(scan[0][i] - y) < 1e-5);
   }
   y = 0;
   for (unsigned i = N; i-- > 0;) {
      y = 0.5 * y + x[i];
      assert_true(fabs(scan[1][i] - y) < 1e-5);
   }
}

static void
scans_and_histogram(void **state)
{
   (void)state;
   enum { R = 4, C = 16 };
   static int32_t x[R][C], r[3][R][C], counts[2][8];
   static float f[C], prod[C];
   for (unsigned i = 0; i < R * C; i++)
      x[i / C][i % C] = (int32_t)(next_random(&seed) % 8);
   for (unsigned i = 0; i < C; i++)
      f[i] = (float)(1 + random_unit(&seed));
   RUN("def k(p: *i32, q: *fp32, r: *i32, o: *fp32, c: *i32):\n"
       "    at = arange(0, 4)[:, None] * 16 + arange(0, 16)[None, :]\n    x = load(p + at)\n    j "
       "= arange(0, 16)\n"
       "    store(r + at, cumsum(x, axis=1))\n    store(r + 64 + at, tl.cumsum(x))\n"
       "    store(r + 128 + at, cumsum(x, 1, reverse=True))\n    store(o + j, tl.cumprod(load(q + "
       "j), 0))\n"
       "    y = tl.ravel(x)\n    b = arange(0, 8)\n    store(c + b, tl.histogram(y, 8))\n"
       "    store(c + 8 + b, tl.histogram(y, 8, mask=arange(0, 64) < 10))\n",
       1, BUF(x), BUF(f), BUF(r), BUF(prod), BUF(counts));
   int32_t want[2][8] = {{0}};
   for (unsigned i = 0; i < R * C; i++) {
      want[0][x[i / C][i % C]]++;
      want[1][x[i / C][i % C]] += i < 10;
   }
   assert_memory_equal(counts, want, sizeof want);
   for (unsigned i = 0; i < R; i++)
      for (unsigned j = 0; j < C; j++) {
         int32_t row = 0, col = 0, back = 0;
         for (unsigned k = 0; k <= j; k++)
            row += x[i][k];
         for (unsigned k = 0; k <= i; k++)
            col += x[k][j];
         for (unsigned k = j; k < C; k++)
            back += x[i][k];
         assert_int_equal(r[0][i][j], row);
         assert_int_equal(r[1][i][j], col);
         assert_int_equal(r[2][i][j], back);
      }
   double p = 1;
   for (unsigned i = 0; i < C; i++) {
      p *= f[i];
      assert_true(ulp_error(prod[i], p) < 16);
   }
}

static void
softmax_sums_to_one(void **state)
{
   (void)state;
   enum { R = 4, C = 64 };
   static float x[R][C], y[R][C];
   fill(&x[0][0], R * C);
   RUN("def k(p: *fp32, o: *fp32):\n"
       "    at = arange(0, 4)[:, None] * 64 + arange(0, 64)[None, :]\n"
       "    store(o + at, tl.softmax(load(p + at), 1))\n",
       1, BUF(x), BUF(y));
   for (unsigned i = 0; i < R; i++) {
      double sum = 0;
      for (unsigned j = 0; j < C; j++)
         sum += exp(x[i][j]);
      for (unsigned j = 0; j < C; j++)
         assert_true(ulp_error(y[i][j], exp(x[i][j]) / sum) < 8);
   }
}

/* ---- shapes ---- */
static void
shape_operations_move_elements(void **state)
{
   (void)state;
   enum { R = 4, C = 8 };
   static int32_t x[R][C], t[C][R], p[2][C][R / 2], flip[2][R][C], inter[2 * C], halves[2][C],
      gathered[R][C], cat[2 * C], where_[R][C];
   for (unsigned i = 0; i < R * C; i++)
      x[i / C][i % C] = (int32_t)(i * 3 + 1);
   RUN("def k(px: *i32, t: *i32, p: *i32, f: *i32, n: *i32, h: *i32, g: *i32, c: *i32, w: *i32):\n"
       "    i = arange(0, 4)\n    j = arange(0, 8)\n    at = i[:, None] * 8 + j[None, :]\n    x = "
       "load(px + at)\n"
       "    store(t + j[:, None] * 4 + i[None, :], trans(x))\n"
       "    y = reshape(x, 2, 2, 8).permute((0, 2, 1))\n"
       "    k0 = arange(0, 2)\n"
       "    store(p + k0[:, None, None] * 16 + j[None, :, None] * 2 + k0[None, None, :], y)\n"
       "    store(f + at, tl.flip(x, 1))\n    store(f + 32 + at, tl.flip(x, 0))\n"
       "    a = load(px + j)\n    b = load(px + 8 + j)\n"
       "    store(n + arange(0, 16), tl.interleave(a, b))\n"
       "    u, v = tl.split(tl.join(a, b))\n    store(h + j, u)\n    store(h + 8 + j, v)\n"
       "    store(g + at, tl.gather(x, (at * 5) % 8, 1))\n"
       "    store(c + arange(0, 16), tl.sort(tl.cat(a, b, can_reorder=True)))\n"
       "    store(w + at, where(x > 20, x, tl.broadcast_to(i[:, None], 4, 8)))\n"
       "    tl.static_assert(x.T.shape[0] == 8 and x.numel == 32 and tl.expand_dims(x, [0, "
       "-1]).shape == (1, 4, 8, 1))\n",
       1, BUF(x), BUF(t), BUF(p), BUF(flip), BUF(inter), BUF(halves), BUF(gathered), BUF(cat),
       BUF(where_));
   for (unsigned i = 0; i < R; i++)
      for (unsigned j = 0; j < C; j++) {
         assert_int_equal(t[j][i], x[i][j]);
         assert_int_equal(p[i / 2][j][i % 2], x[i][j]);
         assert_int_equal(flip[0][i][C - 1 - j], x[i][j]);
         assert_int_equal(flip[1][R - 1 - i][j], x[i][j]);
         assert_int_equal(gathered[i][j], x[i][(i * C + j) * 5 % 8]);
         assert_int_equal(where_[i][j], x[i][j] > 20 ? x[i][j] : (int32_t)i);
      }
   for (unsigned j = 0; j < C; j++) {
      assert_true(inter[2 * j] == x[0][j] && inter[2 * j + 1] == x[1][j]);
      assert_true(halves[0][j] == x[0][j] && halves[1][j] == x[1][j]);
      assert_true(cat[j] == x[0][j] &&
                  cat[C + j] == x[1][j]); /* sorted: ascending by construction */
   }
}

static void
map_runs_a_scalar_function(void **state)
{
   (void)state;
   static int32_t x[16], steps[16], pairs[16];
   for (unsigned i = 0; i < 16; i++)
      x[i] = (int32_t)(i + 1);
   RUN("def collatz(n):\n    c = 0\n    while n != 1:\n"
       "        n = n // 2 if n % 2 == 0 else 3 * n + 1\n        c += 1\n    return c\n"
       "def swap(a, b):\n    return b, a\n"
       "@kernel\n"
       "def k(p: *i32, o: *i32, q: *i32):\n    i = arange(0, 16)\n    x = load(p + i)\n"
       "    store(o + i, tl.map_elementwise(collatz, x))\n    store(q + i, "
       "tl.map_elementwise(swap, x, pack=2))\n",
       1, BUF(x), BUF(steps), BUF(pairs));
   for (unsigned i = 0; i < 16; i++) {
      int32_t c = 0;
      for (int32_t n = x[i]; n != 1; c++)
         n = n % 2 ? 3 * n + 1 : n / 2;
      assert_int_equal(steps[i], c);
      assert_int_equal(pairs[i], x[i ^ 1]);
   }
}

/* ---- memory ---- */
static void
masks_select_elements(void **state)
{
   (void)state;
   static float x[10], y[16];
   fill(x, 10);
   for (unsigned i = 0; i < 16; i++)
      y[i] = 7;
   RUN("def k(p: *fp32, o: *fp32, n: i32):\n    i = arange(0, 16)\n"
       "    v = load(p + i, mask=i < n, other=-1)\n    store(o + i, v, mask=i < 12)\n"
       "    s = load(p, mask=n > 100, other=3.5)\n    store(o + 15, s)\n    store(o + 14, 9.0, "
       "mask=n > 100)\n",
       1, BUF(x), BUF(y), NUM(10));
   for (unsigned i = 0; i < 16; i++)
      assert_true(y[i] == (i < 10 ? x[i] : i < 12 ? -1 : i == 15 ? 3.5f : 7));
}

/* What a mask leaves out without `other` is undefined: consuming it is found in checked mode. */
static void
undefined_lanes_are_diagnosed(void **state)
{
   (void)state;
   static float x[16], y[1];
   SemaRun r = TILE("def k(p: *fp32, o: *fp32, n: i32):\n    i = arange(0, 16)\n"
                    "    store(o, sum(load(p + i, mask=i < n)))\n");
   sema_run(&r);
   assert_non_null(r.func);
   TlExecArg args[] = {BUF(x), BUF(y), NUM(10)};
   TlExecFault fault = {0};
   TlExecOptions options = {.threads = 1, .checked = true};
   assert_int_equal(tl_exec_cpu(r.func, args, 3, (uint32_t[3]){1, 1, 1}, &options, &fault),
                    TL_EXEC_FAULT);
   assert_int_equal(fault.kind, TL_FAULT_UNDEFINED);
   args[2].bits = 16; /* nothing is left out */
   assert_int_equal(tl_exec_cpu(r.func, args, 3, (uint32_t[3]){1, 1, 1}, &options, &fault),
                    TL_EXEC_OK);
   sema_run_free(&r);
}

static void
booleans_are_bytes(void **state)
{
   (void)state;
   static uint8_t m[8] = {0, 1, 2, 255, 0, 0, 1, 4}, o[8], all[8];
   RUN("def k(p: *i1, o: *i1, q: *i1):\n    i = arange(0, 8)\n    x = load(p + i)\n    store(o + "
       "i, not x)\n"
       "    b = make_block_ptr(p, (8,), (1,), (0,), (8,), (0,))\n"
       "    store(make_block_ptr(q, (8,), (1,), (0,), (8,), (0,)), load(b))\n",
       1, BUF(m), BUF(o), BUF(all));
   for (unsigned i = 0; i < 8; i++) {
      assert_int_equal(o[i], m[i] == 0);
      assert_int_equal(all[i], m[i] != 0);
   }
}

static void
pointers_are_values(void **state)
{
   (void)state;
   static int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8], z[4];
   static uint64_t table[2];
   TlExecArg args[] = {BUF(x), BUF(y), BUF(table), BUF(z)};
   table[0] = tl_exec_address(args, 0);
   table[1] = tl_exec_address(args, 0) + 16;
   run_on_cpu("def k(p: *i32, o: *i32, t: *u64, z: *i32):\n    i = arange(0, 4)\n"
              "    a = load(t + 1).to(tl.pointer_type(tl.int32))\n    store(o + i, load(a + i))\n"
              "    q = (p.to(int64) + 4 * i.to(int64)).to(tl.pointer_type(int32))\n    store(o + 4 "
              "+ i, load(q))\n"
              "    e = where(i < 2, p, p + 4)\n    store(z + i, load(e + i))\n",
              args, 4, 1);
   for (unsigned i = 0; i < 4; i++) {
      assert_int_equal(y[i], x[4 + i]);
      assert_int_equal(y[4 + i], x[i]);
      assert_int_equal(z[i], x[i < 2 ? i : 4 + i]);
   }
}

static void
block_pointers_walk_an_array(void **state)
{
   (void)state;
   enum { R = 10, C = 20 };
   static float x[R][C], y[R][C], sums[8], nan_count[1];
   fill(&x[0][0], R * C);
   RUN("def k(p: *fp32, o: *fp32, s: *fp32, q: *fp32, m: i32, n: i32):\n"
       "    a = make_block_ptr(base=p, shape=(m, n), strides=(n, 1), offsets=(4, 0), "
       "block_shape=(8, 8), order=(1, 0))\n"
       "    b = make_block_ptr(o, (m, n), (n, 1), (4, 0), (8, 8), (1, 0))\n"
       "    acc = zeros((8,), float32)\n    bad = zeros((8, 8), int32)\n"
       "    for j in range(0, n, 8):\n"
       "        v = load(a, boundary_check=(0, 1), padding_option=\"zero\")\n        acc += sum(v, "
       "1)\n"
       "        w = load(a, boundary_check=(0, 1), padding_option=\"nan\")\n        bad += w != w\n"
       "        store(b, v.to(b.dtype.element_ty), boundary_check=(0, 1))\n"
       "        a = tl.advance(a, (0, 8))\n        b = tl.advance(b, [0, 8])\n"
       "    store(s + arange(0, 8), acc)\n    store(q, sum(bad))\n",
       1, BUF(x), BUF(y), BUF(sums), BUF(nan_count), NUM(R), NUM(C));
   for (unsigned i = 0; i < R; i++)
      for (unsigned j = 0; j < C; j++)
         assert_true(y[i][j] == (i < 4 ? 0 : x[i][j]));
   for (unsigned i = 0; i < 8; i++) {
      double s = 0;
      for (unsigned j = 0; i + 4 < R && j < C; j++)
         s += x[i + 4][j];
      assert_true(fabs(sums[i] - s) < 1e-5);
   }
   assert_true(nan_count[0] == 8 * 24 - 6 * 20);
}

static void
descriptors_pad_and_drop(void **state)
{
   (void)state;
   enum { R = 6, C = 12 };
   static float x[R][C], y[8][16], z[R][C];
   fill(&x[0][0], R * C);
   RUN("def k(p: *fp32, o: *fp32, q: *fp32, m: i32, n: i32):\n"
       "    a = tl.make_tensor_descriptor(p, shape=[m, n], strides=[n, 1], block_shape=[4, 8])\n"
       "    b = tl.make_tensor_descriptor(q, [m, n], [n, 1], [4, 8])\n"
       "    at = arange(0, 4)[:, None] * 16 + arange(0, 8)[None, :]\n"
       "    for i in range(0, 8, 4):\n        for j in range(0, 16, 8):\n"
       "            v = a.load([i, j])\n            store(o + i * 16 + j + at, v)\n"
       "            b.store([i, j], (v * 2).to(a.dtype))\n"
       "    tl.static_assert(a.block_shape[1] == 8 and isinstance(a, tl.tensor_descriptor))\n",
       1, BUF(x), BUF(y), BUF(z), NUM(R), NUM(C));
   for (unsigned i = 0; i < 8; i++)
      for (unsigned j = 0; j < 16; j++)
         assert_true(y[i][j] == (i < R && j < C ? x[i][j] : 0));
   for (unsigned i = 0; i < R; i++)
      for (unsigned j = 0; j < C; j++)
         assert_true(z[i][j] == 2 * x[i][j]);
}

/* ---- dot ---- */
static void
dot_accumulates_in_the_result_type(void **state)
{
   (void)state;
   enum { M = 16, N = 8, K = 32 };
   static uint16_t a[M][K], b[K][N], low[M][N];
   static float c[M][N], twice[M][N], f[2][M][N], fa[M][K], fb[K][N];
   static int8_t ia[M][K], ib[K][N];
   static int32_t ic[M][N];
   for (unsigned i = 0; i < M * K; i++) {
      a[i / K][i % K] = half(random_unit(&seed) * 2 - 1);
      fa[i / K][i % K] = (float)random_unit(&seed);
      ia[i / K][i % K] = (int8_t)next_random(&seed);
   }
   for (unsigned i = 0; i < K * N; i++) {
      b[i / N][i % N] = half(random_unit(&seed) * 2 - 1);
      fb[i / N][i % N] = (float)random_unit(&seed);
      ib[i / N][i % N] = (int8_t)next_random(&seed);
   }
   RUN("def k(pa: *fp16, pb: *fp16, pc: *fp32, pt: *fp32, pl: *fp16, qa: *fp32, qb: *fp32, qf: "
       "*fp32, ja: *i8, jb: *i8, jc: *i32):\n"
       "    m = arange(0, 16)[:, None]\n    n = arange(0, 8)[None, :]\n    r = arange(0, 32)\n"
       "    ak = m * 32 + r[None, :]\n    kb = r[:, None] * 8 + n\n    mn = m * 8 + n\n"
       "    a = load(pa + ak)\n    b = load(pb + kb)\n    c = tl.dot(a, b)\n    store(pc + mn, c)\n"
       "    store(pt + mn, tl.dot(a, b, acc=c))\n    store(pl + mn, tl.dot(a, b, "
       "out_dtype=tl.float16))\n"
       "    x = load(qa + ak)\n    y = load(qb + kb)\n    store(qf + mn, tl.dot(x, y))\n"
       "    store(qf + 128 + mn, tl.dot(x, y, allow_tf32=False))\n"
       "    store(jc + mn, tl.dot(load(ja + ak), load(jb + kb), full((16, 8), 5, int32), "
       "out_dtype=tl.int32))\n",
       1, BUF(a), BUF(b), BUF(c), BUF(twice), BUF(low), BUF(fa), BUF(fb), BUF(f), BUF(ia), BUF(ib),
       BUF(ic));
   double tf32_gap = 0;
   for (unsigned i = 0; i < M; i++)
      for (unsigned j = 0; j < N; j++) {
         double s = 0, g = 0;
         int32_t t = 5;
         for (unsigned k = 0; k < K; k++) {
            s += from_half(a[i][k]) * from_half(b[k][j]);
            g += (double)fa[i][k] * fb[k][j];
            t += ia[i][k] * ib[k][j];
         }
         assert_true(fabs(c[i][j] - s) < 1e-5);
         assert_true(fabs(twice[i][j] - 2 * s) < 1e-5);
         assert_true(fabs(from_half(low[i][j]) - s) < 0.01);
         assert_true(fabs(f[1][i][j] - g) < 1e-5);
         assert_true(fabs(f[0][i][j] - g) < 2e-2);
         tf32_gap = fmax(tf32_gap, fabs(f[0][i][j] - g));
         assert_int_equal(ic[i][j], t);
      }
   assert_true(tf32_gap > 1e-5); /* the default rounds its inputs to tf32 */
}

static void
batched_dot(void **state)
{
   (void)state;
   enum { B = 2, M = 4, N = 4, K = 16 };
   static float a[B][M][K], b[B][K][N], c[B][M][N];
   fill(&a[0][0][0], B * M * K);
   fill(&b[0][0][0], B * K * N);
   RUN("def k(pa: *fp32, pb: *fp32, pc: *fp32):\n"
       "    z = arange(0, 2)[:, None, None]\n    m = arange(0, 4)[None, :, None]\n    n = "
       "arange(0, 4)[None, None, :]\n"
       "    a = load(pa + z * 64 + m * 16 + arange(0, 16)[None, None, :])\n"
       "    b = load(pb + z * 64 + arange(0, 16)[None, :, None] * 4 + n)\n"
       "    store(pc + z * 16 + m * 4 + n, tl.dot(a, b, input_precision=\"ieee\"))\n",
       1, BUF(a), BUF(b), BUF(c));
   for (unsigned z = 0; z < B; z++)
      for (unsigned i = 0; i < M; i++)
         for (unsigned j = 0; j < N; j++) {
            double s = 0;
            for (unsigned k = 0; k < K; k++)
               s += (double)a[z][i][k] * b[z][k][j];
            assert_true(fabs(c[z][i][j] - s) < 1e-4);
         }
}

/* ---- atomics ---- */
static void
atomics_return_the_old_value(void **state)
{
   (void)state;
   static int32_t n[8] = {5, 0, 100, -100, 7, 0xF0, 3, 9}, old[8];
   static float f[4] = {1.5f, -2, 3, -4}, fold[4];
   static uint32_t histogram[4];
   static float extremes[6] = {1, 1, -1, -1, 0, 0};
   RUN("def k(p: *i32, o: *i32, f: *fp32, fo: *fp32, h: *u32, e: *fp32):\n"
       "    store(o, atomic_add(p, 3))\n    store(o + 1, tl.atomic_cas(p + 1, 0, 42))\n"
       "    store(o + 2, tl.atomic_max(p + 2, 50))\n    store(o + 3, tl.atomic_min(p + 3, -200, "
       "sem=\"relaxed\", scope=\"cta\"))\n"
       "    store(o + 4, tl.atomic_xchg(p + 4, 8))\n    store(o + 5, tl.atomic_and(p + 5, 0x3C))\n"
       "    store(o + 6, tl.atomic_or(p + 6, 8))\n    store(o + 7, tl.atomic_xor(p + 7, 1))\n"
       "    i = arange(0, 4)\n    store(fo + i, tl.atomic_add(f + i, 0.5))\n"
       "    tl.atomic_add(h + arange(0, 64) % 4, 1, mask=arange(0, 64) < 62)\n"
       "    tl.atomic_max(e, 2.0)\n    tl.atomic_max(e + 1, -2.0)\n    tl.atomic_max(e + 2, -0.5)\n"
       "    tl.atomic_min(e + 3, -3.0)\n    tl.atomic_min(e + 4, -1.0)\n    tl.atomic_min(e + 5, "
       "1.0)\n",
       1, BUF(n), BUF(old), BUF(f), BUF(fold), BUF(histogram), BUF(extremes));
   static const int32_t want_old[8] = {5, 0, 100, -100, 7, 0xF0, 3, 9};
   static const int32_t want[8] = {8, 42, 100, -200, 8, 0x30, 11, 8};
   assert_memory_equal(old, want_old, sizeof old);
   assert_memory_equal(n, want, sizeof n);
   assert_true(fold[0] == 1.5f && fold[3] == -4 && f[0] == 2 && f[3] == -3.5f);
   assert_true(histogram[0] == 16 && histogram[1] == 16 && histogram[2] == 15 &&
               histogram[3] == 15);
   assert_true(extremes[0] == 2 && extremes[1] == 1 && extremes[2] == -0.5f && extremes[3] == -3 &&
               extremes[4] == -1 && extremes[5] == 0);
}

/* ---- programs, loops, compile-time helpers ---- */
static void
programs_count_and_wrap(void **state)
{
   (void)state;
   static int32_t o[4], n[4], wrapped[1];
   RUN("def k(o: *i32, n: *i32, w: *i32, stride: i32):\n    pid = program_id(0)\n    store(o + "
       "pid, pid * 10)\n"
       "    store(n + pid, tl.num_programs(axis=0) + tl.num_programs(2))\n"
       "    if pid == 3:\n        store(w, (pid + 3) * stride)\n",
       4, BUF(o), BUF(n), BUF(wrapped), NUM(1 << 30));
   for (int i = 0; i < 4; i++)
      assert_true(o[i] == 10 * i && n[i] == 5);
   assert_int_equal(wrapped[0], (int32_t)(6u << 30));
}

static void
python_helpers_agree_with_python(void **state)
{
   (void)state;
   static int32_t o[12];
   RUN("def k(o: *i32, n: i32, BLOCK: constexpr = 24):\n"
       "    store(o, cdiv(n, 4))\n    store(o + 1, triton.cdiv(BLOCK, 5))\n    store(o + 2, "
       "tl.cdiv(-7, 2))\n"
       "    store(o + 3, next_power_of_2(BLOCK))\n    store(o + 4, min(n, BLOCK))\n    store(o + "
       "5, max(n, BLOCK, 99))\n"
       "    store(o + 6, min(BLOCK, 5))\n    store(o + 7, len((1, 2, 3)))\n    store(o + 8, "
       "int(3.9) + int(\"7\"))\n"
       "    store(o + 9, abs(-4))\n    store(o + 10, isinstance(n, tl.tensor) and "
       "isinstance(BLOCK, tl.constexpr))\n"
       "    store(o + 11, tl.max(arange(0, next_power_of_2(BLOCK)), 0))\n"
       "    static_assert(float(\"-inf\") < 0 and o.dtype.element_ty == tl.int32 and "
       "o.dtype.is_ptr())\n"
       "    static_assert(tl.float16.primitive_bitwidth == 16 and tl.bfloat16.is_floating() and "
       "not tl.uint8.is_int_signed())\n",
       1, BUF(o), NUM(10));
   static const int32_t want[12] = {3, 5, -3, 32, 10, 99, 5, 3, 10, 4, 1, 31};
   assert_memory_equal(o, want, sizeof want);
}

static void
hints_and_barriers_change_nothing(void **state)
{
   (void)state;
   static int32_t x[64], y[64];
   for (unsigned i = 0; i < 64; i++)
      x[i] = (int32_t)i * 3;
   RUN("def k(p: *i32, o: *i32, n: i32):\n    i = tl.max_contiguous(tl.multiple_of(arange(0, 64), "
       "64), 64)\n"
       "    tl.assume(n > 0)\n    s = tl.max_constancy(zeros((64,), int32) + n, [64])\n    store(o "
       "+ i, load(p + i))\n"
       "    tl.debug_barrier()\n    store(o + i, load(o + (i + 1) % 64) + s - n)\n    "
       "tl.device_assert(n < 0, \"off\")\n",
       1, BUF(x), BUF(y), NUM(64));
   for (unsigned i = 0; i < 64; i++)
      assert_int_equal(y[i], x[(i + 1) % 64]);
}

int
test_builtin_run(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(division_truncates_at_run_time_and_floors_at_compile_time),
      cmocka_unit_test(integer_operators_are_exact),
      cmocka_unit_test(comparisons_order_nan_as_ieee),
      cmocka_unit_test(casts_round_saturate_and_wrap),
      cmocka_unit_test(subscripts_and_truth_as_triton_has_them),
      cmocka_unit_test(methods_of_halves),
      cmocka_unit_test(operators_as_methods),
      cmocka_unit_test(a_way_without_return),
      cmocka_unit_test(products_of_batches),
      cmocka_unit_test(microscaled_products),
      cmocka_unit_test(half_arithmetic_rounds_each_step),
      cmocka_unit_test(reductions_fold_along_their_axis),
      cmocka_unit_test(reductions_widen_as_triton_does),
      cmocka_unit_test(user_combines_take_tuples),
      cmocka_unit_test(scans_and_histogram),
      cmocka_unit_test(softmax_sums_to_one),
      cmocka_unit_test(shape_operations_move_elements),
      cmocka_unit_test(map_runs_a_scalar_function),
      cmocka_unit_test(masks_select_elements),
      cmocka_unit_test(undefined_lanes_are_diagnosed),
      cmocka_unit_test(booleans_are_bytes),
      cmocka_unit_test(pointers_are_values),
      cmocka_unit_test(block_pointers_walk_an_array),
      cmocka_unit_test(descriptors_pad_and_drop),
      cmocka_unit_test(dot_accumulates_in_the_result_type),
      cmocka_unit_test(batched_dot),
      cmocka_unit_test(atomics_return_the_old_value),
      cmocka_unit_test(programs_count_and_wrap),
      cmocka_unit_test(python_helpers_agree_with_python),
      cmocka_unit_test(hints_and_barriers_change_nothing),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
