/* Loops.  A loop over compile-time items (static_range, tuples, host code) is run item by item.  A
 * run-time loop carries every variable that its body assigns and that had a value before: the body
 * is evaluated once with those as block arguments.  Which of them it really assigns is known only
 * then (an `if` on a constant may drop an assignment); when a variable with a known start value
 * turns out not to be assigned, the body is thrown away and evaluated again with that value still
 * known, so that it may be used as a shape or in a compile-time `if`.
 *
 * A `break` sets a variable of the loop's own and goes on with the next round, which that variable
 * keeps from beginning; a `for` that has one becomes a `while` that counts.  A `return` sets two of
 * the function's own besides: that it returned, which is asked behind the loop, and the result. */
#include "sema/arith.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* ---- compile-time loops ---- */
static TlFlow
run_items(TlSema *s, TlFrame *f, const TlAstFor *n, const TlSv *items, size_t len,
          const TlCont *rest)
{
   TlActivation *act = f->act;
   if (!act->is_host && len > TL_MAX_UNROLL) {
      tl_report(s->diags, E0244, n->iter->range, len, (unsigned)TL_MAX_UNROLL);
      tl_help(s->diags, "use tl.range: a run-time loop has no limit");
      return TL_FLOW_NEXT;
   }
   TlFlow flow = TL_FLOW_NEXT;
   unsigned errors = s->diags->num_errors;
   act->static_loops++;
   for (size_t i = 0; i < len; i++) {
      if (!tl_step(s, n->node.range) || s->diags->num_errors != errors)
         break; /* one mistake is reported once, not for each iteration */
      tl_assign(s, f, n->target, items[i]);
      flow = tl_stmt_block(s, f, &n->body, 0, NULL);
      if (flow == TL_FLOW_BREAK || flow == TL_FLOW_RETURN)
         break;
   }
   act->static_loops--;
   if (flow == TL_FLOW_RETURN)
      return flow;
   return flow == TL_FLOW_BREAK ? TL_FLOW_NEXT : tl_stmt_block(s, f, &n->orelse, 0, rest);
}

/* ---- variables carried by a run-time loop ---- */
typedef struct Carried {
   const char *name;
   TlVar before;
   TlFlat init;   /* run-time parts of the start value */
   bool known;    /* the start value holds known numbers */
   bool excluded; /* known and found not to be assigned: stays known */
   bool assigned;
   TlValue **args[2]; /* block arguments: body (for), test and body (while) */
   TlFlat final;      /* at the end of the body */
   bool changes_type; /* between the two: an error */
   bool is_lost;      /* an error, of this kind or another */
} Carried;

typedef struct Loop {
   TlFrame *f;
   TlRange range;
   TlOp *op;
   TL_VEC(Carried) vars;
   TlVars before;   /* all variables before the loop */
   uint64_t seq;    /* assignments with a later stamp are the body's */
   TlBuilder after; /* cursor after the operation */
   TlDiags diags;   /* to undo an attempt */
   TlDiag **diags_end;
   const char *leave; /* the variable that a `break` sets, or NULL */
   const char *index; /* the variable that counts the rounds of a `for` with a `break`, or NULL */
   bool returns;      /* a `return` is inside */
   bool has_result;   /* the variable of its value was there before the loop */
   TlValue *first;    /* value of index */
   TlValue *step;     /* of index */
} Loop;

static void
save_diags(TlSema *s, Loop *l)
{
   l->diags = *s->diags;
   l->diags_end = &s->diags->first;
   while (*l->diags_end)
      l->diags_end = &(*l->diags_end)->next;
}

static void
undo_diags(TlSema *s, Loop *l)
{
   TlDiag **end = l->diags_end;
   *end = NULL;
   TlDiag *first = s->diags->first;
   *s->diags = l->diags;
   s->diags->first = first;
}

static bool
has_known_number(const TlSv *v)
{
   if (v->kind == TL_SV_TUPLE) {
      for (size_t i = 0; i < v->tuple->len; i++)
         if (has_known_number(&v->tuple->items[i]))
            return true;
      return false;
   }
   return tl_sv_is_number(v);
}

static bool
is_target_name(const TlNode *target, const char *name)
{
   return target && target->kind == TL_AST_NAME && tl_ast_Name(target)->id == name;
}

enum { CONSTEXPR_ONLY = 2 };

/* A loop's index is a carried variable where the body gives it another value. */
static bool
collect_carried(TlSema *s, Loop *l, const TlNodeList *body, const TlNode *target,
                const TlType *index)
{
   TlMap names;
   tl_map_init(&names, s->arena);
   tl_assigned_names(body, &names);
   if (l->leave)
      tl_map_put(&names, l->leave, l);
   if (l->index)
      tl_map_put(&names, l->index, l);
   if (l->returns) {
      tl_map_put(&names, l->f->act->returned, l);
      tl_map_put(&names, l->f->act->result, l);
   }
   for (size_t i = 0; i < l->f->vars.len; i++) {
      TlVar *v = &l->f->vars.data[i];
      uintptr_t how = (uintptr_t)tl_map_get(&names, v->name);
      bool is_index = is_target_name(target, v->name);
      if (!how || v->state != TL_VAR_BOUND || !tl_has_runtime_form(&v->value))
         continue;
      if (how == CONSTEXPR_ONLY && tl_is_known(&v->value))
         continue;
      Carried c = {.name = v->name, .before = *v, .known = has_known_number(&v->value)};
      if (!tl_flatten(s, &v->value, v->range, &c.init)) {
         v->value = tl_sv_poison();
         continue;
      }
      if (is_index && !(c.init.len == 1 && c.init.data[0]->type == index))
         continue;
      tl_vec_push(s->arena, &l->vars, c);
   }
   l->before = tl_vars_copy(s, &l->f->vars);
   return true;
}

