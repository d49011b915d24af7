/* Every elementwise function, from table or stdlib, run on the CPU executor against C's double
 * precision functions, with the ulp bound that stdlib/math.tile states; special values; the random
 * numbers against the published vectors; sorting against qsort. */
#include "support/builtin_run.h"

enum { N = 1024 };
static float in_x[N], in_y[N], out[N];

/* ---- oracles ---- */
typedef double Oracle(double x, double y);
#define ONE(name, expr)                                                                            \
   static double o_##name(double x, double y)                                                      \
   {                                                                                               \
      (void)y;                                                                                     \
      return expr;                                                                                 \
   }
#define PI 3.14159265358979323846
static double
sin_pi(double x)
{
   double r = x - 2 * rint(x / 2);
   r = r > 0.5 ? 1 - r : r < -0.5 ? -1 - r : r;
   double s = sin(PI * r);
   return s == 0 ? copysign(0, x) : s;
}
#define OF_Y(name, expr)                                                                           \
   static double o_##name(double x, double y)                                                      \
   {                                                                                               \
      (void)x;                                                                                     \
      return expr;                                                                                 \
   }
/* The sum of (x / 2)**(2 k + n) / (k! (k + n)!), whose terms have one sign. */
static double
modified_bessel(int n, double x)
{
   double term = n ? x / 2 : 1, sum = 0;
   for (int k = 1; sum + term != sum; k++) {
      sum += term;
      term *= x * x / (4.0 * k * (k + n));
   }
   return sum;
}
ONE(exp, exp(x))
ONE(exp2, exp2(x))
ONE(log, log(x))
ONE(log2, log2(x))
ONE(sin, sin(x))
ONE(cos, cos(x))
ONE(sqrt, sqrt(x))
ONE(rsqrt, 1 / sqrt(x))
ONE(erf, erf(x))
ONE(floor, floor(x))
ONE(ceil, ceil(x))
ONE(abs, fabs(x))
ONE(tanh, tanh(x))
ONE(rint, rint(x))
ONE(trunc, trunc(x))
ONE(div, x / y)
ONE(sigmoid, 1 / (1 + exp(-x)))
ONE(max, fmax(x, y))
ONE(min, fmin(x, y))
ONE(fma, x *y + x)
ONE(log1p, log1p(x))
ONE(log10, log10(x))
ONE(expm1, expm1(x))
ONE(exp10, pow(10, x))
ONE(sinh, sinh(x))
ONE(cosh, cosh(x))
ONE(asinh, asinh(x))
ONE(acosh, acosh(x))
ONE(atanh, atanh(x))
ONE(atan, atan(x))
ONE(atan2, atan2(x, y))
ONE(asin, asin(x))
ONE(acos, acos(x))
ONE(tan, tan(x))
ONE(sinpi, sin_pi(x))
ONE(cospi, sin_pi(0.5 - fabs(x - 2 * rint(x / 2))))
ONE(cbrt, cbrt(x))
ONE(rcbrt, 1 / cbrt(x))
ONE(pow, pow(x, y))
ONE(pow1, x)
ONE(pow2, x *x)
ONE(pow3, x * x * x)
ONE(pow4, x * x * x * x)
ONE(erfc, erfc(x))
ONE(erfcx, exp(x *x) * erfc(x))
ONE(erfcx_all, x > 20 ? 0.56418958354775628 / x : exp(x * x) * erfc(x))
ONE(normcdf, 0.5 * erfc(-x * sqrt(0.5)))
ONE(lgamma, lgamma(x))
ONE(tgamma, tgamma(x))
ONE(j0, j0(x))
ONE(j1, j1(x))
ONE(j7, jn(7, x))
ONE(y0, y0(x))
ONE(y1, y1(x))
ONE(y7, yn(7, x))
ONE(y0_abs, y0(fabs(x)))
ONE(y1_abs, y1(fabs(x)))
ONE(y7_abs, yn(7, fabs(x)))
ONE(i0, modified_bessel(0, x))
ONE(i1, modified_bessel(1, x))
ONE(hypot, hypot(x, y))
ONE(rhypot, 1 / hypot(x, y))
ONE(fdim, fdim(x, y))
ONE(fmod, fmod(x, y))
ONE(domf, fmod(y, x))
ONE(remainder, remainder(x, y))
ONE(round, round(x))
ONE(clamp, fmin(fmax(x, -1), y))
ONE(copysign, copysign(x, y))
ONE(sub, x - y)
ONE(norm3, sqrt(x *x + y * y + x * x))
ONE(norm4, sqrt(2 * x * x + 2 * y * y))
ONE(rcp, 1 / x)
ONE(sat, fmin(fmax(x, 0), 1))
ONE(exponent, logb(x))
ONE(scale, ldexp(x, 3))
ONE(identity, x)
OF_Y(sqrt_y, sqrt(y))
OF_Y(rcp_y, 1 / y)
ONE(mul_x, fma(x, y, x))
ONE(mul, x *y)
ONE(add, x + y)

