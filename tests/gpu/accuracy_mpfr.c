/* The functions of docs/accuracy.md on the CPU executor, with --strict-fp, against MPFR.
 *    accuracy_mpfr [--type fp64|fp32] [--count N] [--only TEXT] [--table PAGE.md] [--out FILE.tsv]
 *    accuracy_mpfr --judge RESULTS.tsv
 * The first takes N arguments of each function: of all exponents, evenly within the function's
 * range, evenly in exponents near 1, and close to whole numbers and to the ends of that range; its
 * lines are those of gpu/accuracy.c.  A row of PAGE.md that is missed fails the run.  The second
 * evaluates in fp64, the judge of gpu/accuracy.c, at the arguments that it reported, and says how
 * far the judge is off. */
#include "support/accuracy.h"
#include "tilec/runtime.h"
#include "tilec/tilec.h"

#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 1024, MOST = 1 << 20, PRECISION = 192 };

/* ---- oracles ---- */
typedef void Oracle(mpfr_t r, const mpfr_t x, const mpfr_t y, double got);
#define N MPFR_RNDN
#define ORACLE(name, ...)                                                                          \
   static void o_##name(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)                      \
   {                                                                                               \
      (void)y;                                                                                     \
      (void)got;                                                                                   \
      __VA_ARGS__;                                                                                 \
   }
#define ONE(name) ORACLE(name, mpfr_##name(r, x, N))
#define TWO(name) ORACLE(name, mpfr_##name(r, x, y, N))
ONE(exp)
ONE(exp2)
ONE(exp10)
ONE(expm1)
ONE(log)
ONE(log2)
ONE(log10)
ONE(log1p)
ONE(sqrt)
ORACLE(rsqrt, mpfr_sqrt(r, x, N); mpfr_ui_div(r, 1, r, N)) /* of -0 the negative infinity */
ONE(cbrt)
ORACLE(rcbrt, mpfr_cbrt(r, x, N); mpfr_ui_div(r, 1, r, N))
TWO(div)
ORACLE(rcp, mpfr_ui_div(r, 1, x, N))
TWO(pow)
TWO(hypot)
ORACLE(rhypot, mpfr_hypot(r, x, y, N); mpfr_ui_div(r, 1, r, N))
ONE(sin)
ONE(cos)
ONE(tan)
ONE(sinpi)
ONE(cospi)
ONE(asin)
ONE(acos)
ONE(atan)
TWO(atan2)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(asinh)
ONE(acosh)
ONE(atanh)
ONE(erf)
ONE(erfc)
ORACLE(tgamma, mpfr_gamma(r, x, N))
ONE(j0)
ONE(j1)
ONE(y0)
ONE(y1)
ORACLE(jn, mpfr_jn(r, mpfr_get_si(y, N), x, N))
ORACLE(yn, mpfr_yn(r, mpfr_get_si(y, N), x, N))
TWO(fmod)
TWO(remainder)
ORACLE(fdim, mpfr_dim(r, x, y, N))
ORACLE(ldexp, mpfr_mul_2si(r, x, -3, N))
ONE(rint)
ORACLE(round, mpfr_round(r, x))
ORACLE(trunc, mpfr_trunc(r, x))
ORACLE(floor, mpfr_floor(r, x))
ORACLE(ceil, mpfr_ceil(r, x))

/* sqrt(a x**2 + b y**2), or its reciprocal; the scaled squares cannot overflow in MPFR. */
static void
length(mpfr_t r, const mpfr_t x, const mpfr_t y, unsigned a, unsigned b)
{
   mpfr_t t;
   mpfr_init2(t, PRECISION);
   mpfr_sqr(r, x, N);
   mpfr_mul_ui(r, r, a, N);
   mpfr_sqr(t, y, N);
   mpfr_mul_ui(t, t, b, N);
   if (mpfr_inf_p(x) || mpfr_inf_p(y)) /* before NaN */
      mpfr_set_inf(r, 1);
   else
      mpfr_add(r, r, t, N);
   mpfr_sqrt(r, r, N);
   mpfr_clear(t);
}
ORACLE(norm3d, length(r, x, y, 2, 1))
ORACLE(rnorm3d, length(r, x, y, 2, 1); mpfr_ui_div(r, 1, r, N))
ORACLE(norm4d, length(r, x, y, 2, 2))
ORACLE(rnorm4d, length(r, x, y, 2, 2); mpfr_ui_div(r, 1, r, N))