/* The value is known to the run alone because the loop changes it (help_loop.c). */
static void
note_made(TlSema *s, const Loop *l, const Carried *c, const TlValue *v)
{
   TlLoopMade made = {v, c->name, c->before.range, l->range};
   if (c->known && c->init.len == 1 && c->name[0] != '.')
      tl_vec_push(s->arena, &s->impl->loop_made, made);
}

/* Block arguments for every carried variable of region r; the variables now name them. */
static void
enter_region(TlSema *s, Loop *l, unsigned r)
{
   assert(r < l->op->num_regions);
   TlBlock *block = l->op->regions[r]->block;
   for (size_t i = 0; i < l->vars.len; i++) {
      Carried *c = &l->vars.data[i];
      if (c->excluded)
         continue;
      c->args[r] = tl_new_array(s->arena, TlValue *, c->init.len);
      for (size_t k = 0; k < c->init.len; k++) {
         c->args[r][k] = tl_block_add_arg(block, c->init.data[k]->type, c->name);
         note_made(s, l, c, c->args[r][k]);
      }
      TlValue *const *next = c->args[r];
      TlVar *v = tl_frame_var(l->f, c->name);
      v->value = tl_unflatten(s, &c->before.value, &next);
      v->seq = ++s->impl->seq;
   }
   s->b = tl_block_builder(s, block);
   s->b.range = l->range;
}

/* After the body: which variables did it assign?  true: the attempt stands. */
static bool
attempt_stands(Loop *l)
{
   bool stands = true;
   for (size_t i = 0; i < l->vars.len; i++) {
      Carried *c = &l->vars.data[i];
      const TlVar *v = tl_frame_var(l->f, c->name);
      bool assigned = v->seq > l->seq;
      if (c->excluded) {
         if (assigned) /* found out late: carry it whatever happens */
            c->excluded = c->known = false, stands = false;
         continue;
      }
      c->assigned = assigned;
      if (!assigned && c->known)
         c->excluded = true, stands = false;
   }
   return stands;
}

static void
undo_attempt(TlSema *s, Loop *l)
{
   assert(tl_is_unused(l->op));
   tl_remove(l->op);
   s->b = l->after;
   l->f->vars = tl_vars_copy(s, &l->before);
   undo_diags(s, l);
}

static void
substitute(TlFlat *flat, const TlValue *old, TlValue *with)
{
   for (size_t i = 0; i < flat->len; i++)
      if (flat->data[i] == old)
         flat->data[i] = with;
}

static bool
types_agree(const TlFlat *a, const TlFlat *b)
{
   if (a->len != b->len)
      return false;
   for (size_t i = 0; i < a->len; i++)
      if (a->data[i]->type != b->data[i]->type)
         return false;
   return true;
}

static const char *
carried_type(TlSema *s, const TlSv *v)
{
   if (!tl_sv_is_number(v))
      return tl_sv_describe(s, v);
   TlSv strong = tl_strengthen(s, *v);
   return tl_dtype_info[strong.dtype].text;
}

/* Has a dimension of size 1 become larger? */
static bool
grows(const TlType *before, const TlType *now)
{
   assert(before->rank == now->rank);
   for (unsigned d = 0; d < now->rank; d++)
      if (before->shape[d] == 1 && now->shape[d] > 1)
         return true;
   return false;
}

/* Of two floats the wider one keeps what rounds add up. */
static void
help_dtype(TlSema *s, TlDtype before, TlDtype now)
{
   const TlDtypeInfo *a = &tl_dtype_info[before], *b = &tl_dtype_info[now];
   bool is_wider = tl_dtype_is_float(before) && tl_dtype_is_float(now) && b->bits > a->bits;
   if (is_wider)
      tl_help(s->diags,
              "start with dtype=tl.%s, in which a sum stays exact, and convert once behind the "
              "loop; or convert it with .to(tl.%s), in each round",
              b->triton_name, a->triton_name);
   else
      tl_help(s->diags, "convert it with .to(tl.%s), or start with %s", a->triton_name,
              b->triton_name);
}

static void
report_type_change(TlSema *s, const Carried *c, const TlVar *v)
{
   const char *before = carried_type(s, &c->before.value), *after = carried_type(s, &v->value);
   tl_blame_pair(s, &c->before.value, &v->value);
   tl_report(s->diags, E0245, v->range, c->name, before, after);
   tl_note(s->diags, N0202, c->before.range, before);
   const TlValue *x = c->init.len == 1 ? c->init.data[0] : NULL;
   const TlType *now = v->value.kind == TL_SV_VALUE ? v->value.value->type : NULL;
   bool becomes_fraction = now && c->known && c->before.value.kind == TL_SV_INT && !now->rank &&
                           now->kind == TL_TYPE_SCALAR && tl_dtype_is_float(now->dtype);
   if (becomes_fraction) {
      tl_help(s->diags, "start with a fraction: %s = %lld.0", c->name,
              (long long)c->before.value.i);
      tl_note_quotient(s, v->value.value);
   } else if (x && v->value.kind == TL_SV_VALUE &&
              tl_type_same_shape(x->type, v->value.value->type) &&
              tl_type_elem(x->type)->kind == TL_TYPE_SCALAR)
      help_dtype(s, tl_type_elem(x->type)->dtype, tl_type_elem(now)->dtype);
   else if (x && v->value.kind == TL_SV_VALUE && x->type->rank == 0 &&
            tl_type_is_tile(v->value.value->type) &&
            tl_type_elem(v->value.value->type)->kind == TL_TYPE_SCALAR)
      tl_help(s->diags,
              "start with a tile, %s, or bring what is joined to one number by tl.max or tl.sum",
              tl_tile_of(s, &c->before.value, v->value.value->type));
   else if (x && now && x->type->rank == now->rank && grows(x->type, now))
      tl_help(s->diags,
              "%s was joined with a value of another shape: a reduction leaves its axis out, and "
              "keep_dims=True, or [:, None] behind it, keeps it as one of size 1",
              c->name);
   else
      tl_help(s->diags, "give what has the other type another name than '%s'", c->name);
}