static const struct {
   const char *expr;
   Oracle *oracle;
   double x_low, x_high, y_low, y_high; /* x_low > 0 and x_high / x_low > 1e4: logarithmic */
   double ulp;
} functions[] = {
   {"exp(x)", o_exp, -87, 88, 0, 0, 1},
   {"math.exp2(x)", o_exp2, -125, 127, 0, 0, 1},
   {"log(x)", o_log, 1e-37, 1e38, 0, 0, 1},
   {"tl.log2(x)", o_log2, 1e-37, 1e38, 0, 0, 1},
   {"x.sin()", o_sin, -100, 100, 0, 0, 1},
   {"tl.math.cos(x)", o_cos, -100, 100, 0, 0, 1},
   {"sqrt(x)", o_sqrt, 1e-37, 1e38, 0, 0, 1},
   {"sqrt_rn(x)", o_sqrt, 1e-37, 1e38, 0, 0, 0.5},
   {"rsqrt(x)", o_rsqrt, 1e-37, 1e38, 0, 0, 1},
   {"erf(x)", o_erf, -4, 4, 0, 0, 1},
   {"floor(x)", o_floor, -9, 9, 0, 0, 0},
   {"ceil(x)", o_ceil, -9, 9, 0, 0, 0},
   {"abs(x)", o_abs, -9, 9, 0, 0, 0},
   {"x / y", o_div, -9, 9, 1, 9, 1},
   {"div_rn(x, y)", o_div, -9, 9, 1, 9, 0.5},
   {"fdiv(x, y)", o_div, -9, 9, 1, 9, 1},
   {"fma(x, y, x)", o_fma, -9, 9, 1, 9, 0.51},
   {"sigmoid(x)", o_sigmoid, -80, 80, 0, 0, 2},
   {"maximum(x, y)", o_max, -9, 9, -9, 9, 0},
   {"minimum(x, y)", o_min, -9, 9, -9, 9, 0},
   {"clamp(x, -1.0, y)", o_clamp, -9, 9, 1, 3, 0},
   {"x % y", o_fmod, -99, 99, 1, 9, 0},
   {"sub(x, y)", o_sub, -9, 9, 1, 9, 0.5},
   {"tl.add(x, y)", o_add, -9, 9, 1, 9, 0.5},
   {"tl.mul(x, y)", o_mul, -9, 9, 1, 9, 0.5},
   {"max(x, y)", o_max, -9, 9, -9, 9, 0},
   {"min(x, y)", o_min, -9, 9, -9, 9, 0},
   {"libdevice.tanh(x)", o_tanh, -10, 10, 0, 0, 1},
   {"libdevice.rint(x)", o_rint, -99, 99, 0, 0, 0},
   {"libdevice.nearbyint(x)", o_rint, -99, 99, 0, 0, 0},
   {"libdevice.trunc(x)", o_trunc, -99, 99, 0, 0, 0},
   {"libdevice.log1p(x)", o_log1p, -0.999, 9, 0, 0, 2},
   {"libdevice.log1p(x)", o_log1p, 1e-9, 1e30, 0, 0, 2},
   {"libdevice.log10(x)", o_log10, 1e-44, 1e38, 0, 0, 3},
   {"libdevice.log10(x)", o_log10, 0.5, 2, 0, 0, 3},
   {"libdevice.expm1(x)", o_expm1, -20, 88, 0, 0, 2},
   {"libdevice.expm1(x)", o_expm1, 1e-9, 1, 0, 0, 2},
   {"libdevice.exp10(x)", o_exp10, -37, 38, 0, 0, 2},
   {"libdevice.sinh(x)", o_sinh, -89, 89, 0, 0, 3},
   {"libdevice.cosh(x)", o_cosh, -89, 89, 0, 0, 3},
   {"libdevice.asinh(x)", o_asinh, -9, 9, 0, 0, 3},
   {"libdevice.asinh(x)", o_asinh, 1e-9, 1e38, 0, 0, 3},
   {"libdevice.acosh(x)", o_acosh, 1, 3, 0, 0, 3},
   {"libdevice.acosh(x)", o_acosh, 1, 1e38, 0, 0, 3},
   {"libdevice.atanh(x)", o_atanh, -0.999, 0.999, 0, 0, 3},
   {"libdevice.atan(x)", o_atan, -9, 9, 0, 0, 2},
   {"libdevice.atan(x)", o_atan, 1e-9, 1e38, 0, 0, 2},
   {"libdevice.atan2(x, y)", o_atan2, -9, 9, -9, 9, 3},
   {"libdevice.asin(x)", o_asin, -1, 1, 0, 0, 1},
   {"libdevice.acos(x)", o_acos, -1, 1, 0, 0, 1},
   {"libdevice.tan(x)", o_tan, -10, 10, 0, 0, 3},
   {"libdevice.fast_tanf(x)", o_tan, -10, 10, 0, 0, 3},
   {"libdevice.sinpi(x)", o_sinpi, -9, 9, 0, 0, 1},
   {"libdevice.cospi(x)", o_cospi, -9, 9, 0, 0, 1},
   {"libdevice.cbrt(x)", o_cbrt, -9, 9, 0, 0, 1},
   {"libdevice.cbrt(x)", o_cbrt, 1e-44, 1e38, 0, 0, 1},
   {"libdevice.rcbrt(x)", o_rcbrt, 1, 9, 0, 0, 1},
   {"libdevice.pow(x, y)", o_pow, 1e-3, 1e3, -12, 12, 3},
   {"libdevice.pow(x, y)", o_pow, 0.9, 1.1, -600, 600, 3},
   {"libdevice.pow(x, y)", o_pow, 0x1.8ef1b2p-37, 0x1.8ef1b2p-37, -0x1.c29b06p+1, -3.5, 3},
   {"libdevice.pow(x, 2)", o_pow2, 1e-3, 1e3, 0, 0, 0.51},
   {"libdevice.pow(x, 3.0)", o_pow3, -9, 9, 0, 0, 1.5},
   {"libdevice.pow(x, 4)", o_pow4, -9, 9, 0, 0, 3},
   {"libdevice.fast_powf(x, y)", o_pow, 0.5, 4, -4, 4, 16},
   {"libdevice.erfc(x)", o_erfc, -4, 9, 0, 0, 4},
   {"libdevice.erfc(x)", o_erfc, 0.82, 0.83, 0, 0, 3.6},
   {"libdevice.erfcx(x)", o_erfcx, -4, 9, 0, 0, 4},
   {"libdevice.erfcx(x)", o_erfcx, 0.77, 0.775, 0, 0, 2.2},
   {"libdevice.normcdf(x)", o_normcdf, -12, 5, 0, 0, 5},
   {"libdevice.lgamma(x)", o_lgamma, 0.5, 2.5, 0, 0, 1},
   {"libdevice.lgamma(x)", o_lgamma, 8, 1e5, 0, 0, 1},
   {"libdevice.tgamma(x)", o_tgamma, 0.01, 34, 0, 0, 1},
   {"libdevice.tgamma(x)", o_tgamma, -6.99, -0.01, 0, 0, 1},
   {"libdevice.lgamma(x)", o_lgamma, -30, 30, 0, 0, 1},
   {"libdevice.fmod(x, y)", o_fmod, 1e-44, 1e38, 1, 9, 0},
   {"libdevice.fmod(y, x)", o_domf, 1e-44, 1e38, 1, 9, 0},
   {"libdevice.remainder(x, y)", o_remainder, 1e-44, 1e38, 1, 9, 0},
   {"libdevice.j0(x)", o_j0, -40, 40, 0, 0, 1},
   {"libdevice.j1(x)", o_j1, -40, 40, 0, 0, 1},
   {"libdevice.jn(7, x)", o_j7, -40, 40, 0, 0, 1},
   {"libdevice.jn(7, x)", o_j7, 1e-3, 1e3, 0, 0, 1},
   {"libdevice.y0(x)", o_y0, 1e-38, 1e4, 0, 0, 1},
   {"libdevice.y1(x)", o_y1, 1e-38, 1e4, 0, 0, 1},
   {"libdevice.yn(7, x)", o_y7, 1e-3, 1e3, 0, 0, 1},
   {"libdevice.cyl_bessel_i0(x)", o_i0, -90, 90, 0, 0, 1},
   {"libdevice.cyl_bessel_i1(x)", o_i1, -90, 90, 0, 0, 1},
   {"libdevice.hypot(x, y)", o_hypot, 1e-30, 1e30, 1, 9, 1},
   {"libdevice.rhypot(x, y)", o_rhypot, -9, 9, 1, 9, 1},
   {"libdevice.norm3d(x, y, x)", o_norm3, -9, 9, 1, 9, 1},
   {"libdevice.norm4d(x, y, x, y)", o_norm4, -9, 9, 1, 9, 1},
   {"1.0 / libdevice.rnorm3d(x, y, x)", o_norm3, -9, 9, 1, 9, 2},
   {"1.0 / libdevice.rnorm4d(x, y, x, y)", o_norm4, -9, 9, 1, 9, 2},
   {"libdevice.fdim(x, y)", o_fdim, -9, 9, 1, 9, 0.5},
   {"libdevice.fmod(x, y)", o_fmod, -99, 99, 1, 9, 0},
   {"libdevice.remainder(x, y)", o_remainder, -99, 99, 1, 9, 0},
   {"libdevice.round(x)", o_round, -9, 9, 0, 0, 0},
   {"libdevice.llround(x)", o_round, -9, 9, 0, 0, 0},
   {"libdevice.llrint(x)", o_rint, -9, 9, 0, 0, 0},
   {"libdevice.copysign(x, y)", o_copysign, -9, 9, -9, 9, 0},
   {"libdevice.rcp64h(x)", o_rcp, 1, 9, 0, 0, 9},
   {"libdevice.rcp_rn(x)", o_rcp, 1, 9, 0, 0, 0.5},
   {"libdevice.saturatef(x)", o_sat, -2, 2, 0, 0, 0},
   {"libdevice.logb(x)", o_exponent, 1e-44, 1e38, 0, 0, 0},
   {"libdevice.ilogb(x)", o_exponent, 1e-44, 1e38, 0, 0, 0},
   {"libdevice.ldexp(x, 3)", o_scale, -9, 9, 0, 0, 0},
   {"libdevice.scalbn(x, 3)", o_scale, -9, 9, 0, 0, 0},
   {"libdevice.add_rn(x, y)", o_add, -9, 9, 1, 9, 0.5},
   {"libdevice.sub_rn(x, y)", o_sub, -9, 9, 1, 9, 0.5},
   {"libdevice.mul_rn(x, y)", o_mul, -9, 9, 1, 9, 0.5},
   {"libdevice.fma_rn(x, y, x)", o_fma, -9, 9, 1, 9, 0.51},
   {"libdevice.fast_expf(x)", o_exp, -9, 9, 0, 0, 1},
   {"libdevice.fast_logf(x)", o_log, 1, 9, 0, 0, 1},
   {"libdevice.fast_log2f(x)", o_log2, 1, 9, 0, 0, 1},
   {"libdevice.fast_log10f(x)", o_log10, 2, 9, 0, 0, 3},
   {"libdevice.fast_sinf(x)", o_sin, -3, 3, 0, 0, 1},
   {"libdevice.fast_cosf(x)", o_cos, -3, 3, 0, 0, 1},
   {"libdevice.fast_exp10f(x)", o_exp10, -2, 2, 0, 0, 16},
   {"libdevice.fast_tanhf(x)", o_tanh, -3, 3, 0, 0, 1},
   {"libdevice.fast_dividef(x, y)", o_div, -9, 9, 1, 9, 1},
   {"libdevice.rsqrt_rn(x)", o_rsqrt, 1, 9, 0, 0, 1},
   {"libdevice.erf(libdevice.erfinv(x))", o_identity, -0.999, 0.999, 0, 0, 8},
   {"libdevice.erfc(libdevice.erfcinv(x))", o_identity, 0.01, 1.99, 0, 0, 24},
   {"libdevice.normcdf(libdevice.normcdfinv(x))", o_identity, 0.01, 0.99, 0, 0, 24},
   {"libdevice.int_as_float(libdevice.float_as_int(x))", o_identity, -9, 9, 0, 0, 0},
   {"libdevice.uint_as_float(libdevice.float_as_uint(x))", o_identity, -9, 9, 0, 0, 0},
   {"libdevice.float2int_rn(x)", o_rint, -9, 9, 0, 0, 0},
   {"libdevice.float2int_rd(x)", o_floor, -9, 9, 0, 0, 0},
   {"libdevice.float2ll_ru(x)", o_ceil, -9, 9, 0, 0, 0},
   {"libdevice.float2uint_rz(x)", o_trunc, 0, 9, 0, 0, 0},
   {"libdevice.double2float_rn(x.to(float64))", o_identity, -9, 9, 0, 0, 0},
   {"libdevice.hiloint2double(libdevice.double2hiint(x.to(float64)), "
    "libdevice.double2loint(x.to(float64)))",
    o_identity, -9, 9, 0, 0, 0},
   {"libdevice.hypot(x.to(float64), y.to(float64))", o_hypot, -9, 9, 1, 9, 0.5},
};

