/* Arguments of launches on the CPU executor: kinds, types, values, sizes, counts and grids are the
 * input's.  Eight bytes make an argument; the first byte chooses kernel and way. */
#include "tilec/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ARGS = 12, MEMORY_BYTES = 4096, KERNELS = 4 };

static const char *const sources[KERNELS] = {
   "@kernel\ndef k(x: *fp32, n: i32):\n    i = arange(0, 16)\n"
   "    store(x + i, load(x + i, i < n, 0.0) + 1, i < n)\n",
   "@kernel(grid=(cdiv(n, 16) % 9, m % 7 + 1))\ndef k(x, y, n, m: i64 = 3):\n    i = arange(0, "
   "16)\n"
   "    store(y + i, load(x + i, i < n) + m, i < n)\n",
   "@kernel\ndef k(d: \"tensordesc<fp16[4,16]>\", a: fp32, b: i1, c: u8):\n"
   "    d.store([0, 0], (d.load([0, 0]) * a + b + c).to(fp16))\n",
   "@kernel(do_not_specialize=[\"n\"])\ndef k(x: *const i8, s: u64, n, o: *i64 = None):\n"
   "    if o is not None:\n        store(o, load(x + n).to(i64) + s.to(i64))\n"};

static TilecRuntime *rt;
static TilecModule *modules[KERNELS];
static TilecKernel *kernels[KERNELS];

/* Opened anew now and then, as each set of facts stays compiled in it. */
static void
open_all(void)
{
   static unsigned num_runs;
   if (rt && num_runs++ % 4096)
      return;
   for (int i = 0; i < KERNELS; i++)
      tilec_module_free(modules[i]);
   tilec_runtime_close(rt);
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = TILEC_ON_CPU, .num_threads = 1};
   if (tilec_runtime_open(&o, &rt) != TILEC_OK || tilec_jit_attach(rt, NULL) != TILEC_OK)
      abort();
   for (int i = 0; i < KERNELS; i++) {
      TilecSource s = {.struct_size = sizeof s,
                       .file = "f.tile",
                       .source = sources[i],
                       .source_bytes = TILEC_STRLEN};
      if (tilec_module_from_source(rt, &s, &modules[i]) != TILEC_OK ||
          tilec_module_kernel(modules[i], "k", &kernels[i]) != TILEC_OK) {
         char text[1024];
         tilec_runtime_error(rt, text, sizeof text);
         fprintf(stderr, "kernel %d: %s\n", i, text);
         abort();
      }
   }
}

/* bytes: kind, dtype, rank or size, offset, four of a value. */
static TilecArg
argument(const uint8_t *b, char *memory, TilecTensor *tensor)
{
   static const int64_t values[] = {0,         1,       -1,        16,        127,        255,
                                    -32768,    65535,   INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX,
                                    INT64_MIN, 1 << 20, 100,       8};
   TilecArg a = {(TilecArgKind)(b[0] % 7), (TilecDtype)(b[1] % (TILEC_DTYPE_COUNT + 1)), {0}, 0};
   int32_t four;
   memcpy(&four, b + 4, sizeof four);
   int64_t value = b[3] % 2 ? values[b[2] % 16] : four;
   switch (b[0] % 7) {
   case TILEC_ARG_SCALAR:
      if (a.dtype == TILEC_FP32 || a.dtype == TILEC_FP64)
         a.as.f = (double)value * (b[3] & 4 ? 0x1p-30 : b[3] & 8 ? 0x1p300 : 1);
      else
         a.as.i = value;
      break;
   case TILEC_ARG_POINTER:
      a = tilec_ptr(a.dtype, memory + b[3] % 16, b[2] % 4 ? MEMORY_BYTES - 16 : b[2]);
      break;
   case TILEC_ARG_TENSOR:
      *tensor = (TilecTensor){.base = tilec_ptr(a.dtype, memory + b[3] % 16, MEMORY_BYTES - 16),
                              .rank = b[2] % 7};
      for (int i = 0; i < TILEC_TENSOR_RANK; i++) {
         tensor->shape[i] = b[4 + i % 4] % 2 ? b[4 + i % 4] : values[b[4 + i % 4] % 16];
         tensor->strides[i] = i == (int)tensor->rank - 1 ? 1 : b[4 + i % 4] * 16;
         tensor->block[i] = i == 0 ? 4 : b[7] & 64 ? b[7] : 16;
      }
      a.as.tensor = b[3] & 16 ? NULL : tensor;
      break;
   default:
      break; /* None, a buffer that is none, no kind at all */
   }
   return a;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
   if (size < 4)
      return 0;
   open_all();
   static _Alignas(256) char memory[MEMORY_BYTES];
   TilecArg args[MAX_ARGS];
   TilecTensor tensors[MAX_ARGS];
   size_t num = 0;
   for (size_t at = 4; at + 8 <= size && num < MAX_ARGS; at += 8, num++)
      args[num] = argument(data + at, memory, &tensors[num]);
   TilecKernel *k = kernels[data[0] % KERNELS];
   TilecLaunch launch = {.grid = {data[1] % 4, data[2] % 4, data[3] % 4}};
   if (data[1] & 128)
      launch.grid[0] = TILEC_OWN_GRID;
   if (data[2] & 128)
      launch.grid[1] = UINT32_MAX;
   char text[512];
   if (tilec_kernel_explain(k, args, num, text, data[3]) == TILEC_OK && data[3])
      (void)strlen(text);
   TilecStatus status =
      data[0] & 64 ? tilec_kernel_prepare(k, args, num) : tilec_launch(k, &launch, args, num);
   if (status == TILEC_INTERNAL || (status != TILEC_OK && !tilec_runtime_error(rt, text, 512)))
      abort();
   return 0;
}
