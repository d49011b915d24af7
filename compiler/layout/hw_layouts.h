/* Layouts that the hardware dictates, as linear maps: fragments of mma.sync and wgmma, ldmatrix,
 * and swizzled shared memory.  Notation of the tables: "r0:n1 r1:m8 / l0:n2" means register bit 0
 * moves 1 along n, register bit 1 moves 8 along m, lane bit 0 moves 2 along n.  E = 32 / elem_bits
 * elements per 32-bit register; the register bits of packed elements (e) come first.
 *
 *   M16N8   D (m x n)  r0:n1 r1:m8                   l0:n2 l1:n4  l2..4:m1,2,4
 *   K = 8E  A (m x k)  e:k1.. r0:m8 r1:k4E           l0:kE l1:k2E l2..4:m1,2,4
 *           B (k x n)  e:k1.. r0:k4E                 l0:kE l1:k2E l2..4:n1,2,4
 *   F64     D          r0:n1                         l0:n2 l1:n4  l2..4:m1,2,4
 *   K = 4   A          (one register)                l0:k1 l1:k2  l2..4:m1,2,4
 *           B          (one register)                l0:k1 l1:k2  l2..4:n1,2,4
 *   WGMMA   D          r0:n1 r1:m8 r2:n8 r3:n16 ..   lanes as M16N8; w0:m16 w1:m32
 *   K = 8E  A          as M16N8                      lanes as M16N8; w0:m16 w1:m32
 *
 * A tile of D is covered so: one instruction (wgmma: instr_n columns), then the warps (wgmma:
 * groups of four warps) side by side, along M first, then N, then the batch; then more registers:
 * along N, then M, then the batch.  Registers of D therefore are
 *    ((batch rep * M reps + m rep) * N reps + n rep) * registers of one instruction + register.
 * An operand repeats the same warps; warps along the dimension that it lacks hold the same data
 * (zero columns).  Its registers:
 *    A: ((batch rep * M reps + m rep) * K steps + k step) * 4E + (register * E + e)
 *    B: ((batch rep * N reps + n rep) * K steps + k step) * 2E + (register * E + e)
 * so that D register group (m rep, n rep) takes A groups (m rep, k) and B groups (n rep, k).
 * A tile narrower than one instruction along m or n has zero columns there: those rows are computed
 * twice, equally.  K must cover at least one instruction.  Surplus warps are zero columns. */
#ifndef TL_LAYOUT_HW_LAYOUTS_H
#define TL_LAYOUT_HW_LAYOUTS_H

#include "layout/linear.h"

typedef enum TlMmaKind { TL_MMA_M16N8, TL_MMA_M8N8_F64, TL_MMA_WGMMA } TlMmaKind;

/* A dot's result tile and how warps share it. */
typedef struct TlMmaTile {
   TlMmaKind kind;    /* instruction */
   uint8_t rank;      /* 2: M x N; 3: batch x M x N */
   uint32_t shape[3]; /* of D; powers of two, but N of wgmma may be any multiple of 8 */
   uint32_t warps[3]; /* warps along each dimension, powers of two; wgmma: multiple of 4 along M */
   uint32_t instr_n;  /* wgmma: columns of one instruction (divides N); else ignored */
} TlMmaTile;

/* Accumulator.  wgmma with N or instr_n not a power of two: the linear part is 8 columns wide and
 * N / 8 is a repeat count; warps then go along M only. */
TlLinear tl_hw_mma_acc(const TlMmaTile *t);
/* Operand 0 (A, M x K) or 1 (B, K x N; not for wgmma), with the batch dimension if rank is 3. */
TlLinear tl_hw_mma_operand(const TlMmaTile *t, unsigned op_index, uint32_t k, unsigned elem_bits);

