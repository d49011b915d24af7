/* Reductions and scans.  Every one is a `reduce` or `scan` operation whose region combines scalars;
 * the widening rules of sum, max and their kin are applied to the operand before. */
#include "sema/builtin.h"
#include "sema/impl.h"

#include <string.h>

/* Emits the combine of n accumulated and n new scalars into the region; false after a report. */
typedef bool Combine(TlSema *s, const void *user, TlValue *const *args, unsigned n, TlValue **out);

typedef struct Fold {
   TlOpcode op; /* REDUCE or SCAN */
   unsigned axis;
   bool reverse; /* SCAN */
   Combine *combine;
   const void *user;
   TlRange range;
} Fold;

static bool
build_fold(TlSema *s, const Fold *f, TlValue *const *in, unsigned n, TlValue **out)
{
   const TlAttrInit attrs[] = {
      {TL_ATTR_AXIS, {.i = f->axis}},
      {f->op == TL_OP_SCAN ? TL_ATTR_REVERSE : TL_ATTR_COUNT, {.i = f->reverse}},
      {TL_ATTR_COUNT, {.i = 0}}};
   TlOp *op = tl_sema_build_op(s, f->op, in, n, NULL, n, attrs, 1, f->range);
   if (!op)
      return false;
   TlBlock *block = op->regions[0]->block;
   TlValue **args = tl_new_array(s->arena, TlValue *, 2 * n);
   TlValue **results = tl_new_array(s->arena, TlValue *, n);
   for (unsigned i = 0; i < 2 * n; i++)
      args[i] = tl_block_add_arg(block, tl_type_elem(in[i % n]->type), i < n ? "a" : "b");
   TlBuilder saved = s->b;
   s->b.block = block;
   s->b.before = NULL;
   bool ok = f->combine(s, f->user, args, n, results);
   for (unsigned i = 0; ok && i < n; i++) {
      results[i] = tl_sema_cast(s, results[i], args[i]->type, f->range);
      ok = results[i] && results[i]->type == args[i]->type;
   }
   if (ok)
      tl_build(&s->b, TL_OP_YIELD, results, n, NULL, 0, NULL, 0, 0);
   s->b = saved;
   if (!ok) {
      tl_remove(op);
      return false;
   }
   for (unsigned i = 0; i < n; i++)
      out[i] = tl_result(op, i);
   return true;
}

static bool
combine_op(TlSema *s, const void *user, TlValue *const *args, unsigned n, TlValue **out)
{
   (void)n;
   out[0] = tl_b2(&s->b, *(const TlOpcode *)user, args[0], args[1]);
   return true;
}

/* ---- argmax, argmin ---- */
typedef struct ArgFold {
   TlOpcode compare; /* GT or LT */
   bool tie_left;    /* of equal values the one with the smaller index wins */
} ArgFold;

static bool
combine_index(TlSema *s, const void *user, TlValue *const *args, unsigned n, TlValue **out)
{
   const ArgFold *f = user;
   TlBuilder *b = &s->b;
   (void)n;
   TlValue *wins = tl_b2(b, f->compare, args[0], args[2]);
   if (f->tie_left) {
      TlValue *tie = tl_b2(b, TL_OP_AND, tl_b2(b, TL_OP_EQ, args[0], args[2]),
                           tl_b2(b, TL_OP_LT, args[1], args[3]));
      wins = tl_b2(b, TL_OP_OR, wins, tie);
   }
   out[0] = tl_b3(b, TL_OP_SELECT, wins, args[0], args[2]);
   out[1] = tl_b3(b, TL_OP_SELECT, wins, args[1], args[3]);
   return true;
}

/* ---- a combine function of the user ---- */
bool
tl_sema_in_combine(const TlSema *s)
{
   for (const TlOp *op = s->b.block->region->parent; op; op = op->block->region->parent)
      if (op->opcode == TL_OP_REDUCE || op->opcode == TL_OP_SCAN)
         return true;
   return false;
}

typedef struct UserFold {
   const TlCall *call;
   const TlSv *fn;
} UserFold;

static const char *
name_of(const TlSv *fn, const char *other)
{
   return fn->kind == TL_SV_FUNC && fn->func->name ? fn->func->name : other;
}

