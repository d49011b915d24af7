/* Expressions.  Every form gives a TlSv; a value known at compile time stays known, an operator
 * with a run-time operand is built by arith.c.  Invariant: each error is reported once, by the node
 * that finds it; every other node passes poison on in silence. */
#include "ir/control.h"
#include "sema/generic.h"
#include "sema/help.h"
#include "sema/impl.h"
#include "sema/text.h"

#include <assert.h>
#include <string.h>

/* ---- small makers ---- */
TlSv
tl_make_tuple(TlSema *s, const TlSv *items, size_t len, bool is_list)
{
   assert(items || !len);
   for (size_t i = 0; i < len; i++)
      if (items[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   TlSvTuple *t = tl_new(s->arena, TlSvTuple);
   s->steps += len / 8; /* copying counts as work */
   t->items = tl_new_array(s->arena, TlSv, len);
   if (len)
      memcpy(t->items, items, len * sizeof items[0]);
   t->len = len;
   t->is_list = is_list;
   t->change = (TlChange){.region = s->impl->region, .born = ++s->impl->seq};
   return (TlSv){.kind = TL_SV_TUPLE, .tuple = t};
}

TlSv
tl_make_str(TlSema *s, const char *text, size_t len)
{
   s->steps += len / 64;
   return (TlSv){.kind = TL_SV_STR, .s = {tl_arena_strndup(s->arena, text, len), len}};
}

bool
tl_is_host(const TlFrame *f)
{
   return f->act && f->act->is_host;
}

bool
tl_step(TlSema *s, TlRange range)
{
   enum { STEPS_BETWEEN_LOOKS = 1024 }; /* at the clock; long operations are many steps at once */
   if (s->steps < s->impl->looked_at || s->steps - s->impl->looked_at >= STEPS_BETWEEN_LOOKS) {
      tl_mem_check(tl_arena_mem(s->arena));
      s->impl->looked_at = s->steps;
   }
   if (++s->steps <= s->impl->max_steps)
      return true;
   const TlDiag *last = s->diags->last;
   if (!last || last->code != TL_DIAG_E0217) /* once for all that ends by it */
      tl_report(s->diags, E0217, range, (unsigned)TL_MAX_STEPS);
   return false;
}

static bool
is_same_part(const TlSv *a, const TlSv *b)
{
   bool is_tuple = a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE;
   return is_tuple ? a->tuple == b->tuple
                   : a->kind == b->kind && a->is_strong == b->is_strong && a->dtype == b->dtype;
}

/* The tuple with its items changed, or itself where that changes none. */
static TlSv
each_item(TlSema *s, const TlSv *tuple, TlSv (*change)(TlSema *s, TlSv v))
{
   assert(tuple->kind == TL_SV_TUPLE);
   const TlSvTuple *from = tuple->tuple;
   if (s->depth >= TL_MAX_EVAL_DEPTH) {
      tl_report(s->diags, E0228, s->b.range, (unsigned)TL_MAX_EVAL_DEPTH);
      return tl_sv_poison();
   }
   TlSv out = *tuple;
   s->depth++;
   for (size_t i = 0; out.kind != TL_SV_POISON && i < from->len; i++) {
      if (i % 8 == 0 && !tl_step(s, s->b.range)) {
         out = tl_sv_poison();
         break;
      }
      TlSv item = change(s, from->items[i]);
      bool is_same = is_same_part(&item, &from->items[i]);
      if (item.kind == TL_SV_POISON) {
         out = item;
         break;
      }
      if (!is_same && out.tuple == from) {
         out = tl_make_tuple(s, from->items, from->len, from->is_list);
         out.tuple->names = from->names;
      }
      if (!is_same)
         out.tuple->items[i] = item;
   }
   s->depth--;
   return out;
}

TlSv
tl_strengthen(TlSema *s, TlSv v)
{
   if (v.kind == TL_SV_TUPLE)
      return each_item(s, &v, tl_strengthen);
   if (!tl_sv_is_number(&v) || v.is_strong)
      return v;
   v.is_strong = true;
   if (v.kind == TL_SV_BOOL)
      v.dtype = TL_I1;
   else if (v.kind == TL_SV_FLOAT) {
      double a = v.f < 0 ? -v.f : v.f;
      bool fits = !(a > 3.4028234663852886e38 && a <= 1.7976931348623157e308);
      v.dtype = fits ? TL_FP32 : TL_FP64;
      if (fits)
         v.f = tl_bits_to_double(TL_FP32, tl_double_to_bits(TL_FP32, v.f, TL_ROUND_NEAREST_EVEN));
   } else if (v.is_large)
      v.dtype = TL_U64;
   else if (v.i >= INT32_MIN && v.i <= INT32_MAX)
      v.dtype = TL_I32;
   else
      v.dtype = v.i > 0 && v.i <= UINT32_MAX ? TL_U32 : TL_I64;
   return v;
}

TlSv
tl_weaken(TlSema *s, TlSv v)
{
   if (v.kind == TL_SV_TUPLE)
      return each_item(s, &v, tl_weaken);
   if (tl_sv_is_number(&v))
      v.is_strong = false;
   return v;
}

static bool
is_unusable(TlSema *s, const TlSv *v, TlRange range) /* reports opaque operands */
{
   if (v->kind == TL_SV_POISON)
      return true;
   if (tl_is_foreign(v)) {
      tl_report_opaque(s, v, range);
      return true;
   }
   return false;
}

/* ---- truth ---- */
bool
tl_truth(TlSema *s, const TlSv *v, TlRange range, bool *known, bool *truth)
{
   *known = !tl_sv_is_runtime(v);
   if (is_unusable(s, v, range))
      return false;
   if ((v->kind == TL_SV_OBJECT || v->kind == TL_SV_RANGE) && tl_in_host(s))
      return tl_host_truth(s, v, range, truth);
   if (*known)
      *truth = tl_const_truth(v);
   return true;
}

/* A tuple or text that is written where a condition belongs is always true, or always false: most
 * often `assert (x < n, "text")`. */
static bool
is_no_condition(TlSema *s, const TlFrame *f, const TlNode *test, TlRange range)
{
   if (tl_is_host(f) || (test->kind != TL_AST_TUPLE && test->kind != TL_AST_STR))
      return false;
   bool is_tuple = test->kind == TL_AST_TUPLE;
   bool truth = is_tuple ? tl_ast_Tuple(test)->items.len > 0 : tl_ast_Str(test)->value.len > 0;
   tl_report(s->diags, E0216, range, is_tuple ? "a tuple" : "a text", truth ? "true" : "false");
   tl_help(s->diags, is_tuple ? "parentheses go around the condition alone: assert x < n, \"text\""
                              : "compare something with it: KIND == \"text\"");
   return true;
}

TlSv
tl_eval_test(TlSema *s, TlFrame *f, const TlNode *test)
{
   return is_no_condition(s, f, test, test->range) ? tl_sv_poison() : tl_eval_expr(s, f, test);
}

/* An integer beyond 64 bits beside a value of the run, which has no type for it. */
static bool
is_beside_long(TlSema *s, const TlSv *a, const TlSv *b, TlRange range)
{
   bool is_beside = (a->kind == TL_SV_VALUE && b->kind == TL_SV_LONG) ||
                    (b->kind == TL_SV_VALUE && a->kind == TL_SV_LONG);
   if (is_beside)
      tl_report(s->diags, E0210, range);
   return is_beside;
}

/* ---- operators ---- */
TlSv
tl_apply_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   if (is_unusable(s, a, range) || is_unusable(s, b, range))
      return tl_sv_poison();
   if (!tl_sv_is_runtime(a) && !tl_sv_is_runtime(b))
      return tl_const_binary(s, op, a, b, range);
   if ((tl_sv_is_runtime(a) || tl_sv_is_number(a)) && (tl_sv_is_runtime(b) || tl_sv_is_number(b)) &&
       a->kind != TL_SV_BLOCKPTR && b->kind != TL_SV_BLOCKPTR)
      return tl_sema_binary(s, op, a, b, range);
   if ((a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE && op == TL_AST_OP_ADD))
      return tl_const_binary(s, op, a, b, range);
   if (is_beside_long(s, a, b, range))
      return tl_sv_poison();
   const TlSv *none = a->kind == TL_SV_NONE ? a : b->kind == TL_SV_NONE ? b : NULL;
   tl_report(s->diags, E0214, range, tl_ast_op_text[op], tl_sv_operand(s, a), tl_sv_operand(s, b));
   if ((op == TL_AST_OP_MOD || op == TL_AST_OP_ADD) && a->kind == TL_SV_STR)
      tl_help(s->diags, "a value of the run is in no text: tl.device_print(\"x\", x) prints it");
   else if (none && none->s.len)
      (void)tl_help_no_number(s, none);
   else if (none)
      tl_help(s->diags, "test the argument with 'is not None' before it is used");
   else if (a->kind == TL_SV_VALUE && tl_type_is_ptr_like(a->value->type) &&
            b->kind == TL_SV_TUPLE && !b->tuple->is_list && op == TL_AST_OP_ADD)
      tl_help(s->diags, "an offset is one number for each element: rows and columns are joined to "
                        "rows[:, None] * stride + columns[None, :]");
   else if (!tl_help_no_number(s, a))
      (void)tl_help_no_number(s, b);
   return tl_sv_poison();
}

static bool
is_environ(const TlSv *v)
{
   return tl_is_host_module_value(v) && strcmp(v->module->name, "os.environ") == 0;
}

/* `text in ..` of the environment and of the GPU's name; false: it is neither, or not known. */
static bool
is_in_host(TlSema *s, const TlSv *a, const TlSv *b, TlRange range, bool *found)
{
   bool known = false;
   TlSv v;
   if (a->kind == TL_SV_STR && is_environ(b) && tl_host_environment(s, a, range, &v)) {
      *found = v.kind != TL_SV_NONE;
      return true;
   }
   if (a->kind == TL_SV_STR && b->kind == TL_SV_OPAQUE && b->opaque->is_device_name)
      *found = tl_device_has_name(s, a->s, &known);
   return known;
}

static bool
is_argument_beside_none(const TlSv *a, const TlSv *b)
{
   const TlSv *v = b->kind == TL_SV_NONE ? a : b, *none = v == a ? b : a;
   return none->kind == TL_SV_NONE && v->kind == TL_SV_OPAQUE && v->opaque->is_argument;
}

/* x.dtype == torch.float32: in Python no two things of torch and Triton are equal. */
static bool
is_type_beside_torchs(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   const TlSv *torchs = tl_is_torch_dtype(a) ? a : b, *other = torchs == a ? b : a;
   if ((op != TL_AST_OP_EQ && op != TL_AST_OP_NE) || other->kind != TL_SV_TYPE ||
       !tl_is_torch_dtype(torchs))
      return false;
   TlSv dtype;
   const char *name = strchr(torchs->module->name, '.') + 1;
   tl_report(s->diags, W0212, range, "a type of torch equals none of Triton's");
   if (tl_dtype_constant(s, name, &dtype))
      tl_help(s->diags, "did you mean 'tl.%s'?", name);
   return true;
}

/* x == None, x == (1, 2): a value of the run equals nothing of this kind. */
static void
warn_never_equal(TlSema *s, TlAstOp op, const TlSv *other, TlRange range)
{
   tl_report(s->diags, W0225, range, tl_ast_op_text[op],
             other->kind == TL_SV_NONE ? "None" : tl_sv_describe(s, other),
             op == TL_AST_OP_NE ? "true" : "false");
   if (other->kind == TL_SV_TUPLE)
      tl_help(s->diags, "compare with each of them: (x == 1) | (x == 2); how long a tile is says "
                        "x.shape");
   else if (other->kind == TL_SV_TYPE)
      tl_help(s->diags, "the type of a value is x.dtype: x.dtype == tl.float32");
   else if (other->kind != TL_SV_NONE)
      (void)tl_help_no_number(s, other);
}

/* x.dtype == "fp16", written so: a type equals no text. */
static void
warn_type_beside_text(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   const TlSv *text = a->kind == TL_SV_STR ? a : b, *type = text == a ? b : a;
   const char *written = tl_range_text(s, range);
   if ((op != TL_AST_OP_EQ && op != TL_AST_OP_NE) || text->kind != TL_SV_STR ||
       type->kind != TL_SV_TYPE || !strstr(written, ".dtype") || !strpbrk(written, "\"'"))
      return;
   const char *name = tl_type_named(tl_arena_strndup(s->arena, text->s.data, text->s.len));
   tl_report(s->diags, W0225, range, tl_ast_op_text[op], "a text",
             op == TL_AST_OP_NE ? "true" : "false");
   if (name)
      tl_help(s->diags, "a type is written without quotes: tl.%s", name);
   else
      tl_help(s->diags, "a type is compared with a type: x.dtype == tl.float32");
}

TlSv
tl_apply_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   bool found = false;
   if ((op == TL_AST_OP_IN || op == TL_AST_OP_NOT_IN) && is_in_host(s, a, b, range, &found))
      return tl_sv_bool(found == (op == TL_AST_OP_IN));
   if (is_argument_beside_none(a, b) && (op == TL_AST_OP_IS || op == TL_AST_OP_IS_NOT))
      return tl_sv_bool(op == TL_AST_OP_IS_NOT);
   if (is_type_beside_torchs(s, op, a, b, range))
      return tl_sv_bool(op == TL_AST_OP_NE);
   if (is_unusable(s, a, range) || is_unusable(s, b, range))
      return tl_sv_poison();
   warn_type_beside_text(s, op, a, b, range);
   bool run = tl_sv_is_runtime(a) || tl_sv_is_runtime(b);
   if ((op == TL_AST_OP_IS || op == TL_AST_OP_IS_NOT) && a->kind == TL_SV_VALUE &&
       (b->kind == TL_SV_VALUE || tl_sv_is_number(b))) {
      tl_report(s->diags, W0212, range,
                op == TL_AST_OP_IS ? "'is' asks whether both are one object"
                                   : "'is not' asks whether both are two objects");
      tl_help(s->diags, op == TL_AST_OP_IS ? "'==' compares values; 'is' is for None"
                                           : "'!=' compares values; 'is not' is for None");
   }
   bool identity = op == TL_AST_OP_IS || op == TL_AST_OP_IS_NOT;
   bool membership = op == TL_AST_OP_IN || op == TL_AST_OP_NOT_IN;
   if (!run || identity || (membership && a->kind != TL_SV_VALUE))
      return tl_const_compare(s, op, a, b, range);
   bool both = (a->kind == TL_SV_VALUE || tl_sv_is_number(a)) &&
               (b->kind == TL_SV_VALUE || tl_sv_is_number(b));
   if (both)
      return tl_sema_compare(s, op, a, b, range);
   if (is_beside_long(s, a, b, range))
      return tl_sv_poison();
   bool is_equality = op == TL_AST_OP_EQ || op == TL_AST_OP_NE;
   bool is_text = a->kind == TL_SV_STR || b->kind == TL_SV_STR;
   if (is_equality && !is_text) {
      warn_never_equal(s, op, a->kind == TL_SV_VALUE ? b : a, range);
      return tl_sv_bool(op == TL_AST_OP_NE);
   }
   tl_report(s->diags, E0214, range, tl_ast_op_text[op], tl_sv_operand(s, a), tl_sv_operand(s, b));
   if (membership && b->kind == TL_SV_TUPLE)
      tl_help(s->diags, "compare with each of them: (x == 1) | (x == 2)");
   else if (is_equality)
      tl_help(s->diags, "a parameter that takes text is declared ': tl.constexpr'");
   else if (!tl_help_no_number(s, a))
      (void)tl_help_no_number(s, b);
   return tl_sv_poison();
}

