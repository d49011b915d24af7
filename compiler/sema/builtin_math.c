/* Elementwise arithmetic builtins.  Rows that are one operation share tl_builtin_elementwise, which
 * takes operation and accepted types from the table. */
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { MOST_OPERANDS = 4 };

/* A number written out, which takes the type of the others. */
static bool
is_literal(const TlSv *v)
{
   return tl_sv_is_number(v) && !v->is_strong;
}

/* All arguments in one shape and dtype, promoted pairwise from the first that is not a literal. */
static bool
common_operands(TlSema *s, const TlCall *call, unsigned num, TlValue **v)
{
   TlSv x[MOST_OPERANDS];
   unsigned first = num;
   assert(num <= MOST_OPERANDS);
   for (unsigned i = 0; i < num; i++) {
      x[i] = call->args[i];
      if (is_literal(&x[i]))
         continue;
      if (!(v[i] = tl_call_value(s, call, i)))
         return false;
      x[i] = tl_sv_value(v[i]);
      first = first == num ? i : first;
   }
   if (first == num) { /* literals only */
      first = 0;
      if (!(v[0] = tl_call_value(s, call, 0)))
         return false;
      x[0] = tl_sv_value(v[0]);
   }
   for (unsigned round = 0; round < 2 && num > 1; round++)
      for (unsigned i = 0; i < num; i++) {
         if (i == first)
            continue;
         if (!tl_sema_operands(s, &x[first], &x[i], false, call->range, &v[first], &v[i]))
            return false;
         x[first] = tl_sv_value(v[first]);
         x[i] = tl_sv_value(v[i]);
      }
   return true;
}

/* takes: of what they are together. */
static bool
check_all(TlSema *s, const TlCall *call, unsigned num, TlValue **v, uint32_t takes)
{
   assert(num <= call->num_args);
   uint32_t each = num == 3 ? takes | TL_TAKES_NUMBER | TL_TAKES_BOOL : takes;
   for (unsigned i = 0; i < num; i++)
      if (!is_literal(&call->args[i]) && !(v[i] = tl_call_taken(s, call, i, each)))
         return false;
   if (!common_operands(s, call, num, v))
      return false;
   return tl_check_takes(s, call, 0, v[0], takes);
}

/* A function of the stdlib on values. */
static TlSv
call_stdlib(TlSema *s, const TlCall *call, const char *module, const char *name, TlValue **v,
            unsigned num)
{
   assert(num <= MOST_OPERANDS);
   TlSv args[MOST_OPERANDS], fn = tl_sema_stdlib(s, module, name);
   if (fn.kind == TL_SV_POISON)
      return fn;
   for (unsigned i = 0; i < num; i++)
      args[i] = tl_sv_value(v[i]);
   return tl_sema_call(s, &fn, args, num, call->range);
}

static bool
is_math64(const TlBuiltinRow *row, const TlValue *v)
{
   return (row->takes & TL_TAKES_MATH64) && tl_value_dtype(v) == TL_FP64;
}

/* x.exp() of fp16 and bf16, which Triton takes as a method only: by way of fp32.  NULL: x is of
 * another type. */
static TlValue *
half_method(TlSema *s, const TlCall *call)
{
   const TlBuiltinRow *row = tl_builtin_row(call);
   const TlSv *self = &call->args[0];
   bool is_wide_only = (row->takes & TL_TAKES_WIDE_FLOAT) && !(row->takes & TL_TAKES_FP16);
   if (!call->is_method || !is_wide_only || self->kind != TL_SV_VALUE)
      return NULL;
   TlDtype dtype = tl_value_dtype(self->value);
   if (dtype != TL_FP16 && dtype != TL_BF16)
      return NULL;
   TlValue *x = tl_sema_cast(s, self->value, tl_scalar(s, TL_FP32), call->range);
   x = x ? tl_sema_build(s, (TlOpcode)row->which, &x, 1, NULL, NULL, call->range) : NULL;
   return x ? tl_sema_cast(s, x, tl_scalar(s, dtype), call->range) : NULL;
}

TlSv
tl_builtin_elementwise(TlSema *s, const TlCall *call)
{
   const TlBuiltinRow *row = tl_builtin_row(call);
   TlOpcode op = (TlOpcode)row->which;
   unsigned num = (unsigned)tl_op_info[op].min_args;
   TlValue *v[MOST_OPERANDS];
   TlValue *half = num == 1 ? half_method(s, call) : NULL;
   if (half)
      return tl_sv_value(half);
   if (!check_all(s, call, num, v, row->takes))
      return tl_sv_poison();
   if (is_math64(row, v[0]))
      return call_stdlib(s, call, "math64", row->base.name, v, num);
   return tl_sv_value(tl_sema_build(s, op, v, num, NULL, NULL, call->range));
}

TlSv
tl_builtin_abs(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_taken(s, call, 0, TL_TAKES_NUMBER | TL_TAKES_BOOL);
   if (!x)
      return tl_sv_poison();
   TlDtype t = tl_value_dtype(x);
   if (!tl_dtype_is_float(t) && !tl_dtype_is_signed(t)) {
      if (call->range.file == s->impl->main->file)
         tl_help_difference(s, x, call->range);
      return tl_sv_value(x);
   }
   return tl_sv_value(tl_b1(&s->b, TL_OP_ABS, x));
}