static void
fill(float *v, double low, double high, uint64_t *seed)
{
   bool logarithmic = low > 0 && high / low > 1e4;
   for (unsigned i = 0; i < N; i++) {
      double u = i == 0 ? 0 : i == 1 ? 1 : random_unit(seed);
      v[i] = (float)(logarithmic ? low * pow(high / low, u) : low + (high - low) * u);
   }
}

static void
functions_are_within_their_bounds(void **state)
{
   (void)state;
   unsigned failed = 0;
   uint64_t seed = 12345;
   for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
      char source[1024];
      snprintf(source, sizeof source,
               "def k(px: *fp32, py: *fp32, po: *fp32):\n    i = arange(0, 1024)\n"
               "    x = load(px + i)\n    y = load(py + i)\n    store(po + i, %s)\n",
               functions[f].expr);
      fill(in_x, functions[f].x_low, functions[f].x_high, &seed);
      fill(in_y, functions[f].y_low, functions[f].y_high, &seed);
      RUN(source, 1, BUF(in_x), BUF(in_y), BUF(out));
      double worst = -1;
      unsigned at = 0;
      for (unsigned i = 0; i < N; i++) {
         double e = ulp_error(out[i], functions[f].oracle(in_x[i], in_y[i]));
         if (e > worst)
            worst = e, at = i;
      }
      if (worst > functions[f].ulp) {
         print_error("%s: %.3g ulp, bound %.3g, at x = %.9g, y = %.9g: got %.9g, want %.9g\n",
                     functions[f].expr, worst, functions[f].ulp, (double)in_x[at], (double)in_y[at],
                     (double)out[at], functions[f].oracle(in_x[at], in_y[at]));
         failed++;
      }
   }
   assert_int_equal(failed, 0);
}