static TlSv
as_bool(TlSema *s, const TlSv *v, TlRange range)
{
   if (v->kind == TL_SV_VALUE && tl_type_elem(v->value->type)->kind == TL_TYPE_SCALAR &&
       tl_type_elem(v->value->type)->dtype == TL_I1)
      return *v;
   if (v->kind == TL_SV_VALUE && tl_type_is_ptr_like(v->value->type))
      return tl_sv_bool(true); /* a pointer that is present */
   if (v->kind == TL_SV_BLOCKPTR)
      return tl_sv_bool(true);
   TlSv zero = tl_sv_int(0);
   return v->kind == TL_SV_VALUE ? tl_sema_compare(s, TL_AST_OP_NE, v, &zero, range) : *v;
}

/* a and b, a or b.  A known side decides or drops out; two run-time sides are both evaluated and
 * joined bitwise. */
static TlSv
logical(TlSema *s, TlAstOp op, const TlSv *left, const TlSv *right, TlRange range)
{
   TlSv a = as_bool(s, left, range), b = as_bool(s, right, range);
   if (a.kind == TL_SV_POISON || b.kind == TL_SV_POISON)
      return tl_sv_poison();
   if (a.kind == TL_SV_VALUE && b.kind == TL_SV_VALUE)
      return tl_sema_binary(s, op == TL_AST_OP_AND ? TL_AST_OP_BITAND : TL_AST_OP_BITOR, &a, &b,
                            range);
   const TlSv *known = a.kind == TL_SV_VALUE ? &b : &a, *other = a.kind == TL_SV_VALUE ? &a : &b;
   bool truth = tl_const_truth(known);
   return truth == (op == TL_AST_OP_AND) ? *other : *known;
}

