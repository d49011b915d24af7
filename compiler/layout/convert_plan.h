/* How to move a tile from layout `src` to layout `dst`: a value that lowering executes
 * mechanically and the tests execute in a simulator.
 *
 * Both layouts have the same shape, and the same numbers of lane, warp and block bits; block
 * columns are equal (a conversion never leaves the block).  Power-of-two repeats are folded first
 * (which renames no register); with counted repeats left the plan is done once for each repeat
 * index, register index = (repeat << bits) | register of the plan.  Below, "register" is that
 * lower part.
 *
 * Registers of dst whose bits are outside `dst_live` are copies: dst[r] = dst[r & dst_live].
 *
 * NOTHING     dst[r] = src[r].
 * REGISTERS   dst[r] = src[from(r)], from(r) = XOR of from_reg[i] over set bits i of r.
 * SHUFFLES    stays within the warp.  With active(stage) = parity(lane & stage.lane) ^
 *             parity(warp & stage.warp):
 *               a = src;  for each pre stage:   a[x] = active ? a[x ^ stage.reg] : a[x]   (all x)
 *               for every live r:  dst[r] = value of a[from(r)] in lane  from_lane(r, lane, warp)
 *               for each post stage:  dst[x] = active ? dst[x ^ stage.reg] : dst[x]   (all live x)
 *             from_lane = XOR of lane_by_lane, lane_by_reg, lane_by_warp columns.  If !exchange,
 *             from_lane is the lane itself and no shuffle is needed.  pack_bits > 0: elements under
 *             register bits pack_src[i] / pack_dst[i] always travel together (no stage and no lane
 *             depends on them), so 2^pack_bits of them may be packed in one 32-bit word throughout.
 * SHARED      scratch of scratch_bytes, in `rounds` rounds.  Address of a thread's register:
 *             tl_convert_offset(side, r, lane, warp, block): round = offset / scratch_bytes,
 *             byte = offset % scratch_bytes.  In round k: every src register of round k is stored,
 *             then sync, then every dst register of round k is loaded, then sync before the next
 *             round.  Sync is a block barrier, or the warp's own if warp_local; a scratch that was
 *             in use before this conversion needs a block barrier first.  Accesses take 1 <<
 *             vec_bits elements: registers r ^ (subset of vec_reg[]) lie at consecutive bytes,
 *             aligned to the vector (vec_reg[i] = register XOR mask of element bit i).  `live`
 *             holds the register bits worth visiting: src copies need not be stored twice. */
#ifndef TL_LAYOUT_CONVERT_PLAN_H
#define TL_LAYOUT_CONVERT_PLAN_H

#include "layout/linear.h"

enum {
   TL_CONVERT_MAX_THREAD_BITS = 16, /* lane and warp bits */
   TL_CONVERT_MAX_VEC_BITS = 4,     /* 16 elements of one byte */
};

typedef enum TlConvertKind {
   TL_CONVERT_NOTHING,
   TL_CONVERT_REGISTERS,
   TL_CONVERT_SHUFFLES,
   TL_CONVERT_SHARED,
} TlConvertKind;

/* Exchange of registers x and x ^ reg in the threads where the masks have odd parity. */
typedef struct TlConvertStage {
   uint32_t reg;  /* register XOR mask */
   uint32_t lane; /* lane bits of the condition */
   uint32_t warp; /* warp bits of the condition */
} TlConvertStage;

typedef struct TlConvertShuffle {
   TlConvertStage pre[TL_CONVERT_MAX_THREAD_BITS];
   TlConvertStage post[TL_CONVERT_MAX_THREAD_BITS];
   unsigned num_pre, num_post;
   uint32_t lane_by_lane[TL_CONVERT_MAX_THREAD_BITS]; /* source lane columns, by lane bit */
   uint32_t lane_by_warp[TL_CONVERT_MAX_THREAD_BITS]; /* by warp bit */
   uint32_t lane_by_reg[TL_LL_MAX_BITS];              /* by register bit */
   bool exchange;         /* false: every value is already in its lane */
   unsigned pack_bits;    /* register bits that may be packed into a word */
   uint8_t pack_src[2];   /* their bit numbers in src registers */
   uint8_t pack_dst[2];   /* and in dst registers */
   unsigned num_shuffles; /* 32-bit shuffles, packed where possible */
} TlConvertShuffle;

/* One direction of the exchange through shared memory. */
typedef struct TlConvertAccess {
   uint32_t col[TL_LL_MAX_IN];                /* byte offset columns of the hardware bits */
   uint32_t live;                             /* register bits to visit */
   unsigned vec_bits;                         /* log2 of the elements per access */
   uint32_t vec_reg[TL_CONVERT_MAX_VEC_BITS]; /* register bit of element bit i */
   unsigned wavefronts, minimum;              /* of one warp access, see cost.h */
   bool static_rounds; /* the round depends on the register only, so no access is predicated */
} TlConvertAccess;

typedef enum TlConvertSide { TL_CONVERT_STORE, TL_CONVERT_LOAD } TlConvertSide;

typedef struct TlConvertScratch {
   TlLinear layout;           /* element <- offset (in elements, round bits included) */
   TlConvertAccess access[2]; /* by TlConvertSide */
   uint32_t scratch_bytes;    /* of one round */
   uint32_t rounds;           /* power of two */
   bool warp_local;           /* every warp loads only what it stored: no block barrier */
} TlConvertScratch;

typedef struct TlConvertPlan {
   TlConvertKind kind;
   TlLinear src, dst;                 /* with repeats folded */
   uint32_t repeats;                  /* times the plan is executed */
   uint32_t dst_live;                 /* register bits of dst that are not copies */
   uint32_t from_reg[TL_LL_MAX_BITS]; /* source register columns, by dst register bit */
   TlConvertShuffle shuffle;          /* kind SHUFFLES */
   TlConvertScratch shared;           /* kind SHARED */
} TlConvertPlan;

/* False when no plan exists: src does not hold every element of dst within the block, shapes that
 * only agree after reordering repeats, or a scratch budget below one vector. */
bool tl_convert_plan(const TlLinear *src, const TlLinear *dst, unsigned elem_bytes,
                     uint32_t scratch_budget, TlConvertPlan *plan);

/* Source register of dst register r, repeats included; NOTHING and REGISTERS. */
uint32_t tl_convert_source_reg(const TlConvertPlan *plan, uint32_t r);
/* Byte offset including the round, repeats excluded. */
uint32_t tl_convert_offset(const TlConvertPlan *plan, TlConvertSide side, uint32_t r, uint32_t lane,
                           uint32_t warp, uint32_t block);

/* Wavefronts of shared memory that all warps of a block take for the whole plan, kind SHARED, and
 * how many they would be without bank conflicts. */
unsigned tl_convert_wavefronts(const TlConvertPlan *plan);
unsigned tl_convert_min_wavefronts(const TlConvertPlan *plan);

/* The exchange through shared memory, also where a cheaper plan exists (kind is then SHARED). */
bool tl_convert_plan_shared(const TlLinear *src, const TlLinear *dst, unsigned elem_bytes,
                            uint32_t scratch_budget, TlConvertPlan *plan);

#endif
