/* How a dot is computed: by matrix instructions on fragments, or by multiply-adds on shared
 * operands. */
#ifndef TL_PASSES_DOT_LAYOUTS_H
#define TL_PASSES_DOT_LAYOUTS_H

#include "ir/analysis.h"
#include "ir/dot_split.h"
#include "ir/ir.h"
#include "ir/target.h"
#include "layout/hw_layouts.h"

/* What a dot is given: the element types of its operands after widening of 8-bit floats, and what
 * is made of fp32. */
typedef struct TlDotInput {
   TlDtype a, b;
   const TlDotSplit *split;
   bool is_turned; /* K does not lie together in the global memory of an operand, and cannot be put
                      together on the way */
} TlDotInput;

typedef struct TlDotForm {
   bool is_mma;         /* by a matrix instruction, wgmma or mma.sync */
   bool is_wgmma;       /* B, and A unless it is in registers, stay in shared memory */
   TlDotInput in;       /* what it was chosen for */
   int mma;             /* TL_MMA_* word of the instruction */
   TlMmaTile tile;      /* of the result, is_mma */
   TlLinear acc;        /* layout of accumulator and result */
   TlLinear operand[2]; /* is_mma: fragments of A and B; wgmma has none of B */
} TlDotForm;

/* What the warps of a dot should share: how its result is used. */
typedef enum TlDotUse { TL_DOT_FREE, TL_DOT_ROWS_IN_WARP } TlDotUse;

/* target NULL: multiply-adds whatever the shape. */
TlDotForm tl_choose_dot_form(const TlTarget *target, const TlType *a, const TlType *acc,
                             TlDotInput in, unsigned num_warps, TlDotUse use);
/* The form of a dot if its left operand and its result were of these types, both operands of equal
 * elements. */
TlDotForm tl_dot_form_as(const TlTarget *target, const TlOp *dot, const TlType *a,
                         const TlType *acc);
/* Recognises the layouts of a matrix dot; false when they are not those of one instruction. */
bool tl_match_mma(const TlOp *dot, TlDotForm *form);
/* The same of wgmma; shared[i]: how operand i is read, where it is in shared memory. */
bool tl_match_wgmma(const TlOp *dot, TlDotForm *form, TlWgmmaOperand shared[2]);
bool tl_is_by_wgmma(const TlOp *dot);
bool tl_only_by_wgmma(const TlBlock *body); /* all dots of a block */
/* Is operand i read from registers? */
static inline bool
tl_dot_has_fragment(const TlDotForm *f, unsigned i)
{
   return f->is_mma && !(f->is_wgmma && i == 1);
}
/* K after which wgmma's sum of fp8 products is added to one in fp32, since it keeps about 14 bits
 * itself; 0: it adds to the accumulator. */
uint32_t tl_dot_promoted_k(const TlOp *dot);
/* The dimension of rows of a tile: the one whose neighbours lie nearest to each other, in
 * registers, else in lanes. */
unsigned tl_dim_together(const TlType *t);
/* What lies together in the global memory that operand `index` is loaded from: K, or the rows of
 * A or columns of B; NONE where it is not loaded or single elements lie apart. */
typedef enum TlOperandOrder { TL_ORDER_NONE, TL_ORDER_K, TL_ORDER_MN } TlOperandOrder;
TlOperandOrder tl_dot_operand_order(TlAnalysis *facts, const TlOp *dot, unsigned index);
/* Must K lie together in the shared memory of operand `index`?  wgmma reads both orders of 16-bit
 * elements only; words of A come from there as fragments where registers are left for them. */
bool tl_dot_needs_k_together(const TlDotForm *f, unsigned index);
/* Can wgmma read operand `index` from this arrangement of shared memory?  Else A comes as
 * fragments. */
bool tl_dot_reads_memory(const TlDotForm *f, unsigned index, const TlLinear *memory);
/* Bits of an element as the instruction takes it. */
unsigned tl_dot_elem_bits(const TlDotInput *in);
/* Why no matrix instruction computes the dot on the target, as a clause. */
const char *tl_why_no_mma(const TlTarget *target, const TlOp *dot);
/* Why mma.sync computes it where the target has wgmma for its types, as a clause; or NULL. */
const char *tl_why_no_wgmma(const TlTarget *target, const TlOp *dot);
/* Shared arrangement of operand `index` of a multiply-add dot.  Rows of A, and columns of B, lie
 * together, so that a thread reads several of one k at once; flipped where stores, by lanes that go
 * along K, would all come to the same banks.  Of A it is K that lies together, for loads of several
 * k, where stores have no more conflicts then and eight lanes do not read many rows at a time. */
enum { TL_FMA_LOG2_FLIPPED = 2, TL_FMA_FLIPPED = 1 << TL_FMA_LOG2_FLIPPED }; /* k of one flip */
TlLinear tl_fma_operand_memory(const TlDotForm *f, unsigned index, const TlType *operand);

/* Shared arrangement of operand `index` of a matrix dot: rows along the dimension that lies
 * together in the registers or lanes of its layout; for wgmma one that a descriptor describes. */
TlLinear tl_mma_operand_memory(const TlDotForm *f, unsigned index, const TlType *operand);

/* The same of a ring whose elements become narrower once fragments have been read from it; `fast`:
 * the dimension that lies together in global memory. */
TlLinear tl_fragment_rows(const TlType *t, unsigned fast);

#endif
