/* The errors of the fp32 functions of docs/accuracy.md on a device, in both modes, over all 2^32
 * arguments or one in --stride.  The same kernel computes the function in fp64, which is the judge:
 * tests/gpu/accuracy_mpfr.c measures it against MPFR, and looks again at the worst arguments that
 * are found here.
 *    accuracy [--on cuda|sim|cpu] [--stride N] [--only TEXT] [--table PAGE.md] [--out RESULTS.tsv]
 * A line of RESULTS.tsv is a function, a mode, the arguments taken, the largest error in ulp with
 * its x and y as bits, the largest distance from the correctly rounded result with its x and y; or
 * a function, "fp64 bits", the arguments taken and a hash of what --strict-fp gives in fp64, which
 * is the same on every executor.  A row of PAGE.md that is missed fails the run.  Exits with 77
 * (skipped) without a GPU. */
#include "support/accuracy.h"
#include "tilec/runtime.h"
#include "tilec/tilec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, LANES = 1024, ROUNDS = 64, MOST_PROGRAMS = 8192, NUM_BITS = 65536 };

typedef enum Second { NONE, NEAR, POWER, ORDER } Second;
enum { FLUSH = 1, BELOW_8 = 2, NEGATIVE = 4, ABSOLUTE = 8 };

typedef struct Function {
   const char *expr;
   Second second;
   unsigned flags;
} Function;

static const Function functions[] = {
#define FUNCTION(id, expr, second, low, high, cuda32, cuda64, flags) {expr, second, flags},
#include "gpu/functions.def"
};
enum { NUM = sizeof functions / sizeof functions[0] };

/* ---- the kernel ---- */
static const char *
second_argument(Second s)
{
   switch (s) {
   case NONE:
      return "x";
   case NEAR: /* x's bits and up to four binades more or less, either sign */
      return "(bits + (hash & 0x3FFFFFF) - 0x2000000 ^ (hash & -2147483648)).to(fp32, "
             "bitcast=True)";
   case POWER: /* up to 150 / log2(x) */
      return "hash.to(fp32) * 7e-8 / (abs(log2(abs(x))) + 1e-6)";
   case ORDER:
      return "((hash & 0xFFFFFF) % 41).to(fp32)";
   }
   return "";
}

/* `worst` and `apart` get the largest error and distance of a program, `at` the arguments' bits. */
static const char frame[] =
   "def f(x, y):\n    return %s\n"
   "@kernel(num_warps=4)\n"
   "def k(worst: *fp64, apart: *i64, at: *i32, first: i32, stride: i32):\n"
   "    lane = arange(0, 1024)\n"
   "    best = zeros([1024], fp64)\n    most = zeros([1024], int64)\n"
   "    best_x = lane\n    best_y = lane\n    most_x = lane\n    most_y = lane\n"
   "    for j in range(0, %d):\n"
   "        bits = ((program_id(0) * %d + j) * 1024 + lane) * stride + first\n"
   "        hash = bits * -1640531535\n        hash = (hash ^ (hash >> 15)) * 739982445\n"
   "        x = bits.to(fp32, bitcast=True)\n        y = %s\n"
   "        got = f(x, y)\n        want = f(x.to(fp64), y.to(fp64))\n"
   "        near = want.to(fp32)\n"
   "        e = ((want.to(int64, bitcast=True) >> 52) & 2047).to(int32)\n"
   "        e = minimum(maximum(e, 1023 - 126), 1023 + 127) - 23\n"
   "        ulp = (e.to(int64) << 52).to(fp64, bitcast=True)\n"
   "        top = full((), 2.0**128, fp64)\n"
   "        g = minimum(maximum(got.to(fp64), -top), top)\n"
   "        w = minimum(maximum(want, -top), top)\n"
   "        err = abs(g - w) / ulp\n"
   "        a = got.to(int32, bitcast=True).to(int64)\n"
   "        b = near.to(int32, bitcast=True).to(int64)\n"
   "        a = where(a < 0, -(a & 0x7FFFFFFF), a)\n        b = where(b < 0, -(b & 0x7FFFFFFF), "
   "b)\n"
   "        d = abs(a - b)\n"
   "        is_nan = want != want\n"
   "        lost = is_nan != (got != got)\n"
   "        err = where(lost, 1e30, where(is_nan, 0.0, err))\n"
   "        d = where(lost, 1 << 40, where(is_nan, 0, d))\n"
   "        skip = %s\n"
   "        err = where(skip, 0.0, err)\n        d = where(skip, 0, d)\n"
   "        best_x = where(err > best, bits, best_x)\n"
   "        best_y = where(err > best, y.to(int32, bitcast=True), best_y)\n"
   "        best = maximum(best, err)\n"
   "        most_x = where(d > most, bits, most_x)\n"
   "        most_y = where(d > most, y.to(int32, bitcast=True), most_y)\n"
   "        most = maximum(most, d)\n"
   "    p = program_id(0)\n"
   "    v, i = tl.max(best, 0, return_indices=True)\n    store(worst + p, v)\n"
   "    store(at + p * 4, sum(where(lane == i, best_x, 0)))\n"
   "    store(at + p * 4 + 1, sum(where(lane == i, best_y, 0)))\n"
   "    v, i = tl.max(most, 0, return_indices=True)\n    store(apart + p, v)\n"
   "    store(at + p * 4 + 2, sum(where(lane == i, most_x, 0)))\n"
   "    store(at + p * 4 + 3, sum(where(lane == i, most_y, 0)))\n";

