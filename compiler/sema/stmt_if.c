/* `if` and `a if c else b`.  A known condition looks at one side only.  A run-time condition makes
 * an `if` operation: both sides are run from the same variables, then every variable that differs
 * is joined to a result when both sides give it one type; otherwise it stays as unusable, with the
 * reason.  When one side ends early (return, continue) the rest of the function or loop body is run
 * inside the other side, so that the IR stays structured. */
#include "sema/arith.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* ---- run-time parts of values ---- */
static bool
is_number_leaf(const TlSv *v)
{
   return tl_sv_is_number(v);
}

bool
tl_has_runtime_form(const TlSv *v)
{
   switch (v->kind) {
   case TL_SV_VALUE:
   case TL_SV_BLOCKPTR:
      return true;
   case TL_SV_TUPLE:
      for (size_t i = 0; i < v->tuple->len; i++)
         if (tl_has_runtime_form(&v->tuple->items[i]))
            return true;
      return false;
   case TL_SV_OBJECT:
      for (size_t i = 0; !v->fields->is_member && i < v->fields->len; i++)
         if (tl_has_runtime_form(&v->fields->values[i]))
            return true;
      return false;
   default:
      return is_number_leaf(v);
   }
}

static void
flatten_block_ptr(TlSema *s, const TlBlockPtr *p, TlFlat *out)
{
   assert(p->rank >= 1 && p->rank <= TL_MAX_RANK);
   tl_vec_push(s->arena, out, p->base);
   for (unsigned i = 0; i < p->rank; i++) {
      tl_vec_push(s->arena, out, p->shape[i]);
      tl_vec_push(s->arena, out, p->strides[i]);
      tl_vec_push(s->arena, out, p->offsets[i]);
   }
}

bool
tl_flatten(TlSema *s, const TlSv *v, TlRange range, TlFlat *out)
{
   switch (v->kind) {
   case TL_SV_POISON:
      return false;
   case TL_SV_VALUE:
      tl_vec_push(s->arena, out, v->value);
      return true;
   case TL_SV_BLOCKPTR:
      flatten_block_ptr(s, v->block_ptr, out);
      return true;
   case TL_SV_TUPLE:
      for (size_t i = 0; i < v->tuple->len; i++)
         if (!tl_flatten(s, &v->tuple->items[i], range, out))
            return false;
      return true;
   case TL_SV_OBJECT:
      for (size_t i = 0; !v->fields->is_member && i < v->fields->len; i++)
         if (!tl_flatten(s, &v->fields->values[i], range, out))
            return false;
      return true;
   default:
      if (!is_number_leaf(v))
         return true; /* has no run-time form; it must not change */
      TlValue *x = tl_sema_value(s, v, range);
      if (x)
         tl_vec_push(s->arena, out, x);
      return x != NULL;
   }
}

static TlSv
like_tuple(TlSema *s, const TlSv *like)
{
   assert(like->kind == TL_SV_TUPLE);
   TlSv t = tl_make_tuple(s, like->tuple->items, like->tuple->len, like->tuple->is_list);
   t.tuple->names = like->tuple->names;
   return t;
}

static TlSv
like_object(TlSema *s, const TlSv *like)
{
   assert(like->kind == TL_SV_OBJECT);
   TlSv o = tl_object_new(s, like->fields->type_name);
   for (size_t i = 0; i < like->fields->len; i++)
      tl_object_set(s, &o, like->fields->names[i], like->fields->values[i]);
   return o;
}

static TlSv
unflatten_block_ptr(TlSema *s, const TlBlockPtr *like, TlValue *const **next)
{
   TlBlockPtr *p = tl_new(s->arena, TlBlockPtr);
   *p = *like;
   p->base = *(*next)++;
   for (unsigned i = 0; i < p->rank; i++) {
      p->shape[i] = *(*next)++;
      p->strides[i] = *(*next)++;
      p->offsets[i] = *(*next)++;
   }
   return (TlSv){.kind = TL_SV_BLOCKPTR, .block_ptr = p};
}

