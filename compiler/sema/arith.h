/* What arith.c and arith_cast.c offer to the builtins beyond sema.h. */
#ifndef TL_SEMA_ARITH_H
#define TL_SEMA_ARITH_H

#include "sema/sema.h"

/* Type of a run-time value, else tl_sv_describe: for messages. */
const char *tl_sv_text(TlSema *s, const TlSv *v);
/* Dtype that a compile-time number has as a run-time scalar. */
TlDtype tl_sv_number_dtype(const TlSv *v);
/* A strong constant from its pattern. */
TlSv tl_sv_from_bits(TlDtype dtype, TlBits bits);
/* A compile-time number converted as `cast` does; the result is strong. */
TlSv tl_sv_cast_number(TlSema *s, const TlSv *v, TlDtype to, TlRounding rounding);

/* Two numeric operands in their common dtype and shape. */
bool tl_sema_operands(TlSema *s, const TlSv *a, const TlSv *b, bool div_or_mod, TlRange range,
                      TlValue **x, TlValue **y);
/* ptr + offset, or ptr - offset, in elements. */
TlValue *tl_sema_addptr(TlSema *s, TlValue *ptr, const TlSv *offset, bool negate, TlRange range);
/* Numeric conversion with a rounding mode (TL_ROUNDING_*). */
TlValue *tl_sema_cast_rounded(TlSema *s, TlValue *v, const TlType *elem, int64_t rounding,
                              TlRange range);
TlValue *tl_sema_bitcast(TlSema *s, TlValue *v, const TlType *elem, TlRange range);
/* A dim of size 1 before result dim axis; a scalar gives shape [1]. */
TlValue *tl_sema_expand(TlSema *s, TlValue *v, unsigned axis, TlRange range);
/* "64x32", "scalar". */
const char *tl_shape_text(TlSema *s, unsigned rank, const uint32_t *shape);

/* Builds one operation after checking its infer rule; what does not fit is reported at range. */
TlOp *tl_sema_build_op(TlSema *s, TlOpcode opcode, TlValue *const *args, unsigned num_args,
                       const TlType *const *results, unsigned num_results,
                       const TlAttrInit *attrs_until_count, unsigned num_regions, TlRange range);
TlValue *tl_sema_build(TlSema *s, TlOpcode opcode, TlValue *const *args, unsigned num_args,
                       const TlType *result, const TlAttrInit *attrs_until_count, TlRange range);
/* What the program promises of x: TL_HINT_..., a value for each dimension. */
TlValue *tl_sema_hint(TlSema *s, TlValue *x, int64_t hint, const int64_t *values, unsigned num,
                      TlRange range);

#endif