/* ---- special values ---- */
static void
special_values_follow_c(void **state)
{
   (void)state;
   static const float values[] = {0.0f, -0.0f, 1.0f,     -1.0f,     0.5f, -0.5f,  2.0f,    -2.0f,
                                  3.0f, -3.0f, INFINITY, -INFINITY, NAN,  1e-45f, 3.4e38f, -1.5f};
   static const struct {
      const char *expr;
      Oracle *oracle;
   } rows[] = {
      {"libdevice.pow(x, y)", o_pow},
      {"libdevice.atan2(x, y)", o_atan2},
      {"libdevice.hypot(x, y)", o_hypot},
      {"libdevice.log1p(x)", o_log1p},
      {"libdevice.log10(x)", o_log10},
      {"libdevice.expm1(x)", o_expm1},
      {"libdevice.sinh(x)", o_sinh},
      {"libdevice.cosh(x)", o_cosh},
      {"libdevice.asinh(x)", o_asinh},
      {"libdevice.acosh(x)", o_acosh},
      {"libdevice.atanh(x)", o_atanh},
      {"libdevice.atan(x)", o_atan},
      {"libdevice.asin(x)", o_asin},
      {"libdevice.acos(x)", o_acos},
      {"libdevice.cbrt(x)", o_cbrt},
      {"libdevice.erfc(x)", o_erfc},
      {"libdevice.lgamma(x)", o_lgamma},
      {"libdevice.tgamma(x)", o_tgamma},
      {"libdevice.round(x)", o_round},
      {"libdevice.fmod(x, y)", o_fmod},
      {"libdevice.erfcx(x)", o_erfcx_all},
      {"libdevice.remainder(x, y)", o_remainder},
      {"libdevice.rhypot(x, y)", o_rhypot},
      {"libdevice.logb(x)", o_exponent},
      {"libdevice.sinpi(x)", o_sinpi},
      {"libdevice.cospi(x)", o_cospi},
      {"libdevice.rcbrt(x)", o_rcbrt},
      {"libdevice.exp10(x)", o_exp10},
      {"maximum(x, y)", o_max},
      {"libdevice.j0(x)", o_j0},
      {"libdevice.j1(x)", o_j1},
      {"libdevice.jn(7, x)", o_j7},
      {"libdevice.y0(abs(x))", o_y0_abs},
      {"libdevice.y1(abs(x))", o_y1_abs},
      {"libdevice.yn(7, abs(x))", o_y7_abs},
      {"minimum(x, y)", o_min},
      {"libdevice.tanh(x)", o_tanh},
      {"libdevice.pow(x, 1)", o_pow1},
      {"libdevice.pow(x, 2)", o_pow2},
      {"libdevice.pow(x, 3)", o_pow3},
      {"libdevice.pow(x, 4.0)", o_pow4},
   };
   unsigned failed = 0;
   for (unsigned i = 0; i < 256; i++)
      in_x[i] = values[i / 16], in_y[i] = values[i % 16];
   for (size_t f = 0; f < sizeof rows / sizeof rows[0]; f++) {
      char source[512];
      snprintf(source, sizeof source,
               "def k(px: *fp32, py: *fp32, po: *fp32):\n    i = arange(0, 256)\n"
               "    x = load(px + i)\n    y = load(py + i)\n    store(po + i, %s)\n",
               rows[f].expr);
      RUN(source, 1, BUF(in_x), BUF(in_y), BUF(out));
      for (unsigned i = 0; i < 256; i++) {
         double want = rows[f].oracle(in_x[i], in_y[i]);
         bool any_zero = rows[f].oracle == o_max || rows[f].oracle == o_min; /* as in C */
         bool is_other_zero = want == 0 && !any_zero && !signbit(out[i]) != !signbit(want);
         if (ulp_error(out[i], want) > 32 || is_other_zero) {
            print_error("%s at x = %g, y = %g: got %g, want %g\n", rows[f].expr, (double)in_x[i],
                        (double)in_y[i], (double)out[i], want);
            failed++;
         }
      }
   }
   assert_int_equal(failed, 0);
}