TlSv
tl_unflatten(TlSema *s, const TlSv *like, TlValue *const **next)
{
   switch (like->kind) {
   case TL_SV_VALUE:
      return tl_sv_value(*(*next)++);
   case TL_SV_BLOCKPTR:
      return unflatten_block_ptr(s, like->block_ptr, next);
   case TL_SV_TUPLE: {
      TlSv t = like_tuple(s, like);
      for (size_t i = 0; i < t.tuple->len; i++)
         t.tuple->items[i] = tl_unflatten(s, &like->tuple->items[i], next);
      return t;
   }
   case TL_SV_OBJECT: {
      if (like->fields->is_member)
         return *like;
      TlSv o = like_object(s, like);
      for (size_t i = 0; i < o.fields->len; i++)
         o.fields->values[i] = tl_unflatten(s, &like->fields->values[i], next);
      return o;
   }
   default:
      return is_number_leaf(like) ? tl_sv_value(*(*next)++) : *like;
   }
}

uint64_t
tl_enter_run_time(TlSema *s)
{
   uint64_t outer = s->impl->region;
   s->impl->region = ++s->impl->num_regions;
   return outer;
}

/* ---- IR ---- */
void
tl_set_results(TlSema *s, TlOp *op, const TlType *const *types, unsigned num)
{
   assert(op->num_results == 0 && "set once");
   op->num_results = num;
   op->results = tl_new_array(s->arena, TlValue, num);
   for (unsigned i = 0; i < num; i++)
      op->results[i] =
         (TlValue){.type = types[i], .def = op, .index = i, .id = s->b.func->next_value_id++};
}

TlBuilder
tl_block_builder(TlSema *s, TlBlock *block)
{
   TlBuilder b = tl_builder_at_end(s->b.func, block);
   b.site = s->diags->site;
   return b;
}

void
tl_yield(TlSema *s, TlBlock *block, TlValue *const *values, unsigned num)
{
   TlBuilder b = tl_block_builder(s, block);
   b.range = s->b.range;
   tl_build(&b, TL_OP_YIELD, values, num, NULL, 0, NULL, 0, 0);
}

/* ---- joining the two sides ---- */
typedef struct Side {
   TlBlock *block;
   TlVars vars;
   TlFlow flow;
   TlSv ret;
   TlRange ret_range;
   bool fell_off; /* the end of the function was reached without a return */
} Side;

typedef struct Join {
   TlOp *op;
   TlBuilder after; /* cursor after the operation */
   Side side[2];
   TlFlat values[2];  /* yielded by each side */
   TlValue **results; /* once built */
} Join;

static const TlType *
leaf_type(TlSema *s, const TlSv *v)
{
   if (v->kind == TL_SV_VALUE)
      return v->value->type;
   TlSv strong = tl_strengthen(s, *v);
   return is_number_leaf(v) ? tl_type_scalar(s->types, strong.dtype) : NULL;
}

static bool
mergeable(TlSema *s, const TlSv *a, const TlSv *b)
{
   unsigned errors = s->diags->num_errors;
   if (tl_const_same(s, a, b))
      return true;
   if (s->diags->num_errors != errors)
      return false; /* nested too deep to be walked */
   if (a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE) {
      bool ok = a->tuple->len == b->tuple->len;
      for (size_t i = 0; ok && i < a->tuple->len; i++)
         ok = mergeable(s, &a->tuple->items[i], &b->tuple->items[i]);
      return ok;
   }
   if (tl_is_member(a) || tl_is_member(b))
      return false;
   if (a->kind == TL_SV_OBJECT && b->kind == TL_SV_OBJECT) {
      bool ok = a->fields->len == b->fields->len && a->fields->type_name == b->fields->type_name;
      for (size_t i = 0; ok && i < a->fields->len; i++)
         ok = a->fields->names[i] == b->fields->names[i] &&
              mergeable(s, &a->fields->values[i], &b->fields->values[i]);
      return ok;
   }
   if (a->kind == TL_SV_BLOCKPTR && b->kind == TL_SV_BLOCKPTR) {
      const TlBlockPtr *p = a->block_ptr, *q = b->block_ptr;
      return p->rank == q->rank && p->base->type == q->base->type &&
             memcmp(p->block, q->block, p->rank * sizeof p->block[0]) == 0 &&
             memcmp(p->order, q->order, p->rank) == 0;
   }
   const TlType *x = leaf_type(s, a), *y = leaf_type(s, b);
   return x && x == y;
}

