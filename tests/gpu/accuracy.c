/* The errors of every function of docs/accuracy.md on a device: fp32 over all 2^32 arguments (or
 * one in --stride), in both modes, against the C library's double functions on all cores; fp64 over
 * 2^22 arguments against its long double functions.  A row that misses its bound fails the run.
 *    accuracy [--on cuda|sim|cpu] [--stride N] [--only TEXT]
 * Exits with 77 (skipped) on a machine without a GPU.  About 10 s a function on an H200. */
#include "support/accuracy.h"
#include "tilec/runtime.h"
#include "tilec/tilec.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77, MOST_THREADS = 256, CHUNK = 1 << 24, WIDE = 1 << 22 };

typedef long double Oracle(long double x, long double y);
typedef double Oracle32(double x, double y);
#define ONE(name, wide, narrow)                                                                    \
   static long double o_##name(long double x, long double y)                                       \
   {                                                                                               \
      (void)y;                                                                                     \
      return wide;                                                                                 \
   }                                                                                               \
   static double p_##name(double x, double y)                                                      \
   {                                                                                               \
      (void)y;                                                                                     \
      return narrow;                                                                               \
   }
ONE(exp, expl(x), exp(x))
ONE(exp2, exp2l(x), exp2(x))
ONE(log, logl(x), log(x))
ONE(log2, log2l(x), log2(x))
ONE(sin, sinl(x), sin(x))
ONE(cos, cosl(x), cos(x))
ONE(erf, erfl(x), erf(x))
ONE(tanh, tanhl(x), tanh(x))
ONE(sqrt, sqrtl(x), sqrt(x))
ONE(rsqrt, 1 / sqrtl(x), 1 / sqrt(x))
ONE(div, x / y, x / y)
ONE(exp10, powl(10, x), pow(10, x))
ONE(expm1, expm1l(x), expm1(x))
ONE(log1p, log1pl(x), log1p(x))
ONE(log10, log10l(x), log10(x))
ONE(sinh, sinhl(x), sinh(x))
ONE(cosh, coshl(x), cosh(x))
ONE(asinh, asinhl(x), asinh(x))
ONE(acosh, acoshl(x), acosh(x))
ONE(atanh, atanhl(x), atanh(x))
ONE(atan, atanl(x), atan(x))
ONE(asin, asinl(x), asin(x))
ONE(acos, acosl(x), acos(x))
ONE(tan, tanl(x), tan(x))
ONE(cbrt, cbrtl(x), cbrt(x))
ONE(erfc, erfcl(x), erfc(x))
ONE(pow, powl(x, y), pow(x, y))
#undef ONE

typedef struct Function {
   const char *name; /* the row of the table; what stands before a comma is the expression */
   Oracle *wide;     /* of fp64, NULL = not measured there */
   Oracle32 *narrow;
   double limit; /* largest argument; 0 = all */
   bool flushes; /* triton mode: denormal arguments and results may be 0 */
} Function;

static const Function functions[] = {
   {"exp(x)", o_exp, p_exp, 0, true},
   {"exp(x), abs(x) <= 1", NULL, p_exp, 1, true},
   {"exp2(x)", o_exp2, p_exp2, 0, true},
   {"log(x)", o_log, p_log, 0, false},
   {"log2(x)", o_log2, p_log2, 0, false},
   {"sin(x)", o_sin, p_sin, 0, false},
   {"cos(x)", o_cos, p_cos, 0, false},
   {"erf(x)", o_erf, p_erf, 0, false},
   {"libdevice.tanh(x)", o_tanh, p_tanh, 0, false},
   {"sqrt(x)", o_sqrt, p_sqrt, 0, true},
   {"sqrt_rn(x)", o_sqrt, p_sqrt, 0, false},
   {"rsqrt(x)", o_rsqrt, p_rsqrt, 0, true},
   {"x / y", o_div, p_div, 0, true},
   {"div_rn(x, y)", o_div, p_div, 0, false},
   {"libdevice.exp10(x)", o_exp10, p_exp10, 0, true},
   {"libdevice.expm1(x)", o_expm1, p_expm1, 0, true},
   {"libdevice.log1p(x)", o_log1p, p_log1p, 0, false},
   {"libdevice.log10(x)", o_log10, p_log10, 0, false},
   {"libdevice.sinh(x)", o_sinh, p_sinh, 0, true},
   {"libdevice.cosh(x)", o_cosh, p_cosh, 0, true},
   {"libdevice.asinh(x)", o_asinh, p_asinh, 0, false},
   {"libdevice.acosh(x)", o_acosh, p_acosh, 0, false},
   {"libdevice.atanh(x)", o_atanh, p_atanh, 0, false},
   {"libdevice.atan(x)", o_atan, p_atan, 0, false},
   {"libdevice.asin(x)", o_asin, p_asin, 0, false},
   {"libdevice.acos(x)", o_acos, p_acos, 0, false},
   {"libdevice.tan(x)", o_tan, p_tan, 0, false},
   {"libdevice.cbrt(x)", o_cbrt, p_cbrt, 0, false},
   {"libdevice.erfc(x)", o_erfc, p_erfc, 0, true},
   {"libdevice.pow(x, y)", o_pow, p_pow, 0, true},
};
enum { NUM = sizeof functions / sizeof functions[0] };

