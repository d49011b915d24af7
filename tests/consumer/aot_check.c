/* ELU and attention compiled ahead of time, against a double-precision oracle.  One file to copy
 * to a machine with a GPU: it needs libc and the NVIDIA driver.
 * Exit code: 0 all errors within bounds, 1 not, 77 no GPU (the kernels must say so themselves). */
#include "attention.h"
#include "driver.h"
#include "elu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NO_GPU = 77, D = 64 };
static Driver cu;
static int failures;

static void
require(int ok, const char *what)
{
   if (!ok) {
      printf("FAILED: %s\n", what);
      exit(1);
   }
}

static float
random_value(uint64_t *seed)
{
   *seed = *seed * 6364136223846793005u + 1442695040888963407u;
   return (float)(int32_t)(*seed >> 32) / 1073741824.0f;
}

/* ---- fp16 ---- */
static uint16_t
to_half(float v)
{
   uint32_t sign = signbit(v) ? 0x8000u : 0;
   int exponent;
   double m = frexp(fabs((double)v), &exponent); /* [0.5, 1) */
   if (m == 0 || exponent < -13)
      return (uint16_t)(sign | (uint32_t)nearbyint(ldexp(fabs((double)v), 24)));
   uint32_t bits = (uint32_t)nearbyint(ldexp(m, 11)); /* 1024 .. 2048 */
   return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + bits - 1024));
}

static double
from_half(uint16_t h)
{
   int exponent = h >> 10 & 31, m = h & 1023;
   double v = exponent ? ldexp(1024 + m, exponent - 25) : ldexp(m, -24);
   return h & 0x8000 ? -v : v;
}

/* ---- memory ---- */
static uint64_t
upload(const void *data, size_t bytes)
{
   uint64_t address;
   require(cu.cuMemAlloc_v2(&address, bytes) == 0, "cuMemAlloc");
   require(cu.cuMemcpyHtoDAsync_v2(address, data, bytes, NULL) == 0, "cuMemcpyHtoD");
   return address;
}

static void
fetch(void *data, uint64_t address, size_t bytes)
{
   require(cu.cuMemcpyDtoHAsync_v2(data, address, bytes, NULL) == 0, "cuMemcpyDtoH");
   require(cu.cuCtxSynchronize() == 0, "cuCtxSynchronize");
   require(cu.cuMemFree_v2(address) == 0, "cuMemFree");
}

static void *
at(uint64_t address)
{
   return (void *)(uintptr_t)address;
}

static void
report(const char *what, double wrong, double norm, double bound)
{
   double error = sqrt(wrong / norm);
   int ok = error <= bound; /* false for NaN */
   printf("%-46s relative error %.2e, bound %.0e: %s\n", what, error, bound, ok ? "ok" : "WRONG");
   failures += !ok;
}

/* ---- the kernels ---- */
/* `shift` floats into the buffer: 0 takes the aligned specialisation, 1 the general one. */
static void
check_elu(int n, int shift, float alpha)
{
   size_t count = (size_t)n + (size_t)shift + 8, bytes = count * sizeof(float);
   float *x = malloc(bytes), *y = malloc(bytes);
   uint64_t seed = (uint64_t)n;
   require(x && y, "malloc");
   for (size_t i = 0; i < count; i++) {
      x[i] = 2 * random_value(&seed);
      y[i] = 12345.0f;
   }
   uint64_t dx = upload(x, bytes), dy = upload(y, bytes);
   size_t from = (size_t)shift * sizeof(float);
   int status = elu_launch_auto(NULL, (float *)at(dx + from), (float *)at(dy + from), n, alpha);
   if (status != ELU_OK)
      printf("elu_launch_auto: %s: %s\n", elu_message(status), elu_error());
   require(status == ELU_OK, "elu_launch_auto");
   fetch(y, dy, bytes);
   fetch(x, dx, bytes);
   double wrong = 0, norm = 0;
   int outside = 0;
   for (int i = 0; i < (int)count; i++) {
      int k = i - shift;
      double v = x[i], want = v < 0 ? (double)alpha * expm1(v) : v;
      if (k < 0 || k >= n) {
         outside += y[i] != 12345.0f;
         continue;
      }
      wrong += (y[i] - want) * (y[i] - want);
      norm += want * want;
   }
   char what[80];
   snprintf(what, sizeof what, "elu n=%d alpha=%g%s", n, (double)alpha, shift ? " unaligned" : "");
   report(what, wrong, norm, 1e-6);
   failures += outside != 0;
   if (outside)
      printf("WRONG: %d elements outside were written\n", outside);
   free(x);
   free(y);
}