static TlSv
eval_boolop(TlSema *s, TlFrame *f, const TlAstBoolOp *n)
{
   TlSv left = tl_eval_expr(s, f, n->left);
   bool known, truth = false;
   if (!tl_truth(s, &left, n->left->range, &known, &truth))
      return tl_sv_poison();
   if (known && truth == (n->op == TL_AST_OP_OR))
      return left;
   TlSv right = tl_eval_expr(s, f, n->right);
   if (known)
      return right;
   bool right_known, right_truth = false;
   if (!tl_truth(s, &right, n->right->range, &right_known, &right_truth))
      return tl_sv_poison();
   return logical(s, n->op, &left, &right, n->node.range);
}

/* In a kernel a list display is a tuple, as in Triton: x.shape == [M, N]. */
static TlSv
as_tuple(TlSema *s, TlSv v)
{
   if (v.kind != TL_SV_TUPLE)
      return v;
   v = each_item(s, &v, as_tuple);
   if (v.kind == TL_SV_TUPLE)
      v.tuple->is_list = false;
   return v;
}

static TlSv
side_of_comparison(TlSema *s, TlFrame *f, const TlNode *n)
{
   TlSv v = tl_eval_expr(s, f, n);
   return tl_is_host(f) ? v : as_tuple(s, v);
}

static TlSv
eval_compare(TlSema *s, TlFrame *f, const TlAstCompare *n)
{
   TlSv left = side_of_comparison(s, f, n->left), result = tl_sv_bool(true);
   TlRange left_range = n->left->range;
   for (size_t i = 0; i < n->rights.len; i++) {
      TlSv right = side_of_comparison(s, f, n->rights.data[i]);
      TlRange range = tl_range_join(left_range, n->rights.data[i]->range);
      TlSv one = tl_apply_compare(s, n->ops.data[i], &left, &right, range);
      if (one.kind == TL_SV_POISON)
         return one;
      result = i == 0 ? one : logical(s, TL_AST_OP_AND, &result, &one, n->node.range);
      if (!tl_sv_is_runtime(&result) && (result.kind == TL_SV_POISON || !tl_const_truth(&result)))
         return result;
      left = right;
      left_range = n->rights.data[i]->range;
   }
   return result;
}

static TlSv
eval_unary(TlSema *s, TlFrame *f, const TlAstUnary *n)
{
   if (n->op == TL_AST_OP_NOT && is_no_condition(s, f, n->operand, n->node.range))
      return tl_sv_poison();
   TlSv v = tl_eval_expr(s, f, n->operand);
   if (is_unusable(s, &v, n->operand->range))
      return tl_sv_poison();
   if (v.kind == TL_SV_VALUE) {
      if (n->op != TL_AST_OP_NOT)
         return tl_sema_unary(s, n->op, &v, n->node.range);
      TlSv b = as_bool(s, &v, n->node.range);
      if (b.kind != TL_SV_VALUE)
         return b.kind == TL_SV_POISON ? b : tl_sv_bool(!tl_const_truth(&b));
      return tl_sema_unary(s, n->op, &b, n->node.range);
   }
   return tl_const_unary(s, n->op, &v, n->node.range);
}

static TlSv
eval_conditional(TlSema *s, TlFrame *f, const TlAstConditional *n)
{
   TlSv test = tl_eval_test(s, f, n->test);
   bool known, truth = false;
   if (!tl_truth(s, &test, n->test->range, &known, &truth))
      return tl_sv_poison();
   if (known)
      return tl_eval_expr(s, f, truth ? n->then_value : n->else_value);
   return tl_eval_runtime_conditional(s, f, n, &test);
}

/* ---- subscripts ---- */
static bool
index_of(TlSema *s, const TlSv *v, size_t len, TlRange range, size_t *out)
{
   if (v->kind != TL_SV_INT && v->kind != TL_SV_BOOL) {
      if (v->kind != TL_SV_POISON) {
         tl_report(s->diags, E0218, range, tl_sv_describe(s, v));
         if (tl_is_plain(v))
            tl_raise_as(s, "TypeError");
         if (v->kind == TL_SV_VALUE)
            tl_help(s->diags, "iterate with tl.static_range to get compile-time indices");
      }
      return false;
   }
   int64_t i = v->kind == TL_SV_BOOL ? v->b : v->i;
   int64_t at = i < 0 ? i + (int64_t)len : i;
   if (at < 0 || at >= (int64_t)len || (v->kind == TL_SV_INT && v->is_large)) {
      const char *text = tl_range_text(s, range);
      bool has_no_shape = len == 0 && !tl_in_host(s) && strstr(text, ".shape");
      tl_report(s->diags, E0219, range, (long long)i,
                has_no_shape ? "a pointer or a number, which has no shape"
                             : tl_arena_printf(s->arena, "a length of %zu", len));
      if (has_no_shape)
         tl_help(s->diags,
                 "%.60s: scalars and pointers have no shape, only tiles have: pass sizes to the "
                 "kernel as parameters",
                 text);
      else if (len == 0 && !tl_in_host(s))
         tl_help(s->diags, "it has no items");
      tl_raise_as(s, "IndexError");
      return false;
   }
   *out = (size_t)at;
   return true;
}

static int64_t
clamp_bound(const TlSv *v, int64_t len, int64_t none, bool down)
{
   assert(len >= 0);
   if (v->kind != TL_SV_INT && v->kind != TL_SV_BOOL)
      return none;
   if (v->kind == TL_SV_INT && v->is_large)
      return down ? len - 1 : len;
   int64_t i = v->kind == TL_SV_BOOL ? v->b : v->i;
   int64_t low = down ? -1 : 0, high = down ? len - 1 : len;
   if (i < 0)
      i = i < -len ? low : i + len;
   return i < low ? low : i > high ? high : i;
}

/* What the slice takes of a sequence of this length; false after an error. */
static bool
slice_bounds(TlSema *s, const TlSv *slice, size_t of_len, TlRange range, TlSlice *out)
{
   assert(slice->kind == TL_SV_SLICE);
   for (unsigned i = 0; i < 3; i++)
      if (slice->slice[i].kind != TL_SV_NONE && slice->slice[i].kind != TL_SV_INT &&
          slice->slice[i].kind != TL_SV_BOOL) {
         if (slice->slice[i].kind != TL_SV_POISON)
            tl_report(s->diags, E0218, range, tl_sv_describe(s, &slice->slice[i]));
         return false;
      }
   const TlSv *by = &slice->slice[2];
   int64_t step = by->kind == TL_SV_INT    ? (by->is_large ? INT64_MAX : by->i)
                  : by->kind == TL_SV_BOOL ? by->b
                                           : 1;
   if (step == 0) {
      tl_report(s->diags, E0220, range);
      tl_raise_as(s, "ValueError");
      return false;
   }
   int64_t len = (int64_t)of_len;
   int64_t from = clamp_bound(&slice->slice[0], len, step > 0 ? 0 : len - 1, step < 0);
   int64_t to = clamp_bound(&slice->slice[1], len, step > 0 ? len : -1, step < 0);
   uint64_t span = (uint64_t)(step > 0 ? to - from : from - to);
   uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
   bool is_empty = step > 0 ? to <= from : from <= to;
   *out = (TlSlice){from, step, is_empty ? 0 : (size_t)((span - 1) / stride + 1)};
   return true;
}