/* Bytes on their way from rows to where dimension k lies together, for ldmatrix.trans (of pairs of
 * bytes) and stmatrix: blocks of 16 x 16, of which a thread holds 4 neighbours along k in each of
 * two neighbouring rows:
 *    r0:k1 r1:k2 r2:row1   l0:k4 l1:k8   l2..4:row2,4,8
 * then the warps along the rows and along k, then more registers along k and along the rows.  False
 * for a tile that holds no such block. */
bool tl_hw_turned_bytes(const uint32_t *shape, unsigned k, unsigned num_warps, TlLinear *out);

/* Shared arrangements: element <- offset in elements (register bits are offset bits).
 * order[0] is the contiguous dimension. */
TlLinear tl_hw_shared_plain(unsigned rank, const uint32_t *shape, const unsigned *order);
/* The form of TMA and wgmma: blocks of W bytes of the contiguous dimension, all rows of a block one
 * after the other (row pitch W; rows run over order[1], order[2], ..), block after block, and the
 * byte address XOR 128B: a[6:4] ^= a[9:7], 64B: a[5:4] ^= a[8:7], 32B: a[4] ^= a[7].  W is
 * tl_hw_swizzle_width(row bytes, max_swizzle_bytes); if that is 0 the plain arrangement. */
TlLinear tl_hw_shared_swizzled(unsigned rank, const uint32_t *shape, unsigned elem_bytes,
                               const unsigned *order, unsigned max_swizzle_bytes);
/* Widest of 128, 64, 32 that divides row_bytes and is at most max_bytes; 0 if none. */
unsigned tl_hw_swizzle_width(uint32_t row_bytes, unsigned max_bytes);

/* A shared buffer as copies of boxes fill it: equal boxes of rows one after the other, the last
 * dimension innermost, each written with one swizzle. */
typedef struct TlBoxes {
   unsigned swizzle;               /* bytes of a row that it runs over: 128, 64, 32; 0 none */
   uint32_t shape[TL_LL_MAX_RANK]; /* of a box: powers of two of at most 256 */
   uint32_t elems;                 /* of a box */
   unsigned log2_num;              /* boxes: box i begins at element i * elems of the buffer .. */
   uint32_t start[TL_LL_MAX_BITS]; /* .. and, in the tile, at the sum of these for the bits of i */
} TlBoxes;

/* Recognises boxes in a shared arrangement; false when no few of them make it.  The buffer must
 * start at a multiple of 8 rows of the swizzle, and of 128 bytes. */
bool tl_hw_boxes(const TlLinear *memory, unsigned elem_bytes, TlBoxes *out);
/* Twice as many boxes of half the size, each cut across the outermost dimension that it has; false,
 * and as they were, where a half is no box or there would be too many. */
bool tl_hw_halve_boxes(const TlLinear *memory, unsigned elem_bytes, TlBoxes *boxes);
/* Those of tl_hw_boxes, halved until they have the shape; false where they never do. */
bool tl_hw_boxes_of(const TlLinear *memory, unsigned elem_bytes, const uint32_t *shape,
                    TlBoxes *out);

/* A shared buffer as wgmma reads it. */
typedef struct TlWgmmaOperand {
   unsigned mode;     /* swizzle field of the descriptor: 0 none, 1 128, 2 64, 3 32 bytes */
   bool is_mn_major;  /* M or N lies together, not K */
   uint32_t lbo, sbo; /* leading and stride byte offset; a multiple of 16 where not looked at */
   uint32_t col[TL_LL_MAX_BITS]; /* by bit of the element word: bytes from the buffer's start to
                                    where an instruction begins; their sum for several bits */
} TlWgmmaOperand;

/* Recognises operand 0 (A, M x K) or 1 (B, K x N) in a shared arrangement; `rows` of M or N make an
 * instruction.  False when no descriptor describes it.  The buffer must start at a multiple of 8
 * rows of the swizzle. */
bool tl_hw_wgmma_operand(const TlLinear *memory, unsigned index, unsigned elem_bits, uint32_t rows,
                         TlWgmmaOperand *out);

#endif