/* One row of one head in double precision. */
static void
attention_row(const uint16_t *q, const uint16_t *k, const uint16_t *v, int n, int row, int causal,
              double scale, double *weights, double out[D])
{
   int keys = causal ? row + 1 : n;
   double top = -INFINITY, sum = 0;
   for (int j = 0; j < keys; j++) {
      double s = 0;
      for (int d = 0; d < D; d++)
         s += from_half(q[row * D + d]) * from_half(k[j * D + d]);
      weights[j] = s * scale;
      top = fmax(top, weights[j]);
   }
   for (int d = 0; d < D; d++)
      out[d] = 0;
   for (int j = 0; j < keys; j++) {
      double w = exp(weights[j] - top);
      sum += w;
      for (int d = 0; d < D; d++)
         out[d] += w * from_half(v[j * D + d]);
   }
   for (int d = 0; d < D; d++)
      out[d] /= sum;
}

static void
check_attention(int heads, int n, int causal)
{
   size_t count = (size_t)heads * (size_t)n * D, bytes = count * sizeof(uint16_t);
   size_t rows = (size_t)heads * (size_t)n;
   uint16_t *q = malloc(bytes), *k = malloc(bytes), *v = malloc(bytes), *o = calloc(1, bytes);
   float *lse = calloc(rows, sizeof(float));
   double *weights = malloc((size_t)n * sizeof(double));
   uint64_t seed = (uint64_t)(n + causal);
   require(q && k && v && o && lse && weights, "malloc");
   for (size_t i = 0; i < count; i++) {
      q[i] = to_half(random_value(&seed));
      k[i] = to_half(random_value(&seed));
      v[i] = to_half(random_value(&seed));
   }
   uint64_t dq = upload(q, bytes), dk = upload(k, bytes), dv = upload(v, bytes);
   uint64_t dout = upload(o, bytes), dlse = upload(lse, rows * sizeof(float));
   float scale = 0.125f;
   int status = attention_launch_auto(NULL, at(dq), at(dk), at(dv), at(dout), (float *)at(dlse),
                                      heads, n, scale, causal);
   if (status != ATTENTION_OK)
      printf("attention_launch_auto: %s: %s\n", attention_message(status), attention_error());
   require(status == ATTENTION_OK, "attention_launch_auto");
   fetch(o, dout, bytes);
   fetch(lse, dlse, rows * sizeof(float));
   fetch(q, dq, bytes);
   fetch(k, dk, bytes);
   fetch(v, dv, bytes);
   double wrong = 0, norm = 0;
   for (int h = 0; h < heads; h++) {
      size_t base = (size_t)h * (size_t)n * D;
      for (int row = 0; row < n; row += n > 256 ? 17 : 1) {
         double want[D];
         attention_row(q + base, k + base, v + base, n, row, causal, (double)scale, weights, want);
         for (int d = 0; d < D; d++) {
            double got = from_half(o[base + (size_t)row * D + (size_t)d]);
            wrong += (got - want[d]) * (got - want[d]);
            norm += want[d] * want[d];
         }
      }
   }
   char what[80];
   snprintf(what, sizeof what, "attention heads=%d n=%d%s", heads, n, causal ? " causal" : "");
   report(what, wrong, norm, 6e-4);
   free(q);
   free(k);
   free(v);
   free(o);
   free(lse);
   free(weights);
}

int
main(void)
{
   int device = 0;
   void *context;
   if (!open_driver(&cu) || cu.cuDeviceGet(&device, 0) != 0) {
      int status = elu_launch_auto(NULL, NULL, NULL, 1, 1.0f);
      int is_typed = status == ELU_NO_DRIVER || status == ELU_BAD_CONTEXT;
      printf("no GPU; the kernel says: %s (%s)\n", elu_message(status), elu_error());
      return is_typed ? NO_GPU : 1;
   }
   require(cu.cuDevicePrimaryCtxRetain(&context, device) == 0, "cuDevicePrimaryCtxRetain");
   require(cu.cuCtxPushCurrent_v2(context) == 0, "cuCtxPushCurrent");
   static const int sizes[] = {17, 1023, 1024, 1040, 98432, 1 << 20};
   for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      for (int shift = 0; shift < 2; shift++)
         check_elu(sizes[i], shift, i % 2 ? 0.5f : 1.0f);
   for (int causal = 0; causal < 2; causal++) {
      check_attention(2, 100, causal);
      check_attention(3, 128, causal);
      check_attention(2, 1024, causal);
   }
   int unloaded = elu_unload() == ELU_OK && attention_unload() == ATTENTION_OK;
   printf("%s\n", failures || !unloaded ? "FAILED" : "all within bounds");
   return failures || !unloaded;
}