static TlSv
slice_of(TlSema *s, const TlSv *self, const TlSv *slice, TlRange range)
{
   TlSlice part;
   bool is_str = self->kind == TL_SV_STR;
   size_t len = is_str ? tl_text_len(s, self->s) : self->tuple->len;
   if (!slice_bounds(s, slice, len, range, &part))
      return tl_sv_poison();
   if (is_str)
      return tl_text_slice(s, self->s, &part);
   TlSv *items = tl_new_array(s->arena, TlSv, part.len);
   int64_t at = part.from;
   for (size_t i = 0; i < part.len; i++) {
      items[i] = self->tuple->items[at];
      if (i + 1 < part.len)
         at += part.step;
   }
   return tl_make_tuple(s, items, part.len, self->tuple->is_list);
}

/* Nothing can be built: in host code. */
static bool
at_compile_time(const TlSema *s)
{
   return !s->b.block || (s->impl->act && s->impl->act->is_host);
}

TlSv
tl_subscript(TlSema *s, const TlSv *self, const TlSv *indices, unsigned n, bool is_tuple,
             TlRange range)
{
   assert(n > 0 || is_tuple);
   for (unsigned i = 0; i < n; i++)
      if (is_unusable(s, &indices[i], range))
         return tl_sv_poison();
   if (self->kind == TL_SV_VALUE)
      return tl_sema_subscript(s, self->value, indices, n, range);
   TlSv whole = is_tuple ? tl_make_tuple(s, indices, n, false) : indices[0], *items;
   size_t at, len;
   if (is_environ(self)) {
      TlSv v;
      if (!tl_host_environment(s, &whole, range, &v))
         return tl_sv_poison();
      if (v.kind == TL_SV_NONE) {
         tl_report(s->diags, E0221, range, tl_sv_constant_text(s, &whole));
         tl_raise_as(s, "KeyError");
      }
      return v.kind == TL_SV_NONE ? tl_sv_poison() : v;
   }
   switch (self->kind) {
   case TL_SV_TUPLE:
      if (self->tuple->change.is_refused)
         return tl_sv_poison();
      if (whole.kind == TL_SV_SLICE)
         return slice_of(s, self, &whole, range);
      return index_of(s, &whole, self->tuple->len, range, &at) ? self->tuple->items[at]
                                                               : tl_sv_poison();
   case TL_SV_STR:
      if (whole.kind == TL_SV_SLICE)
         return slice_of(s, self, &whole, range);
      len = tl_text_len(s, self->s);
      return index_of(s, &whole, len, range, &at) ? tl_text_item(s, self->s, at) : tl_sv_poison();
   case TL_SV_DICT: {
      bool found;
      unsigned errors = s->diags->num_errors;
      if (whole.kind == TL_SV_VALUE) {
         TlSv none = tl_sv_refuse(s, E0301, range, "key", "dict", tl_sv_describe(s, &whole));
         const TlOp *in = whole.value->def ? NULL : whole.value->block->region->parent;
         if (in && in->opcode == TL_OP_FOR && whole.value == tl_for_index(in))
            tl_help(s->diags,
                    "the run counts this loop: with a bound that is known at compile time it is "
                    "for .. in tl.static_range(..); else lay the values into an array and load "
                    "them, tl.load(values + %.40s)",
                    whole.value->name ? whole.value->name : "i");
         return none;
      }
      TlSv v = tl_dict_get(s, self, &whole, &found);
      if (found)
         return v;
      if (s->diags->num_errors == errors && tl_check_hashable(s, &whole, range)) {
         tl_report(s->diags, E0221, range, tl_sv_constant_text(s, &whole));
         if (strcmp(self->fields->type_name, "dict") == 0)
            tl_raise_as(s, "KeyError");
      }
      return tl_sv_poison();
   }
   case TL_SV_FUNC: /* Generic[...] of host code, kernel[grid] */
      if (tl_is_enum(s, self))
         return tl_member_of_name(s, self->func, &whole, range);
      if (!at_compile_time(s) && self->func->node->kind == TL_AST_FUNCTION) {
         tl_report(s->diags, E0222, range, tl_sv_describe(s, self));
         tl_help(s->diags,
                 "a kernel is launched by the host; inside of a kernel it is called as a "
                 "function: %s(..)",
                 self->func->name);
         return tl_sv_poison();
      }
      return tl_sv_lost(s, tl_range_text(s, range), range);
   case TL_SV_OPAQUE:
   case TL_SV_MODULE:
      return tl_sv_lost_of(s, self, tl_range_text(s, range), range);
   default:
      break;
   }
   if (tl_sv_is_number(self) && !at_compile_time(s)) { /* a scalar: x[None] */
      TlValue *v = tl_sema_value(s, self, range);
      return v ? tl_sema_subscript(s, v, indices, n, range) : tl_sv_poison();
   }
   if (self->kind == TL_SV_RANGE && tl_iterate(s, self, range, &items, &len))
      return index_of(s, &whole, len, range, &at) ? items[at] : tl_sv_poison();
   if (self->kind != TL_SV_POISON && self->kind != TL_SV_RANGE) {
      tl_report(s->diags, E0222, range, tl_sv_describe(s, self));
      tl_help_no_items(s, self, range);
   }
   if (tl_is_plain(self))
      tl_raise_as(s, "TypeError");
   return tl_sv_poison();
}

static TlSv
eval_subscript(TlSema *s, TlFrame *f, const TlAstSubscript *n)
{
   TlSv self = tl_eval_expr(s, f, n->value);
   if (self.kind == TL_SV_POISON)
      return self;
   TlSv *indices = tl_new_array(s->arena, TlSv, n->indices.len + 1);
   for (size_t i = 0; i < n->indices.len; i++)
      indices[i] = tl_eval_expr(s, f, n->indices.data[i]);
   if (n->indices.len == 0)
      return tl_sv_poison();
   return tl_subscript(s, &self, indices, (unsigned)n->indices.len, n->is_tuple, n->node.range);
}

static TlSv
eval_slice(TlSema *s, TlFrame *f, const TlAstSlice *n)
{
   TlSv *part = tl_new_array(s->arena, TlSv, 3);
   const TlNode *node[3] = {n->lower, n->upper, n->step};
   for (unsigned i = 0; i < 3; i++)
      part[i] = node[i] ? tl_eval_expr(s, f, node[i]) : tl_sv_none();
   return (TlSv){.kind = TL_SV_SLICE, .slice = part};
}

/* ---- displays ---- */
typedef TL_VEC(TlSv) SvVec;

static bool
collect(TlSema *s, TlFrame *f, const TlNodeList *nodes, SvVec *out)
{
   bool ok = true;
   for (size_t i = 0; i < nodes->len; i++) {
      const TlNode *n = nodes->data[i];
      if (n->kind == TL_AST_STARRED) {
         TlSv v = tl_eval_expr(s, f, tl_ast_Starred(n)->value);
         TlSv *items;
         size_t len;
         if (!tl_iterate(s, &v, n->range, &items, &len)) {
            ok = false;
            continue;
         }
         for (size_t k = 0; k < len; k++)
            tl_vec_push(s->arena, out, items[k]);
      } else {
         TlSv v = tl_eval_expr(s, f, n);
         ok &= v.kind != TL_SV_POISON;
         tl_vec_push(s->arena, out, v);
      }
   }
   return ok;
}

static TlSv
eval_sequence(TlSema *s, TlFrame *f, const TlNodeList *nodes, bool is_list)
{
   SvVec items = {0};
   if (!collect(s, f, nodes, &items))
      return tl_sv_poison();
   return tl_make_tuple(s, items.data, items.len, is_list);
}

