/* The kernels as C that tilec made of the .tile files when this program was built: it needs neither
 * them nor a compiler, only the NVIDIA driver.  What they are compiled for is in CMakeLists.txt. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>

enum { NO_GPU = 77 };

/* Arguments as C has them. */
static void *
pointer(const TilecArg *a)
{
   return (char *)tilec_buffer_address(a->as.buffer) + a->bytes;
}

static int32_t
integer(const TilecArg *a)
{
   return (int32_t)a->as.i;
}

#define P(i) pointer(&a[i])
#define I(i) integer(&a[i])
#define F(i) (float)a[i].as.f

/* One row for each kernel: its name in the generated C, and its arguments without those that are
 * None. */
#define AOT_KERNELS(X)                                                                             \
   X(EMBED, embed, P(0), P(1), P(2), I(3), I(4))                                                   \
   X(RMS_NORM, rms_norm, P(0), P(1), P(2), I(4), I(5), F(6))                                       \
   X(MATMUL, matmul, P(0), P(1), P(2), I(3), I(4), I(5), I(6), I(7), I(8), I(9), I(10), I(11))     \
   X(SWIGLU, swiglu, P(0), P(1), P(2), I(3))                                                       \
   X(ADD, add, P(0), P(1), P(2), I(3))                                                             \
   X(MATVEC, matvec, P(0), P(1), P(2), P(4), I(5), I(6), F(7))                                     \
   X(MATVEC_LOGITS, matvec_logits, P(0), P(1), P(2), P(4), I(5), I(6), F(7))                       \
   X(MATVEC_SWIGLU, matvec_swiglu, P(0), P(1), P(2), P(3), I(4), I(5), F(6))                       \
   X(MATVEC_ADD, matvec_add, P(0), P(1), P(3), P(4), I(5), I(6), F(7))                             \
   X(ROPE_APPEND, rope_append, P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), I(8), I(9))         \
   X(PREFILL, prefill, P(0), P(1), P(2), P(3), P(4), I(5), I(6), I(7), F(8))                       \
   X(DECODE, decode, P(0), P(1), P(2), P(3), P(4), P(5), P(6), I(7), I(8), I(9), I(10), F(11))     \
   X(MERGE, merge, P(0), P(1), P(2), I(3), I(4))                                                   \
   X(BEST_OF_BLOCK, best_of_block, P(0), P(1), P(2), I(3))                                         \
   X(NEXT_TOKEN, next_token, P(0), P(1), P(2), P(3), P(4), P(5), I(6))

#include "add.h"
#include "best_of_block.h"
#include "decode.h"
#include "embed.h"
#include "matmul.h"
#include "matvec.h"
#include "matvec_add.h"
#include "matvec_logits.h"
#include "matvec_swiglu.h"
#include "merge.h"
#include "next_token.h"
#include "prefill.h"
#include "rms_norm.h"
#include "rope_append.h"
#include "swiglu.h"

#define LAUNCHER(id, name, ...)                                                                    \
   static int launch_##name(TilecStream stream, const TilecArg *a)                                 \
   {                                                                                               \
      return name##_launch_auto(stream, __VA_ARGS__);                                              \
   }
AOT_KERNELS(LAUNCHER)
#undef LAUNCHER

static const struct {
   int (*launch)(TilecStream stream, const TilecArg *a);
   int (*load)(void);
   int (*unload)(void);
   const char *(*error)(void);
   const char *name;
} kernels[KERNELS] = {
#define ROW(id, name, ...) [id] = {launch_##name, name##_load, name##_unload, name##_error, #name},
   AOT_KERNELS(ROW)
#undef ROW
};

static const int32_t built_for[CONSTANTS] = {
#define BUILT_FOR(name) [name] = AOT_##name,
   KERNEL_CONSTANTS(BUILT_FOR)
#undef BUILT_FOR
};

static const char *const constant_names[CONSTANTS] = {
#define NAME(name) [name] = #name,
   KERNEL_CONSTANTS(NAME)
#undef NAME
};

struct Kernels {
   Example *ex;
};

void
ex_attach_compiler(Example *ex)
{
   if (ex->executor == TILEC_ON_CUDA)
      return;
   printf("%s: kernels that were compiled ahead of time run on a GPU only\n", ex->name);
   exit(NO_GPU);
}

static void
check(const Kernels *k, KernelId id, int status)
{
   if (status != TILEC_OK)
      ex_die(k->ex, "%s: %s: %s", kernels[id].name, tilec_status_string((TilecStatus)status),
             kernels[id].error());
}

/* A block may be larger than what it has to hold. */
Kernels *
kernels_open(Example *ex, const Constants *wanted)
{
   Kernels *k = ex_allocate(1, sizeof *k);
   k->ex = ex;
   for (Constant c = 0; c < CONSTANTS; c++) {
      bool is_block = c == ROW_BLOCK || c == TOKEN_BLOCKS;
      if (is_block ? built_for[c] < wanted->value[c] : built_for[c] != wanted->value[c])
         ex_die(ex, "this model needs %s=%d, but the kernels were compiled for %d",
                constant_names[c], (int)wanted->value[c], (int)built_for[c]);
   }
   for (KernelId id = 0; id < KERNELS; id++)
      check(k, id, kernels[id].load());
   return k;
}

void
kernels_close(Kernels *k)
{
   for (KernelId id = 0; id < KERNELS; id++)
      kernels[id].unload();
   free(k);
}

void
kernels_launch(Kernels *k, KernelId id, TilecStream stream, const TilecArg *args, size_t num_args)
{
   (void)num_args;
   check(k, id, kernels[id].launch(stream, args));
}