static void
o_lgamma(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)
{
   int sign;
   (void)y;
   (void)got;
   mpfr_lgamma(r, &sign, x, N);
}

static void
o_logb(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)
{
   (void)y;
   (void)got;
   if (mpfr_zero_p(x))
      mpfr_set_inf(r, -1);
   else if (mpfr_regular_p(x))
      mpfr_set_si(r, mpfr_get_exp(x) - 1, N);
   else
      mpfr_abs(r, x, N);
}

/* exp(x**2) erfc(x); for large x 1 / (x sqrt(pi)) less the next term of its series. */
static void
o_erfcx(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)
{
   mpfr_t t;
   (void)y;
   (void)got;
   mpfr_init2(t, PRECISION);
   mpfr_sqr(t, x, N);
   if (mpfr_cmp_d(x, 1e9) > 0) {
      mpfr_const_pi(t, N);
      mpfr_rec_sqrt(t, t, N);
      mpfr_div(r, t, x, N);
   } else {
      mpfr_exp(t, t, N);
      mpfr_erfc(r, x, N);
      mpfr_mul(r, r, t, N);
   }
   mpfr_clear(t);
}

static void
o_normcdf(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)
{
   mpfr_t t;
   mpfr_init2(t, PRECISION);
   mpfr_sqrt_ui(t, 2, N);
   mpfr_div(t, x, t, N);
   mpfr_neg(t, t, N);
   o_erfc(r, t, y, got);
   mpfr_div_2ui(r, r, 1, N);
   mpfr_clear(t);
}

/* I_n(x): the sum of (x / 2)**(2 k + n) / (k! (k + n)!), whose terms have one sign. */
static void
modified_bessel(mpfr_t r, const mpfr_t x, unsigned n)
{
   if (!mpfr_number_p(x) || mpfr_cmpabs_ui(x, 800) > 0) {
      mpfr_set(r, x, N);
      mpfr_mul(r, r, r, N);
      mpfr_exp(r, r, N); /* beyond every type's range */
      if (n && mpfr_sgn(x) < 0)
         mpfr_neg(r, r, N);
      return;
   }
   mpfr_t term, square;
   mpfr_inits2(PRECISION + 32, term, square, (mpfr_ptr)0);
   mpfr_sqr(square, x, N);
   mpfr_div_2ui(square, square, 2, N);
   mpfr_set_ui(term, 1, N);
   if (n)
      mpfr_div_2ui(term, x, 1, N);
   mpfr_set(r, term, N);
   for (unsigned long k = 1; mpfr_regular_p(term); k++) {
      mpfr_mul(term, term, square, N);
      mpfr_div_ui(term, term, k * (k + n), N);
      if (mpfr_regular_p(term) && mpfr_get_exp(term) < mpfr_get_exp(r) - PRECISION)
         break;
      mpfr_add(r, r, term, N);
   }
   mpfr_clears(term, square, (mpfr_ptr)0);
}
ORACLE(i0, modified_bessel(r, x, 0))
ORACLE(i1, modified_bessel(r, x, 1))