/* Is v computed from one of the values that c has at the end of the body? */
static bool
comes_from(const TlValue *v, const Carried *c, unsigned *steps)
{
   enum { MAX_STEPS = 2000 };
   for (size_t i = 0; i < c->final.len; i++)
      if (c->final.data[i] == v)
         return true;
   for (unsigned i = 0; v->def && ++*steps < MAX_STEPS && i < v->def->num_args; i++)
      if (comes_from(tl_arg(v->def, i), c, steps))
         return true;
   return false;
}

/* m = maximum(m, x); l = l + m: where m becomes a tile, l does by that alone, and m is told of. */
static bool
follows_another(const Loop *l, const Carried *c, unsigned *steps)
{
   for (size_t i = 0; i < l->vars.len; i++) {
      const Carried *other = &l->vars.data[i];
      for (size_t k = 0; other != c && other->changes_type && k < c->final.len; k++)
         if (comes_from(c->final.data[k], other, steps))
            return true;
   }
   return false;
}

static void
report_type_changes(TlSema *s, const Loop *l)
{
   const Carried *first = NULL;
   bool is_told = false;
   unsigned steps = 0; /* a long search for what follows from what is given up: all are told */
   for (size_t i = 0; i < l->vars.len; i++) {
      const Carried *c = &l->vars.data[i];
      if (!c->changes_type)
         continue;
      first = first ? first : c;
      if (!follows_another(l, c, &steps)) {
         report_type_change(s, c, tl_frame_var(l->f, c->name));
         is_told = true;
      }
   }
   if (first && !is_told) /* each comes from another */
      report_type_change(s, first, tl_frame_var(l->f, first->name));
}

/* Run-time parts of the variables at the end of the body, checked against their start. */
static void
collect_finals(TlSema *s, Loop *l)
{
   for (size_t i = 0; i < l->vars.len; i++) {
      Carried *c = &l->vars.data[i];
      if (c->excluded || !c->assigned)
         continue;
      TlVar *v = tl_frame_var(l->f, c->name);
      if (v->state != TL_VAR_BOUND)
         tl_lookup(s, l->f, c->name, l->range);
      else if (v->value.kind != TL_SV_POISON) {
         bool is_flat = tl_flatten(s, &v->value, v->range, &c->final);
         c->changes_type = !is_flat || !types_agree(&c->init, &c->final);
         if (!c->changes_type)
            continue;
      }
      c->is_lost = true;
   }
   report_type_changes(s, l);
   for (size_t i = 0; i < l->vars.len; i++) {
      Carried *c = &l->vars.data[i];
      if (c->is_lost) {
         c->before.value = tl_sv_poison();
         c->assigned = false;
      }
   }
}

/* Run-time variables that the body left alone are not carried. */
static void
drop_unassigned(TlSema *s, Loop *l, unsigned num_regions, unsigned first_arg)
{
   assert(num_regions <= l->op->num_regions);
   for (size_t i = 0; i < l->vars.len; i++) {
      Carried *c = &l->vars.data[i];
      for (unsigned r = 0; !c->excluded && !c->assigned && r < num_regions; r++)
         for (size_t k = 0; k < c->init.len; k++) {
            TlValue *arg = c->args[r][k];
            tl_replace_uses(arg, c->init.data[k]);
            tl_blame_instead(s, arg, c->init.data[k]);
            for (size_t o = 0; o < l->vars.len; o++)
               substitute(&l->vars.data[o].final, arg, c->init.data[k]);
            assert(arg->index >= first_arg);
            tl_block_remove_arg(arg->block, arg->index);
         }
   }
   (void)first_arg;
}

/* The value itself, or the start value when it is an argument that drop_unassigned takes away. */
static TlValue *
not_dropped(const Loop *l, TlValue *v)
{
   for (size_t i = 0; i < l->vars.len; i++) {
      const Carried *c = &l->vars.data[i];
      for (size_t k = 0; !c->excluded && !c->assigned && k < c->init.len; k++)
         if (c->args[0][k] == v)
            return c->init.data[k];
   }
   return v;
}

/* Lists over all carried run-time parts, in order. */
static TlFlat
carried_list(TlSema *s, const Loop *l, int which) /* 0 init, 1 final, 2 arguments of region 0 */
{
   TlFlat out = {0};
   for (size_t i = 0; i < l->vars.len; i++) {
      const Carried *c = &l->vars.data[i];
      for (size_t k = 0; c->assigned && k < c->init.len; k++)
         tl_vec_push(s->arena, &out,
                     which == 0   ? c->init.data[k]
                     : which == 1 ? c->final.data[k]
                                  : c->args[0][k]);
   }
   return out;
}

