/* What a GPU architecture has: data that passes and code generation ask, from target.def. */
#ifndef TL_IR_TARGET_H
#define TL_IR_TARGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
#define TL_FEATURE(id) TL_FEAT_BIT_##id,
#include "ir/target.def"
};
enum {
#define TL_FEATURE(id) TL_FEAT_##id = 1 << TL_FEAT_BIT_##id,
#include "ir/target.def"
};

enum { TL_PTX_ANY = UINT16_MAX }; /* no upper bound */

typedef struct TlTarget {
   const char *arch;
   uint32_t sm;               /* 90 for sm_90 and sm_90a */
   uint32_t ptx;              /* 80 = PTX ISA 8.0: of every kernel */
   uint32_t max_ptx;          /* operations that need a newer one are done without it */
   uint32_t max_shared_bytes; /* opt-in dynamic shared memory of a block */
   uint32_t thread_registers; /* at most */
   /* What a multiprocessor holds at once: */
   uint32_t sm_registers, sm_shared_bytes, sm_warps, sm_blocks;
   uint32_t multiprocessors; /* of the largest product */
   uint32_t dot_rate;        /* multiplications of fp16 in a cycle of a multiprocessor */
   uint32_t features;
} TlTarget;

const TlTarget *tl_target_find(const char *arch); /* NULL if unknown */
/* The one whose PTX a device of that name runs best: itself or, of a device that the table lacks
 * (sm_100a, sm_103, sm_121a), the newest plain one that is not newer.  NULL if there is none. */
const TlTarget *tl_target_for(const char *arch);
/* What somebody means who writes "h100", "NVIDIA H100 80GB HBM3", "RTX 4090", "sm90", "compute_90"
 * or "9.0": an architecture, which may be one that tilec does not know; NULL: nothing.  *product:
 * the GPU as its maker writes it, NULL where the text is nearly an architecture's name. */
const char *tl_target_meant(const char *text, const char **product);
/* The i-th known target, NULL past the end: for messages and tests. */
const TlTarget *tl_target_at(unsigned i);

/* PTX ISA that has the matrix instruction (TL_MMA_*); can the target's kernels use it? */
uint32_t tl_mma_ptx(int64_t mma);
bool tl_target_has_mma(const TlTarget *t, int64_t mma);
/* PTX ISA, "red": vectors of fp32, fp16 and bf16 up to 16 bytes. */
enum { TL_PTX_RED_VEC = 81 };
bool tl_target_has_red_vec(const TlTarget *t);

#endif
