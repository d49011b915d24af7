/* Operators on run-time values, with the promotion of Triton 3.6.
 *
 * A compile-time number is weak unless it was stored to a variable: a weak number of a kind not
 * above that of the other operand (bool < int < float) takes the other operand's dtype; every other
 * operand takes part in promotion.  Invariant: each function returns poison, NULL or false only
 * after a report, or when an operand was poison already. */
#include "sema/arith.h"

#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <float.h>
#include <math.h>

const char *
tl_sv_text(TlSema *s, const TlSv *v)
{
   if (v->kind == TL_SV_VALUE)
      return tl_type_cstr(s->arena, v->value->type);
   return tl_sv_describe(s, v);
}

/* ---- compile-time numbers ---- */
TlDtype
tl_sv_number_dtype(const TlSv *v)
{
   assert(tl_sv_is_number(v));
   if (v->is_strong)
      return v->dtype;
   if (v->kind == TL_SV_BOOL)
      return TL_I1;
   if (v->kind == TL_SV_INT) {
      if (v->is_large)
         return TL_U64;
      if (v->i >= INT32_MIN && v->i <= INT32_MAX)
         return TL_I32;
      return v->i > 0 && v->i <= UINT32_MAX ? TL_U32 : TL_I64;
   }
   double abs = fabs(v->f);
   bool fits = !isfinite(abs) || abs == 0 || (abs >= FLT_MIN && abs <= FLT_MAX);
   return fits ? TL_FP32 : TL_FP64;
}

static const char *
number_text(TlSema *s, const TlSv *v)
{
   assert(tl_sv_is_number(v));
   if (v->kind == TL_SV_FLOAT)
      return tl_arena_printf(s->arena, "%.17g", v->f);
   if (v->kind == TL_SV_BOOL)
      return v->b ? "True" : "False";
   if (v->is_large)
      return tl_arena_printf(s->arena, "%llu", (unsigned long long)v->i);
   return tl_arena_printf(s->arena, "%lld", (long long)v->i);
}

static bool
report_range(TlSema *s, const TlSv *v, TlDtype to, TlRange range)
{
   assert(tl_sv_is_number(v) && to < TL_DTYPE_COUNT);
   const TlDtypeInfo *info = &tl_dtype_info[to];
   unsigned bits = info->bits;
   unsigned long long top = tl_dtype_is_signed(to) ? (1ull << (bits - 1)) - 1
                            : bits == 64           ? UINT64_MAX
                                                   : (1ull << bits) - 1;
   const char *low = tl_dtype_is_signed(to) ? tl_arena_printf(s->arena, "-%llu", top + 1) : "0";
   tl_report(s->diags, E0282, range, number_text(s, v), info->text, low,
             tl_arena_printf(s->arena, "%llu", top));
   TlDtype holds = v->kind == TL_SV_INT && !v->is_large ? tl_dtype_holding(v->i, 32)
                   : v->kind == TL_SV_INT               ? TL_U64
                                                        : TL_I64;
   tl_help(s->diags, "convert the other operand with .to(tl.%s), or choose another constant",
           tl_dtype_info[holds].triton_name);
   return false;
}

static bool
int_fits(const TlSv *v, TlDtype to)
{
   assert(v->kind == TL_SV_INT || v->kind == TL_SV_BOOL);
   unsigned bits = tl_dtype_info[to].bits;
   int64_t i = v->kind == TL_SV_BOOL ? v->b : v->i;
   if (v->kind == TL_SV_INT && v->is_large)
      return to == TL_U64;
   if (tl_dtype_is_signed(to))
      return bits == 64 || (i >= -(INT64_C(1) << (bits - 1)) && i < INT64_C(1) << (bits - 1));
   return i >= 0 && (bits == 64 || (uint64_t)i < UINT64_C(1) << bits);
}

/* Bits of a weak number in `to`.  Floats narrower than fp64 are rounded through fp32, as Triton
 * passes its literals on as C floats. */
static bool
weak_bits(TlSema *s, const TlSv *v, TlDtype to, TlRange range, TlBits *out)
{
   assert(!v->is_strong);
   if (tl_dtype_is_float(to)) {
      double f = v->kind == TL_SV_FLOAT  ? v->f
                 : v->kind == TL_SV_BOOL ? (double)v->b
                 : v->is_large           ? (double)(uint64_t)v->i
                                         : (double)v->i;
      if (to != TL_FP64)
         f = tl_bits_to_double(TL_FP32, tl_double_to_bits(TL_FP32, f, TL_ROUND_NEAREST_EVEN));
      *out = tl_double_to_bits(to, f, TL_ROUND_NEAREST_EVEN);
      return true;
   }
   TlSv as_int = *v;
   if (v->kind == TL_SV_FLOAT) {
      if (to == TL_I1) {
         *out = v->f != 0;
         return true;
      }
      if (v->f != floor(v->f) || fabs(v->f) > 9.2e18)
         return tl_refuse(s->diags, E0283, range, number_text(s, v), tl_dtype_info[to].text);
      as_int = tl_sv_int((int64_t)v->f);
   }
   if (!int_fits(&as_int, to))
      return report_range(s, v, to, range);
   *out = tl_int_to_bits(to, as_int.kind == TL_SV_BOOL ? as_int.b : as_int.i);
   return true;
}

