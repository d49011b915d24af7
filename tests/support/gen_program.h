/* Generator of random tile programs: TYPED functions with their buffers, launch, and what their
 * results must agree in.  Elementwise operations come from the operation table and are accepted by
 * tl_infer, so that a new row is generated without a change here.
 *
 * Of every value the generator knows an interval, whether it may be a NaN, and whether it is a
 * whole number.  Programs of class GEN_EXACT hold whole numbers that every float type in use holds
 * exactly, so that all arithmetic is exact and every bit must agree.  The others hold any integers
 * and floats; what IEEE or the language fixes must agree in every bit, and the result of a
 * function, a dot or a sum goes straight to a buffer that has a bound of its own. */
#ifndef TESTS_SUPPORT_GEN_PROGRAM_H
#define TESTS_SUPPORT_GEN_PROGRAM_H

#include "ir/ir.h"

enum { GEN_MAX_BUFFERS = 48, GEN_MAX_SCALARS = 8 };

/* Programs from this seed on are loops of dots for warps in two roles: eight multiply by wgmma
 * what four more copy. */
#define GEN_ROLE_SEEDS 1000000u
/* From this one on they are so mostly without roles: loops in loops, whose rings the block's own
 * warps fill in each turn anew. */
#define GEN_TURN_SEEDS 2000000u

typedef enum GenClass {
   GEN_EXACT,  /* small whole numbers */
   GEN_STRICT, /* any numbers, IEEE mode */
   GEN_TRITON, /* any numbers, contraction and approximate functions */
   GEN_CLASS_COUNT
} GenClass;

typedef enum GenFill {
   GEN_POISON, /* an output */
   GEN_SMALL,  /* whole numbers -8 .. 8; unsigned 0 .. 15 */
   GEN_TINY,   /* whole numbers -2 .. 2; unsigned 0 .. 3 */
   GEN_BITS,   /* any pattern of an integer */
   GEN_NORMAL, /* floats of about normal distribution, at most 8 */
   GEN_WIDE,   /* any pattern of a float, and its special values more often */
} GenFill;

/* How results of two executors must agree; f, g, h are other buffers, in plain row-major order. */
typedef enum GenAgree {
   GEN_SAME_BITS, /* NaNs are equal to each other */
   GEN_ULP,       /* function of f: |difference| <= (ulp + per_x |x|) ulp of the type */
   GEN_SUM,       /* sums of f along dims[1] of dims[0] x dims[1] x dims[2] */
   GEN_SCAN,      /* prefix sums, the same */
   GEN_DOT,       /* dims: steps, batch, M, N, K; f and g have the steps first; h is added */
} GenAgree;

typedef struct GenBuffer {
   TlDtype dtype;
   GenFill fill;
   uint32_t elems;
   uint32_t skip; /* elements between the aligned start and the argument: 0 or 1 */
   bool is_output;
   GenAgree agree;
   int f, g, h;           /* buffer numbers, -1 = none */
   bool f_trans, g_trans; /* DOT: f holds [.., K, M], g holds [.., N, K] */
   uint32_t dims[5];
   double ulp, per_x, least; /* ULP: `least` may be added */
   double unit;              /* SUM, SCAN, DOT: rounding unit of the accumulation */
} GenBuffer;

typedef struct GenProgram {
   uint64_t seed;
   GenClass class;
   const char *text; /* IR text */
   const TlFunc *func;
   uint32_t grid[3];
   unsigned num_buffers, num_scalars;
   int32_t scalar[GEN_MAX_SCALARS];   /* i32 parameters, the first ones */
   GenBuffer buffer[GEN_MAX_BUFFERS]; /* pointer parameters, in order, after the scalars */
} GenProgram;

/* The program of this seed; memory is the arena's. */
void gen_program(TlArena *arena, uint64_t seed, GenProgram *out);

