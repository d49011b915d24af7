/* Shared by the example hosts; see support.h.  Rounding to the small types is done here in doubles,
 * independently of the compiler's own conversions, so that a mistake there is seen. */
#include "support.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXAMPLES_DIR
#define EXAMPLES_DIR "."
#endif

enum { GUARD_ELEMS = 256 };

/* ---- failures that are not wrong numbers ---- */
static _Noreturn void
die(const Example *ex, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   fprintf(stderr, "%s: ", ex->name);
   vfprintf(stderr, format, ap);
   fputc('\n', stderr);
   va_end(ap);
   exit(1);
}

static void
must(const Example *ex, TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return;
   char detail[4096] = "";
   if (ex->rt)
      tilec_runtime_error(ex->rt, detail, sizeof detail);
   die(ex, "%s: %s%s%s", what, tilec_status_string(status), *detail ? ": " : "", detail);
}

static void *
allocate(size_t count, size_t size)
{
   void *p = calloc(count ? count : 1, size);
   if (!p) {
      fputs("out of memory\n", stderr);
      exit(1);
   }
   return p;
}

/* ---- number formats ---- */
typedef struct Format {
   TilecDtype dtype;
   const char *name;
   unsigned bytes;
   int fraction_bits; /* stored */
   int min_exponent;  /* of normal numbers */
   double largest;    /* finite number; of integers the largest that poison is not */
   double tolerance;
} Format;

static const Format formats[] = {
   {TILEC_FP16, "fp16", 2, 10, -14, 65504, 6e-4},
   {TILEC_BF16, "bf16", 2, 7, -126, 0x1.fep127, 4e-3},
   {TILEC_FP32, "fp32", 4, 23, -126, 0x1.fffffep127, 1e-6},
   {TILEC_FP64, "fp64", 8, 52, -1022, 0x1.fffffffffffffp1023, 1e-15},
   {TILEC_FP8E4NV, "fp8e4nv", 1, 3, -6, 448, 4e-2},
   {TILEC_FP8E5, "fp8e5", 1, 2, -14, 57344, 8e-2},
   {TILEC_I32, "i32", 4, 0, 0, INT32_MAX, 0},
   {TILEC_I8, "i8", 1, 0, 0, INT8_MAX, 0},
   {TILEC_U8, "u8", 1, 0, 0, UINT8_MAX, 0},
};

static const Format *
format_of(TilecDtype dtype)
{
   for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
      if (formats[i].dtype == dtype)
         return &formats[i];
   fprintf(stderr, "no format for dtype %d\n", (int)dtype);
   exit(1);
}

/* To nearest, ties to even, with `fraction_bits` after the leading one; exact in a double. */
static double
round_to(const Format *f, int fraction_bits, double x)
{
   if (x == 0 || !isfinite(x))
      return x;
   if (f->min_exponent == 0)
      return rint(x);
   int e;
   frexp(x, &e);
   e = e - 1 < f->min_exponent ? f->min_exponent : e - 1;
   double quantum = ldexp(1, e - fraction_bits);
   double r = rint(x / quantum) * quantum;
   return fabs(r) > f->largest ? copysign(INFINITY, x) : r;
}

/* Of the formats with infinities the patterns above the largest exponent are special; fp8e4nv has
 * one NaN and no infinity. */
static bool
has_infinity(const Format *f)
{
   return f->dtype != TILEC_FP8E4NV;
}

