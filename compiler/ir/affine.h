/* The addresses of a load or store as boxes of one tensor: what a copy engine that knows base,
 * sizes and strides, and takes coordinates, needs instead of a pointer an element.
 *
 * The element (i0, i1, ..) of the tile lies at
 *    base + offset + sum over d of stride[d] * (start[d] + i[d])
 *                  + sum over k of outer[k].stride * outer[k].index
 * elements, and is accessed where 0 <= start[d] + i[d] < bound[d] for each d that checks it.
 * offset, strides and bounds are the same in the whole launch; start and index vary with programs
 * and iterations: they are the coordinates.  Signed arithmetic is taken not to overflow, as in
 * analysis.h. */
#ifndef TL_IR_AFFINE_H
#define TL_IR_AFFINE_H

#include "ir/analysis.h"

enum { TL_TERM_FACTORS = 6, TL_OUTER_DIMS = 4 };

/* A scalar; of a loop's index with is_iteration the number of the iteration, from 0. */
typedef struct TlFactor {
   const TlValue *value;
   bool is_iteration;
} TlFactor;

typedef struct TlTerm { /* scale times all factors */
   int64_t scale;
   unsigned num;
   TlFactor factor[TL_TERM_FACTORS];
   int dim; /* >= 0: times the index along this dimension of a tile */
} TlTerm;

typedef struct TlSum {
   TlTerm *term;
   unsigned num;
} TlSum;

typedef struct TlTileDim {
   TlTerm stride; /* scale 0: the tile has one element along it, or equal ones */
   TlSum start;
   TlSum bound;
   bool has_bound;    /* coordinates from `bound` on are masked off */
   bool checks_below; /* coordinates below 0 are masked off; else there are none */
} TlTileDim;

typedef struct TlTileAccess {
   const TlValue *base; /* a parameter of the kernel; of an own access any pointer */
   TlSum offset;
   unsigned rank; /* of the tile */
   TlTileDim dim[TL_MAX_RANK];
   unsigned num_outer;
   struct {
      TlTerm stride;
      TlSum index;
   } outer[TL_OUTER_DIMS];
   bool fill_nan;   /* masked-off elements are NaN, else 0 or undefined */
   const char *why; /* refused: a reason for the user */
} TlTileAccess;

typedef struct TlAffine TlAffine;

/* Facts about f as it stands.  Lives in the arena. */
TlAffine *tl_affine_new(TlArena *arena, const TlFunc *f);
/* From here on arguments of the kernel are not taken to be positive where a coordinate depends on
 * them, unless they are sizes or strides, too: these are seen when a map is made. */
void tl_affine_doubt_arguments(TlAffine *a);
/* False with out->why: no such tensor, or hardware has no map of it (alignment, rank, sign). */
bool tl_tile_access(TlAffine *a, const TlOp *access, TlTileAccess *out);
/* The same of the tensor of a descriptor that the kernel makes, which it alone may know.  Offset,
 * strides and bounds are what is made before the access: of a load, outside of the innermost loop
 * around it. */
bool tl_own_tile_access(TlAffine *a, const TlOp *access, TlTileAccess *out);
/* The one or the other; of both reasons against the one that says more. */
bool tl_any_tile_access(TlAffine *a, const TlOp *access, TlTileAccess *out, bool *is_own);

/* Are two accesses certainly of one tensor: of one base, with the same offset and strides? */
bool tl_tiles_share_tensor(TlAffine *a, const TlTileAccess *x, const TlTileAccess *y);
/* Do they certainly touch different elements of it?  Their tiles have the shape. */
bool tl_tiles_are_apart(TlAffine *a, const TlTileAccess *x, const TlTileAccess *y,
                        const uint32_t *shape);

/* The integers of a value, or its pointers from *base on, as one sum; false: they are none.  An
 * index that wraps around ('%') counts as before it does. */
bool tl_value_sum(TlAffine *a, const TlValue *v, TlSum *sum, const TlValue **base);

/* Does the sum hold for some elements only: others wrap around, or are chosen by `where`? */
bool tl_value_is_chosen(TlAffine *a, const TlValue *v);

/* A comparison of an index of a tile with a limit, as the pointers of an access see it. */
typedef struct TlBound {
   const TlOp *compare;
   TlSum index, limit;
   bool is_upper;  /* index below the limit, else above */
   bool is_strict; /* the limit itself is out */
} TlBound;

/* What a loop moves along: a dimension of tiles, by width elements an iteration. */
typedef struct TlMoving {
   const TlOp *loop; /* a `for` */
   int dim;
   uint32_t width;
} TlMoving;

/* Is what v - less (NULL: 0) holds at element k + width in one iteration certainly what it holds at
 * k in the next, if its indices went on beyond width?  Of an index that wraps around ('%') this is
 * told as if it did not. */
bool tl_value_moves_along(TlAffine *a, const TlValue *v, const TlValue *less, TlMoving along);
/* Is the mask certainly false in all iterations that would follow the loop's last one? */
bool tl_mask_ends_with_loop(TlAffine *a, const TlValue *mask, TlMoving along);

/* Those that a mask is a conjunction of; *has_other: it has other parts. */
unsigned tl_mask_bounds(TlAffine *a, const TlValue *mask, TlBound *out, unsigned max,
                        bool *has_other);
/* The quotient of a term by another, where it is one. */
bool tl_term_quotient(const TlTerm *t, const TlTerm *by, TlTerm *out);
/* Is it certainly a multiple of 16 bytes, of elements of so many? */
bool tl_sum_is_aligned(TlAffine *a, const TlSum *sum, unsigned elem_bytes);
/* Equal but for the dimensions that their indices are along. */
bool tl_same_term(const TlTerm *x, const TlTerm *y);
bool tl_same_sum(const TlSum *x, const TlSum *y);
/* Does it have an index along some dimension? */
bool tl_sum_has_index(const TlSum *s);

/* The load that feeds operand i of a dot, through views only; NULL when there is none. */
const TlOp *tl_dot_load(const TlOp *dot, unsigned i);

/* The value of a sum of scalars, i64, at the cursor: its factors must be visible there. */
TlValue *tl_sum_build(TlBuilder *b, const TlSum *sum);
TlValue *tl_term_build(TlBuilder *b, const TlTerm *term);

/* A sum in words, as "pid * 128 + 64", for remarks. */
void tl_sum_print(const TlSum *sum, TlSb *out);

#endif