/* Puts the differing run-time parts of both sides on the yield lists. */
static bool
join_collect(TlSema *s, Join *j, const TlSv *a, const TlSv *b, TlRange range)
{
   if (tl_const_same(s, a, b))
      return true;
   size_t n = a->kind == TL_SV_TUPLE ? a->tuple->len : a->kind == TL_SV_OBJECT ? a->fields->len : 0;
   if (a->kind == TL_SV_TUPLE || a->kind == TL_SV_OBJECT) {
      const TlSv *x = a->kind == TL_SV_TUPLE ? a->tuple->items : a->fields->values;
      const TlSv *y = a->kind == TL_SV_TUPLE ? b->tuple->items : b->fields->values;
      bool ok = true;
      for (size_t i = 0; ok && i < n; i++)
         ok = join_collect(s, j, &x[i], &y[i], range);
      return ok;
   }
   const TlSv *both[2] = {a, b};
   for (unsigned k = 0; k < 2; k++) {
      s->b = tl_block_builder(s, j->side[k].block);
      s->b.range = j->after.range;
      if (!tl_flatten(s, both[k], range, &j->values[k]))
         return false;
   }
   return true;
}

static TlSv
join_build(TlSema *s, const TlSv *a, const TlSv *b, TlValue *const **next)
{
   if (tl_const_same(s, a, b))
      return *a;
   if (a->kind == TL_SV_TUPLE) {
      TlSv t = like_tuple(s, a);
      for (size_t i = 0; i < t.tuple->len; i++)
         t.tuple->items[i] = join_build(s, &a->tuple->items[i], &b->tuple->items[i], next);
      return t;
   }
   if (a->kind == TL_SV_OBJECT) {
      TlSv o = like_object(s, a);
      for (size_t i = 0; i < o.fields->len; i++)
         o.fields->values[i] = join_build(s, &a->fields->values[i], &b->fields->values[i], next);
      return o;
   }
   return tl_unflatten(s, a, next);
}

/* Ends both regions and gives the operation its results. */
static void
join_finish(TlSema *s, Join *j)
{
   assert(j->values[0].len == j->values[1].len);
   unsigned num = (unsigned)j->values[0].len;
   const TlType **types = tl_new_array(s->arena, const TlType *, num);
   j->results = tl_new_array(s->arena, TlValue *, num);
   s->b = j->after;
   for (unsigned i = 0; i < num; i++)
      types[i] = j->values[0].data[i]->type;
   for (unsigned k = 0; k < 2; k++)
      tl_yield(s, j->side[k].block, j->values[k].data, num);
   tl_set_results(s, j->op, types, num);
   for (unsigned i = 0; i < num; i++)
      j->results[i] = tl_result(j->op, i);
}

static bool
join_begin(TlSema *s, Join *j, const TlSv *test, TlRange range)
{
   TlValue *condition = tl_sema_condition(s, test, range);
   if (!condition)
      return false;
   *j = (Join){0};
   j->op = tl_op_new(&s->b, TL_OP_IF, 1, 0, 2);
   tl_set_arg(j->op, 0, condition);
   j->after = s->b;
   for (unsigned k = 0; k < 2; k++)
      j->side[k].block = j->op->regions[k]->block;
   return true;
}

static void
enter_side(TlSema *s, Join *j, unsigned k)
{
   assert(k < 2);
   s->b = tl_block_builder(s, j->side[k].block);
   s->b.range = j->after.range;
}

/* ---- variables ---- */
static TlVar *
var_in(TlVars *vars, const char *name)
{
   for (size_t i = 0; i < vars->len; i++)
      if (vars->data[i].name == name)
         return &vars->data[i];
   return NULL;
}

/* The variable after the `if`, without a joined value yet; *join: both values are to be joined. */
static TlVar
merge_var(TlSema *s, const TlVar *a, const TlVar *b, TlRange if_range, bool *join)
{
   *join = false;
   if (a && b && a->seq == b->seq)
      return *a;
   const TlVar *set = a ? a : b;
   TlVar out = *set;
   out.seq = ++s->impl->seq;
   if (!a || !b || a->state != TL_VAR_BOUND || b->state != TL_VAR_BOUND) {
      const TlVar *odd = a && a->state != TL_VAR_BOUND   ? a
                         : b && b->state != TL_VAR_BOUND ? b
                                                         : NULL;
      if (odd && (!a || !b || odd->state != TL_VAR_ONE_SIDED)) {
         out = *odd;
      } else {
         out = a && a->state == TL_VAR_BOUND ? *a : *b;
         out.state = TL_VAR_ONE_SIDED;
         out.other = if_range;
      }
      out.seq = s->impl->seq;
      return out;
   }
   if (a->value.kind == TL_SV_POISON || b->value.kind == TL_SV_POISON)
      out.value = tl_sv_poison();
   else if (mergeable(s, &a->value, &b->value))
      *join = true;
   else {
      tl_blame_pair(s, &a->value, &b->value);
      out.state = TL_VAR_CONFLICT;
      out.other = b->range;
      out.types[0] = tl_sv_describe(s, &a->value);
      out.types[1] = tl_sv_describe(s, &b->value);
      out.way_out = tl_help_two_types(s, &a->value, &b->value, "give it one type on both sides: ");
   }
   return out;
}