static TlBits
strong_bits(const TlSv *v)
{
   assert(v->is_strong && tl_sv_is_number(v));
   if (v->kind == TL_SV_FLOAT)
      return tl_double_to_bits(v->dtype, v->f, TL_ROUND_NEAREST_EVEN);
   if (tl_dtype_is_float(v->dtype))
      return tl_double_to_bits(v->dtype, v->kind == TL_SV_BOOL ? v->b : (double)v->i,
                               TL_ROUND_NEAREST_EVEN);
   return tl_int_to_bits(v->dtype, v->kind == TL_SV_BOOL ? v->b : v->i);
}

static bool
number_bits(TlSema *s, const TlSv *v, TlDtype to, TlRange range, TlBits *out)
{
   if (!v->is_strong)
      return weak_bits(s, v, to, range, out);
   *out = tl_cast_bits(v->dtype, to, strong_bits(v), TL_ROUND_NEAREST_EVEN);
   return true;
}

TlSv
tl_sv_from_bits(TlDtype dtype, TlBits bits)
{
   assert(dtype < TL_DTYPE_COUNT);
   TlSv v;
   if (dtype == TL_I1)
      v = tl_sv_bool(bits & 1);
   else if (tl_dtype_is_float(dtype))
      v = tl_sv_float(tl_bits_to_double(dtype, bits));
   else
      v = tl_sv_int(tl_bits_to_int(dtype, bits));
   v.is_strong = true;
   v.dtype = dtype;
   v.is_large = dtype == TL_U64 && v.i < 0;
   return v;
}

TlSv
tl_sv_cast_number(TlSema *s, const TlSv *v, TlDtype to, TlRounding rounding)
{
   assert(tl_sv_is_number(v));
   TlDtype from = tl_sv_number_dtype(v);
   TlBits bits = 0;
   TlSv strong = *v;
   strong.is_strong = true, strong.dtype = from;
   bits = strong_bits(&strong);
   (void)s;
   return tl_sv_from_bits(to, tl_cast_bits(from, to, bits, rounding));
}

/* ---- values ---- */
static bool
is_number_or_value(TlSema *s, const TlSv *v, TlRange range)
{
   if (v->kind == TL_SV_POISON)
      return false;
   if (v->kind == TL_SV_VALUE || tl_sv_is_number(v))
      return true;
   if (v->kind == TL_SV_LONG)
      return tl_report(s->diags, E0210, range), false;
   tl_report(s->diags, E0280, range, tl_sv_describe(s, v));
   return tl_help_no_number(s, v) && false;
}

TlValue *
tl_sema_value(TlSema *s, const TlSv *v, TlRange range)
{
   if (!is_number_or_value(s, v, range))
      return NULL;
   if (v->kind == TL_SV_VALUE)
      return v->value;
   return tl_sema_value_as(s, v, tl_sv_number_dtype(v), range);
}

TlValue *
tl_sema_value_as(TlSema *s, const TlSv *v, TlDtype dtype, TlRange range)
{
   if (!is_number_or_value(s, v, range))
      return NULL;
   const TlType *type = tl_type_scalar(s->types, dtype);
   if (v->kind == TL_SV_VALUE)
      return tl_sema_cast(s, v->value, type, range);
   if (!s->b.block) { /* of the file: there is no kernel to build it in */
      tl_report(s->diags, E0280, range, tl_sv_describe(s, v));
      return NULL;
   }
   TlBits bits;
   return number_bits(s, v, dtype, range, &bits) ? tl_const_bits(&s->b, type, bits) : NULL;
}

static const TlType *
elem_of(const TlSv *v) /* NULL for a compile-time number */
{
   return v->kind == TL_SV_VALUE ? tl_type_elem(v->value->type) : NULL;
}

static bool
is_pointer(const TlSv *v)
{
   return v->kind == TL_SV_VALUE && tl_type_is_ptr_like(v->value->type);
}

static TlDtype
dtype_of(const TlSv *v)
{
   return v->kind == TL_SV_VALUE ? elem_of(v)->dtype : tl_sv_number_dtype(v);
}

/* ---- promotion ---- */
static int
kind_rank(TlDtype t)
{
   return tl_dtype_is_float(t) ? 2 : t == TL_I1 ? 0 : 1;
}

/* C's usual conversions without the promotion to int: the wider wins, at one width the unsigned. */
static TlDtype
promote_ints(TlDtype a, TlDtype b)
{
   assert(tl_dtype_is_int(a) && tl_dtype_is_int(b));
   unsigned a_bits = tl_dtype_info[a].bits, b_bits = tl_dtype_info[b].bits;
   if (a_bits != b_bits)
      return a_bits > b_bits ? a : b;
   return tl_dtype_is_signed(a) ? b : a;
}

/* The matrix of 1.11 for two operands that both take part. */
static bool
promote_strong(TlDtype a, TlDtype b, bool div_or_mod, TlDtype *out)
{
   if (a == TL_FP64 || b == TL_FP64)
      *out = TL_FP64;
   else if (a == TL_FP32 || b == TL_FP32)
      *out = TL_FP32;
   else if (a == TL_FP16 || b == TL_FP16)
      *out = div_or_mod ? TL_FP32 : TL_FP16;
   else if (a == TL_BF16 && b == TL_BF16)
      *out = div_or_mod ? TL_FP32 : TL_BF16;
   else if (a == TL_BF16 || b == TL_BF16)
      *out = TL_FP32;
   else if (tl_dtype_is_fp8(a) && tl_dtype_is_fp8(b))
      *out = a == b ? a : TL_FP16;
   else if (tl_dtype_is_float(a) || tl_dtype_is_float(b))
      return false;
   else
      *out = promote_ints(a, b);
   return true;
}

