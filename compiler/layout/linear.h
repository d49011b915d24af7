/* Linear layouts: who holds which element of a tile.
 *
 * A tile with power-of-two dimensions has 2^bits elements; an element's coordinates are packed into
 * one word, dimension 0 in the highest bits (so that the packed word is the row-major index).  A
 * distributed layout maps the bits of (register, lane, warp, block) to XOR-additive element
 * coordinates: element = XOR over set hardware bits b of col[b].  Worked examples, tile 8x8 (6
 * bits, word = row << 3 | column):
 *
 *   each thread of 16 holds 4 neighbours of a row; lanes run along the row first
 *      reg  = {1, 2}            register bit 0 moves 1 column, bit 1 moves 2
 *      lane = {4, 8, 16, 32}    lane bit 0 moves 4 columns, bits 1..3 move 1, 2, 4 rows
 *   a zero column means replication: lane = {4, 8, 16, 32, 0}: lanes 16..31 repeat lanes 0..15
 *   the transpose has the same columns with the two 3-bit fields swapped: no data moves
 *   slicing away dimension 1 keeps only the row field (>> 3): reg = {0, 0}, lane = {0, 1, 2, 4};
 *      zero register bits are then removed, zero lane bits stay (replicated data)
 *
 * A shared-memory arrangement is the same map with "offset" bits as its only input: here the
 * register bits are the offset bits (see TlLinear.num[TL_HW_REG]) and lane, warp, block are empty.
 *
 * Everything here is a value: functions return new layouts and never keep pointers.  No IR, no
 * LLVM.  Dimensions that are not powers of two are reached by integer repetition: `repeat[d]`
 * copies of the linear part laid side by side along dimension d (1 everywhere for ordinary tiles);
 * register index = (repeat index) << num[REG] | linear register index, repeat indices row-major
 * over the dimensions. */
#ifndef TL_LAYOUT_LINEAR_H
#define TL_LAYOUT_LINEAR_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
   TL_LL_MAX_RANK = 20, /* as many dimensions of 2 as there may be elements */
   TL_LL_MAX_BITS = 20, /* 2^20 elements in a tile */
   TL_LL_MAX_IN = 40,   /* hardware bits: registers + lanes + warps + blocks */
};

typedef enum TlHw { TL_HW_REG, TL_HW_LANE, TL_HW_WARP, TL_HW_BLOCK, TL_HW_COUNT } TlHw;

typedef struct TlLinear {
   uint8_t rank;
   uint8_t log2_dim[TL_LL_MAX_RANK]; /* of the linear part */
   uint16_t repeat[TL_LL_MAX_RANK];  /* integer repetition, 1 = none */
   uint8_t num[TL_HW_COUNT];         /* bits of each hardware dimension */
   uint32_t col[TL_LL_MAX_IN];       /* images: register bits first, then lane, warp, block */
} TlLinear;

/* The same elements over the first 2^keep warps: each holds in more registers what the others of
 * its position held, copies left out. */
TlLinear tl_ll_warps_to_registers(const TlLinear *l, unsigned keep);
/* Bits of the element index; bit position of a dimension's field; first column of a hw dim. */
unsigned tl_ll_bits(const TlLinear *l);
unsigned tl_ll_dim_shift(const TlLinear *l, unsigned dim);
unsigned tl_ll_first(const TlLinear *l, TlHw hw);
unsigned tl_ll_in_bits(const TlLinear *l);
static inline uint32_t
tl_ll_col(const TlLinear *l, TlHw hw, unsigned bit)
{
   return l->col[tl_ll_first(l, hw) + bit];
}
/* Element word held by (register, lane, warp, block) of the linear part. */
uint32_t tl_ll_apply(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block);
/* Element word of a packed hardware index (register bits lowest). */
uint32_t tl_ll_apply_packed(const TlLinear *l, uint64_t hw);
uint64_t tl_ll_pack(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block);
/* Coordinates (rank of them) of what a thread holds in register `reg`, which counts repeats too. */
void tl_ll_coords(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block,
                  uint32_t *coords);
void tl_ll_shape(const TlLinear *l, uint32_t *shape); /* whole shape, repeats included */
bool tl_ll_has_repeats(const TlLinear *l);
bool tl_ll_same_shape(const TlLinear *a, const TlLinear *b); /* linear part and repeats */
/* Moves power-of-two factors of the repeats into register bits, keeping the register order: from
 * the last dimension upwards, until one keeps an odd factor. */