static void
merge_vars(TlSema *s, TlFrame *f, Join *j, TlRange if_range)
{
   TlVars *a = &j->side[0].vars, *b = &j->side[1].vars;
   TlVars out = {0};
   size_t first = j->values[0].len; /* behind what is joined already */
   TL_VEC(bool) joins = {0};
   for (size_t i = 0; i < a->len + b->len; i++) {
      const TlVar *x = i < a->len ? &a->data[i] : NULL;
      const TlVar *y = x ? var_in(b, x->name) : &b->data[i - a->len];
      if (!x && var_in(a, y->name))
         continue;
      bool join;
      TlVar v = merge_var(s, x, y, if_range, &join);
      if (join && !join_collect(s, j, &x->value, &y->value, if_range)) {
         v.value = tl_sv_poison();
         join = false;
      }
      tl_vec_push(s->arena, &out, v);
      tl_vec_push(s->arena, &joins, join);
   }
   join_finish(s, j);
   TlValue *const *next = j->results + first;
   for (size_t i = 0; i < out.len; i++)
      if (joins.data[i]) {
         TlVar *v = &out.data[i];
         v->value = join_build(s, &var_in(a, v->name)->value, &var_in(b, v->name)->value, &next);
         if (v->value.kind == TL_SV_VALUE && !v->value.value->name)
            v->value.value->name = v->name;
      }
   f->vars = out;
}

/* ---- statements ---- */
static void
run_side(TlSema *s, TlFrame *f, Join *j, unsigned k, const TlNodeList *stmts, const TlCont *rest)
{
   Side *side = &j->side[k];
   enter_side(s, j, k);
   uint64_t outer = tl_enter_run_time(s);
   side->flow = tl_stmt_block(s, f, stmts, 0, rest);
   s->impl->region = outer;
   side->ret = f->act->ret;
   side->ret_range = f->act->ret_range;
   side->vars = f->vars;
}

/* Runs what follows the `if` inside a side that goes on. */
static void
finish_side(TlSema *s, TlFrame *f, Join *j, unsigned k, const TlCont *rest, bool in_loop)
{
   Side *side = &j->side[k];
   if (side->flow != TL_FLOW_NEXT)
      return;
   f->vars = side->vars;
   enter_side(s, j, k);
   uint64_t outer = tl_enter_run_time(s);
   side->flow = tl_stmt_rest(s, f, rest);
   s->impl->region = outer;
   side->ret = f->act->ret;
   side->ret_range = f->act->ret_range;
   if (side->flow == TL_FLOW_NEXT) {
      side->flow = in_loop ? TL_FLOW_CONTINUE : TL_FLOW_RETURN;
      side->fell_off = !in_loop;
      side->ret = tl_sv_none();
      side->ret_range = j->after.range;
   }
   side->vars = f->vars;
}

/* Where one side returns a value and the other reaches the end, Triton leaves the value undefined:
 * here it is zero, or the constant that the other side returns. */
static void
stand_in(TlSema *s, const TlFrame *f, Join *j, unsigned k)
{
   Side *side = &j->side[k];
   const Side *other = &j->side[1 - k];
   bool is_number = tl_sv_is_number(&other->ret);
   bool is_value = other->ret.kind == TL_SV_VALUE &&
                   tl_type_elem(other->ret.value->type)->kind == TL_TYPE_SCALAR;
   if (!side->fell_off || other->fell_off || !(is_number || is_value))
      return;
   tl_report(s->diags, W0201, other->ret_range, f->act->func->name);
   enter_side(s, j, k);
   side->ret =
      is_number ? other->ret : tl_sv_value(tl_const_bits(&s->b, other->ret.value->type, 0));
}