/* "; it takes 3", and nothing of a function that has more than plain parameters. */
static const char *
taken_text(TlSema *s, const TlSv *fn)
{
   const TlNode *n = fn->kind == TL_SV_FUNC ? fn->func->node : NULL;
   const TlAstFunction *def = n && n->kind == TL_AST_FUNCTION ? tl_ast_Function(n) : NULL;
   for (size_t i = 0; def && i < def->params.len; i++) {
      const TlAstParam *p = tl_ast_Param(def->params.data[i]);
      if (!p->name || p->default_value || p->kind != TL_AST_OP_PLAIN)
         return "";
   }
   return def ? tl_arena_printf(s->arena, "; it takes %zu", def->params.len) : "";
}

static bool
combine_user(TlSema *s, const void *user, TlValue *const *args, unsigned n, TlValue **out)
{
   const UserFold *f = user;
   unsigned got = 0;
   TlValue **results = tl_new_array(s->arena, TlValue *, n + 16);
   if (!tl_sema_call_scalars(s, f->fn, args, 2 * n, results, n + 16, &got, f->call->range)) {
      const TlDiag *d = s->diags->last;
      bool is_of_count = d && (d->code == TL_DIAG_E0251 || d->code == TL_DIAG_E0252) &&
                         d->range.begin == f->call->range.begin;
      if (is_of_count)
         tl_help(s->diags, "'%s' calls '%s' with %u elements, %s%s", f->call->row->name,
                 name_of(f->fn, ".."), 2 * n,
                 n == 1 ? "as in def add(a, b): return a + b"
                 : n == 2
                    ? "those so far and then those that come, as in def combine(a, b, next_a, "
                      "next_b), which returns two"
                    : "those so far and then those that come",
                 taken_text(s, f->fn));
      return false;
   }
   if (got != n) {
      tl_report(s->diags, E0340, f->call->range, f->call->row->name, n, n == 1 ? "" : "s",
                tl_arena_printf(s->arena, "%u", got));
      const char *name = name_of(f->fn, "it");
      if (!got)
         tl_help(s->diags, "'%s' ends without 'return'", name);
      else if (n > 1)
         tl_help(s->diags,
                 "of %u tiles '%s' takes the %u values so far, then the %u that come, and returns "
                 "%u: def add(a, b, c, d): return a + c, b + d is one of two",
                 n, name, n, n, n);
      return false;
   }
   for (unsigned i = 0; i < n; i++) {
      if (results[i]->type == args[i]->type)
         continue;
      tl_report(s->diags, E0340, f->call->range, f->call->row->name, n, n == 1 ? "" : "s",
                tl_arena_printf(s->arena, "%s where the argument is %s",
                                tl_type_cstr(s->arena, results[i]->type),
                                tl_type_cstr(s->arena, args[i]->type)));
      tl_help(s->diags, "convert what is folded before it: x.to(tl.float32), or the result in it");
      return false;
   }
   memcpy(out, results, n * sizeof *out);
   return true;
}

/* What folds is a function; strings and numbers are what other languages take for one. */
static bool
is_combine(TlSema *s, const TlCall *call, unsigned arg)
{
   const TlSv *fn = &call->args[arg];
   if (fn->kind == TL_SV_POISON)
      return false;
   bool is_exchanged = call->args[1].kind == TL_SV_BUILTIN || call->args[1].kind == TL_SV_FUNC;
   if (fn->kind == TL_SV_BUILTIN && strstr(fn->builtin.row->signature, "axis")) {
      tl_report(s->diags, E0313, tl_call_arg_range(call, arg), call->row->name,
                "a function of two elements", tl_sv_text(s, fn));
      tl_help(
         s->diags,
         "tl.%s takes a whole tile: call it alone, tl.%s(x, axis), or pass a jit function that "
         "combines two elements, 'def add(a, b): return a + b'",
         fn->builtin.row->name, fn->builtin.row->name);
      return false;
   }
   if (tl_sv_may_be_called(fn))
      return true;
   tl_report(s->diags, E0313, tl_call_arg_range(call, arg), call->row->name,
             "a function of two elements", tl_sv_text(s, fn));
   if (is_exchanged)
      tl_help(s->diags, "the axis comes before the function: tl.%s(x, axis, f)", call->row->name);
   else
      tl_help(s->diags,
              "write 'def add(a, b): return a + b' under @triton.jit and pass add; sums are "
              "tl.sum, maxima tl.max");
   return false;
}