/* "vocab", or `else_text` where the program has no name for it. */
static const char *
name_or(TlSema *s, const TlSv *v, const char *else_text)
{
   bool is_named = v->kind == TL_SV_VALUE && v->value->name &&
                   !(v->value->def && tl_in_library(s->sources, v->value->def->range));
   return is_named ? v->value->name : else_text;
}

/* A wider signed type holds all of the unsigned one.  In one of the same width its upper half, as
 * of random bits, would be negative: the other is the one to convert. */
static void
help_signedness(TlSema *s, const TlSv *with_sign, const TlSv *without)
{
   TlDtype wide = dtype_of(with_sign), narrow = dtype_of(without);
   const char *to_signed = tl_dtype_info[wide].triton_name;
   if (tl_dtype_info[narrow].bits < tl_dtype_info[wide].bits) {
      tl_help(s->diags, "convert the unsigned one: %s.to(tl.%s)", name_or(s, without, "x"),
              to_signed);
      return;
   }
   unsigned bits = tl_dtype_info[narrow].bits;
   tl_help(s->diags,
           "convert the one that is never negative: %s.to(tl.%s); as tl.%s, %s from 2**%u on would "
           "be negative",
           name_or(s, with_sign, "n"), tl_dtype_info[narrow].triton_name,
           tl_dtype_info[tl_dtype_int(bits, true)].triton_name,
           name_or(s, without, "unsigned numbers"), bits - 1);
}

bool
tl_sema_promote(TlSema *s, const TlSv *a, const TlSv *b, bool div_or_mod, TlRange range,
                TlDtype *out)
{
   TlDtype x = dtype_of(a), y = dtype_of(b);
   bool a_weak = tl_sv_is_number(a) && !a->is_strong, b_weak = tl_sv_is_number(b) && !b->is_strong;
   if (a_weak != b_weak) {
      TlDtype weak = a_weak ? x : y, other = a_weak ? y : x;
      if (kind_rank(weak) <= kind_rank(other)) {
         *out = div_or_mod && (other == TL_FP16 || other == TL_BF16) ? TL_FP32 : other;
         return true;
      }
   }
   if (!promote_strong(x, y, div_or_mod, out)) {
      tl_report(s->diags, E0281, range, tl_sv_text(s, a), tl_sv_text(s, b));
      if (tl_dtype_is_fp8(x) || tl_dtype_is_fp8(y))
         tl_help(s->diags, "convert the fp8 operand first: .to(tl.float32)");
      return false;
   }
   if (div_or_mod && tl_dtype_is_int(*out) && x != TL_I1 && y != TL_I1 &&
       tl_dtype_is_signed(x) != tl_dtype_is_signed(y)) {
      tl_report(s->diags, E0285, range, tl_sv_text(s, a), tl_sv_text(s, b));
      help_signedness(s, tl_dtype_is_signed(x) ? a : b, tl_dtype_is_signed(x) ? b : a);
      return false;
   }
   return true;
}

static bool
is_negative_weak(const TlSv *v)
{
   return !v->is_strong && ((v->kind == TL_SV_INT && !v->is_large && v->i < 0) ||
                            (v->kind == TL_SV_FLOAT && v->f < 0));
}

/* b >> 4 - 8, which is b >> (4 - 8). */
static bool
help_late_sign(TlSema *s, const char *text)
{
   const char *shift = strstr(text, ">> ");
   shift = shift ? shift : strstr(text, "<< ");
   const char *minus = shift ? strstr(shift, " - ") : NULL;
   if (!minus || strpbrk(shift, "()\n") || strlen(text) > 60)
      return false;
   tl_help(s->diags, "'-' comes before '%.2s': the difference of what was shifted is (%.*s)%s",
           shift, (int)(minus - text), text, minus);
   return true;
}

/* Two numeric operands in their common dtype and shape. */
bool
tl_sema_operands(TlSema *s, const TlSv *a, const TlSv *b, bool div_or_mod, TlRange range,
                 TlValue **x, TlValue **y)
{
   TlDtype dtype;
   if (!tl_sema_promote(s, a, b, div_or_mod, range, &dtype))
      return false;
   if (!tl_dtype_is_float(dtype) && dtype != TL_I1 && !tl_dtype_is_signed(dtype) &&
       ((tl_sv_is_number(a) && is_negative_weak(a)) ||
        (tl_sv_is_number(b) && is_negative_weak(b)))) {
      tl_report(s->diags, E0284, range, tl_sv_text(s, a), tl_sv_text(s, b));
      if (!help_late_sign(s, tl_range_text(s, range)))
         tl_help(s->diags, "cast the unsigned value: .to(tl.%s)",
                 tl_dtype_info[tl_dtype_int(tl_dtype_info[dtype].bits, true)].triton_name);
      return false;
   }
   *x = tl_sema_value_as(s, a, dtype, range);
   *y = *x ? tl_sema_value_as(s, b, dtype, range) : NULL;
   return *y && tl_sema_broadcast(s, x, y, range);
}