/* The pattern of 8 or 16 bits of a value that the format holds exactly. */
static uint16_t
encode_small(const Format *f, double x)
{
   unsigned exponent_bits = 8 * f->bytes - 1 - (unsigned)f->fraction_bits;
   uint32_t sign_bit = 1u << (8 * f->bytes - 1), exp_mask = (1u << exponent_bits) - 1;
   uint32_t sign = signbit(x) ? sign_bit : 0;
   if (isnan(x) || (isinf(x) && !has_infinity(f)))
      return (uint16_t)(sign | (sign_bit - 1));
   if (isinf(x))
      return (uint16_t)(sign | exp_mask << f->fraction_bits);
   if (fabs(x) < ldexp(1, f->min_exponent))
      return (uint16_t)(sign | (uint32_t)ldexp(fabs(x), f->fraction_bits - f->min_exponent));
   int e;
   double m = frexp(fabs(x), &e); /* m in [0.5, 1) */
   uint32_t fraction = (uint32_t)ldexp(2 * m - 1, f->fraction_bits);
   uint32_t biased = (uint32_t)(e - f->min_exponent);
   return (uint16_t)(sign | biased << f->fraction_bits | fraction);
}

static double
decode_small(const Format *f, uint16_t bits)
{
   unsigned exponent_bits = 8 * f->bytes - 1 - (unsigned)f->fraction_bits;
   uint32_t sign_bit = 1u << (8 * f->bytes - 1), exp_mask = (1u << exponent_bits) - 1;
   uint32_t fraction_mask = (1u << f->fraction_bits) - 1;
   uint32_t biased = (uint32_t)bits >> f->fraction_bits & exp_mask, fraction = bits & fraction_mask;
   double v;
   if (biased == exp_mask && (has_infinity(f) || fraction == fraction_mask))
      v = fraction ? (double)NAN : (double)INFINITY;
   else if (biased == 0)
      v = ldexp(fraction, f->min_exponent - f->fraction_bits);
   else
      v = ldexp(1 + ldexp(fraction, -f->fraction_bits), (int)biased - 1 + f->min_exponent);
   return bits & sign_bit ? -v : v;
}

/* One element; poison has to have a pattern in every type. */
static void
pack_one(const Format *f, double x, void *to)
{
   if (f->dtype == TILEC_FP64)
      *(double *)to = x;
   else if (f->dtype == TILEC_FP32)
      *(float *)to = (float)x;
   else if (f->dtype == TILEC_I32)
      *(int32_t *)to = isnan(x) ? INT32_MIN : (int32_t)x;
   else if (f->dtype == TILEC_I8)
      *(int8_t *)to = isnan(x) ? INT8_MIN : (int8_t)x;
   else if (f->dtype == TILEC_U8)
      *(uint8_t *)to = isnan(x) ? UINT8_MAX : (uint8_t)x;
   else if (f->bytes == 1)
      *(uint8_t *)to = (uint8_t)encode_small(f, x);
   else
      *(uint16_t *)to = encode_small(f, x);
}

static double
unpack_one(const Format *f, const void *from)
{
   switch (f->dtype) {
   case TILEC_FP64:
      return *(const double *)from;
   case TILEC_FP32:
      return (double)*(const float *)from;
   case TILEC_I32:
      return *(const int32_t *)from == INT32_MIN ? (double)NAN : *(const int32_t *)from;
   case TILEC_I8:
      return *(const int8_t *)from == INT8_MIN ? (double)NAN : *(const int8_t *)from;
   case TILEC_U8:
      return *(const uint8_t *)from;
   case TILEC_FP8E4NV:
   case TILEC_FP8E5:
      return decode_small(f, *(const uint8_t *)from);
   default:
      return decode_small(f, *(const uint16_t *)from);
   }
}

static void
pack(const Format *f, const double *value, size_t elems, char *bytes)
{
   for (size_t i = 0; i < elems; i++)
      pack_one(f, value[i], bytes + i * f->bytes);
}

static void
unpack(const Format *f, const char *bytes, size_t elems, double *value)
{
   for (size_t i = 0; i < elems; i++)
      value[i] = unpack_one(f, bytes + i * f->bytes);
}

double
ex_tolerance(TilecDtype dtype)
{
   return format_of(dtype)->tolerance;
}

const char *
ex_dtype_name(TilecDtype dtype)
{
   return format_of(dtype)->name;
}

size_t
ex_dtype_bytes(TilecDtype dtype)
{
   return format_of(dtype)->bytes;
}

