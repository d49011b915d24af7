/* The kernels from their .tile files, compiled when they are first launched. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEFINES = 3, DEFINE_BYTES = 32 };

typedef struct Define {
   const char *name;
   Constant value;
} Define;

static const struct {
   const char *file, *kernel;
   uint32_t num_warps; /* 0: the kernel's own */
   Define defines[MAX_DEFINES];
} sources[KERNELS] = {
   [EMBED] = {"embedding.tile", "embedding", 0, {{0}}},
   [RMS_NORM] = {"rms_norm.tile", "rms_norm", 0, {{"BLOCK", ROW_BLOCK}}},
   [MATMUL] = {"matmul.tile", "matmul", 4, {{"BLOCK_M", TILE}, {"BLOCK_N", TILE}}},
   [SWIGLU] = {"swiglu.tile", "swiglu", 0, {{0}}},
   [ADD] = {"vector_add.tile", "vector_add", 0, {{0}}},
   [MATVEC] = {"matvec.tile", "matvec", 0, {{0}}},
   [MATVEC_LOGITS] = {"matvec.tile", "matvec", 0, {{0}}},
   [MATVEC_SWIGLU] = {"matvec.tile", "matvec_swiglu", 0, {{0}}},
   [MATVEC_ADD] = {"matvec.tile", "matvec", 0, {{0}}},
   [ROPE_APPEND] = {"paged_prefill.tile",
                    "rope_append",
                    0,
                    {{"D", HEAD_DIM}, {"GROUP", GROUP}, {"PAGE", PAGE}}},
   [PREFILL] = {"paged_prefill.tile",
                "paged_prefill",
                0,
                {{"D", HEAD_DIM}, {"GROUP", GROUP}, {"PAGE", PAGE}}},
   [DECODE] = {"paged_attention.tile",
               "paged_split",
               0,
               {{"D", HEAD_DIM}, {"GROUP", GROUP}, {"PAGE", PAGE}}},
   [MERGE] = {"flash_decoding.tile", "decode_merge", 0, {{"D", HEAD_DIM}, {"SPLITS", SPLITS}}},
   [BEST_OF_BLOCK] = {"greedy.tile", "best_of_block", 0, {{"BLOCK", TOKEN_BLOCK}}},
   [NEXT_TOKEN] = {"greedy.tile", "next_token", 0, {{"BLOCKS", TOKEN_BLOCKS}}},
};

struct Kernels {
   Example *ex;
   ExKernel kernel[KERNELS];
};

Kernels *
kernels_open(Example *ex, const Constants *constants)
{
   Kernels *k = ex_allocate(1, sizeof *k);
   k->ex = ex;
   for (KernelId id = 0; id < KERNELS; id++) {
      char text[MAX_DEFINES][DEFINE_BYTES];
      const char *defines[MAX_DEFINES + 1] = {NULL};
      for (int i = 0; i < MAX_DEFINES && sources[id].defines[i].name; i++) {
         const Define *d = &sources[id].defines[i];
         snprintf(text[i], DEFINE_BYTES, "%s=%d", d->name, (int)constants->value[d->value]);
         defines[i] = text[i];
      }
      k->kernel[id] =
         ex_kernel(ex, sources[id].file, sources[id].kernel, sources[id].num_warps, defines);
   }
   return k;
}

void
kernels_close(Kernels *k)
{
   for (KernelId id = 0; id < KERNELS; id++)
      ex_free_kernel(&k->kernel[id]);
   free(k);
}

void
kernels_launch(Kernels *k, KernelId id, TilecStream stream, const TilecArg *args, size_t num_args)
{
   TilecLaunch launch = {.stream = stream, .grid = {TILEC_OWN_GRID}};
   ex_must(k->ex, tilec_launch(k->kernel[id].kernel, &launch, args, num_args), sources[id].kernel);
}