/* ---- checks that --debug adds ---- */
/* Signed add, sub, mul narrower than 64 bits: the exact result must fit. */
static void
check_overflow(TlSema *s, TlOpcode op, TlValue *x, TlValue *y)
{
   assert(x->type == y->type);
   const TlType *elem = tl_type_elem(x->type);
   TlDtype t = elem->dtype;
   if (!s->debug || !tl_dtype_is_signed(t) || tl_dtype_info[t].bits >= 64 || tl_sema_in_combine(s))
      return;
   TlBuilder *b = &s->b;
   const TlType *wide = tl_type_with_elem(s->types, x->type, tl_type_scalar(s->types, TL_I64));
   int64_t top = (INT64_C(1) << (tl_dtype_info[t].bits - 1)) - 1;
   TlValue *exact = tl_b2(b, op, tl_t1(b, TL_OP_CAST, wide, x), tl_t1(b, TL_OP_CAST, wide, y));
   TlValue *low = tl_b2(b, TL_OP_GE, exact, tl_const_bits(b, wide, (TlBits)(-top - 1)));
   TlValue *high = tl_b2(b, TL_OP_LE, exact, tl_const_bits(b, wide, (TlBits)top));
   TlValue *ok = tl_b2(b, TL_OP_AND, low, high);
   const char *text = tl_overflow_text(s->arena, t, op);
   TlAttrInit attr = {TL_ATTR_TEXT, {.s = text}};
   tl_build(b, TL_OP_DEVICE_ASSERT, &ok, 1, NULL, 0, &attr, 1, 0);
}

static bool
is_comparison(const TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_SPLAT))
      v = tl_arg(v->def, 0);
   return v->def && v->def->opcode >= TL_OP_EQ && v->def->opcode <= TL_OP_GE;
}

/* ---- pointer arithmetic ---- */
TlValue *
tl_sema_addptr(TlSema *s, TlValue *ptr, const TlSv *offset, bool negate, TlRange range)
{
   assert(tl_type_is_ptr_like(ptr->type));
   TlValue *off = tl_sema_value(s, offset, range);
   if (!off)
      return NULL;
   const TlType *elem = tl_type_elem(off->type);
   bool is_mask = elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1 &&
                  tl_type_is_tile(off->type) && (!tl_is_tried(s) || is_comparison(off));
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(elem->dtype) || is_mask) {
      tl_report(s->diags, E0299, range, tl_type_cstr(s->arena, off->type));
      tl_blame_sv(s, offset, TL_WANT_INT);
      if (is_mask)
         tl_help(s->diags, "a mask has a place of its own: tl.load(pointer, mask=..), "
                           "tl.store(pointer, value, mask=..)");
      else if (tl_help_quotient(s, off, range))
         return NULL;
      else if (elem->kind == TL_TYPE_SCALAR && tl_dtype_is_float(elem->dtype))
         tl_help(s->diags, "an offset is whole: .to(tl.int32) or .to(tl.int64); to add to what "
                           "lies behind the pointer, read it: tl.load(pointer)");
      else if (elem->kind == TL_TYPE_SCALAR)
         tl_help(s->diags, "convert it: .to(tl.int32) or .to(tl.int64)");
      return NULL;
   }
   bool is_narrow_unsigned =
      !tl_dtype_is_signed(elem->dtype) && tl_dtype_info[elem->dtype].bits < 64;
   if (elem->dtype == TL_I1)
      off = tl_sema_cast(s, off, tl_type_scalar(s->types, TL_I32), range);
   else if (negate && is_narrow_unsigned) /* -x must not wrap before it is extended */
      off = tl_sema_cast(s, off, tl_type_scalar(s->types, TL_I64), range);
   if (negate)
      off = tl_b2(&s->b, TL_OP_SUB, tl_const_bits(&s->b, off->type, 0), off);
   if (!tl_sema_broadcast(s, &ptr, &off, range))
      return NULL;
   return tl_b2(&s->b, TL_OP_ADDPTR, ptr, off);
}

/* The pointer that the addresses are made of. */
static const TlValue *
base_of(const TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_ADDPTR || v->def->opcode == TL_OP_SPLAT ||
                     v->def->opcode == TL_OP_BROADCAST))
      v = tl_arg(v->def, 0);
   return v;
}

static TlSv
pointer_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   if (op == TL_AST_OP_ADD && is_pointer(a) && !is_pointer(b))
      return tl_sv_value(tl_sema_addptr(s, a->value, b, false, range));
   if (op == TL_AST_OP_ADD && is_pointer(b) && !is_pointer(a))
      return tl_sv_value(tl_sema_addptr(s, b->value, a, false, range));
   if (op == TL_AST_OP_SUB && is_pointer(a) && !is_pointer(b))
      return tl_sv_value(tl_sema_addptr(s, a->value, b, true, range));
   tl_report(s->diags, E0286, range, tl_ast_op_text[op], tl_sv_text(s, a), tl_sv_text(s, b));
   const TlValue *p = is_pointer(a) ? a->value : b->value;
   bool is_order =
      op == TL_AST_OP_LT || op == TL_AST_OP_LE || op == TL_AST_OP_GT || op == TL_AST_OP_GE;
   if (is_order && !p->def && p->name && is_pointer(a) != is_pointer(b))
      tl_help(s->diags,
              "'%.40s' is a pointer here, and a number is asked for: give the launch the number "
              "itself, or read it from memory, tl.load(%.40s)",
              p->name, p->name);
   else if (op == TL_AST_OP_ADD && is_pointer(a) && is_pointer(b) &&
            base_of(a->value) == base_of(b->value) && base_of(a->value)->name)
      tl_help(s->diags,
              "'+' takes an integer, and '%.40s' is in both: what was made of it is an address "
              "already, leave '%.40s' out",
              base_of(a->value)->name, base_of(a->value)->name);
   else
      tl_help(s->diags, "a pointer takes '+' and '-' with an integer; what it points to is "
                        "tl.load(pointer), its address as a number pointer.to(tl.int64)");
   return tl_sv_poison();
}

/* ---- binary operators ---- */
typedef enum BinaryRule {
   NO_RULE,
   ARITH,
   TRUE_DIV,
   FLOOR_DIV,
   MOD,
   BITWISE,
   SHIFT,
   COMPARE
} BinaryRule;
typedef struct BinaryOp {
   BinaryRule rule;
   TlOpcode op;
} BinaryOp;