static TlSv
eval_dict(TlSema *s, TlFrame *f, const TlAstDict *n)
{
   TlSv d = tl_dict_new(s);
   for (size_t i = 0; i < n->values.len; i++) {
      TlSv key = tl_sv_none();
      if (n->keys.data[i])
         key = tl_eval_expr(s, f, n->keys.data[i]);
      TlSv v = tl_eval_expr(s, f, n->values.data[i]);
      if (v.kind == TL_SV_POISON)
         return v;
      if (!n->keys.data[i]) {
         if (v.kind != TL_SV_DICT) {
            tl_report(s->diags, E0259, n->values.data[i]->range, "**", "a dict is needed");
            return tl_sv_poison();
         }
         for (size_t k = 0; k < v.fields->len; k++)
            tl_dict_set(s, &d, &v.fields->keys[k], v.fields->values[k]);
         continue;
      }
      if (key.kind == TL_SV_POISON || is_unusable(s, &key, n->keys.data[i]->range) ||
          !tl_check_hashable(s, &key, n->keys.data[i]->range))
         return tl_sv_poison();
      tl_dict_set(s, &d, &key, v);
   }
   return d;
}

static TlSv
eval_fstring(TlSema *s, TlFrame *f, const TlAstFString *n)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (size_t i = 0; i < n->parts.len; i++) {
      const TlNode *part = n->parts.data[i];
      if (part->kind == TL_AST_STR) {
         tl_sb_mem(&sb, tl_ast_Str(part)->value.data, tl_ast_Str(part)->value.len);
         continue;
      }
      const TlAstFormat *fmt = part->kind == TL_AST_FORMAT ? tl_ast_Format(part) : NULL;
      TlSv v = tl_eval_expr(s, f, fmt ? fmt->value : part);
      if (is_unusable(s, &v, part->range))
         return tl_sv_poison();
      if (tl_sv_is_runtime(&v)) {
         tl_report(s->diags, E0301, part->range, "{..}", "f-string", tl_sv_describe(s, &v));
         tl_help(s->diags, "print values of the run beside the text: %s", tl_help_printed(s, n));
         return tl_sv_poison();
      }
      const char *conversion = fmt && fmt->conversion ? fmt->conversion : "";
      if (*conversion) {
         TlSb text;
         tl_sb_init(&text, s->arena);
         if (!tl_sv_repr(s, &v, *conversion == 's', part->range, &text))
            return tl_sv_poison();
         v = tl_make_str(s, tl_sb_cstr(&text), text.len);
         if (*conversion == 'a')
            v = tl_text_ascii(s, v.s);
      }
      if (!tl_format_value(s, &v, fmt ? fmt->spec : (TlText){"", 0}, part->range, &sb))
         return tl_sv_poison();
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

/* ---- iteration ---- */
/* What is written for the function of Python's that the text calls; NULL: nothing is known. */
static const char *
of_call(TlSema *s, const char *text)
{
   const char *open = strchr(text, '(');
   return open ? tl_name_instead(tl_arena_strndup(s->arena, text, (size_t)(open - text))) : NULL;
}

static bool
iterate_range(TlSema *s, const TlSvRange *r, TlRange range, TlSv **items, size_t *len)
{
   if (r->start.kind != TL_SV_INT || r->stop.kind != TL_SV_INT || r->step.kind != TL_SV_INT)
      return tl_refuse_range(s, range);
   int64_t step = r->step.i;
   size_t n = 0, cap = 0;
   *items = NULL;
   for (int64_t i = r->start.i; step > 0 ? i < r->stop.i : step < 0 && i > r->stop.i;) {
      if (!tl_step(s, range))
         return false;
      if (n == cap)
         *items = tl_vec_grow(s->arena, *items, n, &cap, sizeof **items);
      (*items)[n++] = tl_sv_int(i);
      if (__builtin_add_overflow(i, step, &i))
         break;
   }
   *len = n;
   return true;
}

/* What gives several values where the statement at `range` asks a call that gives one for them. */
static const char *
several_of_call(TlSema *s, const TlSv *v, TlRange range)
{
   static const struct {
      const char *call, *way;
   } ways[] = {
      {"topk",
       "tl.topk gives the values alone.  For their indices too take k rounds of best, at = "
       "tl.max(x, axis=0, return_indices=True), each followed by x = tl.where(i == at, "
       "-float(\"inf\"), x) where i is tl.arange over x; or put each index into the low bits of "
       "its key, an integer"},
      {"sort",
       "tl.sort gives the values alone.  For their indices too put each index into the low bits "
       "of its key, an integer: s = tl.sort((x.to(tl.int64) << 32) | i); s & 0xffffffff are the "
       "indices then"},
      {"max min", "tl.max and tl.min give two values, the second the index, with "
                  "return_indices=True"},
      {"argmax argmin", "tl.argmax and tl.argmin give the index alone; both are tl.max(x, axis, "
                        "return_indices=True)"},
   };
   const TlNode *at = tl_written_at(s, range).statement;
   const TlNode *value = at && at->kind == TL_AST_ASSIGN ? tl_ast_Assign(at)->value : NULL;
   if (value && tl_is_call_of(value, "sort") && v->kind == TL_SV_VALUE &&
       tl_type_elem(v->value->type)->kind == TL_TYPE_SCALAR &&
       tl_type_elem(v->value->type)->dtype == TL_FP32)
      return "tl.sort gives the values alone.  For their indices too sort integers of the same "
             "order with each index in the low bits: b = x.to(tl.int32, bitcast=True); key = b ^ "
             "((b >> 31) & 0x7fffffff); s = tl.sort((key.to(tl.int64) << 32) | i); order = (s & "
             "0xffffffff).to(tl.int32), and the values are tl.gather(x, order, 0)";
   for (size_t i = 0; value && i < sizeof ways / sizeof ways[0]; i++)
      if (tl_is_call_of(value, ways[i].call))
         return ways[i].way;
   return NULL;
}

bool
tl_iterate(TlSema *s, const TlSv *v, TlRange range, TlSv **items, size_t *len)
{
   if (tl_report_lost(s, v, range))
      return false;
   switch (v->kind) {
   case TL_SV_SET:
      if (v->tuple->len > 1) {
         tl_report(s->diags, E0259, range, "set", "the order of its items is not known");
         return false;
      }
      *items = v->tuple->items;
      *len = v->tuple->len;
      return true;
   case TL_SV_TUPLE:
      *items = v->tuple->items;
      *len = v->tuple->len;
      return true;
   case TL_SV_ITER:
      return tl_iter_items(s, v->iter, range, items, len);
   case TL_SV_DICT:
      *items = v->fields->keys;
      *len = v->fields->len;
      return true;
   case TL_SV_STR:
      tl_text_items(s, v->s, items, len);
      return true;
   case TL_SV_RANGE:
      return iterate_range(s, v->range, range, items, len);
   case TL_SV_POISON:
      return false;
   default:
      if (tl_is_enum(s, v))
         return tl_members(s, v->func, range, items, len);
      if (is_unusable(s, v, range))
         return false;
      tl_report(s->diags, E0224, range, tl_sv_describe(s, v));
      tl_blame_sv(s, v, TL_WANT_OTHER);
      const char *text = tl_range_text(s, range);
      const char *several =
         tl_sv_is_runtime(v) && strchr(text, ',') ? several_of_call(s, v, range) : NULL;
      if (several)
         tl_help(s->diags, "it is one value, and '%.40s' are several names: %s", text, several);
      else if (tl_sv_is_runtime(v) && strchr(text, ','))
         tl_help(s->diags,
                 "it is one value, and '%.40s' are several names: write one; a tile is taken apart "
                 "by tl.split or tl.reshape; tl.max(x, axis, return_indices=True) gives two "
                 "values, tl.sort and tl.topk the values alone, enumerate(..) in a loop pairs",
                 text);
      else if (tl_sv_is_runtime(v) && of_call(s, text))
         tl_help(s->diags, "'%.40s' of a tile is %s", text, of_call(s, text));
      else if (tl_sv_is_runtime(v))
         tl_help(s->diags,
                 "'%.40s' needs range(..) or a tuple; of a tile tl.sum, tl.max and tl.sort take "
                 "all elements at once, and tl.max(x == a) asks whether a is in it",
                 text);
      if (tl_is_plain(v))
         tl_raise_as(s, "TypeError");
      return false;
   }
}

/* ---- comprehensions ---- */
typedef struct Comp {
   const TlAstComprehension *node;
   SvVec keys, values;
   bool any_order; /* of the items does not matter */
} Comp;

static bool comprehend(TlSema *s, TlFrame *f, Comp *c, size_t clause);

/* The innermost part: key and value of one item. */
static bool
comprehend_item(TlSema *s, TlFrame *f, Comp *c)
{
   if (c->node->key) {
      TlSv key = tl_eval_expr(s, f, c->node->key);
      if (key.kind == TL_SV_POISON || !tl_check_hashable(s, &key, c->node->key->range))
         return false;
      tl_vec_push(s->arena, &c->keys, key);
   }
   TlSv v = tl_eval_expr(s, f, c->node->value);
   tl_vec_push(s->arena, &c->values, v);
   return v.kind != TL_SV_POISON;
}

static bool
passes_conditions(TlSema *s, TlFrame *f, const TlAstCompFor *loop, bool *take)
{
   *take = true;
   for (size_t k = 0; *take && k < loop->conditions.len; k++) {
      const TlNode *test = loop->conditions.data[k];
      TlSv v = tl_eval_expr(s, f, test);
      bool known;
      if (!tl_truth(s, &v, test->range, &known, take))
         return false;
      if (!known) {
         tl_report(s->diags, E0225, test->range, tl_sv_describe(s, &v));
         return false;
      }
   }
   return true;
}

static bool
comprehend(TlSema *s, TlFrame *f, Comp *c, size_t clause)
{
   assert(clause <= c->node->clauses.len);
   if (clause == c->node->clauses.len)
      return comprehend_item(s, f, c);
   const TlAstCompFor *loop = tl_ast_CompFor(c->node->clauses.data[clause]);
   TlSv iter = tl_eval_expr(s, f, loop->iter), item, *items;
   size_t len, i = 0;
   bool is_set = c->any_order && iter.kind == TL_SV_SET, take;
   TlCursor cursor;
   if (is_set ? !tl_iterate_any_order(s, &iter, loop->iter->range, &items, &len)
              : !tl_cursor_begin(s, &cursor, &iter, loop->iter->range))
      return false;
   unsigned errors = s->diags->num_errors;
   while (is_set ? i < len : tl_cursor_next(s, &cursor, &item)) {
      if (is_set)
         item = items[i++];
      if (!tl_step(s, loop->node.range) || !tl_assign(s, f, loop->target, item) ||
          !passes_conditions(s, f, loop, &take) || (take && !comprehend(s, f, c, clause + 1)))
         return false;
   }
   return s->diags->num_errors == errors;
}

static TlSv
comprehension_value(TlSema *s, const Comp *c)
{
   if (c->node->kind == TL_AST_OP_DICT_COMP) {
      TlSv d = tl_dict_new(s);
      for (size_t i = 0; i < c->values.len; i++)
         tl_dict_set(s, &d, &c->keys.data[i], c->values.data[i]);
      return d;
   }
   if (c->node->kind == TL_AST_OP_SET_COMP)
      return tl_make_set(s, c->values.data, c->values.len, true);
   return tl_make_tuple(s, c->values.data, c->values.len, true);
}

static TlSv
eval_comprehension(TlSema *s, TlFrame *f, const TlAstComprehension *n)
{
   enum { MOST_CLAUSES = 20 }; /* Python's limit of blocks in each other */
   Comp c = {.node = n};
   if (n->clauses.len > MOST_CLAUSES)
      return tl_sv_refuse(s, E0108, n->node.range, (unsigned)MOST_CLAUSES);
   TlFrame *inner = tl_frame_new(s, f, f->source, f->act);
   inner->is_comp = true;
   c.any_order = n->kind == TL_AST_OP_SET_COMP;
   if (n->kind != TL_AST_OP_GENERATOR || !tl_is_host(f))
      return comprehend(s, inner, &c, 0) ? comprehension_value(s, &c) : tl_sv_poison();
   TlPure p;
   tl_pure_begin(s, &p);
   inner->born = ++s->impl->seq;
   bool ok = comprehend(s, inner, &c, 0);
   return tl_pure_end(
      s, &p, ok ? tl_make_iter(s, "generator", c.values.data, c.values.len) : tl_sv_poison());
}

/* ---- types written as expressions ---- */
static TlSv
eval_pointer_type(TlSema *s, TlFrame *f, const TlAstPtrType *n)
{
   TlSv v = tl_eval_expr(s, f, n->pointee);
   if (v.kind == TL_SV_TYPE && v.type->kind != TL_TYPE_TILE)
      return tl_sv_type(tl_type_ptr(s->types, v.type, n->is_const));
   if (v.kind != TL_SV_POISON)
      tl_report(s->diags, E0226, n->pointee->range, tl_sv_describe(s, &v));
   return tl_sv_poison();
}

static TlSv
eval_walrus(TlSema *s, TlFrame *f, const TlAstWalrus *n)
{
   TlSv v = tl_eval_expr(s, f, n->value);
   TlFrame *into = f;
   while (into->is_comp)
      into = into->parent;
   if (v.kind != TL_SV_POISON || !tl_is_host(f))
      tl_assign(s, into, n->target, v);
   return v;
}

/* ---- dispatch ---- */
static TlSv
eval_const(TlAstOp which)
{
   switch (which) {
   case TL_AST_OP_TRUE:
      return tl_sv_bool(true);
   case TL_AST_OP_FALSE:
      return tl_sv_bool(false);
   case TL_AST_OP_ELLIPSIS:
      return (TlSv){.kind = TL_SV_ELLIPSIS};
   default:
      return tl_sv_none();
   }
}

static TlSv
eval_binary(TlSema *s, TlFrame *f, const TlAstBinary *n)
{
   unsigned errors = s->diags->num_errors;
   TlSv a = tl_eval_expr(s, f, n->left), b = tl_eval_expr(s, f, n->right);
   if (a.kind == TL_SV_POISON || b.kind == TL_SV_POISON) {
      if (n->left->kind == TL_AST_NAME && n->op == TL_AST_OP_ADD)
         tl_help_unset_like(s, errors, n->op, &b);
      return tl_sv_poison();
   }
   if (is_unusable(s, &a, n->left->range) || is_unusable(s, &b, n->right->range))
      return tl_sv_poison();
   TlRange saved = s->b.range;
   s->b.range = n->node.range;
   TlSv v = tl_apply_binary(s, n->op, &a, &b, n->node.range);
   s->b.range = saved;
   tl_note_joined(s, n, &a, &b);
   return v;
}

/* Operators: what they compute is at their own place, not at that of the call around them. */
static TlSv
eval_operator(TlSema *s, TlFrame *f, const TlNode *n)
{
   TlRange saved = s->b.range;
   s->b.range = n->range;
   TlSv v = n->kind == TL_AST_UNARY     ? eval_unary(s, f, tl_ast_Unary(n))
            : n->kind == TL_AST_COMPARE ? eval_compare(s, f, tl_ast_Compare(n))
            : n->kind == TL_AST_BOOLOP  ? eval_boolop(s, f, tl_ast_BoolOp(n))
                                        : eval_subscript(s, f, tl_ast_Subscript(n));
   s->b.range = saved;
   return v;
}

static TlSv
eval_node(TlSema *s, TlFrame *f, const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_NAME:
      return tl_lookup(s, f, tl_ast_Name(n)->id, n->range);
   case TL_AST_INT: {
      TlSv v = tl_sv_int((int64_t)tl_ast_Int(n)->value);
      v.is_large = tl_ast_Int(n)->is_large;
      return v;
   }
   case TL_AST_FLOAT:
      return tl_sv_float(tl_ast_Float(n)->value);
   case TL_AST_STR:
      if (tl_ast_Str(n)->is_bytes && tl_is_host(f)) /* no text: "a" is not b"a" */
         return tl_sv_lost(s, tl_node_text(s, n), n->range);
      return (TlSv){.kind = TL_SV_STR, .s = tl_ast_Str(n)->value};
   case TL_AST_FSTRING:
      return eval_fstring(s, f, tl_ast_FString(n));
   case TL_AST_CONST:
      return eval_const(tl_ast_Const(n)->which);
   case TL_AST_UNARY:
   case TL_AST_COMPARE:
   case TL_AST_BOOLOP:
   case TL_AST_SUBSCRIPT:
      return eval_operator(s, f, n);
   case TL_AST_BINARY:
      return eval_binary(s, f, tl_ast_Binary(n));
   case TL_AST_CONDITIONAL:
      return eval_conditional(s, f, tl_ast_Conditional(n));
   case TL_AST_CALL:
      return tl_eval_call(s, f, tl_ast_Call(n));
   case TL_AST_ATTRIBUTE: {
      TlSv self = tl_eval_expr(s, f, tl_ast_Attribute(n)->value);
      return tl_attribute(s, f, &self, tl_ast_Attribute(n)->name, n->range);
   }
   case TL_AST_SLICE:
      return eval_slice(s, f, tl_ast_Slice(n));
   case TL_AST_TUPLE:
      return eval_sequence(s, f, &tl_ast_Tuple(n)->items, false);
   case TL_AST_LIST:
      return eval_sequence(s, f, &tl_ast_List(n)->items, true);
   case TL_AST_SET: {
      TlSv v = eval_sequence(s, f, &tl_ast_Set(n)->items, true);
      return v.kind == TL_SV_TUPLE ? tl_make_set(s, v.tuple->items, v.tuple->len, true) : v;
   }
   case TL_AST_DICT:
      return eval_dict(s, f, tl_ast_Dict(n));
   case TL_AST_LAMBDA: {
      TlSvFunc *fn = tl_func_value(s, f->source, f->is_module ? NULL : f, n);
      fn->is_compiled |= !tl_is_host(f);
      if (tl_is_host(f))
         tl_define_function(s, f, fn);
      return (TlSv){.kind = TL_SV_FUNC, .func = fn};
   }
   case TL_AST_COMPREHENSION:
      return eval_comprehension(s, f, tl_ast_Comprehension(n));
   case TL_AST_WALRUS:
      return eval_walrus(s, f, tl_ast_Walrus(n));
   case TL_AST_PTR_TYPE:
      return eval_pointer_type(s, f, tl_ast_PtrType(n));
   case TL_AST_FACT_TYPE:
      return tl_eval_expr(s, f, tl_ast_FactType(n)->type);
   default:
      tl_report(s->diags, E0227, n->range, tl_node_text(s, n));
      if (n->kind == TL_AST_STARRED)
         tl_help(s->diags, "'*' unpacks a tuple among arguments and items; what a pointer points "
                           "to is tl.load(pointer)");
      return tl_sv_poison();
   }
}

