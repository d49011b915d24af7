/* Accesses of a kernel as sums, shared by the warnings about them.  Private to lint_*.c. */
#ifndef TL_SEMA_LINT_ACCESS_H
#define TL_SEMA_LINT_ACCESS_H

#include "ir/affine.h"
#include "sema/impl.h"
#include "sema/launch_args.h"

enum { TL_LINT_BOUNDS = 8, TL_LINT_AXES = 3 /* of the grid */ };

typedef struct TlLintAccess {
   const TlOp *op; /* load, store or atomic of a tile or one element */
   const TlValue *pointers, *base;
   TlSum sum;
   bool is_known;  /* the sum */
   bool has_other; /* parts of the mask that are no bounds */
   unsigned num_bounds;
   TlBound bound[TL_LINT_BOUNDS];
} TlLintAccess;

typedef struct TlLintFacts {
   TlSema *s;
   const TlFunc *func;
   TlAffine *affine;
   uint8_t *programs; /* by value id: axes of the grid that it depends on, a bit for each */
   bool has_atomics;
   TL_VEC(TlLintAccess) all;
} TlLintFacts;

/* Are two equal numbers no chance: not guessed, or compared with those of other guesses? */
bool tl_lint_trusts_numbers(const TlLintFacts *f);
/* Of a kernel's typed code. */
void tl_lint_facts(TlSema *s, const TlFunc *f, TlAffine *a, TlLintFacts *out);

bool tl_lint_is_round(const TlTerm *t);     /* a multiple of the number of a loop's round */
bool tl_lint_is_argument(const TlValue *v); /* of the kernel */
/* What it was before conversions. */
const TlValue *tl_lint_before_casts(const TlValue *v);
/* Before casts, spreading, and what only changes the shape. */
const TlValue *tl_lint_before_moves(const TlValue *v);
/* Are they one value, or computed in the same way of the same ones? */
bool tl_lint_is_same(const TlValue *a, const TlValue *b);
/* Is v computed from the other one? */
bool tl_lint_comes_from(const TlValue *v, const TlValue *from);
/* The argument that a sum is; NULL: it is another. */
const TlValue *tl_lint_argument(const TlSum *s);
/* program_id(axis) is a factor of it; -1: none is. */
int tl_lint_axis(const TlTerm *t);
/* Along dimension d: the stride, and the sum of what is added to the index, both in strides.
 * False: it moves by no one stride. */
bool tl_lint_index(TlLintFacts *f, const TlLintAccess *x, unsigned d, TlTerm *stride, TlSum *index);
bool tl_lint_has_program(const TlSum *s, int axis);
bool tl_lint_has_any_program(const TlSum *s);
/* Has a loop's round a part in it? */
bool tl_lint_has_rounds(const TlSum *s);
bool tl_lint_has_dim(const TlSum *s, int d);
/* What is added whichever values there are; 0: nothing is. */
int64_t tl_lint_constant(const TlSum *s);

/* "cdiv(n, BLOCK)" along an axis of the kernel's own grid: n, if it is an argument; else NULL. */
const TlValue *tl_lint_grid_size(TlLintFacts *f, int axis);
/* Of the first axis whose program the index has, and the grid a size. */
const TlValue *tl_lint_size_of_index(TlLintFacts *f, const TlSum *index);
/* The axis that has the size; -1: none. */
int tl_lint_axis_of_size(TlLintFacts *f, const TlValue *n);
/* Axes of the grid that what decides whether the operation runs depends on, a bit for each. */
unsigned tl_lint_guard(const TlLintFacts *f, const TlOp *op);
/* Are several programs launched, and is nothing there by which they may wait for each other? */
bool tl_lint_are_concurrent(TlLintFacts *f);
bool tl_lint_is_one_program(TlLintFacts *f);
/* Does the text have the name, as a whole: SPLIT in meta["SPLIT"] * heads? */
bool tl_lint_is_written(const char *text, const char *name);
/* Is the type certainly the text's own, as what made the value says it, and not one that was
 * guessed for a parameter? */
bool tl_lint_is_spelled(const TlLintFacts *f, const TlValue *v, TlDtype dtype);
/* The name that a quotient is divided by, as it is written; NULL: it is by no name. */
const char *tl_lint_divisor(TlSema *s, const TlOp *div);
/* Is it called as sizes are: n, N, n_elements, num_rows, seq_len? */
bool tl_lint_is_size_name(const char *name);

/* The kernel's own grid; NULL: it has none. */
const TlNode *tl_lint_own_grid(TlLintFacts *f);
/* Is the kernel typed with the constants that the launch gives, and does its text say them all? */
bool tl_lint_has_constants(const TlFunc *f, const TlLaunchText *t);

void tl_lint_races(TlLintFacts *f);
/* True: an offset was told of that wraps by the numbers of a launch. */
bool tl_lint_wraps(TlLintFacts *f, const TlKernelInfo *k);
/* Of those that may, whatever the numbers are. */
void tl_lint_offsets(TlSema *s, const TlFunc *f);
void tl_lint_speed(TlSema *s, const TlFunc *f);
/* Where the comparison is written. */
TlRange tl_lint_bound_range(TlSema *s, const TlBound *b);
/* The index with a name that masks of tiles of two dimensions compare with the limit along `dim`;
 * NULL: there is none. */
const TlValue *tl_lint_index_below(TlLintFacts *f, const TlValue *limit, int dim);
/* Behind a warning of x, a load of a vector that is spread along `dim`, as its mask's limit says,
 * and that has the index of the other dimension. */
void tl_lint_help_index(TlSema *s, const TlLintAccess *x, const TlValue *index,
                        const TlValue *limit, int dim);
/* True: something was reported. */
bool tl_lint_masks(TlLintFacts *f);
bool tl_lint_exchanged(TlLintFacts *f);
bool tl_lint_apart(TlLintFacts *f);
void tl_lint_sums(TlLintFacts *f);
void tl_lint_tuned(TlLintFacts *f);
void tl_lint_quantised(TlLintFacts *f);
void tl_lint_integers(TlLintFacts *f);
void tl_lint_softmax(TlLintFacts *f);
void tl_lint_blocks(TlLintFacts *f);
void tl_lint_axes(TlLintFacts *f);
void tl_lint_running(TlLintFacts *f);
/* The first reduction that was told of as none that is meant; or NULL. */
const TlOp *tl_lint_extrema(TlLintFacts *f);
void tl_lint_stores(TlLintFacts *f);
void tl_lint_updates(TlLintFacts *f);
void tl_lint_still(TlLintFacts *f);
void tl_lint_effects(TlLintFacts *f);
void tl_lint_loops(TlLintFacts *f);
void tl_lint_neighbours(TlLintFacts *f);
void tl_lint_rows(TlLintFacts *f, const TlKernelInfo *k);
/* is_told: something was reported that a grid may be the cause of. */
void tl_lint_grid(TlLintFacts *f, const TlKernelInfo *k, bool is_told);

#endif