/* What is not judged: in triton mode denormal arguments, and denormal results that are zero; there
 * 'x / y' is defined for abs(y) < 2^126. */
static void
skipped(const Function *f, bool strict, char *text, size_t size)
{
   const char *flushed = "(abs(x) < 1.17549435e-38) & (x != 0.0) | (abs(y) < 1.17549435e-38) & "
                         "(y != 0.0) | (abs(want) < 1.17551e-38) & (abs(g) < 1.17553e-38)";
   bool divides = strcmp(f->expr, "x / y") == 0;
   snprintf(text, size, "%s%s%s", f->flags & FLUSH && !strict ? flushed : "(x != x)",
            divides && !strict ? " | (abs(y) > 8.5e37)" : "",
            f->flags & BELOW_8 ? " | (abs(x) >= 8.0)" : "");
}

/* ---- running ---- */
typedef struct Program {
   double worst;
   int64_t apart;
   uint32_t at[4];
} Program;

typedef struct Result {
   uint64_t taken;
   Program most;
} Result;

typedef struct Device {
   TilecRuntime *rt;
   TilecBuffer *worst, *apart, *at, *bits;
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
load_kernel(const Device *d, const char *text, bool strict, TilecModule **module,
            TilecKernel **kernel)
{
   TilecSource s = {.struct_size = sizeof s,
                    .file = "accuracy.tile",
                    .source = text,
                    .source_bytes = TILEC_STRLEN,
                    .fp_mode = strict ? TILEC_FP_STRICT : TILEC_FP_TRITON};
   return !fails(d, tilec_module_from_source(d->rt, &s, module), "reading") &&
          !fails(d, tilec_module_kernel(*module, "k", kernel), "finding the kernel");
}

/* The largest of what the programs found. */
static bool
collect(const Device *d, size_t programs, Result *r)
{
   static double worst[MOST_PROGRAMS];
   static int64_t apart[MOST_PROGRAMS];
   static uint32_t at[MOST_PROGRAMS][4];
   if (fails(d, tilec_buffer_download(d->worst, 0, worst, programs * 8, NULL), "a download") ||
       fails(d, tilec_buffer_download(d->apart, 0, apart, programs * 8, NULL), "a download") ||
       fails(d, tilec_buffer_download(d->at, 0, at, programs * 16, NULL), "a download"))
      return false;
   for (size_t p = 0; p < programs; p++) {
      if (worst[p] > r->most.worst) {
         r->most.worst = worst[p];
         memcpy(&r->most.at[0], &at[p][0], 8);
      }
      if (apart[p] > r->most.apart) {
         r->most.apart = apart[p];
         memcpy(&r->most.at[2], &at[p][2], 8);
      }
   }
   return true;
}

static bool
measure(const Device *d, const Function *f, bool strict, uint32_t stride, Result *r)
{
   TilecModule *module = NULL;
   TilecKernel *kernel;
   static char text[8192];
   char skip[512];
   skipped(f, strict, skip, sizeof skip);
   snprintf(text, sizeof text, frame, f->expr, ROUNDS, ROUNDS, second_argument(f->second), skip);
   bool ok = load_kernel(d, text, strict, &module, &kernel);
   uint64_t total = ((uint64_t)1 << 32) / stride / (LANES * ROUNDS);
   for (uint64_t done = 0; ok && done < total; done += MOST_PROGRAMS) {
      size_t programs = total - done < MOST_PROGRAMS ? (size_t)(total - done) : MOST_PROGRAMS;
      uint32_t first = (uint32_t)(done * LANES * ROUNDS * stride);
      TilecArg args[] = {tilec_view(TILEC_FP64, d->worst, 0), tilec_view(TILEC_I64, d->apart, 0),
                         tilec_view(TILEC_I32, d->at, 0), TILEC_ARG((int)first),
                         TILEC_ARG((int)stride)};
      TilecLaunch launch = {.grid = {(uint32_t)programs, 1, 1}};
      ok =
         !fails(d, tilec_launch(kernel, &launch, args, 5), "the launch") && collect(d, programs, r);
      r->taken += programs * LANES * ROUNDS;
   }
   tilec_module_free(module);
   return ok;
}

/* A hash of the fp64 function's bits, every NaN as one. */
static bool
hash_of_bits(const Device *d, const Function *f, uint64_t *hash)
{
   static uint64_t result[NUM_BITS];
   char text[1024];
   snprintf(text, sizeof text,
            "@kernel(num_warps=4)\n"
            "def k(o: *i64):\n"
            "    i = program_id(0) * 1024 + arange(0, 1024)\n"
            "    bits = (i * 2 + 1).to(int64) * -7046029254386353131\n"
            "    x = bits.to(fp64, bitcast=True)\n"
            "    y = %s\n"
            "    r = %s\n"
            "    store(o + i, where(r != r, -1, r.to(int64, bitcast=True)))\n",
            f->second == NEAR   ? "(bits ^ (i.to(int64) << 40)).to(fp64, bitcast=True)"
            : f->second == NONE ? "x"
                                : "(i % 41).to(fp64)",
            f->expr);
   TilecModule *module = NULL;
   TilecKernel *kernel;
   TilecArg args[] = {tilec_view(TILEC_I64, d->bits, 0)};
   TilecLaunch launch = {.grid = {NUM_BITS / LANES, 1, 1}};
   bool ok =
      load_kernel(d, text, true, &module, &kernel) &&
      !fails(d, tilec_launch(kernel, &launch, args, 1), "the launch") &&
      !fails(d, tilec_buffer_download(d->bits, 0, result, sizeof result, NULL), "a download");
   *hash = UINT64_C(14695981039346656037);
   for (size_t i = 0; i < NUM_BITS; i++)
      *hash = (*hash ^ result[i]) * UINT64_C(1099511628211);
   tilec_module_free(module);
   return ok;
}

/* ---- reporting ---- */
typedef struct Options {
   TilecExecutor executor;
   const char *only, *table, *out;
   uint32_t stride;
} Options;

static bool
report(const Function *f, const char *mode, const Result *r, const char *bounds, FILE *out)
{
   const uint32_t *at = r->most.at;
   if (out)
      fprintf(out, "%s\t%s\t%llu\t%.4f\t%08x\t%08x\t%lld\t%08x\t%08x\n", f->expr, mode,
              (unsigned long long)r->taken, r->most.worst, at[0], at[1], (long long)r->most.apart,
              at[2], at[3]);
   bool in_ulp = bounds && !(f->flags & ABSOLUTE); /* else the judge's own error counts */
   double bound = in_ulp ? published(bounds, f->expr, mode) : (double)INFINITY;
   bool ok = r->most.worst <= bound;
   printf("%-34s %-12s %8.3f ulp, %3lld steps, at x = %a, y = %a%s\n", f->expr, mode, r->most.worst,
          (long long)r->most.apart, (double)as_float(at[0]), (double)as_float(at[1]),
          ok          ? ""
          : bound < 0 ? ": HAS NO BOUND"
                      : ": MISSES ITS BOUND");
   fflush(stdout);
   return ok;
}

static bool
run(const Device *d, const Options *o)
{
   static char text[ACCURACY_BYTES];
   static const char *const mode[] = {"fp32 triton", "fp32 strict"};
   bool ok = true, no_table = strcmp(o->table, "none") == 0;
   if (!no_table && !read_bounds(o->table, text)) {
      fprintf(stderr, "accuracy: the table of bounds, %s, cannot be read\n", o->table);
      return false;
   }
   FILE *out = o->out ? fopen(o->out, "w") : NULL;
   for (unsigned i = 0; i < NUM; i++) {
      const Function *f = &functions[i];
      uint64_t hash;
      if (o->only && !strstr(f->expr, o->only))
         continue;
      for (unsigned strict = 0; strict < 2; strict++) {
         Result r = {0};
         ok &= measure(d, f, strict, o->stride, &r) &&
               report(f, mode[strict], &r, no_table ? NULL : text, out);
      }
      ok &= hash_of_bits(d, f, &hash);
      if (out)
         fprintf(out, "%s\tfp64 bits\t%d\t%016llx\n", f->expr, NUM_BITS, (unsigned long long)hash);
   }
   return (!out || fclose(out) == 0) && (!o->out || out) && ok;
}

static TilecExecutor
executor(const char *word)
{
   return strcmp(word, "cpu") == 0   ? TILEC_ON_CPU
          : strcmp(word, "sim") == 0 ? TILEC_ON_SIM
                                     : TILEC_ON_CUDA;
}

int
main(int argc, char **argv)
{
   Options o = {.table = TL_SOURCE_DIR "/docs/accuracy.md", .stride = 1};
   TilecRuntimeOptions options = {.struct_size = sizeof options};
   for (int i = 1; i + 1 < argc; i += 2) {
      const char *value = argv[i + 1];
      if (strcmp(argv[i], "--on") == 0)
         options.executor = executor(value);
      else if (strcmp(argv[i], "--stride") == 0)
         o.stride = (uint32_t)strtoul(value, NULL, 10);
      else if (strcmp(argv[i], "--only") == 0)
         o.only = value;
      else if (strcmp(argv[i], "--table") == 0)
         o.table = value;
      else if (strcmp(argv[i], "--out") == 0)
         o.out = value;
   }
   o.stride = o.stride < 1 ? 1 : o.stride > 1 << 16 ? 1 << 16 : o.stride;
   Device d = {0};
   TilecStatus status = tilec_runtime_open(&options, &d.rt);
   if (status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE) {
      printf("skipped: no GPU\n");
      return SKIPPED;
   }
   bool ok = status == TILEC_OK && !fails(&d, tilec_jit_attach(d.rt, NULL), "the compiler") &&
             !fails(&d, tilec_buffer_new(d.rt, MOST_PROGRAMS * 8, &d.worst), "a buffer") &&
             !fails(&d, tilec_buffer_new(d.rt, MOST_PROGRAMS * 8, &d.apart), "a buffer") &&
             !fails(&d, tilec_buffer_new(d.rt, MOST_PROGRAMS * 16, &d.at), "a buffer") &&
             !fails(&d, tilec_buffer_new(d.rt, NUM_BITS * 8, &d.bits), "a buffer");
   ok = ok && run(&d, &o);
   tilec_buffer_free(d.worst);
   tilec_buffer_free(d.apart);
   tilec_buffer_free(d.at);
   tilec_buffer_free(d.bits);
   if (d.rt)
      tilec_runtime_close(d.rt);
   return !ok;
}
