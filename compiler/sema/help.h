/* Ways out that are found in what the mistaken code computes.  Each is asked behind an error that
 * has been reported, and gives the text of its help, or NULL where it knows none. */
#ifndef TL_SEMA_HELP_H
#define TL_SEMA_HELP_H

#include "sema/builtin.h"

/* arange(start, end) whose bounds the run decides. */
const char *tl_help_arange(TlSema *s, const TlCall *call);
/* arange(0, B) with a constexpr parameter B that is no power of two; NULL: another.  A B that the
 * function divides by, bounds a mask with or strides by keeps its value. */
const char *tl_help_length(TlSema *s, const TlCall *call, int64_t power);
/* math.sqrt(n) of a value of the run, where tl has a function of the name. */
const char *tl_help_of_run(TlSema *s, const TlCall *c, const char *name);
/* Of a number of the run where a constant belongs. */
const char *tl_help_set_constexpr(TlSema *s, TlRange range);
/* Of a number that only the run knows because a loop changes it, or counts by it (help_loop.c): the
 * help, and notes at where the loop does so.  False: it is another's. */
bool tl_help_loop_made(TlSema *s, const TlSv *v);
/* Of a fraction where a whole number belongs, reported at `at`: gives the help, and a note at the
 * division of whole numbers that it comes from.  False: it comes from something else.  NULL: a
 * constant is reported. */
bool tl_help_quotient(TlSema *s, const TlValue *v, TlRange at);
/* The note alone, where a fraction may be meant. */
void tl_note_quotient(TlSema *s, const TlValue *v);
/* Of a tile whose dimensions are those of `shape` in another order; `text` is how it is written. */
const char *tl_help_transposed(TlSema *s, const TlType *tile, unsigned rank, const uint32_t *shape,
                               const char *text);
/* dot(a, b) where dot(b, a) has the shape. */
const char *tl_help_exchanged(TlSema *s, const TlValue *a, const TlValue *b, unsigned rank,
                              const uint32_t *shape);
/* dot(a, b, acc) whose inner dimensions differ: what brings them together, that first which is most
 * often meant; where the use of the product tells its shape, what gives that (help_dot.c). */
const char *tl_help_dot_shapes(TlSema *s, const TlCall *call, const TlValue *a, const TlValue *b,
                               const TlSv *acc);
/* dot(a, b) where dot(b, a) has the shape, of a value that a dot has given. */
const char *tl_help_factors(TlSema *s, const TlValue *v, unsigned rank, const uint32_t *shape);
/* Of a reduction of a table along one axis, where along the other the result has the shape. */
const char *tl_help_axis(TlSema *s, const TlValue *v, const TlType *shape);
/* x[None, :] for x[:, None], and the other way round, where the result then meets the shape. */
const char *tl_help_other_axis(TlSema *s, const TlValue *v, unsigned rank, const uint32_t *shape);
/* Of max(t, 1), Python's, where the reduction along that axis would have another shape. */
const char *tl_help_extremum(TlSema *s, const TlValue *v);
/* True: it is a difference of unsigned numbers whose sign is asked for, and this was told of. */
bool tl_help_difference(TlSema *s, const TlValue *x, TlRange asked);
/* The number whose bits are turned, of "~x", where x is no mask; NULL: it is none. */
const TlValue *tl_help_inverted(const TlValue *v);
/* dot(acc, a, b) where dot(a, b, acc) fits. */
const char *tl_help_dot_order(TlSema *s, const TlCall *call);
/* Of a sum where an address belongs, which begins with a parameter that is a number. */
const char *tl_help_parameter(TlSema *s, const TlValue *v);
/* Of an address that is computed from what was loaded (help_address.c): the help, and a note at the
 * load.  False: it is from something else. */
bool tl_help_loaded_address(TlSema *s, const TlValue *v, TlRange at);
/* Of a tile and the address of one element (help_reduced.c).  Does the address go on by one element
 * from program to program, or from round to round? */
bool tl_is_one_per_program(const TlValue *pointer);
/* The number with a name that was made of the tile by a reduction, that first which is named as the
 * pointer is, and which others are not made of; one of such a name may be made of another tile,
 * *is_of_it is false then.  NULL: there is none.  *is_alone: no other is as near. */
const TlValue *tl_help_reduced(TlSema *s, const TlValue *tile, const char *pointer, bool *is_alone,
                               bool *is_of_it);
/* The newest value of the name, in the block or in front of what it is in; NULL: there is none. */
const TlValue *tl_value_named(const TlBlock *in, const char *name);
/* Of a name that the function binds somewhere, and that has no value at `at` (help_unset.c): a note
 * at the place, and the help.  False: it binds no such name, or changes it only and may mean
 * `near`, which is NULL where there is no such name. */
bool tl_help_unset(TlSema *s, const TlNode *fn, const char *name, TlRange at, const char *near);
/* Of `name op other`, evaluated where there were so many errors before: a first value of its type,
 * where the name had none and that is all that was told. */
void tl_help_unset_like(TlSema *s, unsigned errors, TlAstOp op, const TlSv *other);
/* What to write for the name of a type that there is none of, as fp8, int4, half8, int128; NULL: it
 * is like none.  is_loose: a type is wanted, so that f8 and long are such names as well. */
const char *tl_type_instead(TlSema *s, const char *name, bool is_loose);
/* Of two values that a run-time `if` is to make one of (help_types.c): what gives them one type,
 * behind `begin` where that is about types and shapes. */
const char *tl_help_two_types(TlSema *s, const TlSv *a, const TlSv *b, const char *begin);
/* How a tile of the type is made of what is now one number. */
const char *tl_tile_of(TlSema *s, const TlSv *number, const TlType *type);
/* ": 'f(x)[:2]'" of two targets, where one call or name stands behind their `=`; else "". */
const char *tl_first_assigned(TlSema *s, TlRange targets, size_t num);
/* The call that prints what an f-string has in it: print("n", n). */
const char *tl_help_printed(TlSema *s, const TlAstFString *n);
/* Of a list of numbers, or of addresses, where a tile belongs. */
const char *tl_help_list(TlSema *s, const TlSvTuple *list);

#endif