static TlFlow
join_returns(TlSema *s, TlFrame *f, Join *j)
{
   for (unsigned k = 0; k < 2; k++)
      stand_in(s, f, j, k);
   TlSv *a = &j->side[0].ret, *b = &j->side[1].ret;
   TlActivation *act = f->act;
   act->ret_range = j->side[0].ret_range;
   if (a->kind == TL_SV_POISON || b->kind == TL_SV_POISON) {
      join_finish(s, j);
      act->ret = tl_sv_poison();
   } else if (!mergeable(s, a, b)) {
      tl_report(s->diags, E0241, j->side[1].ret_range, act->func->name, tl_sv_describe(s, a),
                tl_sv_describe(s, b));
      tl_help(s->diags, "%s", tl_help_two_types(s, a, b, ""));
      tl_note(s->diags, N0201, j->side[0].ret_range, tl_sv_describe(s, a));
      join_finish(s, j);
      act->ret = tl_sv_poison();
   } else {
      bool ok = join_collect(s, j, a, b, j->side[0].ret_range);
      join_finish(s, j);
      TlValue *const *next = j->results;
      act->ret = ok ? join_build(s, a, b, &next) : tl_sv_poison();
   }
   return TL_FLOW_RETURN;
}

/* At least one side ended early. */
static TlFlow
exec_early_end(TlSema *s, TlFrame *f, Join *j, const TlAstIf *n, const TlCont *rest)
{
   TlActivation *act = f->act;
   bool in_loop = act->loops || act->static_loops;
   for (unsigned k = 0; k < 2; k++)
      finish_side(s, f, j, k, rest, in_loop);
   TlFlow a = j->side[0].flow, b = j->side[1].flow;
   if (in_loop && (a != TL_FLOW_CONTINUE || b != TL_FLOW_CONTINUE)) {
      bool breaks = a == TL_FLOW_BREAK || b == TL_FLOW_BREAK;
      if (!(act->loops && !breaks)) /* exec_return reported it already */
         tl_report(s->diags, E0242, n->node.range, breaks ? "break" : "return");
      merge_vars(s, f, j, n->node.range);
      return TL_FLOW_CONTINUE;
   }
   if (in_loop) {
      merge_vars(s, f, j, n->node.range);
      return TL_FLOW_CONTINUE;
   }
   return join_returns(s, f, j);
}

/* What the sides assign is unknown. */
static void
poison_sides(TlSema *s, TlFrame *f, const TlAstIf *n)
{
   tl_poison_assigned(s, f, &n->body, n->node.range);
   tl_poison_assigned(s, f, &n->orelse, n->node.range);
}

/* if tile > 0: count += 1: as often as it holds. */
static void
help_counted(TlSema *s, TlFrame *f, const TlAstIf *n)
{
   const TlDiag *d = s->diags->last;
   const TlNode *only = n->body.len == 1 && !n->orelse.len ? n->body.data[0] : NULL;
   const TlAstAugAssign *a =
      only && only->kind == TL_AST_AUG_ASSIGN ? tl_ast_AugAssign(only) : NULL;
   if (!d || d->code != TL_DIAG_E0289 || !a || a->op != TL_AST_OP_ADD ||
       a->target->kind != TL_AST_NAME)
      return;
   const char *name = tl_ast_Name(a->target)->id;
   const TlVar *v = tl_frame_var(f, name);
   bool is_number = v && v->state == TL_VAR_BOUND &&
                    (tl_sv_is_number(&v->value) ||
                     (v->value.kind == TL_SV_VALUE && !tl_type_is_tile(v->value.value->type)));
   const char *test = tl_node_text(s, n->test), *value = tl_node_text(s, a->value);
   if (is_number && strlen(test) <= 80 && strlen(value) <= 40 && !strchr(test, '\n'))
      tl_help(s->diags,
              "add it for each element that the condition holds for: %s += "
              "tl.sum(tl.where(%s, %s, 0))",
              name, test, value);
}