static const BinaryOp binary_ops[TL_AST_OP_COUNT] = {
   [TL_AST_OP_ADD] = {ARITH, TL_OP_ADD},          [TL_AST_OP_SUB] = {ARITH, TL_OP_SUB},
   [TL_AST_OP_MUL] = {ARITH, TL_OP_MUL},          [TL_AST_OP_DIV] = {TRUE_DIV, TL_OP_DIV},
   [TL_AST_OP_FLOORDIV] = {FLOOR_DIV, TL_OP_DIV}, [TL_AST_OP_MOD] = {MOD, TL_OP_REM},
   [TL_AST_OP_SHL] = {SHIFT, TL_OP_SHL},          [TL_AST_OP_SHR] = {SHIFT, TL_OP_SHR},
   [TL_AST_OP_BITAND] = {BITWISE, TL_OP_AND},     [TL_AST_OP_BITOR] = {BITWISE, TL_OP_OR},
   [TL_AST_OP_BITXOR] = {BITWISE, TL_OP_XOR},     [TL_AST_OP_EQ] = {COMPARE, TL_OP_EQ},
   [TL_AST_OP_NE] = {COMPARE, TL_OP_NE},          [TL_AST_OP_LT] = {COMPARE, TL_OP_LT},
   [TL_AST_OP_LE] = {COMPARE, TL_OP_LE},          [TL_AST_OP_GT] = {COMPARE, TL_OP_GT},
   [TL_AST_OP_GE] = {COMPARE, TL_OP_GE},
};

static bool
is_float(const TlSv *v)
{
   const TlType *elem = v->kind == TL_SV_VALUE ? tl_type_elem(v->value->type) : NULL;
   return elem && elem->kind == TL_TYPE_SCALAR && tl_dtype_is_float(elem->dtype);
}

static bool
is_no_number(const TlSv *v)
{
   return v->kind != TL_SV_VALUE && !tl_sv_is_number(v);
}

static bool
is_matrix(const TlSv *v)
{
   return v->kind == TL_SV_VALUE && tl_type_is_tile(v->value->type) && v->value->type->rank > 1;
}

/* a @ b, of matrices that fit as they are, or with one of them turned. */
static void
help_matmul(TlSema *s, const TlSv *a, const TlSv *b)
{
   const TlType *x = a->value->type, *y = b->value->type;
   const char *left = a->value->name ? a->value->name : "a";
   const char *right = b->value->name ? b->value->name : "b";
   bool is_2d = x->rank == 2 && y->rank == 2;
   if (is_2d && x->shape[1] != y->shape[0] && x->shape[1] == y->shape[1])
      tl_help(s->diags,
              "use tl.dot(%.40s, tl.trans(%.40s)): columns of the left are rows of the "
              "right",
              left, right);
   else
      tl_help(s->diags, "use tl.dot(%.40s, %.40s)", left, right);
}

static bool
has_quotient(TlSema *s, const TlSv *v, TlRange range)
{
   return v->kind == TL_SV_VALUE && tl_help_quotient(s, v->value, range);
}

/* v > 0 & v < 6: does a comparison stand beside what is written at `range`? */
static bool
is_beside_comparison(TlSema *s, TlRange range)
{
   const TlSource *src = tl_source(s->sources, range.file);
   if (!src || range.begin >= range.end)
      return false;
   const char *begin = src->text + range.begin, *end = src->text + range.end;
   while (begin > src->text && begin[-1] == ' ')
      begin--;
   end += strspn(end, " ");
   bool is_before = begin > src->text + 1 && (begin[-1] == '<' || begin[-1] == '>' ||
                                              (begin[-1] == '=' && strchr("<>=!", begin[-2])));
   return is_before || *end == '<' || *end == '>' || (strchr("=!", *end) && end[1] == '=');
}

/* x = x.to(tl.float16); x >> 4: the conversion of whole numbers that v is; NULL: it is none. */
static const TlOp *
conversion_of_int(const TlSv *v)
{
   const TlValue *value = v->kind == TL_SV_VALUE ? v->value : NULL;
   while (value && value->def &&
          (tl_has_trait(value->def, TL_TRAIT_SAME_ELEMENTS) || value->def->opcode == TL_OP_CAST)) {
      const TlType *from = tl_type_elem(tl_arg(value->def, 0)->type);
      if (value->def->opcode == TL_OP_CAST && from->kind == TL_TYPE_SCALAR &&
          tl_dtype_is_int(from->dtype))
         return value->def;
      value = tl_arg(value->def, 0);
   }
   return NULL;
}

/* True: bits of what was an integer are asked for, and that is told of. */
static bool
help_converted(TlSema *s, TlAstOp op, const TlSv *v)
{
   const TlOp *cast = conversion_of_int(v);
   if (!cast)
      return false;
   TlDtype from = tl_type_elem(tl_arg(cast, 0)->type)->dtype;
   TlDtype to = tl_type_elem(tl_result(cast, 0)->type)->dtype;
   const char *name = tl_arg(cast, 0)->name ? tl_arg(cast, 0)->name : "x";
   tl_help(s->diags,
           "take the bits before the conversion, while they are whole: '%s' of the %s, and "
           ".to(tl.%s) of the result; %s has the number's leading digits alone",
           tl_ast_op_text[op],
           tl_arena_printf(s->arena, "%s '%.40s'", tl_dtype_info[from].text, name),
           tl_dtype_info[to].triton_name, tl_dtype_info[to].text);
   tl_note(s->diags, N0200, cast->range, "it is converted here");
   return true;
}