static double
ulp64(double got, long double want)
{
   if (isnan(want) || isnan(got))
      return isnan(want) && isnan(got) ? 0 : INFINITY;
   double rounded = (double)want;
   if (isinf(got) || isinf(rounded))
      return got == rounded || fabsl(want) > 0x1.ffffffffffff0p1023L ? 0 : INFINITY;
   int e = want == 0 ? -1022 : ilogbl(want);
   return (double)(fabsl(got - want) / ldexpl(1, (e < -1022 ? -1022 : e) - 52));
}

/* ---- comparing on all cores ---- */
typedef struct Worst {
   double ulp, x, y, got;
} Worst;

typedef struct Slice {
   const Function *f;
   bool triton;
   size_t begin, end;
   const float *got32; /* fp32: argument i is first + i * stride */
   uint32_t first, stride;
   const double *x, *y, *got64;
   Worst worst;
} Slice;

static void
look(Slice *s, double e, double x, double y, double got)
{
   if (e > s->worst.ulp)
      s->worst = (Worst){e, x, y, got};
}

static void
compare32(Slice *s, size_t i)
{
   uint32_t bits = s->first + (uint32_t)i * s->stride;
   float x = as_float(bits), y = as_float(bits * 2654435761u);
   bool flushes = s->triton && s->f->flushes;
   if (s->f->limit != 0 && !((double)fabsf(x) <= s->f->limit))
      return;
   bool two = s->f->narrow == p_div || s->f->narrow == p_pow;
   if (flushes && ((x != 0 && fabsf(x) < 0x1p-126f) || (two && y != 0 && fabsf(y) < 0x1p-126f)))
      return;
   if (flushes && s->f->narrow == p_div && !(fabsf(y) < 0x1p126f))
      return;
   double e = ulp32(s->got32[i], s->f->narrow((double)x, (double)y), flushes, 0x1.ffff00p127);
   look(s, e, (double)x, (double)y, (double)s->got32[i]);
}

static void *
compare(void *arg)
{
   Slice *s = arg;
   for (size_t i = s->begin; i < s->end; i++)
      if (s->got32)
         compare32(s, i);
      else
         look(s, ulp64(s->got64[i], s->f->wide(s->x[i], s->y[i])), s->x[i], s->y[i], s->got64[i]);
   return NULL;
}

static void
compare_all(Slice whole, size_t n, Worst *worst)
{
   static Slice slice[MOST_THREADS];
   pthread_t thread[MOST_THREADS];
   long cores = sysconf(_SC_NPROCESSORS_ONLN);
   unsigned num = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (unsigned)cores, made = 0;
   for (unsigned t = 0; t < num; t++) {
      slice[t] = whole;
      slice[t].begin = n * t / num;
      slice[t].end = n * (t + 1) / num;
   }
   while (made < num && pthread_create(&thread[made], NULL, compare, &slice[made]) == 0)
      made++;
   for (unsigned t = made; t < num; t++)
      compare(&slice[t]);
   for (unsigned t = 0; t < num; t++) {
      if (t < made)
         pthread_join(thread[t], NULL);
      if (slice[t].worst.ulp > worst->ulp)
         *worst = slice[t].worst;
   }
}

/* ---- running ---- */
typedef struct Device {
   TilecRuntime *rt;
   TilecBuffer *out, *x, *y;
   float *host;
} Device;