/* Forms of host code that --assume may name. */
static bool
may_be_assumed(const TlNode *n)
{
   return n->kind == TL_AST_NAME || n->kind == TL_AST_ATTRIBUTE || n->kind == TL_AST_CALL ||
          n->kind == TL_AST_SUBSCRIPT || n->kind == TL_AST_COMPARE || n->kind == TL_AST_UNARY ||
          n->kind == TL_AST_BOOLOP;
}

TlSv
tl_eval_expr(TlSema *s, TlFrame *f, const TlNode *n)
{
   bool is_host = tl_is_host(f);
   if (is_host && s->diags->num_errors != f->act->errors)
      return tl_sv_poison(); /* Python would not come here */
   if (s->depth >= TL_MAX_EVAL_DEPTH) {
      tl_report(s->diags, E0228, n->range, (unsigned)TL_MAX_EVAL_DEPTH);
      return tl_sv_poison();
   }
   TlSv v;
   if (is_host && s->impl->options.num_assume && may_be_assumed(n) &&
       tl_assumed(s, tl_node_text(s, n), &v))
      return v;
   s->depth++;
   v = eval_node(s, f, n);
   s->depth--;
   if (tl_report_lost(s, &v, n->range))
      return tl_sv_poison();
   if (is_host && s->impl->reads)
      tl_pure_read_value(s, &v);
   return v;
}