TlLinear tl_ll_fold_repeats(const TlLinear *l);
unsigned tl_ll_num_regs(const TlLinear *l); /* registers per thread, repeats included */

bool tl_ll_equal(const TlLinear *a, const TlLinear *b);
bool tl_ll_is_valid(const TlLinear *l);      /* field widths and images in range */
bool tl_ll_is_surjective(const TlLinear *l); /* every element is held by someone */
bool tl_ll_is_injective(const TlLinear *l);  /* no element is held twice */

/* An empty layout of the given shape (dims powers of two): no hardware bits yet. */
TlLinear tl_ll_empty(unsigned rank, const uint32_t *shape);
/* Appends a hardware bit (to the end of that hw dim). */
void tl_ll_push(TlLinear *l, TlHw hw, uint32_t image);

/* Triton's blocked layout: size_per_thread, threads_per_warp, warps_per_block for each dimension
 * (all powers of two), order[0] = the fastest dimension.  Repeats by more register bits up to
 * `shape`; where the layout is larger than the shape, surplus lane and warp bits are zero
 * (replication) and surplus register bits are left out. */
TlLinear tl_ll_blocked(unsigned rank, const uint32_t *shape, const uint32_t *size_per_thread,
                       const uint32_t *threads_per_warp, const uint32_t *warps_per_block,
                       const unsigned *order);

/* Relabelling: no data moves.  Transpose takes at most one repeated dim, reshape only repeats that
 * fold_repeats removes; slice and expand leave rank 1..8. */
TlLinear tl_ll_transpose(const TlLinear *l, const unsigned *order); /* dim i = old order[i] */
TlLinear tl_ll_reshape(const TlLinear *l, unsigned rank, const uint32_t *shape); /* row-major */
TlLinear tl_ll_slice(const TlLinear *l, unsigned dim);  /* drop dim; zero reg bits removed */
TlLinear tl_ll_expand(const TlLinear *l, unsigned dim); /* insert a dim of size 1 */
/* Result dim has size 2 at the end; the new bit is register bit 0 (join), or `dim` must be a
 * register bit to split: returns false if the last dim's bit is not exactly one register bit, and
 * for rank 1 (rank 0 never occurs). */
TlLinear tl_ll_join(const TlLinear *l);
bool tl_ll_split(const TlLinear *l, TlLinear *half, unsigned *reg_bit);
/* Restrict a broadcast operand: the layout that a source of size 1 along `dim` must have so that
 * the broadcast to `l` needs no data movement: images of that dim's field cleared, shape[dim] = 1.
 * The register bits that become zero are removed. */
TlLinear tl_ll_unbroadcast(const TlLinear *l, unsigned dim);

/* For each hardware bit of dst a word over the hardware bits of src (register bits lowest) that
 * holds the same element; false when some image of dst is not in the span of src.  x has
 * tl_ll_in_bits(dst) entries.  Every column takes the nearest holder: the same thread, else the
 * same warp, else the same block; if a conversion that crosses no warps (threads) exists, this is
 * one. */
bool tl_ll_convert_map(const TlLinear *src, const TlLinear *dst, uint64_t *x);
/* Inverse of a bijection without repeats: element word -> packed hardware word.  inv has
 * tl_ll_bits(l) entries; false if singular. */
bool tl_ll_invert(const TlLinear *l, uint64_t *inv);

/* Longest run of consecutive elements along the fastest-varying (last in row-major, or `dim`)
 * dimension held in consecutive registers 0,1,2,..: a power of two. */
unsigned tl_ll_contiguous_regs(const TlLinear *l, unsigned dim);

/* Text: "{shape=[8,8], reg=[[0,1],[0,2]], lane=[[0,4],[1,0],[2,0],[4,0]], warp=[], block=[]}", with
 * ", repeat=[1,22]" when not all 1.  The reader takes exactly that form (spaces optional) at *text
 * and advances it; false on bad text. */
void tl_ll_print(const TlLinear *l, TlSb *out);
bool tl_ll_read(const char **text, TlLinear *out);
uint64_t tl_ll_hash(const TlLinear *l);

#endif
