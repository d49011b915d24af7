/* The kernels of the engine.  Two files do what this header says: kernels_jit.c compiles the .tile
 * files when the program runs, kernels_aot.c calls the C that tilec made of them before. */
#ifndef TRANSFORMER_KERNELS_H
#define TRANSFORMER_KERNELS_H

#include "model.h"
#include "support.h"

typedef enum KernelId {
   EMBED,         /* embedding.tile */
   RMS_NORM,      /* rms_norm.tile; of many tokens, like the next three */
   MATMUL,        /* matmul.tile: y = x w^T */
   SWIGLU,        /* swiglu.tile */
   ADD,           /* vector_add.tile: x += y */
   MATVEC,        /* matvec.tile: y = w rms_norm(x), of one token, like the next three */
   MATVEC_LOGITS, /* the same, y in fp32 */
   MATVEC_SWIGLU, /* gate, up and what follows */
   MATVEC_ADD,    /* x += w y */
   ROPE_APPEND,   /* paged_prefill.tile */
   PREFILL,       /* of the same */
   DECODE,        /* paged_attention.tile */
   MERGE,         /* flash_decoding.tile */
   BEST_OF_BLOCK, /* greedy.tile */
   NEXT_TOKEN,    /* of the same */
   KERNELS
} KernelId;

/* What kernels are compiled for. */
#define KERNEL_CONSTANTS(X)                                                                        \
   X(HEAD_DIM)                                                                                     \
   X(GROUP)        /* heads of queries that share one of keys */                                   \
   X(PAGE)         /* tokens of a page of the cache */                                             \
   X(SPLITS)       /* programs that share the keys of a head */                                    \
   X(ROW_BLOCK)    /* a power of two >= DIM */                                                     \
   X(TOKEN_BLOCK)  /* logits that one program compares */                                          \
   X(TOKEN_BLOCKS) /* a power of two >= how many programs that are */                              \
   X(TILE)         /* rows and columns of a tile of a matrix product */
typedef enum Constant {
#define CONSTANT(name) name,
   KERNEL_CONSTANTS(CONSTANT) CONSTANTS
#undef CONSTANT
} Constant;
typedef struct Constants {
   int32_t value[CONSTANTS];
} Constants;

typedef struct Kernels Kernels;
Kernels *kernels_open(Example *ex, const Constants *constants);
void kernels_close(Kernels *k);
/* Puts the kernel, over its own grid, into the stream. */
void kernels_launch(Kernels *k, KernelId id, TilecStream stream, const TilecArg *args,
                    size_t num_args);
#endif