TlSv
tl_eval_source(TlSema *s, TlFrame *f, const char *name, const char *text)
{
   uint32_t file = tl_sources_add(s->sources, name, text, strlen(text));
   TlParseCx cx = {s->arena, s->strings, s->sources, s->diags};
   const TlNode *n = tl_parse_expression(&cx, file);
   return n ? tl_eval_expr(s, f, n) : tl_sv_poison();
}

/* ---- assignment targets ---- */
TlChange *
tl_change_of(const TlSv *v)
{
   bool is_list = (v->kind == TL_SV_TUPLE || v->kind == TL_SV_SET) && v->tuple->is_list;
   bool has_fields = v->kind == TL_SV_DICT || v->kind == TL_SV_OBJECT;
   return is_list ? &v->tuple->change : has_fields ? &v->fields->change : NULL;
}

bool
tl_make_change(TlSema *s, const TlSv *v, TlRange range)
{
   TlChange *change = tl_change_of(v);
   if (!change)
      return true;
   if (!tl_is_pure_for(s, change->born, range))
      return false;
   change->version++;
   s->impl->changes++;
   if (s->impl->keep_changed)
      tl_vec_push(s->arena, &s->impl->changed, change);
   return true;
}

bool
tl_may_change(TlSema *s, TlFrame *f, const TlSv *v, TlRange range)
{
   TlChange *change = tl_change_of(v);
   if (change && change->region != s->impl->region && f && !tl_is_host(f)) {
      change->is_refused = true;
      const char *what = tl_sv_describe(s, v), *size = strstr(what, " of ");
      tl_report(s->diags, E0275, range,
                tl_arena_printf(s->arena, "this %.*s", (int)(size ? size - what : 40), what));
      tl_help(s->diags,
              "append and the like work while the kernel is compiled: tl.static_range unrolls the "
              "loop; a tile that the loop carries can be added to or chosen from with tl.where");
      return false;
   }
   return tl_make_change(s, v, range);
}

static bool
assign_items(TlSema *s, TlFrame *f, const TlNodeList *targets, TlSv value, TlRange range)
{
   TlSv *items;
   size_t len, star = targets->len;
   if (value.kind == TL_SV_POISON || value.kind == TL_SV_OPAQUE) {
      for (size_t i = 0; i < targets->len; i++) {
         const TlNode *t = targets->data[i];
         tl_assign(s, f, t->kind == TL_AST_STARRED ? tl_ast_Starred(t)->value : t, value);
      }
      return value.kind == TL_SV_OPAQUE;
   }
   if (!tl_iterate(s, &value, range, &items, &len))
      return !tl_is_host(f) && assign_items(s, f, targets, tl_sv_poison(), range);
   for (size_t i = 0; i < targets->len; i++)
      if (targets->data[i]->kind == TL_AST_STARRED)
         star = i;
   bool has_star = star < targets->len;
   bool drops = !has_star && len > targets->len && !tl_is_host(f) && f->source &&
                !f->source->is_tile; /* Triton assigns name by name, and looks no further */
   if (drops) {
      tl_report(s->diags, W0254, range, targets->len, len);
      tl_help(s->diags, "name all %zu values, or take those that are meant%s", len,
              tl_first_assigned(s, range, targets->len));
   } else if (has_star ? len + 1 < targets->len : len != targets->len) {
      tl_report(s->diags, E0229, range, targets->len, len);
      if (tl_is_host(f))
         tl_raise_as(s, "ValueError");
      else
         assign_items(s, f, targets, tl_sv_poison(), range);
      return false;
   }
   bool ok = true;
   size_t extra = has_star ? len + 1 - targets->len : 0;
   for (size_t i = 0; i < targets->len; i++) {
      if (i == star)
         ok &= tl_assign(s, f, tl_ast_Starred(targets->data[i])->value,
                         tl_make_tuple(s, items + i, extra, true));
      else
         ok &= tl_assign(s, f, targets->data[i], items[i > star ? i + extra - 1 : i]);
   }
   return ok;
}