/* t with erfc(t) = c, for c in 0 .. 2, by Newton's method from near it. */
static void
inverse_erfc(mpfr_t t, const mpfr_t c, double near)
{
   mpfr_t e, d, log_c;
   mpfr_inits2(PRECISION + 64, e, d, log_c, (mpfr_ptr)0);
   bool upper = mpfr_cmp_ui(c, 1) < 0;
   mpfr_set_d(t, near, N);
   mpfr_log(log_c, c, N);
   for (unsigned round = 0; round < 12; round++) {
      mpfr_sqr(d, t, N);
      mpfr_exp(d, d, N); /* exp(t**2) */
      mpfr_erfc(e, t, N);
      if (upper) { /* on the logarithm: (log e - log c) e exp(t**2) sqrt(pi) / 2 */
         mpfr_mul(d, d, e, N);
         mpfr_log(e, e, N);
         mpfr_sub(e, e, log_c, N);
      } else {
         mpfr_sub(e, e, c, N);
      }
      mpfr_mul(d, d, e, N);
      mpfr_const_pi(e, N);
      mpfr_sqrt(e, e, N);
      mpfr_mul(d, d, e, N);
      mpfr_div_2ui(d, d, 1, N);
      mpfr_add(t, t, d, N);
      if (!mpfr_regular_p(d) || !mpfr_regular_p(t) ||
          mpfr_get_exp(d) < mpfr_get_exp(t) - PRECISION + 40)
         break;
   }
   mpfr_clears(e, d, log_c, (mpfr_ptr)0);
}

/* c is 1 - x exactly, in as many bits as that takes; c > 1 by symmetry. */
static void
inverse_of_complement(mpfr_t r, const mpfr_t c, double got)
{
   mpfr_t other;
   mpfr_init2(other, mpfr_get_prec(c) + 8);
   if (mpfr_nan_p(c) || mpfr_sgn(c) < 0 || mpfr_cmp_ui(c, 2) > 0) {
      mpfr_set_nan(r);
   } else if (mpfr_zero_p(c) || mpfr_cmp_ui(c, 2) == 0) {
      mpfr_set_inf(r, mpfr_zero_p(c) ? 1 : -1);
   } else if (mpfr_cmp_ui(c, 1) <= 0) {
      inverse_erfc(r, c, got);
   } else {
      mpfr_ui_sub(other, 2, c, N);
      inverse_erfc(r, other, -got);
      mpfr_neg(r, r, N);
   }
   mpfr_clear(other);
}

ORACLE(erfcinv, inverse_of_complement(r, x, got))

/* Of small x by its series' first terms: 1 - x would take too many bits. */
static void
o_erfinv(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)
{
   mpfr_t c;
   (void)y;
   mpfr_init2(c, 1200);
   if (mpfr_cmpabs(x, x) == 0 && mpfr_regular_p(x) && mpfr_get_exp(x) < -100) {
      mpfr_const_pi(r, N);
      mpfr_sqrt(r, r, N);
      mpfr_div_2ui(r, r, 1, N);
      mpfr_mul(r, r, x, N);
   } else {
      mpfr_prec_t before = mpfr_get_prec(r);
      mpfr_ui_sub(c, 1, x, N);
      mpfr_set_prec(r, PRECISION + 240);
      inverse_of_complement(r, c, got);
      mpfr_prec_round(r, before, N);
   }
   if (mpfr_zero_p(x))
      mpfr_set(r, x, N);
   mpfr_clear(c);
}

static void
o_normcdfinv(mpfr_t r, const mpfr_t x, const mpfr_t y, double got)
{
   mpfr_t c, two;
   mpfr_inits2(PRECISION, c, two, (mpfr_ptr)0);
   mpfr_mul_2ui(c, x, 1, N);
   o_erfcinv(r, c, y, -got / sqrt(2));
   mpfr_sqrt_ui(two, 2, N);
   mpfr_mul(r, r, two, N);
   mpfr_neg(r, r, N);
   mpfr_clears(c, two, (mpfr_ptr)0);
}

/* ---- the table ---- */
typedef enum Second { NONE, NEAR, POWER, ORDER } Second;
enum { FLUSH = 1, BELOW_8 = 2, NEGATIVE = 4, ABSOLUTE = 8 };

