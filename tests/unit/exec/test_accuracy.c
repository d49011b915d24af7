/* Rows of docs/accuracy.md: fp64 on the CPU executor, whose bits the other executors share, against
 * the C library's long double functions.  tests/gpu/accuracy_mpfr.c measures every row, where there
 * is MPFR. */
#include "support/accuracy.h"
#include "support/builtin_run.h"

#include <stdio.h>

enum { N = 1024, ROUNDS = 8 };
static double in_x[N], in_y[N], out[N];

typedef long double Oracle(long double x, long double y);
#define ONE(name, expr)                                                                            \
   static long double o_##name(long double x, long double y)                                       \
   {                                                                                               \
      (void)y;                                                                                     \
      return expr;                                                                                 \
   }
ONE(exp, expl(x))
ONE(exp2, exp2l(x))
ONE(exp10, powl(10, x))
ONE(expm1, expm1l(x))
ONE(log, logl(x))
ONE(log2, log2l(x))
ONE(log10, log10l(x))
ONE(log1p, log1pl(x))
ONE(sin, sinl(x))
ONE(cos, cosl(x))
ONE(tan, tanl(x))
ONE(erf, erfl(x))
ONE(erfc, erfcl(x))
ONE(sqrt, sqrtl(x))
ONE(rsqrt, 1 / sqrtl(x))
ONE(div, x / y)
ONE(fma, fmal(x, y, x))
ONE(sigmoid, 1 / (1 + expl(-x)))
ONE(tanh, tanhl(x))
ONE(sinh, sinhl(x))
ONE(cosh, coshl(x))
ONE(asinh, asinhl(x))
ONE(acosh, acoshl(x))
ONE(atanh, atanhl(x))
ONE(atan, atanl(x))
ONE(atan2, atan2l(x, y))
ONE(asin, asinl(x))
ONE(acos, acosl(x))
ONE(cbrt, cbrtl(x))
ONE(pow, powl(x, y))
ONE(hypot, hypotl(x, y))
#undef ONE

typedef enum Domain {
   ANY,      /* both signs, all exponents, evenly in the exponent */
   POSITIVE, /* the same, positive */
   MEDIUM,   /* both signs, evenly between -limit and limit, and in the exponent below it */
   POWERS,   /* x positive, y so that x**y stays finite */
} Domain;

static const struct {
   const char *expr;
   Oracle *oracle;
   Domain domain;
   double limit;
} functions[] = {
   {"exp(x)", o_exp, MEDIUM, 746},
   {"exp2(x)", o_exp2, MEDIUM, 1076},
   {"log(x)", o_log, POSITIVE, 0},
   {"log2(x)", o_log2, POSITIVE, 0},
   {"sin(x)", o_sin, ANY, 0},
   {"cos(x)", o_cos, ANY, 0},
   {"erf(x)", o_erf, MEDIUM, 7},
   {"sqrt(x)", o_sqrt, POSITIVE, 0},
   {"sqrt_rn(x)", o_sqrt, POSITIVE, 0},
   {"rsqrt(x)", o_rsqrt, POSITIVE, 0},
   {"x / y", o_div, MEDIUM, 100},
   {"div_rn(x, y)", o_div, MEDIUM, 100},
   {"fma(x, y, x)", o_fma, MEDIUM, 100},
   {"sigmoid(x)", o_sigmoid, MEDIUM, 700},
   {"libdevice.tanh(x)", o_tanh, MEDIUM, 23},
   {"libdevice.exp10(x)", o_exp10, MEDIUM, 324},
   {"libdevice.expm1(x)", o_expm1, MEDIUM, 710},
   {"libdevice.log1p(x)", o_log1p, POSITIVE, 0},
   {"libdevice.log1p(x)", o_log1p, MEDIUM, 1},
   {"libdevice.log10(x)", o_log10, POSITIVE, 0},
   {"libdevice.sinh(x)", o_sinh, MEDIUM, 711},
   {"libdevice.cosh(x)", o_cosh, MEDIUM, 711},
   {"libdevice.asinh(x)", o_asinh, ANY, 0},
   {"libdevice.acosh(x)", o_acosh, POSITIVE, 0},
   {"libdevice.atanh(x)", o_atanh, MEDIUM, 1},
   {"libdevice.atan(x)", o_atan, ANY, 0},
   {"libdevice.atan2(x, y)", o_atan2, MEDIUM, 100},
   {"libdevice.asin(x)", o_asin, MEDIUM, 1},
   {"libdevice.acos(x)", o_acos, MEDIUM, 1},
   {"libdevice.tan(x)", o_tan, ANY, 0},
   {"libdevice.cbrt(x)", o_cbrt, ANY, 0},
   {"libdevice.pow(x, y)", o_pow, POWERS, 0},
   {"libdevice.hypot(x, y)", o_hypot, MEDIUM, 100},
   {"libdevice.erfc(x)", o_erfc, MEDIUM, 28},
};
enum { NUM = sizeof functions / sizeof functions[0] };