/* Variables after the loop: carried ones are its results, those first set inside are gone. */
static void
leave_loop(TlSema *s, Loop *l, const TlNode *target)
{
   TlFlat init = carried_list(s, l, 0);
   const TlType **types = tl_new_array(s->arena, const TlType *, init.len);
   for (size_t i = 0; i < init.len; i++) {
      types[i] = init.data[i]->type;
      tl_append_arg(l->op, init.data[i]);
   }
   s->b = l->after;
   tl_set_results(s, l->op, types, (unsigned)init.len);
   TlVars inside = l->f->vars;
   l->f->vars = tl_vars_copy(s, &l->before);
   unsigned result = 0;
   for (size_t i = 0; i < l->vars.len; i++) {
      Carried *c = &l->vars.data[i];
      TlVar *v = tl_frame_var(l->f, c->name);
      if (c->assigned) {
         TlValue **values = tl_new_array(s->arena, TlValue *, c->init.len);
         for (size_t k = 0; k < c->init.len; k++) {
            values[k] = tl_result(l->op, result++);
            values[k]->name = c->name;
            note_made(s, l, c, values[k]);
         }
         TlValue *const *next = values;
         v->value = tl_unflatten(s, &c->before.value, &next);
         v->seq = ++s->impl->seq;
      } else if (c->before.value.kind == TL_SV_POISON) {
         v->value = tl_sv_poison();
         v->seq = ++s->impl->seq;
      }
   }
   for (size_t i = 0; i < inside.len; i++) {
      TlVar *now = &inside.data[i], *old = tl_frame_var(l->f, now->name);
      if (!old) {
         now->state = now->value.kind == TL_SV_POISON ? now->state : TL_VAR_LOOP_LOCAL;
         now->seq = ++s->impl->seq;
         tl_vec_push(s->arena, &l->f->vars, *now);
      } else if (now->seq > l->seq && !is_target_name(target, now->name)) {
         bool carried = false;
         for (size_t k = 0; k < l->vars.len; k++)
            carried |= l->vars.data[k].name == now->name && !l->vars.data[k].excluded;
         if (carried)
            continue;
         if (old->state != TL_VAR_BOUND || tl_is_known(&now->value)) {
            bool keep = old->state == TL_VAR_BOUND;
            *old = *now; /* a constexpr set in the loop */
            old->state = keep || now->state != TL_VAR_BOUND ? now->state : TL_VAR_LOOP_LOCAL;
         } else if (old->value.kind == TL_SV_POISON) {
            old->range = now->range; /* told of where it went wrong */
         } else if (now->value.kind != TL_SV_POISON) {
            tl_report(s->diags, E0245, now->range, now->name, tl_sv_describe(s, &old->value),
                      tl_sv_describe(s, &now->value));
            tl_note(s->diags, N0202, old->range, tl_sv_describe(s, &old->value));
            old->value = tl_sv_poison();
         }
         old->seq = ++s->impl->seq;
      }
   }
}

/* ---- leaving ---- */
static void
find_break(void *user, TlNode *n)
{
   bool *found = user;
   *found |= n->kind == TL_AST_BREAK;
   if (n->kind != TL_AST_FOR && n->kind != TL_AST_WHILE && n->kind != TL_AST_FUNCTION)
      tl_ast_children(n, find_break, found);
}

static void
find_return(void *user, TlNode *n)
{
   bool *found = user;
   *found |= n->kind == TL_AST_RETURN;
   if (n->kind != TL_AST_FUNCTION && n->kind != TL_AST_LAMBDA)
      tl_ast_children(n, find_return, found);
}

static const char *
hidden_name(TlSema *s, const Loop *l, const char *what)
{
   return tl_intern_cstr(s->strings,
                         tl_arena_printf(s->arena, ".%s%u", what, (unsigned)l->range.begin));
}

static bool
is_bound(const TlFrame *f, const char *name)
{
   const TlVar *v = tl_frame_var((TlFrame *)(uintptr_t)f, name);
   return v && v->state == TL_VAR_BOUND;
}

/* The function's variables for a `return` inside of loops. */
static void
begin_returning(TlSema *s, Loop *l)
{
   TlActivation *act = l->f->act;
   if (!act->returned) {
      act->returned = tl_intern_cstr(s->strings, ".returned");
      act->result = tl_intern_cstr(s->strings, "return value");
      act->like = tl_sv_none();
   }
   if (!is_bound(l->f, act->returned))
      tl_frame_set(s, l->f, act->returned, tl_sv_bool(false), l->range);
   l->has_result = is_bound(l->f, act->result);
}

/* A loop with a `break` of its own, or a `return`, has a variable that it sets. */
static bool
begin_leaving(TlSema *s, Loop *l, const TlNodeList *body)
{
   bool found = false;
   for (size_t i = 0; i < body->len; i++)
      if (body->data[i]) {
         find_break(&found, body->data[i]);
         find_return(&l->returns, body->data[i]);
      }
   if (l->returns)
      begin_returning(s, l);
   if (!found && !l->returns)
      return false;
   l->leave = hidden_name(s, l, "leave");
   tl_frame_set(s, l->f, l->leave, tl_sv_bool(false), l->range);
   return true;
}

/* The run-time value of a variable of the loop's own; NULL: it is known. */
static TlValue *
hidden(const Loop *l, const char *name)
{
   const TlVar *v = name ? tl_frame_var(l->f, name) : NULL;
   return v && v->value.kind == TL_SV_VALUE ? v->value.value : NULL;
}