static bool
set_item(TlSema *s, TlFrame *f, const TlSv *self, const TlSv *key, TlSv value, TlRange range)
{
   if (self->kind == TL_SV_POISON || key->kind == TL_SV_POISON)
      return false;
   bool is_list = self->kind == TL_SV_TUPLE && self->tuple->is_list;
   size_t at;
   if (self->kind == TL_SV_DICT && !tl_check_hashable(s, key, range))
      return false;
   bool is_item = is_list && key->kind != TL_SV_SLICE;
   if (is_item && !index_of(s, key, self->tuple->len, range, &at))
      return false;
   if ((self->kind == TL_SV_DICT || is_list) && !tl_may_change(s, f, self, range))
      return false;
   if (self->kind == TL_SV_DICT) {
      size_t len = self->fields->len;
      tl_dict_set(s, self, key, value);
      self->fields->change.version -= self->fields->len == len; /* counts changes of keys */
      return true;
   }
   if (is_list && key->kind == TL_SV_SLICE)
      return tl_host_set_slice(s, self, key, &value, range);
   if (is_item) {
      self->tuple->items[at] = value;
      return true;
   }
   bool is_opaque = self->kind == TL_SV_OPAQUE || self->kind == TL_SV_MODULE;
   if (is_opaque && tl_is_host(f)) { /* nothing is known of it anyway */
      s->impl->environ_changed |= self->kind == TL_SV_MODULE;
      return true;
   }
   tl_report(s->diags, E0230, range, tl_sv_describe(s, self));
   if (self->kind == TL_SV_BLOCKPTR)
      tl_help(s->diags, self->block_ptr->is_descriptor
                           ? "its block is written by desc.store([i, j], value)"
                           : "its block is written by tl.store(pointer, value)");
   if (self->kind == TL_SV_VALUE && self->value->type->kind == TL_TYPE_SCALAR)
      tl_blame_sv(s, self, TL_WANT_POINTER);
   if (tl_is_plain(self))
      tl_raise_as(s, "TypeError");
   if (self->kind == TL_SV_VALUE && tl_type_is_ptr_like(self->value->type))
      tl_help(s->diags, "write memory with tl.store(pointer + offsets, value, mask)");
   else if (self->kind == TL_SV_VALUE)
      tl_help(s->diags, "a tile is a value: build a new one with tl.where(condition, new, old)");
   return false;
}

static TlSv
key_of(TlSema *s, TlFrame *f, const TlAstSubscript *t)
{
   TlSv *keys = tl_new_array(s->arena, TlSv, t->indices.len + 1);
   for (size_t i = 0; i < t->indices.len; i++)
      keys[i] = tl_eval_expr(s, f, t->indices.data[i]);
   return t->is_tuple      ? tl_make_tuple(s, keys, t->indices.len, false)
          : t->indices.len ? keys[0]
                           : tl_sv_poison();
}

/* An object made in this region is changed in place; a variable that names one made outside gets a
 * changed copy, so that a run-time if or loop can join it. */
static bool
assign_field(TlSema *s, TlFrame *f, const TlAstAttribute *t, TlSv self, TlSv value)
{
   TlVar *var = t->value->kind == TL_AST_NAME ? tl_frame_var(f, tl_ast_Name(t->value)->id) : NULL;
   if (tl_is_member(&self)) {
      tl_report(s->diags, E0231, t->node.range, tl_sv_describe(s, &self));
      tl_raise_as(s, "AttributeError");
      return false;
   }
   if (!tl_class_lets_assign(s, &self, t->name, t->node.range))
      return false;
   if (var && !tl_is_host(f) && self.fields->change.region != s->impl->region) {
      TlSv copy = tl_object_new(s, self.fields->type_name);
      for (size_t i = 0; i < self.fields->len; i++)
         tl_object_set(s, &copy, self.fields->names[i], self.fields->values[i]);
      self = copy;
   } else if (!tl_may_change(s, f, &self, t->node.range)) {
      return false;
   }
   tl_object_set(s, &self, t->name, value);
   if (var && !tl_is_host(f))
      tl_frame_set(s, f, var->name, self, t->node.range);
   return true;
}

bool
tl_place_of(TlSema *s, TlFrame *f, const TlNode *target, TlPlace *out)
{
   *out = (TlPlace){.node = target};
   if (target->kind == TL_AST_SUBSCRIPT) {
      const TlAstSubscript *t = tl_ast_Subscript(target);
      out->self = tl_eval_expr(s, f, t->value);
      out->key = key_of(s, f, t);
      return out->self.kind != TL_SV_POISON && out->key.kind != TL_SV_POISON;
   }
   if (target->kind == TL_AST_ATTRIBUTE) {
      out->self = tl_eval_expr(s, f, tl_ast_Attribute(target)->value);
      return out->self.kind != TL_SV_POISON;
   }
   return true;
}

TlSv
tl_place_value(TlSema *s, TlFrame *f, const TlPlace *p)
{
   if (p->node->kind == TL_AST_SUBSCRIPT)
      return tl_subscript(s, &p->self, &p->key, 1, false, p->node->range);
   if (p->node->kind == TL_AST_ATTRIBUTE)
      return tl_attribute(s, f, &p->self, tl_ast_Attribute(p->node)->name, p->node->range);
   return tl_eval_expr(s, f, p->node);
}

/* globals()["NAME"] */
static bool
is_global_by_text(const TlFrame *f, const TlPlace *p)
{
   const TlNode *table = tl_ast_Subscript(p->node)->value;
   const TlNode *fn = table->kind == TL_AST_CALL ? tl_ast_Call(table)->func : NULL;
   return fn && fn->kind == TL_AST_NAME && strcmp(tl_ast_Name(fn)->id, "globals") == 0 &&
          p->self.kind == TL_SV_OPAQUE && p->key.kind == TL_SV_STR && tl_is_host(f) && f->source;
}

bool
tl_place_set(TlSema *s, TlFrame *f, const TlPlace *p, TlSv value)
{
   if (p->node->kind == TL_AST_SUBSCRIPT && is_global_by_text(f, p)) {
      const char *name = tl_intern(s->strings, p->key.s.data, p->key.s.len);
      tl_global_set(s, f->source, name, value, p->node->range);
      return true;
   }
   if (p->node->kind == TL_AST_SUBSCRIPT)
      return set_item(s, f, &p->self, &p->key, value, p->node->range);
   if (p->node->kind == TL_AST_ATTRIBUTE && p->self.kind == TL_SV_OBJECT)
      return assign_field(s, f, tl_ast_Attribute(p->node), p->self, value);
   if (p->node->kind == TL_AST_ATTRIBUTE) {
      if (p->self.kind == TL_SV_OPAQUE && tl_is_host(f)) {
         const TlNode *of = tl_ast_Attribute(p->node)->value;
         if (of->kind == TL_AST_CALL) /* as in type(self).n: it may be known by another name */
            tl_lose_reachable(s, f, of, p->self.opaque);
         return true; /* nothing is known of it anyway */
      }
      tl_class_lose(s, &p->self, tl_ast_Attribute(p->node)->name, p->node->range);
      if (p->self.kind != TL_SV_POISON)
         tl_report_field(s, f, &p->self, p->node);
      return false;
   }
   return tl_assign(s, f, p->node, value);
}

bool
tl_assign(TlSema *s, TlFrame *f, const TlNode *target, TlSv value)
{
   switch (target->kind) {
   case TL_AST_NAME:
      tl_frame_set(s, f, tl_ast_Name(target)->id, value, target->range);
      return value.kind != TL_SV_POISON;
   case TL_AST_TUPLE:
      return assign_items(s, f, &tl_ast_Tuple(target)->items, value, target->range);
   case TL_AST_LIST:
      return assign_items(s, f, &tl_ast_List(target)->items, value, target->range);
   case TL_AST_SUBSCRIPT:
   case TL_AST_ATTRIBUTE: {
      TlPlace place;
      return tl_place_of(s, f, target, &place) && tl_place_set(s, f, &place, value);
   }
   default: /* reported when it was parsed */
      return false;
   }
}
