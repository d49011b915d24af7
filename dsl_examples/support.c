/* Shared by the example hosts; see support.h. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef EXAMPLES_DIR
#define EXAMPLES_DIR "."
#endif

enum { GUARD_ELEMS = 256, MOST_REPEATS = 65536, MOST_SHIFT = 65536 };

/* ---- failures that are not wrong numbers ---- */
_Noreturn void
ex_die(const Example *ex, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   fprintf(stderr, "%s: ", ex->name);
   vfprintf(stderr, format, ap);
   fputc('\n', stderr);
   va_end(ap);
   exit(1);
}

void
ex_must(const Example *ex, TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return;
   char detail[4096] = "";
   if (ex->rt)
      tilec_runtime_error(ex->rt, detail, sizeof detail);
   ex_die(ex, "%s: %s%s%s", what, tilec_status_string(status), *detail ? ": " : "", detail);
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

#define FNV_BASIS UINT64_C(14695981039346656037)

static _Noreturn void
usage(const Example *ex, const ExOption *own)
{
   fprintf(stderr,
           "usage: %s [--on auto|cpu|sim|cuda] [--seed N] [--size small|large] [--source DIR] "
           "[--only ROW] [--time REPEATS] [--shift N] [--bits FILE]",
           ex->name);
   for (; own && own->name; own++)
      fprintf(stderr, " [%s ..]", own->name);
   fputc('\n', stderr);
   exit(2);
}

int32_t
ex_whole_number(const Example *ex, const char *option, const char *text, int32_t most)
{
   char *end;
   long value = strtol(text, &end, 10);
   if (end == text || *end || value < 1 || value > most)
      ex_die(ex, "%s is a number from 1 to %d, not '%s'", option, (int)most, text);
   return (int32_t)value;
}

static const ExOption *
find_option(const ExOption *options, const char *name)
{
   for (; options && options->name; options++)
      if (strcmp(options->name, name) == 0)
         return options;
   return NULL;
}

/* `on` is auto or the name of an executor. */
static bool
open_named(Example *ex, const char *on)
{
   char why[1024] = "";
   if (strcmp(on, "auto") == 0) {
      if (open_on(ex, TILEC_ON_CUDA, why, sizeof why))
         return true;
      printf("%s: no GPU (%s); running on the CPU executor\n", ex->name, why);
      return open_on(ex, TILEC_ON_CPU, why, sizeof why);
   }
   for (unsigned e = 0; e < sizeof executor_names / sizeof executor_names[0]; e++)
      if (strcmp(on, executor_names[e]) == 0) {
         if (!open_on(ex, (TilecExecutor)e, why, sizeof why))
            ex_die(ex, "cannot open '%s': %s", on, why);
         return true;
      }
   return false;
}

void
ex_open_with(Example *ex, const char *name, int argc, char **argv, const ExOption *own)
{
   *ex = (Example){.name = name, .seed = 20260101, .source_dir = EXAMPLES_DIR};
   const char *on = "auto", *size = NULL, *seed = NULL, *repeats = NULL, *bits = NULL,
              *shift = NULL;
   const ExOption common[] = {{"--on", &on},         {"--seed", &seed},
                              {"--size", &size},     {"--source", &ex->source_dir},
                              {"--only", &ex->only}, {"--time", &repeats},
                              {"--shift", &shift},   {"--bits", &bits},
                              {NULL, NULL}};
   for (int i = 1; i < argc; i += 2) {
      const ExOption *option = find_option(common, argv[i]);
      option = option ? option : find_option(own, argv[i]);
      if (!option || i + 1 == argc)
         usage(ex, own);
      *option->value = argv[i + 1];
   }
   ex->seed = seed ? strtoull(seed, NULL, 0) : ex->seed;
   ex->repeats = repeats ? (unsigned)ex_whole_number(ex, "--time", repeats, MOST_REPEATS) : 0;
   ex->shift = shift ? (size_t)ex_whole_number(ex, "--shift", shift, MOST_SHIFT) : 0;
   ex->rng = ex->seed;
   ex->hash = FNV_BASIS;
   if (bits && !(ex->bits = fopen(bits, "w")))
      ex_die(ex, "cannot write '%s'", bits);
   if (!open_named(ex, on))
      usage(ex, own);
   ex->large = size ? strcmp(size, "large") == 0 : ex->executor == TILEC_ON_CUDA;
   ex_attach_compiler(ex);
}

void
ex_open(Example *ex, const char *name, int argc, char **argv)
{
   ex_open_with(ex, name, argc, argv, NULL);
}

int
ex_close(Example *ex)
{
   tilec_runtime_close(ex->rt);
   if (ex->bits && fclose(ex->bits) != 0)
      ex_die(ex, "cannot write the file of --bits");
   if (ex->failures)
      printf("%s: %u of %u cases FAILED (seed %llu)\n", ex->name, ex->failures, ex->cases,
             (unsigned long long)ex->seed);
   return ex->failures || !ex->cases;
}

/* ---- arrays ---- */

/* The CPU executor checks every access against the exact end; on a GPU a guard takes that part. */
static ExArray
new_array(Example *ex, TilecDtype dtype, size_t elems)
{
   ExArray a = {.dtype = dtype,
                .elems = elems,
                .shift = ex->shift,
                .guard = ex->executor == TILEC_ON_CUDA ? GUARD_ELEMS : 0};
   size_t total = a.shift + elems + a.guard;
   a.value = ex_allocate(elems, sizeof *a.value);
   ex_must(ex, tilec_buffer_new(ex->rt, total * ex_dtype_bytes(dtype), &a.buffer), "a buffer");
   return a;
}

static void
upload(Example *ex, ExArray *a)
{
   size_t total = a->shift + a->elems + a->guard, elem_bytes = ex_dtype_bytes(a->dtype);
   double *all = ex_allocate(total, sizeof *all);
   for (size_t i = 0; i < total; i++)
      all[i] = (double)NAN;
   memcpy(all + a->shift, a->value, a->elems * sizeof *all);
   char *bytes = ex_allocate(total, elem_bytes);
   ex_pack(a->dtype, all, total, bytes);
   ex_must(ex, tilec_buffer_upload(a->buffer, 0, bytes, total * elem_bytes, NULL), "an upload");
   free(bytes);
   free(all);
}

ExArray
ex_random(Example *ex, TilecDtype dtype, size_t elems, double spread, int fraction_bits)
{
   ExArray a = new_array(ex, dtype, elems);
   for (size_t i = 0; i < elems; i++)
      a.value[i] = ex_round_to(dtype, fraction_bits, ex_normal(ex) * spread);
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

void
ex_hash(Example *ex, const void *bytes, size_t size) /* FNV-1a */
{
   for (size_t i = 0; i < size; i++)
      ex->hash = (ex->hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
}

static bool
is_poison(TilecDtype dtype, double x)
{
   return isnan(x) || (dtype == TILEC_U8 && x == UINT8_MAX);
}

void
ex_fetch(Example *ex, ExArray *out)
{
   size_t total = out->shift + out->elems + out->guard, elem_bytes = ex_dtype_bytes(out->dtype);
   double *all = ex_allocate(total, sizeof *all);
   char *bytes = ex_allocate(total, elem_bytes);
   ex_must(ex, tilec_buffer_download(out->buffer, 0, bytes, total * elem_bytes, NULL),
           "a download");
   ex_unpack(out->dtype, bytes, total, all);
   ex_hash(ex, bytes, total * elem_bytes);
   memcpy(out->value, all + out->shift, out->elems * sizeof *all);
   for (size_t i = 0; i < total; i++)
      if ((i < out->shift || i >= out->shift + out->elems) && !is_poison(out->dtype, all[i])) {
         printf("%s: element %td was written, the array has %zu\n", ex->name,
                (ptrdiff_t)i - (ptrdiff_t)out->shift, out->elems);
         ex->failures++;
         break;
      }
   free(bytes);
   free(all);
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
   return tilec_view(a->dtype, a->buffer, a->shift * ex_dtype_bytes(a->dtype));
}

/* ---- kernels ---- */
ExKernel
ex_kernel(Example *ex, const char *file, const char *kernel, uint32_t num_warps,
          const char *const *defines)
{
   size_t bytes = strlen(ex->source_dir) + strlen(file) + 2;
   char *path = ex_allocate(bytes, 1);
   snprintf(path, bytes, "%s/%s", ex->source_dir, file);
   TilecSource s = {.struct_size = sizeof s,
                    .file = path,
                    .kernel = kernel,
                    .defines = defines,
                    .num_warps = num_warps};
   while (defines && defines[s.num_defines])
      s.num_defines++;
   ExKernel k = {0};
   ex_must(ex, tilec_module_from_source(ex->rt, &s, &k.module), path);
   ex_must(ex, tilec_module_kernel(k.module, kernel, &k.kernel), kernel);
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
   ex_must(ex, tilec_launch(k->kernel, &launch, args, num_args), "the launch");
   ex_must(ex, tilec_runtime_sync(ex->rt), "the kernel");
}

static double
time_one(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args,
         TilecEvent *const events[2])
{
   TilecLaunch launch = {.grid = {TILEC_OWN_GRID}};
   double ms = 0;
   ex_must(ex, tilec_event_record(events[0], NULL), "an event");
   ex_must(ex, tilec_launch(k->kernel, &launch, args, num_args), "the launch");
   ex_must(ex, tilec_event_record(events[1], NULL), "an event");
   ex_must(ex, tilec_event_sync(events[1]), "the kernel");
   ex_must(ex, tilec_event_elapsed(events[0], events[1], &ms), "an event");
   return 1e3 * ms;
}

double
ex_time(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args)
{
   enum { WARM_UP = 3 };
   TilecEvent *events[2];
   double *us = ex_doubles(ex->repeats);
   ex_must(ex, tilec_event_new(ex->rt, &events[0]), "an event");
   ex_must(ex, tilec_event_new(ex->rt, &events[1]), "an event");
   for (unsigned i = 0; i < WARM_UP + ex->repeats; i++)
      us[i < WARM_UP ? 0 : i - WARM_UP] = time_one(ex, k, args, num_args, events);
   double median = ex_median(us, ex->repeats);
   tilec_event_free(events[0]);
   tilec_event_free(events[1]);
   free(us);
   return median;
}

/* ---- comparing ---- */
static double
relative_l2(const double *out, const double *oracle, size_t elems, double floor)
{
   double difference = 0, norm = 0, least = floor * floor * (double)elems;
   for (size_t i = 0; i < elems; i++) {
      if (!isfinite(out[i]) || !isfinite(oracle[i]))
         return (double)INFINITY;
      difference += (out[i] - oracle[i]) * (out[i] - oracle[i]);
      norm += oracle[i] * oracle[i];
   }
   norm = fmax(norm, least);
   return difference == 0 ? 0 : norm == 0 ? (double)INFINITY : sqrt(difference / norm);
}

double
ex_relative_l2(const ExArray *out, const double *oracle)
{
   return ex_relative_l2_above(out, oracle, 0);
}

double
ex_relative_l2_above(const ExArray *out, const double *oracle, double floor)
{
   return relative_l2(out->value, oracle, out->elems, floor);
}

double
ex_relative_l2_of(const double *out, const double *oracle, size_t elems)
{
   return relative_l2(out, oracle, elems, 0);
}

void
ex_report(Example *ex, const char *what, double error, double tolerance)
{
   bool ok = error <= tolerance;
   ex->cases++;
   ex->failures += !ok;
   if (ex->bits)
      fprintf(ex->bits, "%s\t%016llx\n", what, (unsigned long long)ex->hash);
   ex->hash = FNV_BASIS;
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

/* ---- threads ---- */
typedef struct Part {
   ExWork *work;
   void *context;
   size_t part, parts;
   pthread_t thread;
   bool runs;
} Part;

static void *
do_part(void *part)
{
   const Part *p = part;
   p->work(p->context, p->part, p->parts);
   return NULL;
}

void
ex_in_threads(ExWork *work, void *context, size_t parts)
{
   Part *all = ex_allocate(parts, sizeof *all);
   for (size_t i = 0; i < parts; i++) {
      all[i] = (Part){.work = work, .context = context, .part = i, .parts = parts};
      all[i].runs = i + 1 < parts && pthread_create(&all[i].thread, NULL, do_part, &all[i]) == 0;
   }
   for (size_t i = 0; i < parts; i++)
      if (!all[i].runs)
         do_part(&all[i]);
   for (size_t i = 0; i < parts; i++)
      if (all[i].runs)
         pthread_join(all[i].thread, NULL);
   free(all);
}

size_t
ex_processors(void)
{
   long n = sysconf(_SC_NPROCESSORS_ONLN);
   return n > 0 ? (size_t)n : 1;
}
