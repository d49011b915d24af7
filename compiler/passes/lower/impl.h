/* LAID to LOWERED: what the lowering rules share.  Private to this folder; lower.h is for the
 * other passes.
 *
 * A tile becomes regs<T, n>: register i holds what register i of its layout holds (repeats folded).
 * A memory descriptor becomes the i32 byte offset of its buffer in the block's shared memory.  The
 * old body is only read; rules append to a new one and record what every old value became. */
#ifndef TL_PASSES_LOWER_IMPL_H
#define TL_PASSES_LOWER_IMPL_H

#include "ir/analysis.h"
#include "passes/coalesce.h"
#include "passes/dot_layouts.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"

enum { TL_LOWER_MAX_DEPTH = 256, TL_LANE_BITS = 5 };

typedef struct TlThreadMap TlThreadMap;

typedef struct TlLowerCx {
   TlPassCx *pass;
   TlFunc *func;
   TlTypes *types;
   TlArena *arena; /* of the module: attributes that outlive the pass */
   TlArena *scratch;
   TlAnalysis *facts; /* of the old body */
   TlValue **map;     /* by old value id: the new value */
   uint32_t num_old_values;
   TlMap scratch_of;         /* old op -> TlScratchSlot * */
   TlMap measured;           /* old op -> its mask in bytes: partial.c */
   TlBuilder b;              /* where new operations go */
   TlBuilder entry;          /* before the first operation of the new body */
   TlValue *lane, *warp;     /* made on first use in the entry */
   TlThreadMap *thread_maps; /* thread-linear words already computed */
   uint32_t first_warp;      /* of the role that is being lowered */
   unsigned log2_warps;      /* of the role, or the function */
   uint32_t next_partition;  /* number of the next warp-private exchange */
   unsigned depth;           /* nesting of regions */
   uint32_t num_own_maps;    /* of the role, or the function, so far: own_maps.c */
   bool has_grouped_maps;
   uint32_t num_makers, most_own_maps; /* warps that make maps, and the most that one makes */
} TlLowerCx;

typedef void TlLowerRule(TlLowerCx *cx, TlOp *op);
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, lower, ...)                      \
   TlLowerRule tl_lower_##lower;
#include "ir/ops.def"

/* ---- values ---- */
TlValue *tl_lower_use(TlLowerCx *cx, const TlValue *old);
void tl_lower_def(TlLowerCx *cx, const TlValue *old, TlValue *now);
const TlType *tl_lower_type(TlLowerCx *cx, const TlType *t);
void tl_lower_block(TlLowerCx *cx, const TlBlock *from); /* every operation, terminator included */
void tl_lower_op(TlLowerCx *cx, TlOp *op);
/* The operation on lowered operands, attributes kept, with empty regions. */
TlOp *tl_lower_clone(TlLowerCx *cx, const TlOp *op, TlValue *const *args, unsigned num_args,
                     const TlType *const *types, unsigned num_regions);
unsigned tl_regs_of(const TlType *t); /* registers of a lowered type */
bool tl_fail(TlLowerCx *cx);          /* marks the pass failed; always false */

/* ---- registers: regs.c ---- */
TlValue *tl_regs_pick(TlLowerCx *cx, TlValue *v, const uint32_t *index, unsigned n);
TlValue *tl_regs_slice(TlLowerCx *cx, TlValue *v, unsigned first, unsigned n);
TlValue *tl_regs_concat(TlLowerCx *cx, TlValue *const *parts, unsigned n); /* of one element type */
/* result register i = register index[i] of the parts' registers in order */
TlValue *tl_regs_gather(TlLowerCx *cx, TlValue *const *parts, unsigned num_parts,
                        const uint32_t *index, unsigned n);
TlValue *tl_regs_reg(TlLowerCx *cx, TlValue *v, unsigned i);        /* one register: a scalar */
TlValue *tl_regs_splat(TlLowerCx *cx, TlValue *scalar, unsigned n); /* as is when already n */
TlValue *tl_regs_i32(TlLowerCx *cx, const uint32_t *values, unsigned n);
TlValue *tl_i32(TlLowerCx *cx, int64_t v);
TlValue *tl_bits_const(TlLowerCx *cx, const TlType *type, uint64_t bits); /* scalar or regs */
TlValue *tl_op2(TlLowerCx *cx, TlOpcode opcode, TlValue *a, TlValue *b);
TlValue *tl_regs_cast(TlLowerCx *cx, TlOpcode cast_or_bitcast, TlValue *v, TlDtype to);
/* Values that shared memory and shuffles can carry: i1 as i8, pointers as i64; and back. */
TlValue *tl_regs_to_memory(TlLowerCx *cx, TlValue *v);
TlValue *tl_regs_from_memory(TlLowerCx *cx, TlValue *v, const TlType *elem);

