/* Launches elu.ptx with nothing but the NVIDIA driver: no tilec, no CUDA toolkit, no headers of
 * theirs.
 *
 *    tilec build dsl_examples/elu.tile -o elu.ptx         writes elu.ptx and its record elu.json
 *    cc bare_driver.c -o bare_driver -ldl -lm && ./bare_driver elu.ptx elu.json
 *
 * The record says how the entry is called, how many threads a block has, how much shared memory it
 * wants and in which order arguments go; see docs/ahead-of-time.md.  Exit code 77: no GPU. */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_GPU = 77 };

/* The part of the driver's interface that a launch needs. */
#define DRIVER(X)                                                                                  \
   X(cuInit, (unsigned flags))                                                                     \
   X(cuDeviceGet, (int *device, int ordinal))                                                      \
   X(cuDevicePrimaryCtxRetain, (void **context, int device))                                       \
   X(cuCtxPushCurrent_v2, (void *context))                                                         \
   X(cuCtxSynchronize, (void))                                                                     \
   X(cuMemAlloc_v2, (uint64_t *address, size_t bytes))                                             \
   X(cuMemFree_v2, (uint64_t address))                                                             \
   X(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream))            \
   X(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream))                  \
   X(cuModuleLoadDataEx,                                                                           \
     (void **module, const void *image, unsigned n, int *options, void **values))                  \
   X(cuModuleGetFunction, (void **function, void *module, const char *name))                       \
   X(cuFuncSetAttribute, (void *function, int attribute, int value))                               \
   X(cuLaunchKernel,                                                                               \
     (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
      unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra))
typedef struct Driver {
#define MEMBER(name, params) int(*name) params;
   DRIVER(MEMBER)
#undef MEMBER
} Driver;

static int
open_driver(Driver *cu)
{
   static const struct {
      const char *name;
      size_t at;
   } symbols[] = {
#define ROW(name, params) {#name, offsetof(Driver, name)},
      DRIVER(ROW)
#undef ROW
   };
   void *library = dlopen("libcuda.so.1", RTLD_NOW);
   if (!library)
      return 0;
   for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
      void *address = dlsym(library, symbols[i].name);
      if (!address)
         return 0;
      memcpy((char *)cu + symbols[i].at, &address, sizeof address);
   }
   return cu->cuInit(0) == 0;
}

static void
check(int code, const char *what)
{
   if (code != 0) {
      fprintf(stderr, "%s: CUDA error %d\n", what, code);
      exit(1);
   }
}

static char *
read_file(const char *path)
{
   FILE *f = fopen(path, "rb");
   char *text = calloc(1, 1 << 20);
   if (!f || !text || fread(text, 1, (1 << 20) - 1, f) == 0) {
      fprintf(stderr, "cannot read %s\n", path);
      exit(1);
   }
   fclose(f);
   return text;
}

/* The first value of a field in the record.  A program of any size has a JSON reader; this one has
 * a record with one kernel, whose fields are found by their names. */
static const char *
field(const char *json, const char *name)
{
   char key[64];
   snprintf(key, sizeof key, "\"%s\": ", name);
   const char *at = strstr(json, key);
   if (!at) {
      fprintf(stderr, "the record has no field '%s'\n", name);
      exit(1);
   }
   return at + strlen(key);
}

/* What `BLOCK` was compiled for: the `value` of the argument of that name. */
static unsigned
constant(const char *json, const char *argument)
{
   char key[64];
   snprintf(key, sizeof key, "\"name\": \"%s\"", argument);
   const char *at = strstr(json, key);
   return at ? (unsigned)strtoul(field(at, "value") + 1, NULL, 10) : 0;
}

int
main(int argc, char **argv)
{
   enum { N = 100003 };
   static float x[N], y[N];
   Driver cu;
   int device;
   void *context, *module, *elu;
   uint64_t dx, dy;
   if (argc != 3) {
      fprintf(stderr, "usage: bare_driver elu.ptx elu.json\n");
      return 2;
   }
   char *ptx = read_file(argv[1]), *json = read_file(argv[2]);
   char entry[128] = "";
   sscanf(field(json, "entry"), "\"%127[^\"]", entry);
   unsigned threads = (unsigned)strtoul(field(json, "threads"), NULL, 10);
   unsigned shared_bytes = (unsigned)strtoul(field(json, "shared_bytes"), NULL, 10);
   unsigned block = constant(json, "BLOCK");
   printf("%s: %u threads, %u bytes of shared memory, %u elements a program\n", entry, threads,
          shared_bytes, block);
   if (!block || !threads)
      return 1;
   if (!open_driver(&cu) || cu.cuDeviceGet(&device, 0) != 0) {
      printf("no GPU\n");
      return NO_GPU;
   }
   check(cu.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
   check(cu.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
   check(cu.cuModuleLoadDataEx(&module, ptx, 0, NULL, NULL), "cuModuleLoadDataEx");
   check(cu.cuModuleGetFunction(&elu, module, entry), "cuModuleGetFunction");
   if (shared_bytes > 48 * 1024) /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
      check(cu.cuFuncSetAttribute(elu, 8, (int)shared_bytes), "cuFuncSetAttribute");

   for (int i = 0; i < N; i++)
      x[i] = (float)(i % 2001 - 1000) / 250;
   check(cu.cuMemAlloc_v2(&dx, sizeof x), "cuMemAlloc");
   check(cu.cuMemAlloc_v2(&dy, sizeof y), "cuMemAlloc");
   check(cu.cuMemcpyHtoDAsync_v2(dx, x, sizeof x, NULL), "cuMemcpyHtoD");

   /* the arguments without a `value`, in the record's order: x, y, n, alpha */
   int32_t n = N;
   float alpha = 1.0f;
   void *params[] = {&dx, &dy, &n, &alpha};
   check(cu.cuLaunchKernel(elu, (N + block - 1) / block, 1, 1, threads, 1, 1, shared_bytes, NULL,
                           params, NULL),
         "cuLaunchKernel");
   check(cu.cuMemcpyDtoHAsync_v2(y, dy, sizeof y, NULL), "cuMemcpyDtoH");
   check(cu.cuCtxSynchronize(), "cuCtxSynchronize");
   check(cu.cuMemFree_v2(dx), "cuMemFree");
   check(cu.cuMemFree_v2(dy), "cuMemFree");

   double wrong = 0, norm = 0;
   for (int i = 0; i < N; i++) {
      double v = x[i], want = v < 0 ? expm1(v) : v;
      wrong += (y[i] - want) * (y[i] - want);
      norm += want * want;
   }
   double error = sqrt(wrong / norm);
   printf("relative error %.2e, at most 1e-6 is allowed: %s\n", error,
          error <= 1e-6 ? "ok" : "WRONG");
   free(ptx);
   free(json);
   return error <= 1e-6 ? 0 : 1;
}