TlSv
tl_builtin_fdiv(TlSema *s, const TlCall *call)
{
   TlValue *v[2];
   bool ieee;
   if (!tl_call_bool(s, call, 2, &ieee) || !check_all(s, call, 2, v, TL_TAKES_FLOAT))
      return tl_sv_poison();
   return tl_sv_value(tl_b2(&s->b, TL_OP_DIV, v[0], v[1]));
}

/* add, sub, mul as functions: the operator without the checks of --debug. */
TlSv
tl_builtin_plain_op(TlSema *s, const TlCall *call)
{
   TlAstOp op = (TlAstOp)tl_builtin_row(call)->which;
   bool sanitize, debug = s->debug;
   if (!tl_call_is_value(s, call, 0) || !tl_call_is_value(s, call, 1) ||
       !tl_call_bool(s, call, 2, &sanitize))
      return tl_sv_poison();
   s->debug = debug && sanitize;
   TlSv r = tl_sema_binary(s, op, &call->args[0], &call->args[1], call->range);
   s->debug = debug;
   return r;
}

/* ---- minimum, maximum, clamp ---- */
/* PropagateNan.ALL and .NONE are the strings "all" and "none". */
static bool
nan_rule(TlSema *s, const TlCall *call, unsigned i, int64_t *out)
{
   return tl_call_word(s, call, i, TL_AK_NAN, "none all", TL_NAN_NONE, out);
}

/* minimum, maximum */
TlSv
tl_builtin_pick(TlSema *s, const TlCall *call)
{
   TlOpcode op = (TlOpcode)tl_builtin_row(call)->which;
   assert(op == TL_OP_MIN || op == TL_OP_MAX);
   int64_t nan;
   TlValue *v[2] = {tl_call_value(s, call, 0), tl_call_value(s, call, 1)};
   if (!v[0] || !v[1] || !nan_rule(s, call, 2, &nan))
      return tl_sv_poison();
   uint32_t takes = TL_TAKES_NUMBER | TL_TAKES_BOOL;
   for (unsigned i = 0; i < 2; i++) {
      if (!tl_check_takes(s, call, i, v[i], takes))
         return tl_sv_poison();
      v[i] = tl_bf16_to_fp32(s, v[i], call->range);
   }
   TlSv a = tl_sv_value(v[0]), b = tl_sv_value(v[1]);
   if (!tl_sema_operands(s, &a, &b, false, call->range, &v[0], &v[1]))
      return tl_sv_poison();
   return tl_sv_value(tl_b2(&s->b, op, v[0], v[1], {TL_ATTR_NAN, {.i = nan}}));
}

TlSv
tl_builtin_clamp(TlSema *s, const TlCall *call)
{
   int64_t nan;
   TlValue *v[3];
   if (!nan_rule(s, call, 3, &nan))
      return tl_sv_poison();
   for (unsigned i = 0; i < 3; i++) {
      if (!(v[i] = tl_call_taken(s, call, i, TL_TAKES_NUMBER)))
         return tl_sv_poison();
      v[i] = tl_bf16_to_fp32(s, v[i], call->range);
   }
   TlSv lo = tl_sv_value(v[1]), hi = tl_sv_value(v[2]);
   if (!tl_sema_operands(s, &lo, &hi, false, call->range, &v[1], &v[2]))
      return tl_sv_poison();
   for (unsigned round = 0; round < 2; round++)
      for (unsigned i = 1; i < 3; i++) {
         TlSv x = tl_sv_value(v[0]), bound = tl_sv_value(v[i]);
         if (!tl_sema_operands(s, &x, &bound, false, call->range, &v[0], &v[i]))
            return tl_sv_poison();
      }
   if (!tl_dtype_is_float(tl_value_dtype(v[0]))) {
      tl_report(s->diags, E0313, tl_call_arg_range(call, 0), "clamp", "floating-point numbers",
                tl_type_cstr(s->arena, v[0]->type));
      tl_help(s->diags, "for integers use tl.minimum(tl.maximum(x, low), high)");
      return tl_sv_poison();
   }
   return tl_sv_value(tl_b3(&s->b, TL_OP_CLAMP, v[0], v[1], v[2], {TL_ATTR_NAN, {.i = nan}}));
}

/* ---- operators by other names: x.__rshift__(4), Triton's x.logical_and(y) ---- */
TlSv
tl_builtin_operator(TlSema *s, const TlCall *call)
{
   TlAstOp op = (TlAstOp)tl_builtin_row(call)->which;
   return tl_sema_binary(s, op, &call->args[0], &call->args[1], call->range);
}

TlSv
tl_builtin_reflected(TlSema *s, const TlCall *call)
{
   TlAstOp op = (TlAstOp)tl_builtin_row(call)->which;
   return tl_sema_binary(s, op, &call->args[1], &call->args[0], call->range);
}