static TlSv
undefined_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   tl_report(s->diags, E0286, range, tl_ast_op_text[op], tl_sv_text(s, a), tl_sv_text(s, b));
   if (op != TL_AST_OP_MATMUL)
      tl_blame_sv(s, is_float(a) ? a : b, TL_WANT_INT);
   if (a->kind == TL_SV_NONE || b->kind == TL_SV_NONE)
      tl_help(s->diags, "test for None with 'is None' before using the value");
   else if (is_no_number(a) || is_no_number(b))
      (void)tl_help_no_number(s, is_no_number(a) ? a : b);
   else if (op == TL_AST_OP_MATMUL && is_matrix(a) && is_matrix(b))
      help_matmul(s, a, b);
   else if (op == TL_AST_OP_MATMUL)
      tl_help(s->diags,
              is_matrix(a) || is_matrix(b)
                 ? "use tl.dot(a, b)"
                 : "'@' is the product of matrices, tl.dot(a, b); elements are multiplied "
                   "by '*'");
   else if ((op == TL_AST_OP_IN || op == TL_AST_OP_NOT_IN) && !is_no_number(b))
      tl_help(s->diags, "tl.max(x == a) asks whether a is among the elements of a tile x");
   else if (op == TL_AST_OP_BITXOR && (is_float(a) || is_float(b)))
      tl_help(s->diags, "'^' is the exclusive or of bits; a power is x * x, "
                        "tl.exp2(y * tl.log2(x)) or libdevice.pow(x, y)");
   else if ((op == TL_AST_OP_BITAND || op == TL_AST_OP_BITOR) && is_beside_comparison(s, range))
      tl_help(s->diags, "'%s' binds tighter than comparisons: (a < b) %s (c < d)",
              tl_ast_op_text[op], tl_ast_op_text[op]);
   else if (op == TL_AST_OP_FLOORDIV)
      tl_help(s->diags, "'//' is for integers; for floats use tl.floor(a / b)");
   else if (has_quotient(s, a, range) || has_quotient(s, b, range))
      return tl_sv_poison();
   else if (help_converted(s, op, a) || help_converted(s, op, b))
      return tl_sv_poison();
   else if (is_float(a) || is_float(b))
      tl_help(s->diags, "bits are those of integers: x.to(tl.int32), or x.to(tl.int32, "
                        "bitcast=True) for the bits that x has");
   return tl_sv_poison();
}

/* The shift of a signed left operand stays arithmetic when promotion made it unsigned. */
static TlValue *
shift_right(TlSema *s, const TlSv *a, TlValue *x, TlValue *y)
{
   TlDtype from = dtype_of(a), to = tl_type_elem(x->type)->dtype;
   if (!tl_dtype_is_signed(from) || tl_dtype_is_signed(to) || to == TL_I1)
      return tl_b2(&s->b, TL_OP_SHR, x, y);
   TlDtype sign = tl_dtype_int(tl_dtype_info[to].bits, true);
   const TlType *type = tl_type_with_elem(s->types, x->type, tl_type_scalar(s->types, sign));
   TlValue *r = tl_b2(&s->b, TL_OP_SHR, tl_t1(&s->b, TL_OP_BITCAST, type, x),
                      tl_t1(&s->b, TL_OP_BITCAST, type, y));
   return tl_t1(&s->b, TL_OP_BITCAST, x->type, r);
}

/* i << 40 */
static void
check_shift(TlSema *s, const TlSv *count, const TlValue *x, TlRange range)
{
   const TlDtypeInfo *info = &tl_dtype_info[tl_type_elem(x->type)->dtype];
   bool is_known = count->kind == TL_SV_INT && !count->is_large;
   if (is_known && count->i < 0) {
      tl_report(s->diags, E0212, range, (long long)count->i);
   } else if (is_known && count->i >= (int64_t)info->bits) {
      tl_report(s->diags, W0220, range, (long long)count->i, info->bits, info->text);
      if (count->i < 64)
         tl_help(s->diags, "convert to a wider type first: x.to(tl.%s%u)",
                 info->kind == TL_KIND_UINT ? "uint" : "int", count->i < 32 ? 32 : 64);
   }
}

static bool
is_nan_number(const TlSv *v)
{
   return v->kind == TL_SV_FLOAT && isnan(v->f);
}

static void
check_nan(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   if (is_nan_number(a) || is_nan_number(b))
      tl_report(s->diags, W0219, range, tl_ast_op_text[op], op == TL_AST_OP_NE ? "true" : "false");
}

static bool
is_truth(TlSema *s, const TlSv *v)
{
   return v->kind == TL_SV_VALUE && tl_type_elem(v->value->type)->kind == TL_TYPE_SCALAR &&
          tl_type_elem(v->value->type)->dtype == TL_I1 &&
          (!tl_is_tried(s) || is_comparison(v->value));
}

/* mask < n: an order of True and False among numbers.  Equality with 0 and 1 asks for one of them,
 * and so does > 0. */
static void
check_order_of_mask(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   const TlSv *mask = is_truth(s, a) ? a : b, *other = mask == a ? b : a;
   bool is_order =
      op == TL_AST_OP_LT || op == TL_AST_OP_LE || op == TL_AST_OP_GT || op == TL_AST_OP_GE;
   bool is_number = other->kind == TL_SV_VALUE &&
                    tl_type_elem(other->value->type)->kind == TL_TYPE_SCALAR &&
                    tl_type_elem(other->value->type)->dtype != TL_I1;
   if (is_order && is_number && is_truth(s, mask))
      tl_report(s->diags, W0227, range, tl_ast_op_text[op], tl_sv_text(s, other));
}