static TlValue *
and_not_left(TlSema *s, const Loop *l, TlValue *go_on)
{
   TlValue *left = hidden(l, l->leave);
   if (!left || !go_on)
      return go_on;
   TlValue *stays = tl_b2(&s->b, TL_OP_XOR, left, tl_const_bits(&s->b, left->type, 1));
   return tl_b2(&s->b, TL_OP_AND, stays, go_on);
}

/* The loop's own variables end with it. */
static void
forget_hidden(Loop *l)
{
   const char *const names[] = {l->leave, l->index};
   for (size_t i = 0; i < 2; i++) {
      TlVar *v = names[i] ? tl_frame_var(l->f, names[i]) : NULL;
      if (v)
         v->state = TL_VAR_LOOP_LOCAL;
   }
}

/* ---- for ---- */
static bool
loop_bounds(TlSema *s, const TlSvRange *r, TlRange range, TlValue *bound[3])
{
   assert(!r->is_static);
   const TlSv *part[3] = {&r->start, &r->stop, &r->step};
   TlSv strong[3];
   TlDtype dtype = TL_I32;
   for (unsigned i = 0; i < 3; i++) {
      if (part[i]->kind == TL_SV_POISON)
         return false;
      strong[i] = tl_strengthen(s, *part[i]);
      TlDtype own = strong[i].kind == TL_SV_VALUE ? strong[i].value->type->dtype : strong[i].dtype;
      TlDtype here = own == TL_I1 || tl_dtype_info[own].bits < 32 ? TL_I32 : own;
      const TlDtypeInfo *x = &tl_dtype_info[dtype], *y = &tl_dtype_info[here];
      if (i == 0 || y->bits > x->bits || (y->bits == x->bits && y->kind == TL_KIND_UINT))
         dtype = here;
   }
   assert(!(r->step.kind == TL_SV_INT && r->step.i == 0) && "range() refuses it");
   bool negative = r->step.kind == TL_SV_INT && r->step.i < 0 && !r->step.is_large;
   if (negative && tl_dtype_info[dtype].kind == TL_KIND_UINT)
      dtype = tl_dtype_int(tl_dtype_info[dtype].bits, true);
   for (unsigned i = 0; i < 3; i++) {
      TlValue *v = tl_sema_value(s, &strong[i], range);
      bound[i] = v ? tl_sema_cast(s, v, tl_type_scalar(s->types, dtype), range) : NULL;
      if (!bound[i])
         return false;
   }
   return true;
}

/* The result's variable begins with no value, of the type that the body showed. */
static void
begin_result(TlSema *s, Loop *l)
{
   TlActivation *act = l->f->act;
   TlFlat parts = {0};
   l->has_result = true;
   if (!tl_flatten(s, &act->like, l->range, &parts))
      return;
   for (size_t i = 0; i < parts.len; i++)
      parts.data[i] = tl_b0(&s->b, TL_OP_POISON, parts.data[i]->type);
   TlValue *const *next = parts.data;
   tl_frame_set(s, l->f, act->result, tl_unflatten(s, &act->like, &next), l->range);
   Carried c = {.name = act->result, .before = *tl_frame_var(l->f, act->result), .init = parts};
   tl_vec_push(s->arena, &l->vars, c);
   l->before = tl_vars_copy(s, &l->f->vars);
}

/* The body in the region entered last; false, and everything undone, when it has to be evaluated
 * again with other types. */
static bool
run_body(TlSema *s, Loop *l, const TlNodeList *body, uint64_t outer_region)
{
   assert(l->op->block);
   TlActivation *act = l->f->act;
   unsigned static_loops = act->static_loops;
   const char *leave = act->leave;
   l->seq = s->impl->seq;
   act->loops++;
   act->static_loops = 0;
   act->leave = l->leave;
   if (l->index) {
      TlValue *next = tl_b2(&s->b, TL_OP_ADD, hidden(l, l->index), l->step);
      tl_frame_set(s, l->f, l->index, tl_sv_value(next), l->range);
   }
   tl_stmt_block(s, l->f, body, 0, NULL);
   act->leave = leave;
   act->static_loops = static_loops;
   act->loops--;
   s->impl->region = outer_region;
   bool stands = attempt_stands(l);
   bool wants_result = l->returns && !l->has_result && act->like.kind != TL_SV_NONE;
   if (!stands || wants_result)
      undo_attempt(s, l);
   if (wants_result)
      begin_result(s, l);
   return stands && !wants_result;
}

static TlVar *
index_var(TlFrame *f, const TlNode *target)
{
   return target->kind == TL_AST_NAME ? tl_frame_var(f, tl_ast_Name(target)->id) : NULL;
}

/* An index that the body gives another value is a variable with a value before the loop, too. */
static void
begin_index(TlSema *s, TlFrame *f, const TlAstFor *n, TlValue *const bound[3])
{
   if (n->target->kind != TL_AST_NAME || index_var(f, n->target))
      return;
   TlMap names;
   tl_map_init(&names, s->arena);
   tl_assigned_names(&n->body, &names);
   const char *name = tl_ast_Name(n->target)->id;
   if (tl_map_get(&names, name))
      tl_frame_set(s, f, name, tl_sv_value(tl_b2(&s->b, TL_OP_SUB, bound[0], bound[2])),
                   n->target->range);
}

/* What the index is after its loop, as in Python: what it was in the last round, or before the loop
 * when there was none.  counted: where the index of a loop with a `break` has got to, or NULL.  One
 * that was first set by its loop has its last value if somebody asks. */