/* ---- shapes ---- */
static TlValue *
flatten(TlSema *s, TlValue *x)
{
   uint32_t n = (uint32_t)tl_type_num_elems(x->type);
   const TlType *type = tl_type_tile(s->types, x->type->elem, 1, &n, NULL);
   return type == x->type ? x : tl_t1(&s->b, TL_OP_RESHAPE, type, x, {TL_ATTR_REORDER, {.i = 1}});
}

static TlValue *
keep_dims(TlSema *s, TlValue *x, bool keep, bool all, unsigned axis, unsigned rank, TlRange range)
{
   if (!keep)
      return x;
   for (unsigned i = 0; x && i < (all ? rank : 1); i++)
      x = tl_sema_expand(s, x, all ? 0 : axis, range);
   return x;
}

/* Folds n tiles along the axis argument; axis None folds everything. */
static bool
reduce_call(TlSema *s, const TlCall *call, unsigned axis_arg, bool keep, Fold *f, TlValue **v,
            unsigned n)
{
   bool all = !tl_call_has(call, axis_arg);
   unsigned rank = v[0]->type->rank;
   f->axis = 0;
   f->range = call->range;
   if (!all && !tl_call_axis(s, call, axis_arg, v[0]->type, rank, &f->axis))
      return false;
   for (unsigned i = 1; i < n; i++)
      if (!tl_type_same_shape(v[0]->type, v[i]->type))
         return tl_refuse(s->diags, E0339, call->range, call->row->name,
                          tl_type_cstr(s->arena, v[0]->type), tl_type_cstr(s->arena, v[i]->type));
   for (unsigned i = 0; all && i < n; i++)
      v[i] = flatten(s, v[i]);
   if (!build_fold(s, f, v, n, v))
      return false;
   for (unsigned i = 0; i < n; i++)
      v[i] = keep_dims(s, v[i], keep, all, f->axis, rank, call->range);
   return true;
}

/* ---- widening ---- */
static TlValue *
number_tile(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_tile(s, call, 0);
   uint32_t takes = TL_TAKES_NUMBER | TL_TAKES_BOOL;
   return x && tl_check_takes(s, call, 0, x, takes) ? x : NULL;
}

/* Short integers are summed in 32 bits of their sign (int1 as unsigned); floats stay. */
static TlValue *
widen_sum(TlSema *s, const TlCall *call, TlValue *x, unsigned dtype_arg)
{
   const TlType *to = NULL;
   TlDtype t = tl_value_dtype(x);
   if (dtype_arg && tl_call_has(call, dtype_arg)) {
      if (!tl_call_dtype(s, call, dtype_arg, &to))
         return NULL;
   } else if (tl_dtype_is_int(t) && tl_dtype_info[t].bits < 32) {
      to = tl_scalar(s, tl_dtype_is_signed(t) ? TL_I32 : TL_U32);
   }
   return to ? tl_sema_cast(s, x, to, call->range) : x;
}

static TlSv
sum_like(TlSema *s, const TlCall *call, TlValue *x, TlOpcode op)
{
   bool keep;
   if (!x || !tl_call_bool(s, call, 2, &keep))
      return tl_sv_poison();
   Fold f = {TL_OP_REDUCE, 0, false, combine_op, &op, call->range};
   return reduce_call(s, call, 1, keep, &f, &x, 1) ? tl_sv_value(x) : tl_sv_poison();
}

TlSv
tl_builtin_sum(TlSema *s, const TlCall *call)
{
   TlValue *x = number_tile(s, call);
   return sum_like(s, call, x ? widen_sum(s, call, x, 3) : NULL, TL_OP_ADD);
}

/* xor_sum, reduce_or */
TlSv
tl_builtin_fold_bits(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_tile(s, call, 0);
   uint32_t takes = TL_TAKES_INT | TL_TAKES_BOOL;
   if (!x || !tl_check_takes(s, call, 0, x, takes))
      return tl_sv_poison();
   return sum_like(s, call, x, (TlOpcode)tl_builtin_row(call)->which);
}

/* ---- max, min, argmax, argmin ---- */
static TlValue *
index_tile(TlSema *s, const TlType *like, unsigned axis, TlRange range)
{
   TlValue *i = tl_build_arange(s, 0, like->shape[axis], range);
   for (unsigned d = 0; d < like->rank; d++)
      if (d != axis)
         i = tl_sema_expand(s, i, d, range);
   return tl_sema_broadcast_to(s, i, like->rank, like->shape, range);
}