/* The C library's own error, and ours, is beside the value or, near a zero, beside 1. */
static bool
is_near(double got, double want)
{
   if (isnan(want) || isinf(want))
      return isnan(want) ? isnan(got) : got == want;
   return fabs(got - want) <= 2e-13 * fmax(fabs(want), fmin(1, fabs(want) * 1e20));
}

/* Orders in a tile; NaN for orders below zero, as in CUDA. */
static void
bessel_functions_take_any_order(void **state)
{
   (void)state;
   static int32_t order[N];
   static double x[N], j[N], y[N];
   uint64_t seed = 77;
   for (unsigned i = 0; i < N; i++) {
      order[i] = (int32_t)(i % 65) - 1;
      x[i] = i == 1 ? INFINITY : i == 2 ? 0 : i == 3 ? NAN : 60 * random_unit(&seed);
   }
   RUN("def k(pn: *i32, px: *fp64, pj: *fp64, py: *fp64):\n    i = arange(0, 1024)\n"
       "    n = load(pn + i)\n    x = load(px + i)\n"
       "    store(pj + i, libdevice.jn(n, x))\n    store(py + i, libdevice.yn(n, x))\n",
       1, BUF(order), BUF(x), BUF(j), BUF(y));
   for (unsigned i = 0; i < N; i++) {
      int n = order[i];
      if (!is_near(j[i], n < 0 ? NAN : jn(n, x[i])) || !is_near(y[i], n < 0 ? NAN : yn(n, x[i])))
         fail_msg("n = %d, x = %.17g: J %.17g, not %.17g; Y %.17g, not %.17g", n, x[i], j[i],
                  jn(n, x[i]), y[i], yn(n, x[i]));
   }
}

/* ---- rounding in a direction ---- */
/* The float next to v downward, upward or toward zero. */
static float
rounded(long double v, char direction)
{
   float f = (float)v;
   bool up = direction == 'u' || (direction == 'z' && v < 0);
   bool wrong = up ? (long double)f < v : (long double)f > v;
   return wrong ? nextafterf(f, up ? INFINITY : -INFINITY) : f;
}

static void
directed_arithmetic_is_next_to_the_exact_value(void **state)
{
   (void)state;
   static const struct {
      const char *name, *args;
      Oracle *oracle; /* in fp64 with more bits than it takes to see the direction */
   } rows[] = {{"add", "x, y", o_add},     {"sub", "x, y", o_sub},  {"mul", "x, y", o_mul},
               {"div", "x, y", o_div},     {"sqrt", "y", o_sqrt_y}, {"rcp", "y", o_rcp_y},
               {"fma", "x, y, x", o_mul_x}};
   uint64_t seed = 31;
   for (unsigned f = 0; f < 3 * sizeof rows / sizeof rows[0]; f++) {
      char source[512], direction = "duz"[f % 3];
      snprintf(source, sizeof source,
               "def k(px: *fp32, py: *fp32, po: *fp32):\n    i = arange(0, 1024)\n"
               "    x = load(px + i)\n    y = load(py + i)\n"
               "    store(po + i, libdevice.%s_r%c(%s))\n",
               rows[f / 3].name, direction, rows[f / 3].args);
      fill(in_x, -9, 9, &seed);
      fill(in_y, 1, 9, &seed);
      RUN(source, 1, BUF(in_x), BUF(in_y), BUF(out));
      for (unsigned i = 0; i < N; i++) {
         float want = rounded((long double)rows[f / 3].oracle(in_x[i], in_y[i]), direction);
         if (out[i] != want)
            fail_msg("%s_r%c of %a, %a: %a, not %a", rows[f / 3].name, direction, (double)in_x[i],
                     (double)in_y[i], (double)out[i], (double)want);
      }
   }
}

/* In fp64 the rest of a product, which fma gives, has the sign of the direction. */
static void
directed_fp64_and_conversions_have_their_direction(void **state)
{
   (void)state;
   static double x[N], y[N], r[3][N];
   static int64_t n[N];
   static float converted[3][N];
   static double wide[2][N];
   uint64_t seed = 32;
   for (unsigned i = 0; i < N; i++) {
      x[i] = random_unit(&seed) * 2 - 1;
      y[i] = ldexp(random_unit(&seed) + 1, (int)(i % 40) - 20);
      n[i] = (int64_t)next_random(&seed);
   }
   RUN("def k(px: *fp64, py: *fp64, pn: *i64, o: *fp64, c: *fp32, w: *fp64):\n"
       "    i = arange(0, 1024)\n    x = load(px + i)\n    y = load(py + i)\n"
       "    n = load(pn + i)\n"
       "    store(o + i, libdevice.mul_rd(x, y))\n"
       "    store(o + 1024 + i, libdevice.mul_ru(x, y))\n"
       "    store(o + 2048 + i, libdevice.mul_rz(x, y))\n"
       "    store(c + i, libdevice.double2float_rd(x))\n"
       "    store(c + 1024 + i, libdevice.ll2float_ru(n))\n"
       "    store(c + 2048 + i, libdevice.ull2float_rz(n.to(uint64)))\n"
       "    store(w + i, libdevice.ll2double_rd(n))\n"
       "    store(w + 1024 + i, libdevice.ull2double_ru(n.to(uint64)))\n",
       1, BUF(x), BUF(y), BUF(n), BUF(r), BUF(converted), BUF(wide));
   for (unsigned i = 0; i < N; i++) {
      double down = r[0][i], up = r[1][i];
      assert_true(fma(x[i], y[i], -down) >= 0 && fma(x[i], y[i], -up) <= 0);
      assert_true(up == down || up == nextafter(down, INFINITY));
      assert_true(r[2][i] == (x[i] < 0 ? up : down));
      assert_true(converted[0][i] == rounded((long double)x[i], 'd'));
      assert_true(converted[1][i] == rounded((long double)n[i], 'u'));
      assert_true(converted[2][i] == rounded((long double)(uint64_t)n[i], 'z'));
      long double below = (long double)n[i] - (long double)wide[0][i];
      long double above = (long double)wide[1][i] - (long double)(uint64_t)n[i];
      assert_true(below >= 0 && below < 2048 && above >= 0 && above < 4096);
   }
}