/* x + 1e-8 of fp16: the constant is 0 there. */
static void
check_vanishes(TlSema *s, const TlSv *v, const TlSv *other, TlDtype to, TlRange range)
{
   TlBits bits;
   if (v->kind != TL_SV_FLOAT || v->is_strong || v->f == 0 || !isfinite(v->f) ||
       !tl_dtype_is_float(to) || !weak_bits(s, v, to, range, &bits))
      return;
   double becomes = tl_bits_to_double(to, bits);
   if (becomes != 0 && isfinite(becomes))
      return;
   tl_report(s->diags, W0218, range, number_text(s, v), tl_dtype_info[to].text,
             becomes == 0  ? "0"
             : becomes < 0 ? "-inf"
                           : "inf");
   if (other->kind == TL_SV_VALUE)
      tl_help(s->diags,
              "a number takes the type of what it meets: compute in 32 bits, %.40s.to(tl.float32)",
              other->value->name ? other->value->name : "x");
}

static TlSv
numeric_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   BinaryOp row = binary_ops[op];
   bool div_or_mod = row.rule == TRUE_DIV || row.rule == FLOOR_DIV || row.rule == MOD;
   TlValue *x, *y;
   if (!tl_sema_operands(s, a, b, div_or_mod, range, &x, &y))
      return tl_sv_poison();
   bool is_float = tl_dtype_is_float(tl_type_elem(x->type)->dtype);
   if (is_float && (row.rule == FLOOR_DIV || row.rule == BITWISE || row.rule == SHIFT))
      return undefined_binary(s, op, a, b, range);
   if (row.rule == TRUE_DIV && !is_float) {
      const TlType *fp32 = tl_type_scalar(s->types, TL_FP32);
      x = tl_sema_cast(s, x, fp32, range);
      y = tl_sema_cast(s, y, fp32, range);
   }
   bool is_sum = row.op == TL_OP_ADD || row.op == TL_OP_SUB;
   if (is_sum && tl_type_elem(x->type)->dtype == TL_I1 &&
       (!tl_is_tried(s) || (is_comparison(x) && is_comparison(y)))) {
      tl_report(s->diags, W0255, range, tl_ast_op_text[op]);
      tl_help(s->diags, "write a | b, or a & b; to count .to(tl.int32) comes first");
   }
   if (row.rule == SHIFT)
      check_shift(s, b, x, range);
   if (row.rule == COMPARE)
      check_nan(s, op, a, b, range);
   if (row.rule == COMPARE)
      check_order_of_mask(s, op, a, b, range);
   if (row.rule == ARITH) {
      TlDtype t = tl_type_elem(x->type)->dtype;
      check_overflow(s, row.op, x, y);
      check_vanishes(s, a, b, t, range);
      check_vanishes(s, b, a, t, range);
   }
   if (row.op == TL_OP_SHR)
      return tl_sv_value(shift_right(s, a, x, y));
   return tl_sv_value(tl_b2(&s->b, row.op, x, y));
}

/* Both sides are compile-time numbers that count as run-time: the operation is evaluated now, with
 * the run-time meaning, and the result stays a strong constant. */
static bool
fold_numbers(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range, TlSv *out)
{
   assert(tl_sv_is_number(a) && tl_sv_is_number(b));
   BinaryOp row = binary_ops[op];
   bool div_or_mod = row.rule == TRUE_DIV || row.rule == FLOOR_DIV || row.rule == MOD;
   TlDtype t;
   if (row.rule == NO_RULE)
      return false;
   if (!tl_sema_promote(s, a, b, div_or_mod, range, &t)) {
      *out = tl_sv_poison();
      return true;
   }
   if (row.rule == TRUE_DIV && !tl_dtype_is_float(t))
      t = TL_FP32;
   if (tl_dtype_is_float(t) && (row.rule == FLOOR_DIV || row.rule == BITWISE || row.rule == SHIFT))
      return false;
   TlBits args[2];
   if (!number_bits(s, a, t, range, &args[0]) || !number_bits(s, b, t, range, &args[1])) {
      *out = tl_sv_poison();
      return true;
   }
   TlDtype result = row.rule == COMPARE ? TL_I1 : t;
   bool undefined = false;
   TlBits bits = tl_eval(row.op, NULL, result, (TlDtype[]){t, t}, args, &undefined);
   if (undefined)
      return false;
   *out = tl_sv_from_bits(result, bits);
   return true;
}

/* x as i1 of its shape: != 0. */
static TlValue *
truth(TlSema *s, const TlSv *v, TlRange range)
{
   TlValue *x = tl_sema_value(s, v, range);
   return x ? tl_sema_cast(s, x, tl_type_scalar(s->types, TL_I1), range) : NULL;
}

static TlSv
logical(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   TlValue *x = truth(s, a, range);
   TlValue *y = x ? truth(s, b, range) : NULL;
   if (!y || !tl_sema_broadcast(s, &x, &y, range))
      return tl_sv_poison();
   return tl_sv_value(tl_b2(&s->b, op == TL_AST_OP_AND ? TL_OP_AND : TL_OP_OR, x, y));
}