static bool
fails(const Device *d, TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return false;
   char text[2048] = "";
   tilec_runtime_error(d->rt, text, sizeof text);
   printf("   %s: %s: %s\n", what, tilec_status_string(status), text);
   return true;
}

static bool
load_kernel(const Device *d, const Function *f, bool is_wide, bool strict, TilecModule **module,
            TilecKernel **kernel)
{
   char expr[64], text[1024];
   snprintf(expr, sizeof expr, "%s", f->name);
   char *condition = strstr(expr, "), ");
   if (condition && strstr(expr, "<="))
      condition[1] = 0;
   snprintf(text, sizeof text,
            is_wide ? "@kernel(num_warps=4)\n"
                      "def k(o: *fp64, px: *fp64, py: *fp64):\n"
                      "    i = program_id(0) * 1024 + arange(0, 1024)\n"
                      "    x = load(px + i)\n    y = load(py + i)\n    store(o + i, %s)\n"
                    : "@kernel(num_warps=4)\n"
                      "def k(o: *fp32, first: i32, stride: i32):\n"
                      "    i = program_id(0) * 1024 + arange(0, 1024)\n"
                      "    bits = i * stride + first\n"
                      "    x = bits.to(fp32, bitcast=True)\n"
                      "    y = (bits * -1640531535).to(fp32, bitcast=True)\n"
                      "    store(o + i, %s)\n",
            expr);
   TilecSource s = {.struct_size = sizeof s,
                    .file = "accuracy.tile",
                    .source = text,
                    .source_bytes = TILEC_STRLEN,
                    .fp_mode = strict ? TILEC_FP_STRICT : TILEC_FP_TRITON};
   return !fails(d, tilec_module_from_source(d->rt, &s, module), "reading") &&
          !fails(d, tilec_module_kernel(*module, "k", kernel), "finding the kernel");
}

static bool
measure32(const Device *d, const Function *f, bool strict, uint32_t stride, Worst *worst)
{
   TilecModule *module = NULL;
   TilecKernel *kernel;
   bool ok = load_kernel(d, f, false, strict, &module, &kernel);
   uint64_t total = ((uint64_t)1 << 32) / stride / 1024 * 1024;
   for (uint64_t at = 0; ok && at < total; at += CHUNK) {
      size_t n = total - at < CHUNK ? (size_t)(total - at) : CHUNK;
      uint32_t first = (uint32_t)(at * stride);
      TilecArg args[] = {tilec_view(TILEC_FP32, d->out, 0), TILEC_ARG((int)first),
                         TILEC_ARG((int)stride)};
      TilecLaunch launch = {.grid = {(uint32_t)(n / 1024), 1, 1}};
      ok = !fails(d, tilec_launch(kernel, &launch, args, 3), "the launch") &&
           !fails(d, tilec_buffer_download(d->out, 0, d->host, n * 4, NULL), "a download");
      if (ok)
         compare_all(
            (Slice){.f = f, .triton = !strict, .got32 = d->host, .first = first, .stride = stride},
            n, worst);
   }
   tilec_module_free(module);
   return ok;
}

static bool
measure64(const Device *d, const Function *f, uint32_t stride, Worst *worst)
{
   static double x[WIDE], y[WIDE], got[WIDE];
   size_t n = WIDE / (stride < WIDE / 1024 ? stride : WIDE / 1024) / 1024 * 1024;
   uint64_t rng = 1;
   for (size_t i = 0; i < n; i++) {
      rng = rng * 6364136223846793005u + 1442695040888963407u;
      uint64_t a = (rng >> 12) | (uint64_t)(i % 4096) << 52; /* every sign and exponent */
      memcpy(&x[i], &a, 8);
      rng = rng * 6364136223846793005u + 1442695040888963407u;
      double unit = (double)(rng >> 11) * 0x1p-53;
      y[i] = (unit * 2 - 1) * (f->wide == o_pow ? 1080 / (fabs(log2(fabs(x[i]))) + 1e-3) : 100);
   }
   TilecModule *module = NULL;
   TilecKernel *kernel;
   TilecArg args[] = {tilec_view(TILEC_FP64, d->out, 0), tilec_view(TILEC_FP64, d->x, 0),
                      tilec_view(TILEC_FP64, d->y, 0)};
   TilecLaunch launch = {.grid = {(uint32_t)(n / 1024), 1, 1}};
   bool ok = load_kernel(d, f, true, false, &module, &kernel) &&
             !fails(d, tilec_buffer_upload(d->x, 0, x, n * 8, NULL), "an upload") &&
             !fails(d, tilec_buffer_upload(d->y, 0, y, n * 8, NULL), "an upload") &&
             !fails(d, tilec_launch(kernel, &launch, args, 3), "the launch") &&
             !fails(d, tilec_buffer_download(d->out, 0, got, n * 8, NULL), "a download");
   if (ok)
      compare_all((Slice){.f = f, .x = x, .y = y, .got64 = got}, n, worst);
   tilec_module_free(module);
   return ok;
}