TilecDtype
ex_dtype_named(const char *name)
{
   for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
      if (strcmp(formats[i].name, name) == 0)
         return formats[i].dtype;
   return TILEC_DTYPE_NONE;
}

double
ex_round(TilecDtype dtype, double x)
{
   return round_to(format_of(dtype), format_of(dtype)->fraction_bits, x);
}

/* ---- opening ---- */
static const char *const executor_names[] = {
   [TILEC_ON_CUDA] = "cuda", [TILEC_ON_CPU] = "cpu", [TILEC_ON_SIM] = "sim"};

const char *
ex_executor_name(const Example *ex)
{
   return executor_names[ex->executor];
}

static bool
open_on(Example *ex, TilecExecutor executor, char *error, size_t error_bytes)
{
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .executor = executor, .error = error, .error_bytes = error_bytes};
   ex->executor = executor;
   return tilec_runtime_open(&o, &ex->rt) == TILEC_OK;
}

static _Noreturn void
usage(const Example *ex)
{
   fprintf(stderr,
           "usage: %s [--on auto|cpu|sim|cuda] [--seed N] [--size small|large] [--source DIR] "
           "[--only ROW] [--time REPEATS]\n",
           ex->name);
   exit(2);
}

/* The rendered text of errors and warnings; not of remarks, such as what a heuristic chose. */
static void
show_text(void *user, const char *rendered)
{
   (void)user;
   if (!strstr(rendered, ": remark["))
      fputs(rendered, stderr);
}

void
ex_open(Example *ex, const char *name, int argc, char **argv)
{
   *ex = (Example){.name = name, .seed = 20260101, .source_dir = EXAMPLES_DIR};
   const char *on = "auto", *size = NULL;
   for (int i = 1; i < argc; i += 2) {
      const char *option = argv[i], *value = argv[i + 1];
      if (!value)
         usage(ex);
      else if (strcmp(option, "--on") == 0)
         on = value;
      else if (strcmp(option, "--seed") == 0)
         ex->seed = strtoull(value, NULL, 0);
      else if (strcmp(option, "--size") == 0)
         size = value;
      else if (strcmp(option, "--source") == 0)
         ex->source_dir = value;
      else if (strcmp(option, "--only") == 0)
         ex->only = value;
      else if (strcmp(option, "--time") == 0)
         ex->repeats = (unsigned)strtoul(value, NULL, 10);
      else
         usage(ex);
   }
   ex->rng = ex->seed;
   char why[1024] = "";
   bool is_open = false, is_auto = strcmp(on, "auto") == 0;
   if (is_auto) {
      is_open = open_on(ex, TILEC_ON_CUDA, why, sizeof why);
      if (!is_open)
         printf("%s: no GPU (%s); running on the CPU executor\n", name, why);
      is_open = is_open || open_on(ex, TILEC_ON_CPU, why, sizeof why);
   }
   for (unsigned e = 0; !is_auto && !is_open && e < 3; e++)
      if (strcmp(on, executor_names[e]) == 0) {
         is_open = open_on(ex, (TilecExecutor)e, why, sizeof why);
         if (!is_open)
            die(ex, "cannot open '%s': %s", on, why);
      }
   if (!is_open)
      usage(ex);
   ex->large = size ? strcmp(size, "large") == 0 : ex->executor == TILEC_ON_CUDA;
   TilecJitOptions jit = {.struct_size = sizeof jit, .on_text = show_text};
   must(ex, tilec_jit_attach(ex->rt, &jit), "attaching the compiler");
}

int
ex_close(Example *ex)
{
   tilec_runtime_close(ex->rt);
   if (ex->failures)
      printf("%s: %u of %u cases FAILED (seed %llu)\n", ex->name, ex->failures, ex->cases,
             (unsigned long long)ex->seed);
   return ex->failures || !ex->cases;
}

/* ---- arrays ---- */