static void
end_index(TlSema *s, const Loop *l, const TlNode *target, TlValue *const bound[3], TlValue *counted)
{
   TlVar *v = index_var(l->f, target);
   if (!v)
      return;
   for (size_t i = 0; i < l->vars.len; i++)
      if (l->vars.data[i].name == v->name && l->vars.data[i].assigned)
         return; /* the body gave it another */
   if (v->state == TL_VAR_LOOP_LOCAL && !counted) {
      v->loop = tl_new_array(s->arena, TlValue *, 3);
      memcpy(v->loop, bound, 3 * sizeof bound[0]);
      return;
   }
   TlValue *last = counted ? tl_b2(&s->b, TL_OP_SUB, counted, l->step) : tl_last_index(s, bound);
   last = tl_sema_cast(s, last, bound[0]->type, l->range);
   if (v->state == TL_VAR_BOUND && last) {
      TlFlat before = {0};
      bool is_number = tl_has_runtime_form(&v->value) &&
                       tl_flatten(s, &v->value, v->range, &before) && before.len == 1;
      if (!is_number || before.data[0]->type != last->type)
         return;
      TlValue *none =
         counted ? tl_b2(&s->b, TL_OP_EQ, counted, l->first)
                 : tl_b2(&s->b, tl_counts_down(bound[2]) ? TL_OP_LE : TL_OP_GE, bound[0], bound[1]);
      last = tl_b3(&s->b, TL_OP_SELECT, none, before.data[0], last);
   }
   if (last)
      tl_frame_set(s, l->f, v->name, tl_sv_value(last), target->range);
}

/* The word `else` before its first statement. */
static TlRange
else_before(TlSema *s, TlRange first)
{
   const char *text = tl_source(s->sources, first.file)->text;
   uint32_t at = first.begin;
   while (at > 0 && strncmp(text + at, "else", 4) != 0)
      at--;
   return at ? tl_range(first.file, at, at + 4) : first;
}

static void finish_while(TlSema *s, Loop *l, TlValue *go_on, const TlNode *target);

/* The index counts in 64 bits, so that the step behind the last round does not wrap. */
static void
run_leaving_for(TlSema *s, Loop *l, const TlAstFor *n, TlValue *const bound[3], bool is_down)
{
   TlDtype dtype = bound[0]->type->dtype;
   const TlType *wide = tl_type_scalar(s->types, tl_dtype_info[dtype].bits < 64 ? TL_I64 : dtype);
   TlValue *counted[3], *go_on = NULL;
   for (unsigned i = 0; i < 3; i++)
      counted[i] = tl_sema_cast(s, bound[i], wide, n->iter->range);
   l->index = hidden_name(s, l, "index");
   l->first = counted[0];
   l->step = counted[2];
   tl_frame_set(s, l->f, l->index, tl_sv_value(counted[0]), l->range);
   collect_carried(s, l, &n->body, n->target, bound[0]->type);
   save_diags(s, l);
   for (bool again = true; again;) {
      s->b.range = n->node.range;
      l->op = tl_op_new(&s->b, TL_OP_WHILE, 0, 0, 2);
      l->after = s->b;
      uint64_t outer_region = tl_enter_run_time(s);
      enter_region(s, l, 0);
      go_on = tl_b2(&s->b, is_down ? TL_OP_GT : TL_OP_LT, hidden(l, l->index), counted[1]);
      go_on = and_not_left(s, l, go_on);
      enter_region(s, l, 1);
      TlValue *index = tl_sema_cast(s, hidden(l, l->index), bound[0]->type, n->iter->range);
      tl_assign(s, l->f, n->target, tl_sv_value(index));
      again = !run_body(s, l, &n->body, outer_region);
   }
   finish_while(s, l, go_on, n->target);
   end_index(s, l, n->target, bound, hidden(l, l->index));
   forget_hidden(l);
}

/* Behind a loop with a `return` in it: `if .returned: return value`. */
static TlFlow
return_behind(TlSema *s, const Loop *l, const TlCont *rest)
{
   if (!l->returns)
      return TL_FLOW_NEXT;
   const TlActivation *act = l->f->act;
   TlAstIf *inner = tl_ast_new_If(s->arena, l->range);
   TlAstReturn *leave = tl_ast_new_Return(s->arena, l->range);
   TlAstName *test = tl_ast_new_Name(s->arena, l->range);
   test->id = act->returned;
   if (is_bound(l->f, act->result)) {
      TlAstName *value = tl_ast_new_Name(s->arena, l->range);
      value->id = act->result;
      leave->value = &value->node;
   }
   inner->test = &test->node;
   tl_vec_push(s->arena, &inner->body, &leave->node);
   return tl_stmt_if(s, l->f, inner, rest);
}