static bool
with_indices(TlSema *s, const TlCall *call, TlValue *x, bool tie_left, bool keep, TlValue **out)
{
   bool is_max = tl_builtin_row(call)->which == TL_OP_MAX;
   unsigned axis;
   if (!tl_call_has(call, 1)) {
      tl_report(s->diags, E0313, call->range, call->row->name, "an axis for the index", "None");
      tl_help(s->diags, "flatten first: tl.ravel(x), then axis=0");
      return false;
   }
   if (!tl_call_axis(s, call, 1, x->type, x->type->rank, &axis))
      return false;
   ArgFold how = {is_max ? TL_OP_GT : TL_OP_LT, tie_left};
   Fold f = {TL_OP_REDUCE, axis, false, combine_index, &how, call->range};
   out[0] = x;
   out[1] = index_tile(s, x->type, axis, call->range);
   return reduce_call(s, call, 1, keep, &f, out, 2);
}

/* max, min */
TlSv
tl_builtin_extremum(TlSema *s, const TlCall *call)
{
   TlOpcode op = (TlOpcode)tl_builtin_row(call)->which;
   bool indices, tie_left, keep;
   TlValue *x = number_tile(s, call);
   if (!x || !tl_call_bool(s, call, 2, &indices) || !tl_call_bool(s, call, 3, &tie_left) ||
       !tl_call_bool(s, call, 4, &keep))
      return tl_sv_poison();
   x = tl_bf16_to_fp32(s, x, call->range);
   if (indices) {
      TlValue *out[2];
      if (!with_indices(s, call, x, tie_left, keep, out))
         return tl_sv_poison();
      return tl_sv_tuple(s, (TlSv[]){tl_sv_value(out[0]), tl_sv_value(out[1])}, 2);
   }
   TlDtype t = tl_value_dtype(x);
   if (tl_dtype_info[t].bits < 32)
      x = tl_sema_cast(s, x, tl_scalar(s, tl_dtype_is_float(t) ? TL_FP32 : TL_I32), call->range);
   Fold f = {TL_OP_REDUCE, 0, false, combine_op, &op, call->range};
   return reduce_call(s, call, 1, keep, &f, &x, 1) ? tl_sv_value(x) : tl_sv_poison();
}

/* argmax, argmin */
TlSv
tl_builtin_arg_extremum(TlSema *s, const TlCall *call)
{
   bool tie_left, keep;
   TlValue *x = number_tile(s, call), *out[2];
   if (!x || !tl_call_bool(s, call, 2, &tie_left) || !tl_call_bool(s, call, 3, &keep))
      return tl_sv_poison();
   x = tl_bf16_to_fp32(s, x, call->range);
   return with_indices(s, call, x, tie_left, keep, out) ? tl_sv_value(out[1]) : tl_sv_poison();
}

/* ---- reduce, associative_scan ---- */
static bool
tile_list(TlSema *s, const TlCall *call, TlValue ***out, unsigned *num)
{
   const TlSv *items;
   tl_sv_items(&call->args[0], &items, num);
   *out = tl_new_array(s->arena, TlValue *, *num);
   if (*num == 0)
      return tl_refuse(s->diags, E0310, call->range, call->row->name, "an empty tuple");
   if (call->args[0].kind != TL_SV_TUPLE && !tl_call_is_value(s, call, 0))
      return false;
   for (unsigned i = 0; i < *num; i++) {
      TlValue *v = tl_sema_value(s, &items[i], tl_call_arg_range(call, 0));
      if (!v)
         return false;
      if (!tl_type_is_tile(v->type))
         return tl_refuse(s->diags, E0310, tl_call_arg_range(call, 0), call->row->name,
                          tl_sv_text(s, &items[i]));
      (*out)[i] = v;
   }
   return true;
}

static TlSv
give_back(TlSema *s, const TlCall *call, TlValue *const *v, unsigned n)
{
   if (call->args[0].kind != TL_SV_TUPLE)
      return tl_sv_value(v[0]);
   TlSv *items = tl_new_array(s->arena, TlSv, n);
   for (unsigned i = 0; i < n; i++)
      items[i] = tl_sv_value(v[i]);
   return tl_sv_tuple(s, items, n);
}