/* ---- bits ---- */
static void
bit_functions_are_exact(void **state)
{
   (void)state;
   static uint32_t x[N], y[N], r[12][N];
   static uint64_t wide[3][N];
   uint64_t seed = 99;
   for (unsigned i = 0; i < N; i++) {
      x[i] = i < 33 ? (uint32_t)((UINT64_C(1) << i) - (i & 1)) : (uint32_t)next_random(&seed);
      y[i] = (uint32_t)next_random(&seed);
   }
   RUN("def k(px: *i32, py: *i32, o: *i32, w: *i64):\n"
       "    i = arange(0, 1024)\n    x = load(px + i)\n    y = load(py + i)\n    u = x.to(uint32)\n"
       "    v = y.to(uint32)\n"
       "    store(o + i, libdevice.popc(x))\n    store(o + 1024 + i, libdevice.clz(x))\n"
       "    store(o + 2048 + i, libdevice.ffs(x))\n    store(o + 3072 + i, libdevice.brev(x))\n"
       "    store(o + 4096 + i, libdevice.byte_perm(x, y, y))\n    store(o + 5120 + i, "
       "libdevice.hadd(x, y))\n"
       "    store(o + 6144 + i, libdevice.rhadd(u, v))\n    store(o + 7168 + i, umulhi(u, v))\n"
       "    store(o + 8192 + i, libdevice.mulhi(x, y))\n    store(o + 9216 + i, libdevice.mul24(x, "
       "y))\n"
       "    store(o + 10240 + i, next_power_of_2(x & 0xFFFFFF))\n    store(o + 11264 + i, "
       "libdevice.sad(x, y, u))\n"
       "    z = (x.to(int64) << 32) | u.to(int64)\n"
       "    store(w + i, libdevice.popc(z))\n    store(w + 1024 + i, libdevice.clz(z))\n"
       "    store(w + 2048 + i, libdevice.brev(z))\n",
       1, BUF(x), BUF(y), BUF(r), BUF(wide));
   for (unsigned i = 0; i < N; i++) {
      uint32_t a = x[i], b = y[i], rev = 0;
      for (unsigned k = 0; k < 32; k++)
         rev |= (a >> k & 1) << (31 - k);
      uint64_t pool = (uint64_t)b << 32 | a, z = (uint64_t)a << 32 | a;
      uint32_t perm = 0;
      for (unsigned k = 0; k < 4; k++)
         perm |= (uint32_t)(pool >> (b >> 4 * k & 7) * 8 & 255) << 8 * k;
      assert_int_equal(r[0][i], __builtin_popcount(a));
      assert_int_equal(r[1][i], a ? __builtin_clz(a) : 32);
      assert_int_equal(r[2][i], __builtin_ffs((int)a));
      assert_int_equal(r[3][i], rev);
      assert_int_equal(r[4][i], perm);
      assert_int_equal((int32_t)r[5][i], ((int64_t)(int32_t)a + (int32_t)b) >> 1);
      assert_int_equal(r[6][i], ((uint64_t)a + b + 1) >> 1);
      assert_int_equal(r[7][i], (uint64_t)a * b >> 32);
      assert_int_equal(r[8][i], (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32));
      int32_t la = (int32_t)(a << 8) >> 8, lb = (int32_t)(b << 8) >> 8;
      assert_int_equal(r[9][i], (uint32_t)la * (uint32_t)lb);
      uint32_t low = a & 0xFFFFFF, p = 1;
      while (p < low)
         p *= 2;
      assert_int_equal(r[10][i], low ? p : 0);
      assert_int_equal(r[11][i], (uint32_t)((int32_t)a > (int32_t)b ? a - b : b - a) + a);
      assert_int_equal(wide[0][i], __builtin_popcountll(z));
      assert_int_equal(wide[1][i], z ? __builtin_clzll(z) : 64);
      assert_int_equal(wide[2][i], (uint64_t)rev << 32 | rev);
   }
}

/* ---- random numbers ---- */
static void
philox_matches_the_published_vectors(void **state)
{
   (void)state;
   /* Random123's known answers: counter, key, result */
   static const uint32_t want32[3][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
       0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1}};
   static const uint64_t want64[3][10] = {
      {0, 0, 0, 0, 0, 0, 0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b,
       0x7e68b68aec7ba23b},
      {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, 0x87b092c3013fe90b, 0x438c3c67be8d0224,
       0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0},
      {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
       0x452821e638d01377, 0xbe5466cf34e90c6c, 0xa528f45403e61d95, 0x38c72dbd566e9788,
       0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}};
   for (unsigned v = 0; v < 3; v++) {
      uint32_t in[6], got[4], by_seed[4];
      uint64_t wide[6], got64[4];
      memcpy(in, want32[v], sizeof in);
      memcpy(wide, want64[v], sizeof wide);
      RUN("def k(p: *u32, o: *u32, q: *u32, seed: u64):\n"
          "    a, b, c, d = tl.philox_impl(load(p), load(p + 1), load(p + 2), load(p + 3), load(p "
          "+ 4), load(p + 5))\n"
          "    store(o, a)\n    store(o + 1, b)\n    store(o + 2, c)\n    store(o + 3, d)\n"
          "    a, b, c, d = tl.philox(seed, load(p), load(p + 1), load(p + 2), load(p + 3))\n"
          "    store(q, a)\n    store(q + 1, b)\n    store(q + 2, c)\n    store(q + 3, d)\n",
          1, BUF(in), BUF(got), BUF(by_seed), NUM((uint64_t)in[5] << 32 | in[4]));
      RUN("def k(p: *u64, o: *u64):\n"
          "    a, b, c, d = tl.philox_impl(load(p), load(p + 1), load(p + 2), load(p + 3), load(p "
          "+ 4), load(p + 5))\n"
          "    store(o, a)\n    store(o + 1, b)\n    store(o + 2, c)\n    store(o + 3, d)\n",
          1, BUF(wide), BUF(got64));
      for (unsigned i = 0; i < 4; i++) {
         assert_int_equal(got[i], want32[v][6 + i]);
         assert_int_equal(by_seed[i], want32[v][6 + i]);
         assert_true(got64[i] == want64[v][6 + i]);
      }
   }
}