/* ---- who am I: thread.c ---- */
TlValue *tl_lane_id(TlLowerCx *cx);
TlValue *tl_warp_id(TlLowerCx *cx);
/* XOR of cols[i] over the set bits i of (lane, then warp): cols has 5 + log2_warps entries.
 * Computed once in the entry block.  *bits receives the OR of the columns. */
TlValue *tl_thread_word(TlLowerCx *cx, const uint32_t *cols, uint32_t *bits);
/* The same where no bit of the lane counts, in a form that ptxas knows to be equal in all lanes: it
 * and what is computed from it then take scalar registers and instructions. */
TlValue *tl_warp_word(TlLowerCx *cx, const uint32_t *cols, uint32_t *bits);
/* Which threads and registers hold each element of l exactly once. */
typedef struct TlOwner {
   uint32_t free_lanes, free_warps; /* lane and warp bits that must be 0 */
   uint32_t free_regs;              /* register bits that must be 0 */
   bool is_plain;                   /* every free bit has a zero column: it makes plain copies */
} TlOwner;
TlOwner tl_owner_of(const TlLinear *l);
TlValue *tl_thread_is_zero(TlLowerCx *cx, uint32_t lane_mask, uint32_t warp_mask); /* NULL: all */
TlValue *tl_owner_pred(TlLowerCx *cx, const TlOwner *o); /* NULL when every thread owns */
/* Registers with the free bits clear; returns how many. */
unsigned tl_owner_regs(const TlOwner *o, unsigned num_regs, uint32_t *index);
TlValue *tl_and_pred(TlLowerCx *cx, TlValue *pred, TlValue *other); /* NULLs are true */

/* ---- vectors that a mask cuts: partial.c ---- */
void tl_measure_masks(TlLowerCx *cx); /* before anything is lowered */
/* The predicate of n accesses of `vec` elements, whose first registers are `leader`: the mask, or
 * how many bytes of each are inside.  A scalar where the mask is one, NULL without one. */
TlValue *tl_vector_pred(TlLowerCx *cx, const TlOp *op, const TlAccess *a, unsigned vec,
                        const uint32_t *leader, unsigned n);

/* ---- shared memory: shared.c, the only place that computes shared addresses ---- */
typedef struct TlScratchSlot {
   uint32_t offset, bytes;
} TlScratchSlot;
typedef struct TlSharedRef {
   TlValue *base;    /* i32 byte offset at run time, added to `offset`; NULL = none */
   uint32_t offset;  /* bytes */
   TlExtent extent;  /* what may be touched; end 0 = anything */
   TlValue *flip;    /* i32 at run time, XORed into the thread's part before; NULL = none .. */
   uint32_t flipped; /* .. and the bits that it may have */
} TlSharedRef;
TlSharedRef tl_scratch_ref(TlLowerCx *cx, const TlOp *op);
TlSharedRef tl_shared_part(TlSharedRef ref, uint32_t offset, uint32_t bytes); /* a part of it */
TlSharedRef tl_memdesc_ref(TlLowerCx *cx, const TlValue *old_memdesc);

/* Where a thread's registers lie in a buffer.  Byte address = offset[position] ^ thread part. */
typedef struct TlSharedMap {
   unsigned num_regs;                      /* of the tile */
   unsigned num;                           /* registers moved: a multiple of vec */
   unsigned vec;                           /* consecutive positions of one access */
   uint32_t *reg;                          /* by position: the register */
   uint32_t *offset;                       /* by position: byte offset of thread 0 */
   uint32_t *position;                     /* by register: the position that holds its element */
   uint32_t thread_cols[TL_LANE_BITS + 5]; /* bytes */
} TlSharedMap;
/* The map of a register layout into a memory arrangement, with the widest accesses. */
TlSharedMap tl_shared_map(TlLowerCx *cx, const TlLinear *regs, const TlLinear *memory,
                          unsigned elem_bytes);
/* The map from byte columns (registers, lanes, warps of `l`). */
TlSharedMap tl_shared_map_of_columns(TlLowerCx *cx, const TlLinear *l, const uint32_t *col,
                                     unsigned elem_bytes);
TlValue *tl_shared_load(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map, TlDtype t);
void tl_shared_store(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map, TlValue *values,
                     TlValue *pred);
/* At run-time byte offsets (regs<i32>, one each), added to the reference. */
TlValue *tl_shared_load_at(TlLowerCx *cx, const TlSharedRef *ref, TlValue *bytes, TlDtype t);
void tl_shared_add_at(TlLowerCx *cx, const TlSharedRef *ref, TlValue *bytes, TlValue *values,
                      TlValue *pred);
/* cp.async of vec elements for each of the map's accesses; cache hints from op. */
void tl_shared_copy_async(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map,
                          TlValue *ptrs, TlValue *pred, TlOp *op);