static TlFlow
run_for(TlSema *s, TlFrame *f, const TlAstFor *n, const TlSvRange *r, const TlCont *rest)
{
   TlValue *bound[3];
   if (!loop_bounds(s, r, n->iter->range, bound)) {
      tl_poison_assigned(s, f, &n->body, n->node.range);
      return TL_FLOW_NEXT;
   }
   if (n->orelse.len)
      tl_report(s->diags, E0248, else_before(s, n->orelse.data[0]->range));
   Loop l = {.f = f, .range = n->node.range};
   begin_index(s, f, n, bound);
   if (begin_leaving(s, &l, &n->body)) {
      bool is_down = r->step.kind == TL_SV_INT && r->step.i < 0 && !r->step.is_large;
      run_leaving_for(s, &l, n, bound, is_down);
      return return_behind(s, &l, rest);
   }
   collect_carried(s, &l, &n->body, n->target, bound[0]->type);
   save_diags(s, &l);
   for (bool again = true; again;) {
      s->b.range = n->node.range;
      l.op = tl_op_new(&s->b, TL_OP_FOR, 3, 0, 1);
      for (unsigned i = 0; i < 3; i++)
         tl_set_arg(l.op, i, bound[i]);
      tl_attr(l.op, TL_ATTR_NUM_STAGES)->i = r->num_stages;
      tl_attr(l.op, TL_ATTR_UNROLL)->i = r->unroll;
      tl_attr(l.op, TL_ATTR_FLAGS)->i = r->flags;
      l.after = s->b;
      uint64_t outer_region = tl_enter_run_time(s);
      TlValue *index = tl_block_add_arg(l.op->regions[0]->block, bound[0]->type, NULL);
      enter_region(s, &l, 0);
      tl_assign(s, f, n->target, tl_sv_value(index));
      again = !run_body(s, &l, &n->body, outer_region);
   }
   collect_finals(s, &l);
   drop_unassigned(s, &l, 1, 1);
   TlFlat final = carried_list(s, &l, 1);
   tl_yield(s, l.op->regions[0]->block, final.data, (unsigned) final.len);
   leave_loop(s, &l, n->target);
   end_index(s, &l, n->target, bound, NULL);
   return TL_FLOW_NEXT;
}

static TlFlow
run_host_for(TlSema *s, TlFrame *f, const TlAstFor *n, const TlSv *v, const TlCont *rest)
{
   TlCursor c;
   TlSv item;
   TlFlow flow = TL_FLOW_NEXT;
   if (!tl_cursor_begin(s, &c, v, n->iter->range))
      return flow;
   f->act->static_loops++;
   while (tl_cursor_next(s, &c, &item)) {
      if (!tl_step(s, n->node.range) || !tl_assign(s, f, n->target, item))
         break;
      flow = tl_stmt_block(s, f, &n->body, 0, NULL);
      if (flow == TL_FLOW_BREAK || flow == TL_FLOW_RETURN)
         break;
   }
   f->act->static_loops--;
   if (flow == TL_FLOW_RETURN || s->diags->num_errors != f->act->errors)
      return flow;
   return flow == TL_FLOW_BREAK ? TL_FLOW_NEXT : tl_stmt_block(s, f, &n->orelse, 0, rest);
}

/* for i in tl.arange(0, n): whatever its bounds are, what is meant is range(0, n). */
static bool
is_over_arange(TlSema *s, TlFrame *f, const TlAstFor *n)
{
   const TlAstCall *call = n->iter->kind == TL_AST_CALL ? tl_ast_Call(n->iter) : NULL;
   if (!call || tl_is_host(f) || strcmp(tl_decorator_name(n->iter), "arange") != 0)
      return false;
   TlSv fn = tl_eval_expr(s, f, call->func);
   if (fn.kind != TL_SV_BUILTIN)
      return false;
   const char *args = strchr(tl_node_text(s, n->iter), '(');
   tl_report(s->diags, E0249, n->iter->range, "a tile");
   tl_help(s->diags,
           "a tile is worked on as a whole, as in x * 2 and tl.sum(x); numbers to loop over are "
           "range%.60s",
           args ? args : "(0, n)");
   tl_poison_assigned(s, f, &n->body, n->node.range);
   return true;
}

TlFlow
tl_stmt_for(TlSema *s, TlFrame *f, const TlAstFor *n, const TlCont *rest)
{
   if (is_over_arange(s, f, n))
      return TL_FLOW_NEXT;
   TlSv iter = tl_eval_expr(s, f, n->iter);
   bool run_time = iter.kind == TL_SV_RANGE && !iter.range->is_static && !tl_is_host(f);
   if (run_time)
      return run_for(s, f, n, iter.range, rest);
   if (tl_is_host(f) && iter.kind != TL_SV_VALUE)
      return iter.kind == TL_SV_POISON ? TL_FLOW_NEXT : run_host_for(s, f, n, &iter, rest);
   TlSv *items;
   size_t len;
   if (iter.kind == TL_SV_VALUE) {
      tl_report(s->diags, E0249, n->iter->range, tl_sv_describe(s, &iter));
      tl_help(s->diags, "a tile is worked on as a whole, as in x * 2 and tl.sum(x); numbers to "
                        "loop over are range(0, n)");
   } else if (tl_iterate(s, &iter, n->iter->range, &items, &len)) {
      return run_items(s, f, n, items, len, rest);
   }
   tl_poison_assigned(s, f, &n->body, n->node.range);
   return TL_FLOW_NEXT;
}

/* ---- while ---- */
static TlFlow
run_while_host(TlSema *s, TlFrame *f, const TlAstWhile *n, const TlCont *rest)
{
   TlFlow flow = TL_FLOW_NEXT;
   f->act->static_loops++;
   while (tl_step(s, n->node.range)) {
      TlSv test = tl_eval_expr(s, f, n->test);
      bool truth = false;
      if (test.kind == TL_SV_POISON || !tl_host_truth(s, &test, n->test->range, &truth) || !truth)
         break;
      flow = tl_stmt_block(s, f, &n->body, 0, NULL);
      if (flow == TL_FLOW_BREAK || flow == TL_FLOW_RETURN)
         break;
   }
   f->act->static_loops--;
   if (flow == TL_FLOW_RETURN)
      return flow;
   return flow == TL_FLOW_BREAK ? TL_FLOW_NEXT : tl_stmt_block(s, f, &n->orelse, 0, rest);
}