static void
reference_philox(uint64_t seed, uint64_t offset, uint32_t c[4])
{
   uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
   c[0] = (uint32_t)offset, c[1] = (uint32_t)(offset >> 32), c[2] = c[3] = 0;
   for (unsigned r = 0; r < 10; r++) {
      uint64_t a = (uint64_t)0xD2511F53 * c[0], b = (uint64_t)0xCD9E8D57 * c[2];
      uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(a >> 32) ^ c[3] ^ k1;
      c[0] = n0, c[1] = (uint32_t)b, c[2] = n2, c[3] = (uint32_t)a;
      k0 += 0x9E3779B9, k1 += 0xBB67AE85;
   }
}

static float
uniform(uint32_t bits)
{
   int32_t v = (int32_t)bits;
   v = v < 0 ? -v - 1 : v;
   return (float)v * 4.6566127342e-10f;
}

static void
random_streams_are_bit_equal(void **state)
{
   (void)state;
   static float u[N], wide_u[N], normal[N], four[4][N], gauss[4][N];
   static uint32_t bits[N];
   int64_t base = INT64_C(0x123456789);
   RUN("def k(u: *fp32, w: *fp32, g: *fp32, b: *u32, f: *fp32, q: *fp32, base: i64, seed: i32):\n"
       "    i = arange(0, 1024)\n    store(u + i, rand(seed, i))\n    store(w + i, tl.rand(seed, "
       "base + i))\n"
       "    store(g + i, randn(seed, i))\n    store(b + i, randint(seed, i))\n"
       "    c0, c1, c2, c3 = tl.rand4x(seed, i)\n"
       "    store(f + i, c0)\n    store(f + 1024 + i, c1)\n    store(f + 2048 + i, c2)\n    "
       "store(f + 3072 + i, c3)\n"
       "    g0, g1, g2, g3 = tl.randn4x(seed, i)\n"
       "    store(q + i, g0)\n    store(q + 1024 + i, g1)\n    store(q + 2048 + i, g2)\n    "
       "store(q + 3072 + i, g3)\n",
       1, BUF(u), BUF(wide_u), BUF(normal), BUF(bits), BUF(four), BUF(gauss), NUM(base),
       NUM((uint32_t)-7));
   for (unsigned i = 0; i < N; i++) {
      uint32_t c[4];
      reference_philox((uint64_t)-7, i, c);
      assert_int_equal(bits[i], c[0]);
      assert_true(u[i] == uniform(c[0]) && u[i] >= 0 && u[i] < 1);
      for (unsigned w = 0; w < 4; w++)
         assert_true(four[w][i] == uniform(c[w]));
      for (unsigned w = 0; w < 4; w += 2) {
         double r = sqrt(-2 * log(fmax(1e-7, uniform(c[w])))), th = 2 * PI * uniform(c[w + 1]);
         assert_true(fabs(gauss[w][i] - r * cos(th)) < 4e-6);
         assert_true(fabs(gauss[w + 1][i] - r * sin(th)) < 4e-6);
      }
      assert_true(normal[i] == gauss[0][i]);
      reference_philox((uint64_t)-7, (uint64_t)base + i, c);
      assert_true(wide_u[i] == uniform(c[0]));
   }
}

/* ---- sorting ---- */
static int
by_value(const void *a, const void *b)
{
   float x = *(const float *)a, y = *(const float *)b;
   return (x > y) - (x < y);
}

static void
sort_orders_every_row(void **state)
{
   (void)state;
   static float x[8][64], up[8][64], down[8][64], top[8][4], merged[8][64];
   static int32_t ints[128], sorted[128];
   static uint8_t bytes[32], sorted_bytes[32];
   uint64_t seed = 5;
   for (unsigned i = 0; i < 512; i++)
      x[i / 64][i % 64] = (float)(next_random(&seed) % 1000) - 500.0f;
   for (unsigned i = 0; i < 128; i++)
      ints[i] = (int32_t)next_random(&seed);
   for (unsigned i = 0; i < 32; i++)
      bytes[i] = (uint8_t)next_random(&seed);
   RUN("def k(p: *fp32, u: *fp32, d: *fp32, t: *fp32, m: *fp32, pi: *i32, si: *i32, pb: *u8, sb: "
       "*u8):\n"
       "    r = arange(0, 8)[:, None]\n    c = arange(0, 64)[None, :]\n    at = r * 64 + c\n"
       "    x = load(p + at)\n    s = tl.sort(x)\n    store(u + at, s)\n"
       "    store(d + at, tl.sort(x, descending=True))\n"
       "    store(t + r * 4 + arange(0, 4)[None, :], tl.topk(x, 4))\n"
       "    store(m + at, tl.bitonic_merge(where(c < 32, load(u + r * 64 + 2 * (c % 32)), load(u + "
       "r * 64 + 2 * ((63 - c) % 32) + 1))))\n"
       "    i = arange(0, 128)\n    store(si + i, tl.sort(load(pi + i)))\n"
       "    j = arange(0, 32)\n    store(sb + j, tl.sort(load(pb + j)))\n",
       1, BUF(x), BUF(up), BUF(down), BUF(top), BUF(merged), BUF(ints), BUF(sorted), BUF(bytes),
       BUF(sorted_bytes));
   for (unsigned r = 0; r < 8; r++) {
      qsort(x[r], 64, sizeof x[r][0], by_value);
      for (unsigned c = 0; c < 64; c++) {
         assert_true(up[r][c] == x[r][c]);
         assert_true(down[r][c] == x[r][63 - c]);
         assert_true(merged[r][c] == x[r][c]);
      }
      for (unsigned c = 0; c < 4; c++)
         assert_true(top[r][c] == x[r][63 - c]);
   }
   for (unsigned i = 1; i < 128; i++)
      assert_true(sorted[i - 1] <= sorted[i]);
   for (unsigned i = 1; i < 32; i++)
      assert_true(sorted_bytes[i - 1] <= sorted_bytes[i]);
   uint64_t sums[2] = {0};
   for (unsigned i = 0; i < 128; i++)
      sums[0] += (uint32_t)ints[i], sums[1] += (uint32_t)sorted[i];
   assert_true(sums[0] == sums[1]);
}