/* The address from which a group of threads reads as a whole; the constant part is left out. */
TlValue *tl_shared_start(TlLowerCx *cx, const TlSharedRef *ref, const uint32_t *warp_cols);
/* Matrix loads, of elements of up to 32 bits, of the registers r with (r & mask) == value, in their
 * order; NULL when the layouts do not allow them. */
TlValue *tl_shared_ldmatrix(TlLowerCx *cx, const TlSharedRef *ref, const TlLinear *regs,
                            const TlLinear *memory, TlDtype dtype, uint32_t mask, uint32_t value);
/* Matrix stores of all registers at the byte columns of `regs`; false when these or the target do
 * not allow them. */
bool tl_shared_stmatrix(TlLowerCx *cx, const TlSharedRef *ref, const TlLinear *regs,
                        const uint32_t *col, TlValue *values);
/* A local_load whose only user is a matrix dot of its block, with nothing in between that writes:
 * the dot loads the fragments of each step itself. */
bool tl_is_loaded_by_dot(const TlOp *local_load);

/* ---- wgmma.c: a dot that reads shared memory as it lies there ---- */
void tl_lower_wgmma(TlLowerCx *cx, TlOp *dot, const TlDotForm *form,
                    const TlWgmmaOperand shared[2]);

/* ---- regions over scalars: region.c ---- */
/* The region applied to n registers at once when all its operations are elementwise, else register
 * by register.  args: one value for each region argument; results: one for each yielded value. */
void tl_inline_region(TlLowerCx *cx, const TlRegion *region, TlValue *const *args,
                      unsigned num_args, unsigned n, TlValue **results);
bool
tl_region_commutes(const TlRegion *region); /* a single commutative operation on its arguments */
/* Or one that by comparisons alone takes one of its two arguments, the same from either side, as
 * argmax does: of numbers.  A NaN compares with nothing; what it gives hangs on the order. */
bool tl_region_takes_any_order(const TlRegion *region);

/* ---- shapes: shape.c ---- */
/* ((element word & mask) >> shift) + add of every register of the layout: regs<i32>. */
TlValue *tl_element_words(TlLowerCx *cx, const TlLinear *l, uint32_t mask, unsigned shift,
                          uint32_t add);
/* Layouts that the operand(s) of a shape operation have in terms of the result's elements; a result
 * in another layout is a conversion. */
bool tl_retyped_layout(const TlOp *op, TlLinear *out); /* false: a scalar is involved */
TlLinear tl_broadcast_source(const TlType *from, const TlType *to, uint32_t *map);
TlLinear tl_pair_layout(const TlOp *join_or_cat);

/* A check_hint for each dimension about which the hint promises something; x: its operand. */
void tl_lower_check_of_hint(TlLowerCx *cx, const TlOp *hint, TlValue *x);

/* ---- along an axis: reduce.c, scan.c ---- */
TlValue *tl_shuffle_xor(TlLowerCx *cx, TlValue *v, unsigned lane_xor);
TlValue *tl_thread_bit(TlLowerCx *cx, TlHw lane_or_warp, unsigned bit); /* scalar i1 */
TlValue *tl_regs_select(TlLowerCx *cx, TlValue *scalar_cond, TlValue *a, TlValue *b);
uint32_t tl_reduce_scratch(const TlOp *op);
uint32_t tl_scan_scratch(const TlOp *op, unsigned num_warps);

/* ---- conversions: converts.c ---- */
TlValue *tl_convert_regs(TlLowerCx *cx, const TlOp *op, TlValue *v, const TlType *elem,
                         const TlLinear *from, const TlLinear *to);
/* Scratch bytes that a conversion needs (0 when registers or shuffles do it). */
uint32_t tl_convert_scratch(TlArena *arena, const TlType *elem, const TlLinear *from,
                            const TlLinear *to);

/* ---- maps of the kernel's own: own_maps.c ---- */
uint32_t tl_own_map_bytes(const TlFunc *f, const TlOp *own_map); /* shared, for good */
/* Where the maps of the role, or the function, with the body lie: when all of it is lowered. */
void tl_place_own_maps(TlLowerCx *cx, TlBlock *body);
void tl_count_map_places(TlLowerCx *cx); /* when all of the function is */

uint32_t tl_atomic_scratch(const TlOp *op, unsigned log2_warps);
uint32_t tl_gather_scratch(TlArena *arena, const TlOp *op); /* 0 when shuffles do it */
uint32_t tl_histogram_scratch(const TlOp *op);

/* ---- allocation: alloc_shared.c ---- */
/* Gives every buffer its OFFSET and every operation its scratch; sets f->shared_bytes.  false after
 * a located error. */
bool tl_alloc_shared(TlLowerCx *cx);

#endif
