/* A stand-in for libcublasLt.so for tests: writes down one product at a time.  Handles are heap
 * blocks, so that what is left over is counted. */
#pragma GCC visibility push(default)
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Handle {
   int transposed[2], compute, scale, fast; /* of a product */
   int type;                                /* of a matrix */
   uint64_t rows, columns;
   int64_t step;
} Handle;

static char text[2048];
static size_t used;
static int alive, failure;
static size_t preferred;

static void
say(const char *format, ...)
{
   va_list args;
   va_start(args, format);
   int n = vsnprintf(text + used, sizeof text - used, format, args);
   va_end(args);
   if (n > 0 && used + (size_t)n < sizeof text)
      used += (size_t)n;
}

static Handle *
made(Handle **out)
{
   alive++;
   return *out = calloc(1, sizeof **out);
}

static int
dropped(Handle *h)
{
   alive--;
   free(h);
   return 0;
}

const char *
fake_cublas_log(void)
{
   say("alive %d\n", alive);
   used = 0;
   return text;
}

void
fake_cublas_fail(int status)
{
   failure = status;
}

int
cublasLtCreate(void **out)
{
   *out = text;
   return 0;
}

int
cublasLtDestroy(void *h)
{
   return h == text ? 0 : 7;
}

int
cublasLtMatmulPreferenceCreate(Handle **out)
{
   return made(out) ? 0 : 3;
}

int
cublasLtMatmulPreferenceDestroy(Handle *h)
{
   return dropped(h);
}

int
cublasLtMatmulPreferenceSetAttribute(Handle *h, int which, const void *value, size_t bytes)
{
   if (!h || which != 1 || bytes != sizeof preferred)
      return 7;
   preferred = *(const size_t *)value;
   return 0;
}

int
cublasLtMatmulDescCreate(Handle **out, int compute, int scale)
{
   if (!made(out))
      return 3;
   (*out)->compute = compute;
   (*out)->scale = scale;
   return 0;
}

int
cublasLtMatmulDescDestroy(Handle *h)
{
   return dropped(h);
}

int
cublasLtMatmulDescSetAttribute(Handle *h, int which, const void *value, size_t bytes)
{
   if (which == 25 && bytes == 1)
      h->fast = *(const int8_t *)value;
   else if ((which == 3 || which == 4) && bytes == sizeof(int))
      h->transposed[which - 3] = *(const int *)value;
   else
      return 7;
   return 0;
}

int
cublasLtMatrixLayoutCreate(Handle **out, int type, uint64_t rows, uint64_t columns, int64_t step)
{
   if (!made(out))
      return 3;
   **out = (Handle){.type = type, .rows = rows, .columns = columns, .step = step};
   return 0;
}

int
cublasLtMatrixLayoutDestroy(Handle *h)
{
   return dropped(h);
}

int
cublasLtMatmulAlgoGetHeuristic(void *lt, Handle *how, Handle *a, Handle *b, Handle *c, Handle *d,
                               Handle *preference, int wanted, uint64_t *result, int *count)
{
   if (lt != text || !how || !a || !b || !c || !d || !preference || wanted != 1)
      return 7;
   result[0] = 7;
   *count = 1;
   return 0;
}

static void
say_matrix(const char *name, const void *at, const Handle *h)
{
   say("%s %p: type %d, %lu x %lu, step %ld\n", name, at, h->type, (unsigned long)h->rows,
       (unsigned long)h->columns, (long)h->step);
}

int
cublasLtMatmul(void *lt, Handle *how, const float *alpha, const void *a, Handle *of_a,
               const void *b, Handle *of_b, const float *beta, const void *c, Handle *of_c, void *d,
               Handle *of_d, const uint64_t *algorithm, void *space, size_t space_bytes,
               void *stream)
{
   if (failure || lt != text)
      return failure;
   say("preference %zu\n", preferred);
   say("operations %d %d compute %d scale %d fast %d\n", how->transposed[0], how->transposed[1],
       how->compute, how->scale, how->fast);
   say_matrix("A", a, of_a);
   say_matrix("B", b, of_b);
   say_matrix("C", c, of_c);
   say_matrix("D", d, of_d);
   say("%g * A^T B + %g * C by algorithm %d, work space %p %zu, stream %p\n", (double)*alpha,
       (double)*beta, (int)algorithm[0], space, space_bytes, stream);
   return 0;
}