static void
swizzle_visits_groups_in_columns(void **state)
{
   (void)state;
   static int32_t at[2][24];
   RUN("def k(o: *i32):\n    i = arange(0, 32)\n"
       "    a, b = tl.swizzle2d(i // 4, i % 4, 6, 4, 4)\n"
       "    store(o + i, a, mask=i < 24)\n    store(o + 24 + i, b, mask=i < 24)\n",
       1, BUF(at));
   bool seen[6][4] = {{false}};
   for (unsigned k = 0; k < 24; k++) {
      unsigned first = k / 16 * 4, rows = first + 4 > 6 ? 6 - first : 4, in = k % 16;
      assert_int_equal(at[0][k], first + in % rows);
      assert_int_equal(at[1][k], in / rows);
      assert_false(seen[at[0][k]][at[1][k]]);
      seen[at[0][k]][at[1][k]] = true;
   }
}

static void
combine_helpers_are_usable(void **state)
{
   (void)state;
   static int32_t x[8] = {3, -5, 7, 7, 0, -9, 2, 1}, o[12];
   RUN("def k(p: *i32, o: *i32):\n    i = arange(0, 8)\n    x = load(p + i)\n"
       "    store(o, tl.reduce(x, 0, tl.standard._sum_combine))\n"
       "    store(o + 1, tl.reduce(x, 0, tl.standard._prod_combine))\n"
       "    store(o + 2, tl.reduce(x, 0, tl.standard._xor_combine))\n"
       "    store(o + 3, tl.reduce(x, 0, tl.standard._or_combine))\n"
       "    store(o + 4, tl.reduce(x, 0, tl.standard._elementwise_max))\n"
       "    store(o + 5, tl.reduce(x, 0, tl.standard._elementwise_min))\n"
       "    v, n = tl.reduce((x, i), 0, tl.standard._argmax_combine_tie_break_left)\n"
       "    store(o + 6, n)\n"
       "    v, n = tl.reduce((x, i), 0, tl.standard._argmin_combine_tie_break_left)\n"
       "    store(o + 7, n)\n"
       "    v, n = tl.reduce((x, i), 0, tl.standard._argmax_combine_tie_break_fast)\n"
       "    store(o + 8, v)\n"
       "    v, n = tl.reduce((x, i), 0, tl.standard._argmin_combine_tie_break_fast)\n"
       "    store(o + 9, n)\n    store(o + 10, tl.standard._log2(64))\n"
       "    store(o + 11, tl.standard._is_power_of_two(64))\n"
       "    tl.static_assert(not tl.standard._is_power_of_two(48))\n",
       1, BUF(x), BUF(o));
   int32_t xors = 0, ors = 0;
   for (unsigned i = 0; i < 8; i++)
      xors ^= x[i], ors |= x[i];
   const int32_t want[12] = {6, 0, xors, ors, 7, -9, 2, 5, 7, 5, 6, 1};
   assert_memory_equal(o, want, sizeof want);
}

static void
predicates_classify_floats(void **state)
{
   (void)state;
   static float x[8] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-45f}, next[8];
   static double d[8];
   static int32_t o[6][8];
   for (unsigned i = 0; i < 8; i++)
      d[i] = x[i];
   RUN("def k(p: *fp32, q: *fp64, o: *i32, n: *fp32):\n    i = arange(0, 8)\n    x = load(p + i)\n"
       "    d = load(q + i)\n    store(o + i, libdevice.isnan(x))\n"
       "    store(o + 8 + i, libdevice.isinf(d))\n    store(o + 16 + i, libdevice.finitef(x))\n"
       "    store(o + 24 + i, libdevice.isfinited(d))\n    store(o + 32 + i, "
       "libdevice.signbit(x))\n"
       "    bits = libdevice.longlong_as_double(libdevice.double_as_longlong(d))\n"
       "    store(o + 40 + i, (bits == d) | (d != d))\n    store(n + i, libdevice.nextafter(x, x * "
       "0.0 + 2.0))\n",
       1, BUF(x), BUF(d), BUF(o), BUF(next));
   for (unsigned i = 0; i < 8; i++) {
      assert_int_equal(o[0][i], isnan(x[i]) != 0);
      assert_int_equal(o[1][i], isinf(x[i]) != 0);
      assert_int_equal(o[2][i], isfinite(x[i]) != 0);
      assert_int_equal(o[3][i], isfinite(x[i]) != 0);
      assert_int_equal(o[4][i], signbit(x[i]) != 0);
      assert_int_equal(o[5][i], 1);
      float want = isfinite(x[i]) ? nextafterf(x[i], 2.0f) : NAN;
      assert_true(isnan(want) ? isnan(next[i]) : next[i] == want);
   }
}

int
test_stdlib_run(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_within_their_bounds),
      cmocka_unit_test(special_values_follow_c),
      cmocka_unit_test(bessel_functions_take_any_order),
      cmocka_unit_test(directed_arithmetic_is_next_to_the_exact_value),
      cmocka_unit_test(directed_fp64_and_conversions_have_their_direction),
      cmocka_unit_test(bit_functions_are_exact),
      cmocka_unit_test(philox_matches_the_published_vectors),
      cmocka_unit_test(random_streams_are_bit_equal),
      cmocka_unit_test(sort_orders_every_row),
      cmocka_unit_test(swizzle_visits_groups_in_columns),
      cmocka_unit_test(combine_helpers_are_usable),
      cmocka_unit_test(predicates_classify_floats),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