/* What a power is written as: the common ones have functions of their own. */
static const char *
power_text(TlSema *s, const TlSv *a, const TlSv *b)
{
   const char *x = name_or(s, a, "x"), *way = NULL;
   double y = b->kind == TL_SV_FLOAT                 ? b->f
              : b->kind == TL_SV_INT && !b->is_large ? (double)b->i
                                                     : 0;
   if (y == 2 || y == 3)
      way = tl_arena_printf(s->arena, "multiply: %s * %s%s%s", x, x, y == 3 ? " * " : "",
                            y == 3 ? x : "");
   else if (y == -1)
      way = tl_arena_printf(s->arena, "divide: 1 / %s", x);
   else if ((y == 0.5 || y == -0.5) && is_float(a))
      way = tl_arena_printf(s->arena, "write tl.%s(%s)", y < 0 ? "rsqrt" : "sqrt", x);
   if (way)
      return tl_arena_printf(s->arena, "%s; others are libdevice.pow(x, y)", way);
   return "multiply (x * x), or use tl.exp2(y * tl.log2(x)) or libdevice.pow(x, y)";
}

static bool
is_operand(const TlSv *v)
{
   return v->kind == TL_SV_VALUE || tl_sv_is_number(v);
}

TlSv
tl_sema_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   if (a->kind == TL_SV_POISON || b->kind == TL_SV_POISON)
      return tl_sv_poison();
   if (!is_operand(a) || !is_operand(b))
      return undefined_binary(s, op, a, b, range);
   if (op == TL_AST_OP_AND || op == TL_AST_OP_OR)
      return logical(s, op, a, b, range);
   if (op == TL_AST_OP_POW) {
      tl_report(s->diags, E0288, range, tl_sv_text(s, a), tl_sv_text(s, b));
      tl_help(s->diags, "%s", power_text(s, a, b));
      return tl_sv_poison();
   }
   if (binary_ops[op].rule == NO_RULE)
      return undefined_binary(s, op, a, b, range);
   if (is_pointer(a) || is_pointer(b))
      return pointer_binary(s, op, a, b, range);
   TlSv folded;
   if (tl_sv_is_number(a) && tl_sv_is_number(b) && fold_numbers(s, op, a, b, range, &folded))
      return folded;
   bool is_zero = b->kind == TL_SV_INT && !b->is_large && b->i == 0;
   if (is_zero && (op == TL_AST_OP_FLOORDIV || op == TL_AST_OP_MOD) &&
       tl_dtype_is_int(dtype_of(a))) {
      tl_report(s->diags, W0298, range, tl_range_text(s, range));
      return numeric_binary(s, TL_AST_OP_MUL, a, b, range); /* 0, of the quotient's type */
   }
   return numeric_binary(s, op, a, b, range);
}

TlSv
tl_sema_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   return tl_sema_binary(s, op, a, b, range);
}

/* ---- unary operators ---- */
static TlSv
undefined_unary(TlSema *s, TlAstOp op, const TlSv *a, TlRange range)
{
   tl_report(s->diags, E0287, range, tl_ast_op_text[op], tl_sv_text(s, a));
   tl_blame_sv(s, a, TL_WANT_INT);
   if (a->kind == TL_SV_VALUE && tl_type_is_ptr_like(a->value->type))
      tl_help(s->diags, "it is for numbers; what the pointer points to is tl.load(pointer)");
   return tl_sv_poison();
}

TlSv
tl_sema_unary(TlSema *s, TlAstOp op, const TlSv *a, TlRange range)
{
   if (a->kind == TL_SV_POISON)
      return *a;
   if (!is_operand(a) || (is_pointer(a) && op != TL_AST_OP_POS))
      return undefined_unary(s, op, a, range);
   if (op == TL_AST_OP_POS)
      return *a;
   TlDtype t = dtype_of(a);
   if (tl_sv_is_number(a) && op == TL_AST_OP_NEG) {
      TlSv zero = tl_sv_from_bits(t, 0);
      return tl_sema_binary(s, TL_AST_OP_SUB, &zero, a, range);
   }
   TlValue *x = tl_sema_value(s, a, range);
   if (!x)
      return tl_sv_poison();
   TlValue *zero = tl_const_bits(&s->b, x->type, 0);
   if (op == TL_AST_OP_NOT)
      return tl_sv_value(tl_b2(&s->b, TL_OP_EQ, x, zero));
   if (op == TL_AST_OP_INVERT) {
      if (tl_dtype_is_float(t))
         return undefined_unary(s, op, a, range);
      TlBits ones = tl_int_to_bits(t, -1);
      return tl_sv_value(tl_b2(&s->b, TL_OP_XOR, x, tl_const_bits(&s->b, x->type, ones)));
   }
   if (op != TL_AST_OP_NEG)
      return undefined_unary(s, op, a, range);
   if (t == TL_I1)
      tl_report(s->diags, W0226, range);
   check_overflow(s, TL_OP_SUB, zero, x);
   return tl_sv_value(tl_b2(&s->b, TL_OP_SUB, zero, x));
}

TlValue *
tl_sema_condition(TlSema *s, const TlSv *v, TlRange range)
{
   if (v->kind == TL_SV_POISON)
      return NULL;
   TlValue *x = tl_sema_value(s, v, range);
   if (!x)
      return NULL;
   if (tl_type_is_tile(x->type) && tl_type_num_elems(x->type) == 1)
      x = tl_t1(&s->b, TL_OP_RESHAPE, tl_type_elem(x->type), x, {TL_ATTR_REORDER, {.i = 0}});
   if (tl_type_is_tile(x->type)) {
      tl_report(s->diags, E0289, range, tl_type_cstr(s->arena, x->type));
      tl_help(s->diags, "load and store take it as their mask; choose element by element with "
                        "tl.where(condition, a, b); one answer for the whole tile is "
                        "tl.max(condition), for any element, or tl.min(condition), for all");
      return NULL;
   }
   return tl_sema_cast(s, x, tl_type_scalar(s->types, TL_I1), range);
}