/* The test of a run-time while, in region 0.  NULL: it is known (*truth) or an error. */
static TlValue *
while_test(TlSema *s, Loop *l, const TlAstWhile *n, bool *is_false)
{
   TlSv test = tl_eval_test(s, l->f, n->test);
   bool known, truth = false;
   *is_false = false;
   if (test.kind == TL_SV_POISON || !tl_truth(s, &test, n->test->range, &known, &truth))
      return NULL;
   if (!known)
      return tl_sema_condition(s, &test, n->test->range);
   *is_false = !truth;
   if (truth && hidden(l, l->leave))
      return tl_const_bits(&s->b, tl_type_scalar(s->types, TL_I1), 1);
   if (truth) {
      tl_report(s->diags, E0250, n->test->range);
      tl_help(s->diags, "let the condition depend on a variable that the loop changes");
   }
   return NULL;
}

/* What `while_test` gives, and that no `break` was met: the test is not evaluated once more after
 * one, as it may load what lies behind the end. */
static TlValue *
test_unless_left(TlSema *s, Loop *l, const TlAstWhile *n, bool *is_false)
{
   TlValue *left = hidden(l, l->leave);
   if (!left)
      return while_test(s, l, n, is_false);
   const TlType *type = tl_type_scalar(s->types, TL_I1);
   TlOp *op = tl_op_new(&s->b, TL_OP_IF, 1, 0, 2);
   tl_set_arg(op, 0, left);
   TlBuilder after = s->b;
   s->b = tl_block_builder(s, op->regions[0]->block);
   s->b.range = after.range;
   TlValue *go_on = tl_const_bits(&s->b, type, 0);
   tl_yield(s, op->regions[0]->block, &go_on, 1);
   s->b = tl_block_builder(s, op->regions[1]->block);
   s->b.range = after.range;
   uint64_t outer = tl_enter_run_time(s);
   go_on = while_test(s, l, n, is_false);
   s->impl->region = outer;
   if (go_on)
      tl_yield(s, op->regions[1]->block, &go_on, 1);
   s->b = after;
   tl_set_results(s, op, &type, 1);
   return go_on ? tl_result(op, 0) : NULL;
}

static void
end_test(TlSema *s, Loop *l, TlValue *go_on)
{
   assert(l->op->opcode == TL_OP_WHILE && go_on);
   TlFlat args = carried_list(s, l, 2), all = {0};
   tl_vec_push(s->arena, &all, go_on);
   for (size_t i = 0; i < args.len; i++)
      tl_vec_push(s->arena, &all, args.data[i]);
   TlBuilder b = tl_block_builder(s, l->op->regions[0]->block);
   b.range = l->range;
   tl_build(&b, TL_OP_CONDITION, all.data, (unsigned)all.len, NULL, 0, NULL, 0, 0);
}

/* Both regions are filled; go_on is the test's value. */
static void
finish_while(TlSema *s, Loop *l, TlValue *go_on, const TlNode *target)
{
   collect_finals(s, l);
   go_on = not_dropped(l, go_on);
   drop_unassigned(s, l, 2, 0);
   TlFlat final = carried_list(s, l, 1);
   tl_yield(s, l->op->regions[1]->block, final.data, (unsigned) final.len);
   end_test(s, l, go_on);
   leave_loop(s, l, target);
}

/* `while True: if test: body else: break`: what the test binds is then a variable like others. */
static const TlAstWhile *
test_in_body(TlSema *s, const TlAstWhile *n)
{
   TlRange range = n->test->range;
   TlAstIf *inner = tl_ast_new_If(s->arena, range);
   inner->test = n->test;
   inner->body = n->body;
   TlAstBreak leave = {.node.range = range};
   tl_vec_push(s->arena, &inner->orelse, tl_ast_make_Break(s->arena, leave));
   TlAstWhile *outer = tl_ast_new_While(s->arena, n->node.range);
   TlAstConst always = {.node.range = range, .which = TL_AST_OP_TRUE};
   outer->test = tl_ast_make_Const(s->arena, always);
   tl_vec_push(s->arena, &outer->body, &inner->node);
   outer->orelse = n->orelse;
   return outer;
}

TlFlow
tl_stmt_while(TlSema *s, TlFrame *f, const TlAstWhile *n, const TlCont *rest)
{
   if (tl_is_host(f))
      return run_while_host(s, f, n, rest);
   if (tl_has_walrus(n->test))
      n = test_in_body(s, n);
   Loop l = {.f = f, .range = n->node.range};
   begin_leaving(s, &l, &n->body);
   collect_carried(s, &l, &n->body, NULL, NULL);
   save_diags(s, &l);
   TlValue *go_on = NULL;
   for (bool again = true; again;) {
      bool is_false;
      s->b.range = n->node.range;
      l.op = tl_op_new(&s->b, TL_OP_WHILE, 0, 0, 2);
      l.after = s->b;
      uint64_t outer_region = tl_enter_run_time(s);
      enter_region(s, &l, 0);
      go_on = test_unless_left(s, &l, n, &is_false);
      if (!go_on) {
         s->impl->region = outer_region;
         tl_remove(l.op);
         s->b = l.after;
         f->vars = tl_vars_copy(s, &l.before);
         if (!is_false)
            tl_poison_assigned(s, f, &n->body, n->node.range);
         return TL_FLOW_NEXT;
      }
      enter_region(s, &l, 1);
      again = !run_body(s, &l, &n->body, outer_region);
   }
   finish_while(s, &l, go_on, NULL);
   forget_hidden(&l);
   if (n->orelse.len)
      tl_report(s->diags, E0248, else_before(s, n->orelse.data[0]->range));
   return return_behind(s, &l, rest);
}