/* SplitMix64 (Steele, Lea, Flood 2014). */
double
ex_uniform(Example *ex)
{
   uint64_t z = (ex->rng += 0x9E3779B97F4A7C15u);
   z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
   z = (z ^ z >> 27) * 0x94D049BB133111EBu;
   return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double
normal(Example *ex)
{
   double radius = sqrt(-2 * log(ex_uniform(ex)));
   return radius * cos(6.283185307179586 * ex_uniform(ex));
}

/* The CPU executor checks every access against the exact end; on a GPU a guard takes that part. */
static ExArray
new_array(Example *ex, TilecDtype dtype, size_t elems)
{
   ExArray a = {
      .dtype = dtype, .elems = elems, .guard = ex->executor == TILEC_ON_CUDA ? GUARD_ELEMS : 0};
   size_t total = elems + a.guard;
   a.value = allocate(total, sizeof *a.value);
   must(ex, tilec_buffer_new(ex->rt, total * format_of(dtype)->bytes, &a.buffer), "a buffer");
   return a;
}

static void
upload(Example *ex, ExArray *a)
{
   const Format *f = format_of(a->dtype);
   size_t total = a->elems + a->guard;
   for (size_t i = a->elems; i < total; i++)
      a->value[i] = (double)NAN;
   char *bytes = allocate(total, f->bytes);
   pack(f, a->value, total, bytes);
   must(ex, tilec_buffer_upload(a->buffer, 0, bytes, total * f->bytes, NULL), "an upload");
   free(bytes);
}

ExArray
ex_random(Example *ex, TilecDtype dtype, size_t elems, double spread, int fraction_bits)
{
   const Format *f = format_of(dtype);
   int bits = fraction_bits < f->fraction_bits ? fraction_bits : f->fraction_bits;
   ExArray a = new_array(ex, dtype, elems);
   for (size_t i = 0; i < elems; i++)
      a.value[i] = round_to(f, bits, normal(ex) * spread);
   upload(ex, &a);
   return a;
}

ExArray
ex_random_below(Example *ex, TilecDtype dtype, size_t elems, double end)
{
   ExArray a = new_array(ex, dtype, elems);
   for (size_t i = 0; i < elems; i++)
      a.value[i] = floor(ex_uniform(ex) * end);
   upload(ex, &a);
   return a;
}

ExArray
ex_zeros(Example *ex, TilecDtype dtype, size_t elems)
{
   ExArray a = new_array(ex, dtype, elems);
   upload(ex, &a);
   return a;
}

void
ex_write(Example *ex, ExArray *a, const double *value)
{
   for (size_t i = 0; i < a->elems; i++)
      a->value[i] = ex_round(a->dtype, value[i]);
   upload(ex, a);
}

ExArray
ex_output(Example *ex, TilecDtype dtype, size_t elems)
{
   ExArray a = new_array(ex, dtype, elems);
   for (size_t i = 0; i < elems; i++)
      a.value[i] = (double)NAN;
   upload(ex, &a);
   return a;
}

static bool
is_poison(const Format *f, double x)
{
   return isnan(x) || (f->dtype == TILEC_U8 && x == UINT8_MAX);
}

void
ex_fetch(Example *ex, ExArray *out)
{
   const Format *f = format_of(out->dtype);
   size_t total = out->elems + out->guard;
   char *bytes = allocate(total, f->bytes);
   must(ex, tilec_buffer_download(out->buffer, 0, bytes, total * f->bytes, NULL), "a download");
   unpack(f, bytes, total, out->value);
   free(bytes);
   for (size_t i = out->elems; i < total; i++)
      if (!is_poison(f, out->value[i])) {
         printf("%s: element %zu was written, the array has %zu\n", ex->name, i, out->elems);
         ex->failures++;
         return;
      }
}

void
ex_free_array(ExArray *a)
{
   tilec_buffer_free(a->buffer);
   free(a->value);
   *a = (ExArray){0};
}

TilecArg
ex_arg(const ExArray *a)
{
   return tilec_view(a->dtype, a->buffer, 0);
}

double *
ex_doubles(size_t elems)
{
   return allocate(elems, sizeof(double));
}

/* ---- kernels ---- */
ExKernel
ex_kernel(Example *ex, const char *file, const char *kernel, uint32_t num_warps,
          const char *const *defines)
{
   size_t bytes = strlen(ex->source_dir) + strlen(file) + 2;
   char *path = allocate(bytes, 1);
   snprintf(path, bytes, "%s/%s", ex->source_dir, file);
   TilecSource s = {.struct_size = sizeof s,
                    .file = path,
                    .kernel = kernel,
                    .defines = defines,
                    .num_warps = num_warps};
   while (defines && defines[s.num_defines])
      s.num_defines++;
   ExKernel k = {0};
   must(ex, tilec_module_from_source(ex->rt, &s, &k.module), path);
   must(ex, tilec_module_kernel(k.module, kernel, &k.kernel), kernel);
   free(path);
   return k;
}

void
ex_free_kernel(ExKernel *k)
{
   tilec_module_free(k->module);
   *k = (ExKernel){0};
}

void
ex_launch(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args)
{
   TilecLaunch launch = {.grid = {TILEC_OWN_GRID}};
   must(ex, tilec_launch(k->kernel, &launch, args, num_args), "the launch");
   must(ex, tilec_runtime_sync(ex->rt), "the kernel");
}

static int
ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

static double
time_one(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args,
         TilecEvent *const events[2])
{
   TilecLaunch launch = {.grid = {TILEC_OWN_GRID}};
   double ms = 0;
   must(ex, tilec_event_record(events[0], NULL), "an event");
   must(ex, tilec_launch(k->kernel, &launch, args, num_args), "the launch");
   must(ex, tilec_event_record(events[1], NULL), "an event");
   must(ex, tilec_event_sync(events[1]), "the kernel");
   must(ex, tilec_event_elapsed(events[0], events[1], &ms), "an event");
   return 1e3 * ms;
}

double
ex_time(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args)
{
   enum { WARM_UP = 3 };
   TilecEvent *events[2];
   double *us = ex_doubles(ex->repeats);
   must(ex, tilec_event_new(ex->rt, &events[0]), "an event");
   must(ex, tilec_event_new(ex->rt, &events[1]), "an event");
   for (unsigned i = 0; i < WARM_UP + ex->repeats; i++)
      us[i < WARM_UP ? 0 : i - WARM_UP] = time_one(ex, k, args, num_args, events);
   qsort(us, ex->repeats, sizeof *us, ascending);
   double median = us[ex->repeats / 2];
   tilec_event_free(events[0]);
   tilec_event_free(events[1]);
   free(us);
   return median;
}

/* ---- comparing ---- */
double
ex_relative_l2(const ExArray *out, const double *oracle)
{
   return ex_relative_l2_above(out, oracle, 0);
}

double
ex_relative_l2_above(const ExArray *out, const double *oracle, double floor)
{
   double difference = 0, norm = 0, least = floor * floor * (double)out->elems;
   for (size_t i = 0; i < out->elems; i++) {
      if (!isfinite(out->value[i]) || !isfinite(oracle[i]))
         return (double)INFINITY;
      difference += (out->value[i] - oracle[i]) * (out->value[i] - oracle[i]);
      norm += oracle[i] * oracle[i];
   }
   norm = fmax(norm, least);
   return difference == 0 ? 0 : norm == 0 ? (double)INFINITY : sqrt(difference / norm);
}

void
ex_report(Example *ex, const char *what, double error, double tolerance)
{
   bool ok = error <= tolerance;
   ex->cases++;
   ex->failures += !ok;
   printf("%s  on %s  rel L2 %.1e  ", what, executor_names[ex->executor], error);
   if (ok)
      puts("ok");
   else
      printf("FAILED, at most %.1e allowed, seed %llu\n", tolerance, (unsigned long long)ex->seed);
   fflush(stdout);
}

size_t
ex_next_power_of_two(size_t n)
{
   size_t p = 1;
   while (p < n)
      p *= 2;
   return p;
}
