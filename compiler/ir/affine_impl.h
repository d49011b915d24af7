/* Shared by affine.c, which finds sums, and tile_access.c and affine_loop.c, which ask for them.
 * Private. */
#ifndef TL_IR_AFFINE_IMPL_H
#define TL_IR_AFFINE_IMPL_H

#include "ir/affine.h"

enum { TL_AFF_TERMS = 24, TL_AFF_CONDITIONS = 12 };

typedef struct TlAffCondition {
   TlSum positive; /* what must be */
   TlSum index;    /* the side of the comparison that has an index: where its origin is */
} TlAffCondition;

typedef struct TlAffConditions {
   TlAffCondition all[TL_AFF_CONDITIONS];
   unsigned num;
} TlAffConditions;

/* A sum, of a pointer from `base` on. */
typedef struct TlAffForm {
   TlSum sum;
   const TlValue *base;   /* NULL: integers */
   TlAffConditions *only; /* elements for which these do not hold are others; NULL: none are */
   bool is_known;         /* else there is no such sum */
   const char *why;       /* not known: the reason, NULL = the walk is still at it */
} TlAffForm;

struct TlAffine {
   TlArena *arena;
   const TlFunc *func;
   TlAnalysis *facts;
   TlAffForm **form;    /* by value id; NULL: not asked for yet */
   uint8_t *is_uniform; /* by value id: 0 not known yet, 1 no, 2 yes */
   bool *written;       /* by parameter */
   unsigned depth;
   bool doubts_arguments;      /* tl_affine_doubt_arguments */
   const TlTileAccess *access; /* whose signs are looked at */
   const char *why;
   TlAffine *own;     /* of accesses to tensors that only the kernel knows; NULL: none yet */
   bool is_own;       /* this is such a one .. */
   const TlOp *scope; /* .. and what is defined in the loop is no part of the tensor */
};

extern const char tl_aff_no_sum[];

/* Notes a reason, unless there is one; returns false. */
bool tl_aff_refuse(TlAffine *a, const char *why);

/* Terms and sums; false: a limit is exceeded, with its reason noted. */
bool tl_aff_same_product(const TlTerm *x, const TlTerm *y);
bool tl_aff_add_term(TlAffine *a, TlSum *s, TlTerm t);
bool tl_aff_add_scaled(TlAffine *a, TlSum *s, const TlSum *x, int64_t scale);
bool tl_aff_add_product(TlAffine *a, TlSum *s, const TlSum *x, const TlSum *y);
bool tl_aff_times(TlAffine *a, const TlTerm *x, const TlTerm *y, TlTerm *out);
TlTerm tl_aff_constant_term(int64_t v);
TlTerm tl_aff_factor_term(const TlValue *v, bool is_iteration);

/* Never NULL. */
const TlAffForm *tl_aff_form_of(TlAffine *a, const TlValue *v);
/* Appends those that a mask is a conjunction of. */
bool tl_aff_conditions_of(TlAffine *a, const TlValue *mask, TlAffConditions *out);
/* Operations that move elements as a whole, and where they put dimension d. */
bool tl_aff_is_moved(const TlOp *op);
int tl_aff_moved_dim(const TlOp *op, int d);

#endif
