/* Shared by the builtin_*.c files: the columns of builtins.def that sema.h does not show, and
 * access to bound arguments.  Every reader reports a mistake at the argument's range and returns
 * false or NULL; a poison argument fails without a report. */
#ifndef TL_SEMA_BUILTIN_H
#define TL_SEMA_BUILTIN_H

#include "sema/arith.h"

/* Element types an elementwise row accepts. */
enum {
   TL_TAKES_FP32 = 1 << 0,
   TL_TAKES_FP64 = 1 << 1,
   TL_TAKES_FP16 = 1 << 2, /* fp16, bf16 */
   TL_TAKES_FP8 = 1 << 3,
   TL_TAKES_INT32 = 1 << 4,
   TL_TAKES_INT64 = 1 << 5,
   TL_TAKES_SHORT = 1 << 6, /* 8 and 16 bit integers */
   TL_TAKES_BOOL = 1 << 7,
   TL_TAKES_MATH64 = 1 << 8, /* fp64 by the function of that name in stdlib/math64.tile */
   TL_TAKES_WIDE_FLOAT = TL_TAKES_FP32 | TL_TAKES_FP64,
   TL_TAKES_WIDE_MATH = TL_TAKES_WIDE_FLOAT | TL_TAKES_MATH64,
   TL_TAKES_FLOAT = TL_TAKES_WIDE_FLOAT | TL_TAKES_FP16 | TL_TAKES_FP8,
   TL_TAKES_WIDE_INT = TL_TAKES_INT32 | TL_TAKES_INT64,
   TL_TAKES_INT = TL_TAKES_WIDE_INT | TL_TAKES_SHORT,
   TL_TAKES_NUMBER = TL_TAKES_FLOAT | TL_TAKES_INT,
};

typedef struct TlBuiltinRow {
   TlBuiltin base;       /* first: a TlBuiltin * of the table is a TlBuiltinRow * */
   int which;            /* elementwise rows: the operation; rows of one function: which of them */
   uint32_t takes;       /* elementwise rows: TL_TAKES_* */
   const char *module;   /* stdlib rows: stdlib/<module>.tile; unsupported rows: why */
   const char *function; /* stdlib rows: the function there */
} TlBuiltinRow;

static inline const TlBuiltinRow *
tl_builtin_row(const TlCall *call)
{
   return (const TlBuiltinRow *)call->row;
}

#define TL_BUILTIN(namespaces, name, signature, function, flags, doc)                              \
   TlBuiltinFn tl_builtin_##function;
#define TL_BUILTIN_AS(namespaces, name, signature, function, which, flags, doc)                    \
   TlBuiltinFn tl_builtin_##function;
#define TL_BUILTIN_OP(...)
#define TL_BUILTIN_STD(...)
#define TL_BUILTIN_MATH(...)
#define TL_BUILTIN_NO(...)
#include "sema/builtins.def"
TlBuiltinFn tl_builtin_elementwise, tl_builtin_stdlib, tl_builtin_unsupported, tl_builtin_math,
   tl_builtin_abs;

/* ---- arguments: builtin_args.c ---- */
const char *tl_call_param(TlSema *s, const TlCall *call, unsigned i); /* parameter's name */
bool tl_call_has(const TlCall *call, unsigned i);                     /* given and not None */
TlValue *tl_call_value(TlSema *s, const TlCall *call, unsigned i);
TlValue *tl_call_tile(TlSema *s, const TlCall *call, unsigned i);
TlValue *tl_call_pointer(TlSema *s, const TlCall *call, unsigned i); /* or tile of pointers */
/* Behind an error about argument i: the option whose word it is, which the help names; or NULL. */
const char *tl_help_word(TlSema *s, const TlCall *call, unsigned i);
/* The mask of an access to `to`, NULL when it has none: boolean, and of one element when `to` is.
 * Not yet broadcast. */