TlFlow
tl_stmt_if(TlSema *s, TlFrame *f, const TlAstIf *n, const TlCont *rest)
{
   TlSv test = tl_eval_test(s, f, n->test);
   bool known = true, truth = false;
   if (tl_is_host(f)) {
      bool ok = test.kind != TL_SV_POISON && tl_host_truth(s, &test, n->test->range, &truth);
      return ok ? tl_stmt_block(s, f, truth ? &n->body : &n->orelse, 0, rest) : TL_FLOW_NEXT;
   }
   if (test.kind == TL_SV_POISON || !tl_truth(s, &test, n->test->range, &known, &truth)) {
      poison_sides(s, f, n);
      return TL_FLOW_NEXT;
   }
   if (known || test.kind == TL_SV_BLOCKPTR)
      return tl_stmt_block(s, f, !known || truth ? &n->body : &n->orelse, 0, rest);
   Join j;
   s->b.range = n->test->range;
   if (!join_begin(s, &j, &test, n->test->range)) {
      help_counted(s, f, n);
      poison_sides(s, f, n);
      return TL_FLOW_NEXT;
   }
   TlVars before = f->vars;
   f->vars = tl_vars_copy(s, &before);
   run_side(s, f, &j, 0, &n->body, rest);
   f->vars = before;
   run_side(s, f, &j, 1, &n->orelse, rest);
   if (j.side[0].flow != TL_FLOW_NEXT || j.side[1].flow != TL_FLOW_NEXT)
      return exec_early_end(s, f, &j, n, rest);
   merge_vars(s, f, &j, n->node.range);
   return TL_FLOW_NEXT;
}

/* ---- a if c else b ---- */
/* A literal takes the type of a run-time scalar of its kind on the other side. */
static TlSv
adapt(TlSema *s, const TlSv *v, const TlSv *other, TlRange range)
{
   if (!tl_sv_is_number(v) || v->is_strong || other->kind != TL_SV_VALUE ||
       other->value->type->kind != TL_TYPE_SCALAR)
      return *v;
   TlDtype dtype = other->value->type->dtype;
   bool fits =
      v->kind == TL_SV_FLOAT ? tl_dtype_is_float(dtype) : dtype != TL_I1 || v->kind == TL_SV_BOOL;
   return fits ? tl_sv_value(tl_sema_value_as(s, v, dtype, range)) : *v;
}

static void
find_walrus(void *user, TlNode *n)
{
   bool *found = user;
   *found |= n->kind == TL_AST_WALRUS;
   tl_ast_children(n, find_walrus, found);
}

bool
tl_has_walrus(const TlNode *n)
{
   bool found = false;
   find_walrus(&found, (TlNode *)(uintptr_t)n);
   return found;
}

TlSv
tl_eval_runtime_conditional(TlSema *s, TlFrame *f, const TlAstConditional *n, const TlSv *test)
{
   Join j;
   if (tl_is_host(f))
      return tl_sv_refuse(s, E0225, n->test->range, tl_sv_describe(s, test));
   if (test->kind == TL_SV_BLOCKPTR)
      return tl_eval_expr(s, f, n->then_value);
   if (!join_begin(s, &j, test, n->test->range))
      return tl_sv_poison();
   const TlNode *node[2] = {n->then_value, n->else_value};
   bool binds = tl_has_walrus(node[0]) || tl_has_walrus(node[1]);
   TlVars before = f->vars;
   TlSv v[2];
   for (unsigned k = 0; k < 2; k++) {
      enter_side(s, &j, k);
      uint64_t outer = tl_enter_run_time(s);
      if (binds)
         f->vars = tl_vars_copy(s, &before);
      v[k] = tl_eval_expr(s, f, node[k]);
      j.side[k].vars = f->vars;
      s->impl->region = outer;
   }
   for (unsigned k = 0; k < 2; k++) {
      enter_side(s, &j, k);
      v[k] = adapt(s, &v[k], &v[1 - k], node[k]->range);
   }
   bool ok = v[0].kind != TL_SV_POISON && v[1].kind != TL_SV_POISON;
   if (ok && !mergeable(s, &v[0], &v[1])) {
      tl_blame_pair(s, &v[0], &v[1]);
      tl_report(s->diags, E0243, n->node.range, tl_sv_describe(s, &v[0]), tl_sv_describe(s, &v[1]));
      tl_help(s->diags, "%s", tl_help_two_types(s, &v[0], &v[1], ""));
      ok = false;
   }
   ok = ok && join_collect(s, &j, &v[0], &v[1], n->node.range);
   if (binds)
      merge_vars(s, f, &j, n->node.range);
   else
      join_finish(s, &j);
   TlValue *const *next = j.results;
   return ok ? join_build(s, &v[0], &v[1], &next) : tl_sv_poison();
}