TlSv
tl_builtin_comparison(TlSema *s, const TlCall *call)
{
   TlAstOp op = (TlAstOp)tl_builtin_row(call)->which;
   return tl_sema_compare(s, op, &call->args[0], &call->args[1], call->range);
}

TlSv
tl_builtin_sign(TlSema *s, const TlCall *call)
{
   return tl_sema_unary(s, (TlAstOp)tl_builtin_row(call)->which, &call->args[0], call->range);
}

/* ---- libdevice ---- */
/* Operands in one dtype and shape, which the function accepts. */
static bool
math_operands(TlSema *s, const TlCall *call, uint32_t takes, TlValue **v)
{
   if (!common_operands(s, call, call->num_args, v))
      return false;
   for (unsigned i = 0; i < call->num_args; i++)
      if (!tl_check_takes(s, call, i, v[i], takes))
         return false;
   return true;
}

/* A function of stdlib/math.tile. */
TlSv
tl_builtin_math(TlSema *s, const TlCall *call)
{
   const TlBuiltinRow *row = tl_builtin_row(call);
   unsigned num = call->num_args;
   TlValue *v[MOST_OPERANDS];
   if (!math_operands(s, call, row->takes, v))
      return tl_sv_poison();
   return call_stdlib(s, call, is_math64(row, v[0]) ? "math64" : row->module, row->function, v,
                      num);
}

/* The whole number that a known exponent is, where two products or fewer make the power: they are
 * nearer than the function, and right for zeros, infinities and NaN.  0 for any other exponent. */
static unsigned
exponent_of_products(const TlSv *y)
{
   if (!tl_sv_is_number(y) || y->kind == TL_SV_BOOL)
      return 0;
   double e = y->kind == TL_SV_INT ? (double)y->i : y->f;
   return e == 1 || e == 2 || e == 3 || e == 4 ? (unsigned)e : 0;
}

TlSv
tl_builtin_pow(TlSema *s, const TlCall *call)
{
   TlValue *v[MOST_OPERANDS], *x, *square;
   if (!math_operands(s, call, TL_TAKES_WIDE_MATH, v))
      return tl_sv_poison();
   unsigned exponent = exponent_of_products(&call->args[1]);
   if (!exponent)
      return call_stdlib(s, call, tl_value_dtype(v[0]) == TL_FP64 ? "math64" : "math", "pow", v, 2);
   x = v[0];
   square = exponent > 1 ? tl_b2(&s->b, TL_OP_MUL, x, x) : x;
   if (exponent < 3)
      return tl_sv_value(square);
   return tl_sv_value(tl_b2(&s->b, TL_OP_MUL, square, exponent == 3 ? x : square));
}

/* The dtype that a word of a conversion's name means: "ull" of float2ull_rn. */
static const char *
word_dtype(const char *p, TlDtype *out)
{
   static const struct {
      const char *word;
      TlDtype dtype;
   } words[] = {{"float", TL_FP32}, {"double", TL_FP64}, {"uint", TL_U32},
                {"int", TL_I32},    {"ull", TL_U64},     {"ll", TL_I64}};
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
      size_t len = strlen(words[i].word);
      if (strncmp(p, words[i].word, len) == 0) {
         *out = words[i].dtype;
         return p + len;
      }
   }
   return NULL;
}

/* libdevice conversions, <from>2<to>_<mode>. */
TlSv
tl_builtin_convert(TlSema *s, const TlCall *call)
{
   TlDtype from, to;
   const char *p = word_dtype(call->row->name, &from);
   assert(p && *p == '2');
   p = word_dtype(p + 1, &to);
   assert(p && *p == '_');
   TlValue *x = tl_call_value(s, call, 0);
   if (!x)
      return tl_sv_poison();
   const TlType *elem = tl_type_elem(x->type);
   if (elem != tl_scalar(s, from)) {
      tl_report(s->diags, E0313, tl_call_arg_range(call, 0), call->row->name,
                tl_dtype_info[from].text, tl_type_cstr(s->arena, x->type));
      tl_help(s->diags, "convert with .to(tl.%s)", tl_dtype_info[to].triton_name);
      return tl_sv_poison();
   }
   int64_t rounding = TL_ROUNDING_RTNE;
   if (tl_dtype_is_float(from) && tl_dtype_is_int(to)) {
      TlOpcode op = strcmp(p, "_rn") == 0   ? TL_OP_RINT
                    : strcmp(p, "_rd") == 0 ? TL_OP_FLOOR
                    : strcmp(p, "_ru") == 0 ? TL_OP_CEIL
                                            : TL_OP_TRUNC;
      x = tl_b1(&s->b, op, x);
   } else if (strcmp(p, "_rz") == 0 && from == TL_FP64) {
      rounding = TL_ROUNDING_RTZ;
   } else if (strcmp(p, "_rn") != 0) {
      return call_stdlib(s, call, "rounding", call->row->name, &x, 1);
   }
   return tl_sv_value(tl_sema_cast_rounded(s, x, tl_scalar(s, to), rounding, call->range));
}