bool tl_call_mask(TlSema *s, const TlCall *call, unsigned i, const TlType *to, TlValue **out);
bool tl_call_int(TlSema *s, const TlCall *call, unsigned i, int64_t *out);
bool tl_call_bool(TlSema *s, const TlCall *call, unsigned i, bool *out);
bool tl_call_str(TlSema *s, const TlCall *call, unsigned i, TlText *out);
/* NULL when absent or None and `optional`; false after a report. */
bool tl_call_type(TlSema *s, const TlCall *call, unsigned i, const TlType **out);
bool tl_call_dtype(TlSema *s, const TlCall *call, unsigned i, const TlType **out); /* no pointers */
/* axis in -rank .. rank-1, wrapped. */
bool tl_call_axis(TlSema *s, const TlCall *call, unsigned i, const TlType *of, unsigned rank,
                  unsigned *out);
/* A word of an enumerated attribute, "" and None giving `initial`; messages list `words`. */
bool tl_call_word(TlSema *s, const TlCall *call, unsigned i, TlAttrKind kind, const char *words,
                  int64_t initial, int64_t *out);
/* A tuple or list (or one value as a list of one): its items. */
void tl_sv_items(const TlSv *v, const TlSv **items, unsigned *num);
/* The values after `first` of a variadic call: x.f(2, 3) and x.f((2, 3)) mean the same.  Where they
 * stand together. */
void tl_call_rest(const TlCall *call, const TlSv **items, unsigned *num);
TlRange tl_call_rest_range(const TlCall *call);
/* The i-th of them as a number, pointer or tile. */
TlValue *tl_call_rest_value(TlSema *s, const TlCall *call, unsigned i);
/* Is argument i a number, pointer or tile?  False after a report. */
bool tl_call_is_value(TlSema *s, const TlCall *call, unsigned i);
/* Argument i becomes a number of this type: warns where one written out becomes another. */
void tl_warn_wraps(TlSema *s, const TlCall *call, unsigned i, TlDtype to);
/* Of x * 0.5 that is stored behind a pointer to integers. */
void tl_warn_of_fraction(TlSema *s, const TlValue *v, const TlType *to, TlRange range);
/* Refuses argument i, a word that is none of those. */
void tl_refuse_word(TlSema *s, const TlCall *call, unsigned i, const char *words,
                    const char *given);
/* Refuses to write through argument 0, whose type is const. */
bool tl_refuse_const(TlSema *s, const TlCall *call, const TlType *pointer);
/* Refuses argument i, a tile, which argument 0 has one address for. */
void tl_refuse_tile(TlSema *s, const TlCall *call, unsigned i, const TlType *tile);
/* Compile-time integers. */
bool tl_call_ints(TlSema *s, const TlCall *call, const char *what, const TlSv *items, unsigned num,
                  unsigned max, int64_t *out, TlRange range);
/* A shape: powers of two, limits on rank and size. */
bool tl_call_shape(TlSema *s, const TlCall *call, const char *what, const TlSv *items, unsigned num,
                   uint32_t *shape, TlRange range);
TlRange tl_call_arg_range(const TlCall *call, unsigned i);
bool tl_sv_const_int(const TlSv *v, int64_t *out); /* INT or BOOL */
/* A function, or an object that may be one. */
bool tl_sv_may_be_called(const TlSv *v);
bool tl_text_is(TlText text, const char *s);
const char *tl_text_cstr(TlSema *s, TlText text);

TlSv tl_sv_tuple(TlSema *s, const TlSv *items, size_t num);
TlSv tl_sv_str(TlSema *s, const char *text);
const TlType *tl_scalar(TlSema *s, TlDtype dtype);
TlDtype tl_value_dtype(const TlValue *v); /* of a scalar or tile of scalars */
bool tl_value_is_ptr(const TlValue *v);
/* The element type of v, which argument i became, must be one of takes. */
bool tl_check_takes(TlSema *s, const TlCall *call, unsigned i, const TlValue *v, uint32_t takes);
TlValue *tl_call_taken(TlSema *s, const TlCall *call, unsigned i, uint32_t takes); /* checked */
TlValue *tl_bf16_to_fp32(TlSema *s, TlValue *v, TlRange range);

/* ---- offered by one group to another ---- */
/* Inside the combine function of a reduction or scan, which has no effects: no assertion either. */
bool tl_sema_in_combine(const TlSema *s);
TlValue *tl_build_arange(TlSema *s, int64_t start, int64_t end, TlRange range);
TlSv tl_block_ptr_load(TlSema *s, const TlCall *call, const TlAttrInit *attrs);
TlSv tl_block_ptr_store(TlSema *s, const TlCall *call, const TlAttrInit *attrs);

#endif
