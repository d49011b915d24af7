/* Layout decisions: what layouts.c, assign.c, cost.c and the rules in rules.c share.  Private to
 * this folder; place.h is for the other passes.
 *
 * Every tile value is one of
 *    free      cheap to compute again: built in whatever layout a user wants, once for each layout
 *    decided   has the layout of one decision; a user that wants another gets a conversion
 * An operation has a home layout, from which those of its operands and results follow.  Homes are
 * found forward from anchors (memory accesses, dots); values that no anchor reaches take what their
 * users want, else a default. */
#ifndef TL_PASSES_PLACE_IMPL_H
#define TL_PASSES_PLACE_IMPL_H

#include "ir/analysis.h"
#include "passes/dot_layouts.h"
#include "passes/pass.h"

/* Strength of a decision: at a join the stronger wins. */
typedef enum TlRankOfLayout { TL_LR_NONE, TL_LR_DEFAULT, TL_LR_BLOCKED, TL_LR_MMA } TlRankOfLayout;

typedef struct TlDecision {
   const TlLinear *layout; /* interned, NULL = not known */
   TlRankOfLayout rank;
} TlDecision;

typedef struct TlPlace {
   TlPassCx *cx;
   TlFunc *func;
   TlTypes *types;
   TlAnalysis *facts;
   TlDecision *choice;   /* by value id */
   bool *is_free;        /* by value id */
   uint32_t shared_dims; /* along which all warps best lie where they share rows, a bit each */
   uint32_t num_values;  /* entries of the two: values of the TYPED body */
   bool use_defaults;    /* last sweep: what is still open takes a default layout */
   TlMap anchors;        /* memory operation -> interned layout */
   TlMap dots;           /* dot -> TlDotForm * */
   TlMap homes;          /* operation that is not free -> its home, once homes are assigned */
} TlPlace;

/* One row of the layout column of ops.def. */
typedef struct TlLayoutRule {
   /* The home of op from what is decided so far; rank NONE = unknown. */
   TlDecision (*home)(TlPlace *p, const TlOp *op);
   /* From the home: layout of tile operand i, of tile result i. */
   const TlLinear *(*operand)(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home);
   const TlLinear *(*result)(TlPlace *p, const TlOp *op, unsigned i, const TlLinear *home);
   /* Of free operations: the home that gives result 0 this layout, or NULL. */
   const TlLinear *(*home_for)(TlPlace *p, const TlOp *op, const TlLinear *result);
} TlLayoutRule;

#define TL_OP(id, name, args, n, infer, layout, ...) extern const TlLayoutRule tl_layout_##layout;
#include "ir/ops.def"
const TlLayoutRule *tl_layout_rule(const TlOp *op);

/* Several instructions for each element: not worth computing twice. */
bool tl_is_costly(const TlOp *op);
/* assign.c: fills p->homes from the decisions in p->choice, improves them by cost, and leaves
 * the result in both.  ops: of the body in preorder. */
void tl_place_assign(TlPlace *p, TlOp *const *ops, size_t num_ops);

/* A blocked layout of num_warps of the function, all along every row where rows are shared anyway
 * (coalesce.h) and that spares something. */
TlLinear tl_place_blocked(const TlPlace *p, const TlType *tile, const unsigned *order,
                          unsigned vec);
bool tl_place_rows_are_shared(const TlPlace *p, const TlType *tile, unsigned dim);

const TlLinear *tl_place_intern(TlPlace *p, TlLinear l);
const TlLinear *tl_place_default(TlPlace *p, const TlType *tile);
static inline TlDecision
tl_choice_of(const TlPlace *p, const TlValue *v)
{
   return v->id < p->num_values ? p->choice[v->id] : (TlDecision){0};
}
static inline bool
tl_is_free(const TlPlace *p, const TlValue *v)
{
   return v->id < p->num_values && p->is_free[v->id];
}

#endif