/* ---- what a set of programs covers ---- */
#define GEN_COVER_TABLE(X)                                                                         \
   X(CLASS_EXACT, "whole-number data")                                                             \
   X(CLASS_STRICT, "any data, IEEE mode")                                                          \
   X(CLASS_TRITON, "any data, Triton's mode")                                                      \
   X(WARPS_1, "1 warp")                                                                            \
   X(WARPS_2, "2 warps")                                                                           \
   X(WARPS_4, "4 warps")                                                                           \
   X(WARPS_8, "8 warps")                                                                           \
   X(STAGES_1, "1 stage")                                                                          \
   X(STAGES_2, "2 stages")                                                                         \
   X(STAGES_3, "3 stages")                                                                         \
   X(STAGES_4, "4 stages")                                                                         \
   X(RANK_1, "rank 1")                                                                             \
   X(RANK_2, "rank 2")                                                                             \
   X(RANK_3, "rank 3")                                                                             \
   X(BELOW_BLOCK, "tile smaller than the block")                                                   \
   X(LARGE, "tile of 1024 elements or more")                                                       \
   X(GRID, "several programs")                                                                     \
   X(LOAD_PLAIN, "load")                                                                           \
   X(LOAD_MASK, "load with mask")                                                                  \
   X(LOAD_OTHER, "load with mask and other")                                                       \
   X(STORE_MASK, "store with mask")                                                                \
   X(BLOCK, "block with boundary checks")                                                          \
   X(TRIPS_0, "loop of 0 trips")                                                                   \
   X(TRIPS_1, "loop of 1 trip")                                                                    \
   X(TRIPS_2, "loop of 2 trips")                                                                   \
   X(TRIPS_MORE, "loop of more trips")                                                             \
   X(DOT_LOOP, "dot in a loop")                                                                    \
   X(DOT_RANK_3, "dot of rank 3")                                                                  \
   X(DOT_SMALL, "dot with fewer than 16 rows or 8 columns")                                        \
   X(DOT_FP16, "dot fp16")                                                                         \
   X(DOT_FP16_ACC, "dot accumulating in fp16")                                                     \
   X(DOT_BF16, "dot bf16")                                                                         \
   X(DOT_TF32, "dot tf32")                                                                         \
   X(DOT_TF32X3, "dot tf32x3")                                                                     \
   X(DOT_TF32_CUT, "dot tf32_cut")                                                                 \
   X(DOT_WGMMA_TF32, "dot tf32_cut of 64 rows")                                                    \
   X(DOT_WGMMA_INT8, "dot int8 of 64 rows")                                                        \
   X(DOT_WGMMA_FP8, "dot fp8 of 64 rows")                                                          \
   X(DOT_IEEE, "dot fp32 ieee")                                                                    \
   X(DOT_FP64, "dot fp64")                                                                         \
   X(DOT_INT8, "dot of 8-bit integers")                                                            \
   X(DOT_FP8, "dot fp8")                                                                           \
   X(REDUCE_ADD, "reduce add")                                                                     \
   X(REDUCE_TUPLE, "reduce of a tuple")                                                            \
   X(REDUCE_CUSTOM, "reduce by several operations")                                                \
   X(SCAN_FORWARD, "scan forward")                                                                 \
   X(SCAN_REVERSE, "scan reverse")                                                                 \
   X(SCAN_TUPLE, "scan of a tuple")                                                                \
   X(SORT, "sort")                                                                                 \
   X(INTERLEAVE, "interleave")                                                                     \
   X(HISTOGRAM_MASK, "histogram with mask")                                                        \
   X(MAP_PACK, "map of packed elements")                                                           \
   X(MAP_CONTROL, "map with control flow")                                                         \
   X(ATOMIC_ADD, "atomic add")                                                                     \
   X(ATOMIC_AND, "atomic and")                                                                     \
   X(ATOMIC_OR, "atomic or")                                                                       \
   X(ATOMIC_XOR, "atomic xor")                                                                     \
   X(ATOMIC_MAX, "atomic max")                                                                     \
   X(ATOMIC_MIN, "atomic min")                                                                     \
   X(ATOMIC_XCHG, "atomic xchg")                                                                   \
   X(ATOMIC_FLOAT, "atomic on floats")                                                             \
   X(ATOMIC_MASK, "atomic with mask")                                                              \
   X(ATOMIC_SHARED_ADDRESS, "atomics on one address")

typedef enum GenCover {
#define GEN_COVER_ROW(id, text) GEN_##id,
   GEN_COVER_TABLE(GEN_COVER_ROW)
#undef GEN_COVER_ROW
      GEN_COVER_COUNT
} GenCover;

typedef struct GenCoverage {
   uint32_t op[TL_OP_COUNT][TL_DTYPE_COUNT + 1]; /* by element type of the first result or operand;
                                                    the last: it has no number */
   uint32_t lowered[TL_OP_COUNT][TL_DTYPE_COUNT + 1]; /* the same of lowered code */
   uint32_t family[GEN_COVER_COUNT];
} GenCoverage;

/* Adds what the program does, one for each operation. */
void gen_cover(const GenProgram *p, GenCoverage *c);
/* Adds what lowered code holds. */
void gen_cover_lowered(const TlModule *m, GenCoverage *c);
/* Programs must contain the operation. */
bool gen_covers_op(TlOpcode op);
const char *gen_cover_text(GenCover c);

#endif