static bool
report(const char *text, const Function *f, const char *kind, const Worst *w)
{
   double bound = published(text, f->name, kind);
   bool ok = w->ulp <= bound;
   printf("| `%s` | %s | %.3f | at x = %a, y = %a: %a | %s\n", f->name, kind, w->ulp, w->x, w->y,
          w->got,
          ok          ? " ok"
          : bound < 0 ? "HAS NO BOUND"
                      : "MISSES ITS BOUND");
   fflush(stdout);
   return ok;
}

static bool
run(const Device *d, const char *only, uint32_t stride, const char *table)
{
   static char text[ACCURACY_BYTES];
   static const char *const kind[] = {"fp32 triton", "fp32 strict"};
   bool ok = true;
   if (!read_bounds(table, text)) {
      fprintf(stderr, "accuracy: the table of bounds, %s, cannot be read\n", table);
      return false;
   }
   for (unsigned i = 0; i < NUM; i++) {
      const Function *f = &functions[i];
      if (only && !strstr(f->name, only))
         continue;
      for (unsigned strict = 0; strict < 2; strict++) {
         Worst w = {0};
         ok &= measure32(d, f, strict, stride, &w) && report(text, f, kind[strict], &w);
      }
      Worst w = {0};
      if (f->wide)
         ok &= measure64(d, f, stride, &w) && report(text, f, "fp64", &w);
   }
   return ok;
}

int
main(int argc, char **argv)
{
   TilecRuntimeOptions options = {.struct_size = sizeof options};
   const char *only = NULL, *table = TL_SOURCE_DIR "/docs/accuracy.md";
   unsigned long stride = 1;
   for (int i = 1; i + 1 < argc; i += 2) {
      if (strcmp(argv[i], "--on") == 0)
         options.executor = strcmp(argv[i + 1], "cpu") == 0   ? TILEC_ON_CPU
                            : strcmp(argv[i + 1], "sim") == 0 ? TILEC_ON_SIM
                                                              : TILEC_ON_CUDA;
      else if (strcmp(argv[i], "--stride") == 0)
         stride = strtoul(argv[i + 1], NULL, 10);
      else if (strcmp(argv[i], "--only") == 0)
         only = argv[i + 1];
      else if (strcmp(argv[i], "--table") == 0)
         table = argv[i + 1];
   }
   stride = stride < 1 ? 1 : stride > 1 << 22 ? 1 << 22 : stride;
   Device d = {.host = malloc((size_t)CHUNK * 4)};
   TilecStatus status = tilec_runtime_open(&options, &d.rt);
   if (status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE) {
      printf("skipped: no GPU\n");
      free(d.host);
      return SKIPPED;
   }
   bool ok = d.host && status == TILEC_OK &&
             !fails(&d, tilec_jit_attach(d.rt, NULL), "the compiler") &&
             !fails(&d, tilec_buffer_new(d.rt, (uint64_t)CHUNK * 4, &d.out), "a buffer") &&
             !fails(&d, tilec_buffer_new(d.rt, (uint64_t)WIDE * 8, &d.x), "a buffer") &&
             !fails(&d, tilec_buffer_new(d.rt, (uint64_t)WIDE * 8, &d.y), "a buffer");
   printf("| function | type | max ulp | where |\n|---|---|---|---|\n");
   ok = ok && run(&d, only, (uint32_t)stride, table);
   tilec_buffer_free(d.out);
   tilec_buffer_free(d.x);
   tilec_buffer_free(d.y);
   if (d.rt)
      tilec_runtime_close(d.rt);
   free(d.host);
   return !ok;
}