static const struct Function {
   const char *expr;
   Oracle *oracle;
   Second second;
   double low, high;
   unsigned flags;
} functions[] = {
#define FUNCTION(id, expr, second, low, high, cuda32, cuda64, flags)                               \
   {expr, o_##id, second, low, high, flags},
#include "gpu/functions.def"
};
typedef struct Function Function;
enum { NUM = sizeof functions / sizeof functions[0] };

/* ---- arguments ---- */
static uint64_t
next_random(uint64_t *state) /* SplitMix64 */
{
   uint64_t z = (*state += 0x9E3779B97F4A7C15u);
   z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
   z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
   return z ^ (z >> 31);
}

static double
unit(uint64_t *state)
{
   return (double)(next_random(state) >> 11) * 0x1p-53;
}

static double
any(uint64_t *state, bool is_narrow)
{
   int low = is_narrow ? -149 : -1074, high = is_narrow ? 128 : 1024;
   double sign = next_random(state) & 1 ? -1 : 1;
   return sign * ldexp(1 + unit(state), low + (int)(next_random(state) % (unsigned)(high - low)));
}

static double
first_argument(const Function *f, bool is_narrow, unsigned i, uint64_t *state)
{
   static const double special[] = {0,
                                    -0.0,
                                    (double)INFINITY,
                                    -(double)INFINITY,
                                    (double)NAN,
                                    0x1p-1074,
                                    -0x1p-1074,
                                    0x1p-1022,
                                    0x1p-149,
                                    0x1p-126,
                                    1,
                                    -1,
                                    2,
                                    0.5,
                                    -0.5,
                                    -2,
                                    -3,
                                    0x1.fffffep127,
                                    -0x1p1023,
                                    0x1.fffffffffffffp1023,
                                    -0x1.fffffffffffffp1023,
                                    6381956970095103.0 * 0x1p797};
   if (i < sizeof special / sizeof special[0])
      return special[i];
   double inside = f->low + (f->high - f->low) * unit(state);
   double sign = next_random(state) & 1 ? -1 : 1;
   if (i % 4 == 0)
      return any(state, is_narrow);
   if (i % 4 == 1)
      return inside;
   if (i % 4 == 2) /* evenly in the exponent, not far from the range */
      return sign * ldexp(1 + unit(state), (int)(next_random(state) % 24) - 16);
   /* close to a whole number, or to an end of the range */
   double at = i % 8 == 3 ? rint(inside) : next_random(state) & 1 ? f->low : f->high;
   return at + sign * ldexp(1 + unit(state), -1 - (int)(next_random(state) % 60));
}

static double
second_argument(const Function *f, bool is_narrow, double x, unsigned i, uint64_t *state)
{
   double sign = next_random(state) & 1 ? -1 : 1;
   switch (f->second) {
   case NEAR:
      return i % 4 == 0 ? any(state, is_narrow)
                        : sign * x * ldexp(1 + unit(state), (int)(next_random(state) % 9) - 5);
   case POWER:
      return sign * unit(state) * (is_narrow ? 152 : 1080) / (fabs(log2(fabs(x))) + 1e-9);
   case ORDER:
      return (double)(next_random(state) % 41);
   case NONE:
      break;
   }
   return x;
}

/* ---- errors ---- */
typedef struct Most {
   double ulp, ulp_x, ulp_y, far; /* far: the largest absolute error beyond 8 */
   int64_t steps;
   double steps_x, steps_y;
} Most;

static int64_t
ordered(double v, bool is_narrow)
{
   int64_t wide;
   int32_t narrow;
   float f = (float)v;
   memcpy(&wide, &v, 8);
   memcpy(&narrow, &f, 4);
   if (is_narrow)
      return narrow < 0 ? -(int64_t)(narrow & INT32_MAX) : narrow;
   return wide < 0 ? -(wide & INT64_MAX) : wide;
}

static double
error_in_ulp(double got, mpfr_t want, bool is_narrow)
{
   mpfr_t d;
   int least = is_narrow ? -126 : -1022, bits = is_narrow ? 23 : 52, most = is_narrow ? 127 : 1023;
   double rounded = is_narrow ? (double)mpfr_get_flt(want, N) : mpfr_get_d(want, N);
   if (isnan(got) || isnan(rounded))
      return isnan(got) && isnan(rounded) ? 0 : 1e30;
   if (isinf(rounded) || isinf(got))
      return got == rounded ? 0 : isinf(got) == isinf(rounded) ? 1e30 : 1;
   long e = mpfr_zero_p(want) ? least : mpfr_get_exp(want) - 1;
   e = e < least ? least : e > most ? most : e;
   mpfr_init2(d, PRECISION);
   mpfr_sub_d(d, want, got, N);
   mpfr_mul_2si(d, d, bits - e, N);
   double ulp = fabs(mpfr_get_d(d, N));
   mpfr_clear(d);
   return ulp;
}

static void
look(const Function *f, bool is_narrow, double x, double y, double got, Most *most)
{
   mpfr_t a, b, want;
   mpfr_inits2(64, a, b, (mpfr_ptr)0);
   mpfr_init2(want, PRECISION);
   mpfr_set_d(a, x, N);
   mpfr_set_d(b, y, N);
   f->oracle(want, a, b, got);
   double ulp = error_in_ulp(got, want, is_narrow);
   double rounded = is_narrow ? (double)mpfr_get_flt(want, N) : mpfr_get_d(want, N);
   int64_t steps = isnan(got) && isnan(rounded) ? 0
                   : isnan(got) != isnan(rounded)
                      ? INT64_C(1) << 40
                      : llabs(ordered(got, is_narrow) - ordered(rounded, is_narrow));
   if (f->flags & ABSOLUTE || (f->flags & BELOW_8 && fabs(x) >= 8)) {
      mpfr_sub_d(a, want, got, N);
      double far = fabs(mpfr_get_d(a, N));
      most->far = isfinite(far) && fabs(rounded) < 1 && far > most->far ? far : most->far;
   } else if (!(f->flags & NEGATIVE && x > -23.0001 && x < -2.2637)) {
      if (ulp > most->ulp)
         most->ulp = ulp, most->ulp_x = x, most->ulp_y = y;
      if (steps > most->steps)
         most->steps = steps, most->steps_x = x, most->steps_y = y;
   }
   mpfr_clears(a, b, want, (mpfr_ptr)0);
}

/* ---- running ---- */
typedef struct Device {
   TilecRuntime *rt;
   TilecBuffer *x, *y, *out;
} Device;

typedef struct Options {
   bool is_narrow;
   unsigned count;
   const char *only, *table, *out, *judge;
} Options;

static bool
fails(const Device *d, TilecStatus status)
{
   if (status == TILEC_OK)
      return false;
   char text[2048] = "";
   tilec_runtime_error(d->rt, text, sizeof text);
   printf("   %s: %s\n", tilec_status_string(status), text);
   return true;
}

/* out = f(x, y), in fp64 buffers whatever the type is. */
static bool
evaluate(const Device *d, const char *expr, bool is_narrow, unsigned n, const double *x,
         const double *y, double *out)
{
   char text[1024];
   snprintf(text, sizeof text,
            "@kernel(num_warps=4)\n"
            "def k(o: *fp64, px: *fp64, py: *fp64):\n"
            "    i = program_id(0) * 1024 + arange(0, 1024)\n"
            "    x = load(px + i).to(%s)\n    y = load(py + i).to(%s)\n"
            "    store(o + i, (%s).to(fp64))\n",
            is_narrow ? "fp32" : "fp64", is_narrow ? "fp32" : "fp64", expr);
   TilecSource s = {.struct_size = sizeof s,
                    .file = "accuracy.tile",
                    .source = text,
                    .source_bytes = TILEC_STRLEN,
                    .fp_mode = TILEC_FP_STRICT};
   TilecModule *module = NULL;
   TilecKernel *kernel;
   TilecArg args[] = {tilec_view(TILEC_FP64, d->out, 0), tilec_view(TILEC_FP64, d->x, 0),
                      tilec_view(TILEC_FP64, d->y, 0)};
   TilecLaunch launch = {.grid = {(n + LANES - 1) / LANES, 1, 1}};
   bool ok = !fails(d, tilec_buffer_upload(d->x, 0, x, n * 8, NULL)) &&
             !fails(d, tilec_buffer_upload(d->y, 0, y, n * 8, NULL)) &&
             !fails(d, tilec_module_from_source(d->rt, &s, &module)) &&
             !fails(d, tilec_module_kernel(module, "k", &kernel)) &&
             !fails(d, tilec_launch(kernel, &launch, args, 3)) &&
             !fails(d, tilec_buffer_download(d->out, 0, out, n * 8, NULL));
   tilec_module_free(module);
   return ok;
}

static uint64_t
bits_of(double v, bool is_narrow)
{
   uint64_t wide;
   uint32_t narrow;
   float f = (float)v;
   memcpy(&wide, &v, 8);
   memcpy(&narrow, &f, 4);
   return is_narrow ? narrow : wide;
}

static double x[MOST], y[MOST], got[MOST];

static bool
measure(const Device *d, const Options *o, const Function *f, const char *bounds, FILE *out)
{
   const char *type = o->is_narrow ? "fp32" : "fp64";
   uint64_t state = 20261122;
   Most most = {0};
   for (unsigned i = 0; i < o->count; i++) {
      x[i] = first_argument(f, o->is_narrow, i, &state);
      x[i] = o->is_narrow ? (double)(float)x[i] : x[i];
      y[i] = second_argument(f, o->is_narrow, x[i], i, &state);
      y[i] = o->is_narrow ? (double)(float)y[i] : y[i];
   }
   if (!evaluate(d, f->expr, o->is_narrow, o->count, x, y, got))
      return false;
   for (unsigned i = 0; i < o->count; i++)
      look(f, o->is_narrow, x[i], y[i], got[i], &most);
   double bound = bounds && !(f->flags & ABSOLUTE)
                     ? published(bounds, f->expr, o->is_narrow ? "fp32 strict" : "fp64")
                     : (double)INFINITY;
   bool ok = most.ulp <= bound && most.far <= (o->is_narrow ? 6e-8 : 2e-15);
   printf("%-34s %s %8.3f ulp at x = %a, y = %a, %lld steps at x = %a, y = %a", f->expr, type,
          most.ulp, most.ulp_x, most.ulp_y, (long long)most.steps, most.steps_x, most.steps_y);
   if (f->flags & (BELOW_8 | ABSOLUTE))
      printf(", absolute %.3g", most.far);
   puts(ok ? "" : bound < 0 ? ": HAS NO BOUND" : ": MISSES ITS BOUND");
   fflush(stdout);
   if (out)
      fprintf(out, "%s\t%s\t%u\t%.4f\t%016llx\t%016llx\t%lld\t%016llx\t%016llx\t%.3g\n", f->expr,
              type, o->count, most.ulp, (unsigned long long)bits_of(most.ulp_x, o->is_narrow),
              (unsigned long long)bits_of(most.ulp_y, o->is_narrow), (long long)most.steps,
              (unsigned long long)bits_of(most.steps_x, o->is_narrow),
              (unsigned long long)bits_of(most.steps_y, o->is_narrow), most.far);
   return ok;
}

/* One line of gpu/accuracy.c: how far the judge is off there, in ulp of fp32. */
static bool
judge_line(const Device *d, const char *line, double *worst)
{
   char expr[80], mode[16];
   unsigned at[4];
   if (sscanf(line, "%79[^\t]\t%15[^\t]\t%*u\t%*f\t%x\t%x\t%*d\t%x\t%x", expr, mode, &at[0], &at[1],
              &at[2], &at[3]) != 6)
      return true; /* a line of another kind */
   for (unsigned i = 0; i < NUM; i++)
      if (strcmp(functions[i].expr, expr) == 0) {
         Most most = {0};
         for (unsigned k = 0; k < 2; k++) {
            x[k] = (double)as_float(at[2 * k]);
            y[k] = (double)as_float(at[2 * k + 1]);
         }
         if (!evaluate(d, expr, false, 2, x, y, got))
            return false;
         for (unsigned k = 0; k < 2; k++)
            look(&functions[i], false, x[k], y[k], got[k], &most);
         double e = most.ulp * 0x1p-29;
         if (e > *worst)
            printf("%s at x = %a, y = %a: the judge is off by %.2g ulp of fp32\n", expr, most.ulp_x,
                   most.ulp_y, e);
         *worst = e > *worst ? e : *worst;
      }
   return true;
}

static bool
run(const Device *d, const Options *o)
{
   static char text[ACCURACY_BYTES], line[512];
   bool ok = true;
   if (o->judge) {
      FILE *in = fopen(o->judge, "r");
      double worst = 0;
      while (in && ok && fgets(line, sizeof line, in))
         ok = judge_line(d, line, &worst);
      if (in)
         fclose(in);
      printf("the judge is within %.2g ulp of fp32\n", worst);
      return in && ok && worst < 1e-3;
   }
   if (o->table && !read_bounds(o->table, text)) {
      fprintf(stderr, "accuracy_mpfr: %s cannot be read\n", o->table);
      return false;
   }
   FILE *out = o->out ? fopen(o->out, "w") : NULL;
   for (unsigned i = 0; i < NUM; i++)
      if (!o->only || strstr(functions[i].expr, o->only))
         ok &= measure(d, o, &functions[i], o->table ? text : NULL, out);
   return (!out || fclose(out) == 0) && (!o->out || out) && ok;
}

int
main(int argc, char **argv)
{
   Options o = {.count = 4096};
   TilecRuntimeOptions options = {.struct_size = sizeof options, .executor = TILEC_ON_CPU};
   for (int i = 1; i + 1 < argc; i += 2) {
      const char *value = argv[i + 1];
      if (strcmp(argv[i], "--type") == 0)
         o.is_narrow = strcmp(value, "fp32") == 0;
      else if (strcmp(argv[i], "--count") == 0)
         o.count = (unsigned)strtoul(value, NULL, 10);
      else if (strcmp(argv[i], "--only") == 0)
         o.only = value;
      else if (strcmp(argv[i], "--table") == 0)
         o.table = value;
      else if (strcmp(argv[i], "--out") == 0)
         o.out = value;
      else if (strcmp(argv[i], "--judge") == 0)
         o.judge = value;
   }
   o.count = o.count < LANES ? LANES : o.count > MOST ? MOST : o.count / LANES * LANES;
   Device d = {0};
   mpfr_set_emin(mpfr_get_emin_min()); /* exp(x**2) of erfcx */
   mpfr_set_emax(mpfr_get_emax_max());
   bool ok = tilec_runtime_open(&options, &d.rt) == TILEC_OK &&
             !fails(&d, tilec_jit_attach(d.rt, NULL)) &&
             !fails(&d, tilec_buffer_new(d.rt, (uint64_t)MOST * 8, &d.x)) &&
             !fails(&d, tilec_buffer_new(d.rt, (uint64_t)MOST * 8, &d.y)) &&
             !fails(&d, tilec_buffer_new(d.rt, (uint64_t)MOST * 8, &d.out)) && run(&d, &o);
   tilec_buffer_free(d.x);
   tilec_buffer_free(d.y);
   tilec_buffer_free(d.out);
   if (d.rt)
      tilec_runtime_close(d.rt);
   return !ok;
}