static const double special[] = {
   0.0,
   -0.0,
   INFINITY,
   -INFINITY,
   NAN,
   1,
   -1,
   0.5,
   -0.5,
   5e-324,
   -5e-324,
   2.2250738585072014e-308,
   2.2250738585072009e-308,
   1.7976931348623157e308,
   -1.7976931348623157e308,
   709.78271289338397,
   709.78271289338409,
   -745.13321910194110,
   1024,
   -1074,
   -1075,
   0.70710678118654757,
   1.4142135623730951,
   0.78539816339744828,
   1.5707963267948966,
   3.1415926535897931,
   6381956970095103.0 * 0x1p797 /* the double nearest to a multiple of pi / 2 */,
   0.99999999999999989,
   1.0000000000000002,
   1e22,
   0x1p-60,
   -0x1p-60,
};
enum { SPECIAL = sizeof special / sizeof special[0] };

static void
draw(Domain d, double limit, unsigned round, uint64_t *seed)
{
   for (unsigned i = 0; i < N; i++) {
      double u = random_unit(seed), sign = next_random(seed) & 1 ? -1 : 1;
      double any = ldexp(1 + u, (int)(next_random(seed) % 2098) - 1074);
      in_y[i] = (random_unit(seed) * 2 - 1) * (limit > 0 ? limit : 1);
      if (d == MEDIUM)
         in_x[i] =
            round % 2 ? sign * u * limit : sign * limit * ldexp(u, -(int)(next_random(seed) % 60));
      else if (d == POWERS) {
         in_x[i] = round % 2 ? ldexp(1 + u, (int)(next_random(seed) % 2046) - 1022)
                             : 1 + sign * ldexp(u, -2 - (int)(next_random(seed) % 40));
         in_y[i] *= 1080 / (fabs(log2(in_x[i])) + 1e-9);
      } else
         in_x[i] = round % 2 && d == POSITIVE ? 0.5 + 1.5 * u : d == POSITIVE ? any : sign * any;
   }
   for (unsigned i = 0; i < SPECIAL && round < 2; i++) {
      in_x[i] = special[i];
      if (d != POWERS && round == 1)
         in_y[i] = special[(i * 7 + 3) % SPECIAL];
   }
}

/* In ulp of fp64 around the exact value, whose own error is about 0.0005 ulp. */
static double
ulp64(double got, long double want)
{
   if (isnan(want) || isnan(got))
      return isnan(want) && isnan(got) ? 0 : INFINITY;
   double rounded = (double)want;
   if (isinf(got) || isinf(rounded))
      return got == rounded ? 0 : fabsl(want) > 0x1.fffffffffffffp1023L ? 1 : INFINITY;
   int e = want == 0 ? -1022 : ilogbl(want);
   return (double)(fabsl(got - want) / ldexpl(1, (e < -1022 ? -1022 : e) - 52));
}

static double
measure(unsigned f, uint64_t seed, double *at)
{
   double worst = 0;
   char source[512];
   snprintf(source, sizeof source,
            "def k(px: *fp64, py: *fp64, o: *fp64):\n    i = arange(0, 1024)\n"
            "    x = load(px + i)\n    y = load(py + i)\n    store(o + i, %s)\n",
            functions[f].expr);
   for (unsigned round = 0; round < ROUNDS; round++) {
      draw(functions[f].domain, functions[f].limit, round, &seed);
      RUN(source, 1, BUF(in_x), BUF(in_y), BUF(out));
      for (unsigned i = 0; i < N; i++) {
         double e = ulp64(out[i], functions[f].oracle(in_x[i], in_y[i]));
         if (e > worst) {
            worst = e;
            at[0] = in_x[i], at[1] = in_y[i], at[2] = out[i];
         }
      }
   }
   return worst;
}

static void
fp64_functions_keep_their_published_bounds(void **state)
{
   (void)state;
   static char text[ACCURACY_BYTES];
   assert_true(read_bounds(TL_SOURCE_DIR "/docs/accuracy.md", text));
   unsigned failures = 0;
   for (unsigned f = 0; f < NUM; f++) {
      uint64_t seed = 1000 + f;
      double at[3] = {0}, worst = measure(f, seed, at);
      double bound = published(text, functions[f].expr, "fp64");
      if (worst <= bound)
         continue;
      print_error("%-24s fp64: %.3f ulp, docs/accuracy.md says %g; x = %a, y = %a gave %a\n",
                  functions[f].expr, worst, bound, at[0], at[1], at[2]);
      failures++;
   }
   assert_int_equal(failures, 0);
}

int test_accuracy(void);
int
test_accuracy(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(fp64_functions_keep_their_published_bounds),
   };
   return cmocka_run_group_tests_name("accuracy", tests, NULL, NULL);
}