TlSv
tl_builtin_reduce(TlSema *s, const TlCall *call)
{
   TlValue **v;
   unsigned n;
   bool keep;
   if (!tile_list(s, call, &v, &n) || !tl_call_bool(s, call, 3, &keep) || !is_combine(s, call, 2))
      return tl_sv_poison();
   UserFold user = {call, &call->args[2]};
   Fold f = {TL_OP_REDUCE, 0, false, combine_user, &user, call->range};
   return reduce_call(s, call, 1, keep, &f, v, n) ? give_back(s, call, v, n) : tl_sv_poison();
}

TlSv
tl_builtin_associative_scan(TlSema *s, const TlCall *call)
{
   TlValue **v;
   unsigned n, axis;
   bool reverse;
   if (!tile_list(s, call, &v, &n) || !tl_call_bool(s, call, 3, &reverse) ||
       !tl_call_axis(s, call, 1, v[0]->type, v[0]->type->rank, &axis) || !is_combine(s, call, 2))
      return tl_sv_poison();
   UserFold user = {call, &call->args[2]};
   Fold f = {TL_OP_SCAN, axis, reverse, combine_user, &user, call->range};
   return build_fold(s, &f, v, n, v) ? give_back(s, call, v, n) : tl_sv_poison();
}

/* cumsum, cumprod */
TlSv
tl_builtin_cumulative(TlSema *s, const TlCall *call)
{
   TlOpcode op = (TlOpcode)tl_builtin_row(call)->which;
   unsigned axis;
   bool reverse;
   TlValue *x = number_tile(s, call);
   if (!x || !tl_call_axis(s, call, 1, x->type, x->type->rank, &axis) ||
       !tl_call_bool(s, call, 2, &reverse))
      return tl_sv_poison();
   x = widen_sum(s, call, tl_bf16_to_fp32(s, x, call->range), 3);
   Fold f = {TL_OP_SCAN, axis, reverse, combine_op, &op, call->range};
   return x && build_fold(s, &f, &x, 1, &x) ? tl_sv_value(x) : tl_sv_poison();
}

/* ---- histogram ---- */
TlSv
tl_builtin_histogram(TlSema *s, const TlCall *call)
{
   int64_t bins;
   TlValue *args[2] = {tl_call_tile(s, call, 0), NULL};
   if (!args[0] || !tl_call_int(s, call, 1, &bins))
      return tl_sv_poison();
   if (tl_value_is_ptr(args[0]) || tl_dtype_is_float(tl_value_dtype(args[0]))) {
      tl_report(s->diags, E0313, tl_call_arg_range(call, 0), call->row->name, "integers",
                tl_type_cstr(s->arena, args[0]->type));
      if (tl_value_is_ptr(args[0]))
         tl_help(s->diags, "load the values first: tl.load(pointer)");
      else
         tl_help(s->diags,
                 "give the number of each element's bin: ((x - low) / width).to(tl.int32)");
      return tl_sv_poison();
   }
   if (!tl_call_mask(s, call, 2, args[0]->type, &args[1]))
      return tl_sv_poison();
   if (args[1] && args[0]->type->rank == 1) {
      args[1] = tl_sema_broadcast_to(s, args[1], 1, args[0]->type->shape, call->range);
      if (!args[1])
         return tl_sv_poison();
   }
   const TlAttrInit attrs[] = {{TL_ATTR_BINS, {.i = bins}}, {TL_ATTR_COUNT, {.i = 0}}};
   TlValue *v = tl_sema_build(s, TL_OP_HISTOGRAM, args, args[1] ? 2 : 1, NULL, attrs, call->range);
   bool is_count = args[0]->type->rank == 1 && bins > 0 && bins < TL_MAX_TILE_ELEMS;
   int64_t more = 1;
   while (is_count && more < bins)
      more *= 2;
   if (!v && is_count && more != bins)
      tl_help(s->diags,
              "give %lld, the next power of two: the counts from %lld on are 0 then, and a mask, "
              "tl.arange(0, %lld) < %lld, leaves them out of a store",
              (long long)more, (long long)bins, (long long)more, (long long)bins);
   if (!v && args[0]->type->rank > 1)
      tl_help(s->diags, "tl.ravel(x) makes one dimension of all: tl.histogram(tl.ravel(x), %lld)",
              (long long)bins);
   return tl_sv_value(v);
}
