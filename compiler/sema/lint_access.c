/* Addresses, masks and what depends on the program, of all accesses of a kernel; and what is wrong
 * where programs write: elements that neighbours write as well. */
#include "sema/lint_access.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/lint.h"

#include <ctype.h>
#include <string.h>

/* ---- facts ---- */
bool
tl_lint_is_round(const TlTerm *t)
{
   return t->dim < 0 && t->num == 1 && t->factor[0].is_iteration;
}

/* k < K - round * BLOCK is k + round * BLOCK < K. */
static void
move_rounds(TlLintFacts *f, TlBound *b)
{
   unsigned rounds = 0;
   for (unsigned i = 0; i < b->limit.num; i++)
      rounds += tl_lint_is_round(&b->limit.term[i]);
   if (!rounds)
      return;
   TlSum index = {tl_new_array(f->s->arena, TlTerm, b->index.num + rounds), 0};
   TlSum limit = {tl_new_array(f->s->arena, TlTerm, b->limit.num), 0};
   for (unsigned i = 0; i < b->index.num; i++)
      index.term[index.num++] = b->index.term[i];
   for (unsigned i = 0; i < b->limit.num; i++) {
      TlTerm t = b->limit.term[i];
      if (!tl_lint_is_round(&t)) {
         limit.term[limit.num++] = t;
         continue;
      }
      t.scale = -t.scale;
      index.term[index.num++] = t;
   }
   b->index = index;
   b->limit = limit;
}

static void
note_access(TlLintFacts *f, const TlOp *op)
{
   TlLintAccess x = {.op = op, .pointers = tl_arg(op, 0)};
   x.is_known = tl_value_sum(f->affine, x.pointers, &x.sum, &x.base) && x.base;
   const TlValue *mask = tl_pred(op);
   if (mask)
      x.num_bounds = tl_mask_bounds(f->affine, mask, x.bound, TL_LINT_BOUNDS, &x.has_other);
   for (unsigned i = 0; i < x.num_bounds; i++)
      move_rounds(f, &x.bound[i]);
   tl_vec_push(f->s->arena, &f->all, x);
}

static bool
join(TlLintFacts *f, const TlValue *to, unsigned more)
{
   unsigned now = f->programs[to->id] | more;
   bool is_new = now != f->programs[to->id];
   f->programs[to->id] = (uint8_t)now;
   return is_new;
}

static unsigned
of_operands(const TlLintFacts *f, const TlOp *op)
{
   unsigned bits = op->opcode == TL_OP_PROGRAM_ID ? 1u << tl_attr_int(op, TL_ATTR_AXIS) : 0;
   for (unsigned i = 0; i < op->num_args; i++)
      bits |= f->programs[tl_arg(op, i)->id];
   return bits;
}

static bool
spread_branching(TlLintFacts *f, const TlOp *op)
{
   bool any = false;
   unsigned first = tl_first_init(op), control = 0;
   for (unsigned i = 0; i < first; i++)
      control |= f->programs[tl_arg(op, i)->id];
   if (op->opcode == TL_OP_FOR)
      any |= join(f, tl_for_index(op), control);
   for (unsigned i = 0; i < op->num_results; i++) {
      TlJoin j = tl_join(op, i);
      unsigned bits = op->opcode == TL_OP_FOR ? 0 : control;
      for (unsigned k = 0; k < j.num_in; k++)
         bits |= f->programs[j.in[k]->id];
      for (unsigned k = 0; k < j.num_out; k++)
         any |= join(f, j.out[k], bits);
   }
   return any;
}

static bool
spread(TlLintFacts *f, const TlOp *op)
{
   if (tl_is_branching(op))
      return spread_branching(f, op);
   bool any = false;
   for (unsigned i = 0; i < op->num_results; i++)
      any |= join(f, tl_result(op, i), of_operands(f, op));
   return any;
}

void
tl_lint_facts(TlSema *s, const TlFunc *func, TlAffine *a, TlLintFacts *f)
{
   const TlBlock *top = func->body->block;
   *f = (TlLintFacts){.s = s, .func = func, .affine = a};
   f->programs = tl_new_array(s->arena, uint8_t, func->next_value_id + 1);
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_atomic = op->opcode == TL_OP_ATOMIC_RMW || op->opcode == TL_OP_ATOMIC_CAS;
      f->has_atomics |= is_atomic || op->opcode == TL_OP_INLINE_ASM;
      if (op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE || op->opcode == TL_OP_ATOMIC_RMW)
         note_access(f, op);
   }
   for (bool any = true; any;) { /* a bit that is set stays set */
      any = false;
      for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
         any |= spread(f, op);
   }
}

/* ---- sums ---- */
bool
tl_lint_is_argument(const TlValue *v)
{
   return !v->def && !v->block->region->parent;
}

static bool
comes_from(const TlValue *v, const TlValue *from, unsigned *steps)
{
   enum { MAX_STEPS = 400 };
   if (v == from)
      return true;
   for (unsigned i = 0; v->def && ++*steps < MAX_STEPS && i < v->def->num_args; i++)
      if (comes_from(tl_arg(v->def, i), from, steps))
         return true;
   return false;
}

const TlValue *
tl_lint_before_casts(const TlValue *v)
{
   while (v->def && v->def->opcode == TL_OP_CAST)
      v = tl_arg(v->def, 0);
   return v;
}

bool
tl_lint_comes_from(const TlValue *v, const TlValue *from)
{
   unsigned steps = 0;
   return comes_from(v, from, &steps);
}

enum { MOST_STEPS = 200 }; /* of a comparison */

/* Numbers, program_id and ranges, which a kernel may ask for anew. */
static bool
is_same_leaf(const TlValue *a, const TlValue *b)
{
   const TlOp *x = a->def, *y = b->def;
   uint64_t bits, other;
   if (a->type != b->type || !x || !y || x->opcode != y->opcode)
      return false;
   if (tl_is_const(a, &bits) && tl_is_const(b, &other))
      return bits == other;
   if (x->opcode == TL_OP_PROGRAM_ID)
      return tl_attr_int(x, TL_ATTR_AXIS) == tl_attr_int(y, TL_ATTR_AXIS);
   return x->opcode == TL_OP_ARANGE &&
          tl_attr_int(x, TL_ATTR_START) == tl_attr_int(y, TL_ATTR_START);
}

static bool
is_same_value(const TlValue *a, const TlValue *b, unsigned *steps)
{
   if (a == b || is_same_leaf(a, b))
      return true;
   const TlOp *x = a->def, *y = b->def;
   if (!x || !y || x->opcode != y->opcode || x->num_args != y->num_args || !x->num_args ||
       ++*steps > MOST_STEPS || !tl_has_trait(x, TL_TRAIT_PURE) || x->num_regions ||
       a->type != b->type)
      return false;
   for (unsigned i = 0; i < x->num_args; i++)
      if (!is_same_value(tl_arg(x, i), tl_arg(y, i), steps))
         return false;
   return true;
}

bool
tl_lint_is_same(const TlValue *a, const TlValue *b)
{
   unsigned steps = 0;
   return is_same_value(a, b, &steps);
}

const TlValue *
tl_lint_argument(const TlSum *s)
{
   bool is_one = s->num == 1 && s->term[0].scale == 1 && s->term[0].num == 1 &&
                 s->term[0].dim < 0 && !s->term[0].factor[0].is_iteration;
   return is_one && tl_lint_is_argument(s->term[0].factor[0].value) ? s->term[0].factor[0].value
                                                                    : NULL;
}

int
tl_lint_axis(const TlTerm *t)
{
   for (unsigned i = 0; i < t->num; i++) {
      const TlOp *def = t->factor[i].is_iteration ? NULL : t->factor[i].value->def;
      if (def && def->opcode == TL_OP_PROGRAM_ID)
         return (int)tl_attr_int(def, TL_ATTR_AXIS);
   }
   return -1;
}

static const TlTerm *
stride_along(const TlSum *s, unsigned d)
{
   const TlTerm *found = NULL;
   for (unsigned i = 0; i < s->num; i++) {
      if (s->term[i].dim != (int)d)
         continue;
      if (found)
         return NULL;
      found = &s->term[i];
   }
   return found;
}

/* Of the strides that divide the term the one with the most factors, of these the largest. */
static int
best_dim(const TlLintAccess *x, unsigned rank, const TlTerm *t)
{
   int best = -1;
   const TlTerm *by = NULL;
   TlTerm q;
   for (unsigned d = 0; d < rank; d++) {
      const TlTerm *stride = stride_along(&x->sum, d);
      bool divides = stride && tl_term_quotient(t, stride, &q);
      if (divides &&
          (!by || stride->num > by->num || (stride->num == by->num && stride->scale > by->scale))) {
         best = (int)d;
         by = stride;
      }
   }
   return best;
}

bool
tl_lint_index(TlLintFacts *f, const TlLintAccess *x, unsigned d, TlTerm *stride, TlSum *index)
{
   unsigned rank = x->pointers->type->rank;
   const TlTerm *along = x->is_known ? stride_along(&x->sum, d) : NULL;
   if (!along)
      return false;
   *stride = *along;
   stride->dim = -1;
   TlSum out = {.term = tl_new_array(f->s->arena, TlTerm, x->sum.num)};
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      bool is_own = t == along;
      if (is_own || (t->dim < 0 && best_dim(x, rank, t) == (int)d)) {
         if (!tl_term_quotient(t, stride, &out.term[out.num++]))
            return false;
      }
   }
   *index = out;
   return true;
}

/* ---- programs that write the same ---- */
bool
tl_lint_has_program(const TlSum *s, int axis)
{
   for (unsigned i = 0; i < s->num; i++)
      if (tl_lint_axis(&s->term[i]) == axis)
         return true;
   return false;
}

bool
tl_lint_has_dim(const TlSum *s, int d)
{
   for (unsigned i = 0; i < s->num; i++)
      if (s->term[i].dim == d)
         return true;
   return false;
}

int64_t
tl_lint_constant(const TlSum *s)
{
   for (unsigned i = 0; i < s->num; i++)
      if (s->term[i].dim < 0 && !s->term[i].num)
         return s->term[i].scale;
   return 0;
}

/* The one term with program_id(axis), if it is nothing but a multiple of that. */
static const TlTerm *
program_term(const TlSum *s, int axis)
{
   const TlTerm *found = NULL;
   for (unsigned i = 0; i < s->num; i++) {
      if (tl_lint_axis(&s->term[i]) != axis)
         continue;
      if (found || s->term[i].num != 1 || s->term[i].dim >= 0 || s->term[i].scale <= 0)
         return NULL;
      found = &s->term[i];
   }
   return found;
}

/* The mask keeps the index below a number, whichever program it is: rows with a gap behind. */
static bool
is_cut_by_constant(const TlLintAccess *x, int axis, int d)
{
   for (unsigned i = 0; i < x->num_bounds; i++) {
      const TlSum *limit = &x->bound[i].limit;
      bool is_number = !limit->num || (limit->num == 1 && !limit->term[0].num);
      if (tl_lint_has_dim(&x->bound[i].index, d) &&
          !tl_lint_has_program(&x->bound[i].index, axis) && is_number)
         return true;
   }
   return false;
}

static bool
is_compared_with_program(const TlLintAccess *x, int axis, int d)
{
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (tl_lint_has_dim(&x->bound[i].index, d) && tl_lint_has_program(&x->bound[i].index, axis))
         return true;
   return false;
}

/* Where program and index come together: the innermost sum that has both. */
static TlRange
place_of_sum(TlLintFacts *f, const TlLintAccess *x, int axis)
{
   const TlValue *v = x->pointers;
   TlRange place = x->op->range;
   for (bool goes_on = true; goes_on && v->def;) {
      const TlOp *op = v->def;
      if (op->opcode == TL_OP_ADD || op->opcode == TL_OP_ADDPTR)
         place = op->range;
      goes_on = false;
      for (unsigned i = 0; !goes_on && i < op->num_args; i++) {
         TlSum sum;
         const TlValue *base;
         bool has_both = tl_value_sum(f->affine, tl_arg(op, i), &sum, &base) &&
                         tl_lint_has_program(&sum, axis) && tl_sum_has_index(&sum);
         if (has_both)
            v = tl_arg(op, i);
         goes_on = has_both;
      }
   }
   return place.file == x->op->range.file ? place : x->op->range;
}

bool
tl_lint_has_any_program(const TlSum *s)
{
   for (int axis = 0; axis < TL_LINT_AXES; axis++)
      if (tl_lint_has_program(s, axis))
         return true;
   return false;
}

const TlValue *
tl_lint_before_moves(const TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_BROADCAST ||
                     v->def->opcode == TL_OP_SPLAT || tl_has_trait(v->def, TL_TRAIT_SAME_ELEMENTS)))
      v = tl_arg(v->def, 0);
   return v;
}

bool
tl_lint_has_rounds(const TlSum *s)
{
   for (unsigned i = 0; i < s->num; i++)
      for (unsigned k = 0; k < s->term[i].num; k++)
         if (s->term[i].factor[k].is_iteration)
            return true;
   return false;
}

/* Rows are a stride apart in another access, below the same limit: load(x + row + i, i < n) beside
 * store(y + row * stride + i, v, i < n). */
static bool
has_strided_peer(const TlLintFacts *f, const TlLintAccess *x, int axis, int d)
{
   for (unsigned i = 0; i < x->num_bounds; i++) {
      const TlValue *n = tl_lint_argument(&x->bound[i].limit);
      for (size_t k = 0; n && tl_lint_has_dim(&x->bound[i].index, d) && k < f->all.len; k++) {
         const TlLintAccess *y = &f->all.data[k];
         bool is_peer = false, is_strided = false;
         for (unsigned b = 0; b < y->num_bounds; b++)
            is_peer |= y->bound[b].compare == x->bound[i].compare ||
                       (tl_lint_argument(&y->bound[b].limit) == n &&
                        tl_same_sum(&y->bound[b].index, &x->bound[i].index));
         for (unsigned t = 0; t < y->sum.num; t++)
            is_strided |= tl_lint_axis(&y->sum.term[t]) == axis &&
                          (y->sum.term[t].num > 1 || y->sum.term[t].scale > 1);
         if (is_peer && is_strided && y->is_known)
            return true;
      }
   }
   return false;
}

/* Does something else than the term move from program to program: a beginning that was loaded? */
static bool
others_move(const TlLintFacts *f, const TlSum *s, const TlTerm *pid, int axis)
{
   for (unsigned i = 0; i < s->num; i++)
      for (unsigned k = 0; &s->term[i] != pid && k < s->term[i].num; k++)
         if (!s->term[i].factor[k].is_iteration &&
             (f->programs[s->term[i].factor[k].value->id] >> axis & 1))
            return true;
   return false;
}

/* i = pid + arange(0, BLOCK), stored to: neighbours write BLOCK - 1 of the same elements. */
static bool
check_overlap(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlType *type = x->pointers->type;
   for (int axis = 0; axis < TL_LINT_AXES && x->is_known && tl_type_is_tile(type); axis++) {
      const TlTerm *pid = program_term(&x->sum, axis);
      if (pid && others_move(f, &x->sum, pid, axis))
         continue;
      for (unsigned i = 0; pid && i < x->sum.num; i++) {
         const TlTerm *u = &x->sum.term[i];
         if (u->dim < 0 || u->num || u->scale <= 0 || pid->scale % u->scale ||
             pid->scale / u->scale >= (int64_t)type->shape[u->dim])
            continue;
         if (pid->scale != 1 && tl_lint_has_rounds(&x->sum))
            continue;
         if (x->op->opcode == TL_OP_LOAD &&
             (pid->scale != 1 || !has_strided_peer(f, x, axis, u->dim)))
            continue;
         bool is_told = pid->scale == 1 ? !is_cut_by_constant(x, axis, u->dim)
                                        : is_compared_with_program(x, axis, u->dim);
         if (!is_told || x->has_other)
            continue;
         uint32_t len = type->shape[u->dim];
         TlRange place = place_of_sum(f, x, axis);
         tl_report(s->diags, W0238, place,
                   tl_arena_printf(s->arena, "%s the same elements", tl_source_name(x->op)),
                   (unsigned)axis, (long long)pid->scale, len);
         if (place.begin != x->op->range.begin)
            tl_note(s->diags, N0200, x->op->range,
                    tl_arena_printf(s->arena, "the %s", tl_source_name(x->op)));
         if (x->num_bounds && !is_compared_with_program(x, axis, u->dim))
            tl_help(s->diags, "rows are a stride apart: program_id(%d) * stride + offsets", axis);
         else
            tl_help(s->diags,
                    "multiply by the size of the tile: program_id(%d) * %u + tl.arange(0, %u)",
                    axis, len, len);
         return true;
      }
   }
   return false;
}

/* Other stores to the array may fill what is between. */
static bool
is_only_store(const TlLintFacts *f, const TlLintAccess *x)
{
   for (size_t i = 0; i < f->all.len; i++)
      if (f->all.data[i].op != x->op && f->all.data[i].op->opcode != TL_OP_LOAD &&
          (!f->all.data[i].is_known || f->all.data[i].base == x->base))
         return false;
   return true;
}

/* i = pid * 2048 + arange(0, 1024), below a size: half of it is never stored to. */
static bool
check_gap(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   for (unsigned i = 0; x->is_known && i < x->num_bounds; i++) {
      const TlSum *index = &x->bound[i].index;
      const TlTerm *pid = index->num == 2 ? &index->term[tl_lint_axis(&index->term[0]) < 0] : NULL;
      const TlTerm *lane = pid ? &index->term[pid == &index->term[0]] : NULL;
      if (!pid || tl_lint_axis(pid) < 0 || pid->num != 1 || lane->dim < 0 || lane->num ||
          lane->scale != 1 || !x->bound[i].is_upper || !tl_lint_argument(&x->bound[i].limit))
         continue;
      uint32_t len = x->pointers->type->shape[lane->dim];
      if (len < 2 || pid->scale <= (int64_t)len || !is_only_store(f, x))
         continue;
      tl_report(s->diags, W0238, place_of_sum(f, x, tl_lint_axis(pid)), "leave elements out",
                (unsigned)tl_lint_axis(pid), (long long)pid->scale, len);
      tl_help(s->diags, "multiply by the size of the tile: program_id(%d) * %u + tl.arange(0, %u)",
              tl_lint_axis(pid), len, len);
      return true;
   }
   return false;
}

/* Is it used for where the loop begins, and for nothing else? */
static bool
is_for_begin(const TlValue *v, const TlOp *loop, unsigned *steps)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool is_begin = op == loop && tl_for_lower(loop) == v && !u->next;
      bool goes_on = op->num_results == 1 && tl_has_trait(op, TL_TRAIT_ELTWISE) &&
                     ++*steps < MOST_STEPS && is_for_begin(tl_result(op, 0), loop, steps);
      if (!is_begin && !goes_on)
         return false;
   }
   return v->uses != NULL;
}

/* Does nothing but where the loop begins depend on which program it is along the axis? */
static bool
begins_only(const TlLintFacts *f, const TlOp *loop, int axis)
{
   const TlBlock *top = f->func->body->block;
   unsigned steps = 0;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_PROGRAM_ID && tl_attr_int(op, TL_ATTR_AXIS) == axis &&
          !is_for_begin(tl_result(op, 0), loop, &steps))
         return false;
   return true;
}

/* Do all programs along the axis add what they load to the same sums, and store nothing else? */
static bool
is_summed_by_all(const TlLintFacts *f, int axis)
{
   const TlBlock *top = f->func->body->block;
   bool adds = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      if (op->opcode != TL_OP_ATOMIC_RMW && tl_has_trait(op, TL_TRAIT_WRITE))
         return false;
      adds |= op->opcode == TL_OP_ATOMIC_RMW && tl_attr_int(op, TL_ATTR_RMW) == TL_RMW_ADD &&
              f->programs[tl_arg(op, 1)->id] >> axis & 1 &&
              !(f->programs[tl_arg(op, 0)->id] >> axis & 1);
   }
   return adds;
}

/* for i in range(pid * BLOCK, n, BLOCK): store(y + i + arange(0, BLOCK), ..), atomic_add of what
 * all of it adds up to */
static bool
check_same_rounds(TlLintFacts *f, const TlLintAccess *x)
{
   bool is_load = x->op->opcode == TL_OP_LOAD, is_store = x->op->opcode == TL_OP_STORE;
   TlSema *s = f->s;
   const TlOp *loop = tl_parent(x->op);
   for (int axis = 0; axis < TL_LINT_AXES && x->is_known && loop && loop->opcode == TL_OP_FOR;
        axis++) {
      const TlTerm *pid = program_term(&x->sum, axis), *round = NULL;
      for (unsigned i = 0; i < x->sum.num; i++)
         if (tl_lint_is_round(&x->sum.term[i]) &&
             x->sum.term[i].factor[0].value == tl_for_index(loop))
            round = &x->sum.term[i];
      if (!pid || !round || pid->scale != round->scale || others_move(f, &x->sum, pid, axis) ||
          !(f->programs[tl_for_lower(loop)->id] >> axis & 1) ||
          f->programs[tl_for_upper(loop)->id] >> axis & 1 || f->programs[tl_for_step(loop)->id] ||
          (is_load && !is_summed_by_all(f, axis)) ||
          (!is_store && (tl_lint_is_one_program(f) || !begins_only(f, loop, axis))))
         continue;
      tl_report(s->diags, W0287, x->op->range,
                is_load    ? "add up"
                : is_store ? tl_source_name(x->op)
                           : "add to",
                axis, (long long)pid->scale, (long long)round->scale);
      tl_help(
         s->diags,
         "a round of all programs goes on by tl.num_programs(%d) * %lld: that is the loop's step",
         axis, (long long)round->scale);
      tl_note(s->diags, N0200, loop->range, "the loop");
      return true;
   }
   return false;
}

unsigned
tl_lint_guard(const TlLintFacts *f, const TlOp *op)
{
   unsigned bits = 0;
   for (op = tl_parent(op); op; op = tl_parent(op)) {
      for (unsigned i = 0; i < op->num_args; i++)
         bits |= f->programs[tl_arg(op, i)->id];
      bits |= op->opcode == TL_OP_WHILE ? 7u : 0;
   }
   return bits;
}

/* "(1,)" */
static bool
is_one_program(const TlFunc *f)
{
   const char *p = f->grid;
   for (; p && *p; p++)
      if (!strchr("(1, )", *p) || (p[0] == '1' && p[1] == '1'))
         return false;
   return p != NULL;
}

bool
tl_lint_is_written(const char *text, const char *name)
{
   size_t len = strlen(name);
   for (const char *at = strstr(text, name); at; at = strstr(at + len, name)) {
      char before = at == text ? ' ' : at[-1], after = at[len];
      if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) &&
          after != '_')
         return true;
   }
   return false;
}

/* Has the kernel's own grid several programs along the axis? */
static bool
has_several_programs(TlLintFacts *f, int axis)
{
   const TlNode *grid = tl_lint_own_grid(f);
   const TlNode *item = grid ? tl_grid_item(grid, (unsigned)axis) : NULL;
   if (!item || item->kind == TL_AST_INT)
      return item && tl_ast_Int(item)->value > 1;
   for (unsigned i = 0; i < f->func->num_params; i++) { /* SPLIT: constexpr = 1 */
      const TlParam *p = &f->func->params[i];
      bool is_asked = p->constant && tl_lint_is_written(tl_node_text(f->s, item), p->name);
      if (is_asked && (f->s->impl->has_guessed_numbers || strcmp(p->constant, "1") == 0))
         return false;
   }
   return true;
}

const char *
tl_lint_divisor(TlSema *s, const TlOp *div)
{
   const char *text = tl_range_text(s, div->range), *at = strrchr(text, '/');
   at = at ? at + 1 + strspn(at + 1, "= ") : "";
   size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
   return len && !at[len] && !(*at >= '0' && *at <= '9') ? at : NULL;
}

bool
tl_lint_trusts_numbers(const TlLintFacts *f)
{
   return !f->s->impl->has_guessed_numbers || f->s->impl->compares_guesses;
}

bool
tl_lint_is_one_program(TlLintFacts *f)
{
   return is_one_program(f->func) || tl_is_launched_once(f->s, f->func->name);
}

/* Not where there is one program, and where atomics may keep them apart. */
bool
tl_lint_are_concurrent(TlLintFacts *f)
{
   return !f->has_atomics && !is_one_program(f->func) && !tl_is_launched_once(f->s, f->func->name);
}

/* store(total, sum(v)) by all programs, each with a sum of its own; or by all along one axis. */
static bool
check_race(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   if (!tl_lint_are_concurrent(f))
      return false;
   const TlValue *mask = tl_pred(x->op);
   unsigned where =
      f->programs[x->pointers->id] | tl_lint_guard(f, x->op) | (mask ? f->programs[mask->id] : 0);
   unsigned lost = f->programs[tl_arg(x->op, 1)->id];
   int axis = lost ? __builtin_ctz(lost) : -1;
   if (where) { /* there may be one program along other axes, unless the grid says so */
      for (axis = TL_LINT_AXES - 1; axis >= 0; axis--)
         if ((lost & ~where) >> axis & 1 && has_several_programs(f, axis))
            break;
   }
   if (axis < 0)
      return false;
   tl_report(s->diags, W0239, x->op->range, axis);
   tl_help(s->diags,
           "add to it with tl.atomic_add(pointer, value), or give each program a place of "
           "its own: pointer + tl.program_id(%d)",
           axis);
   return true;
}

void
tl_lint_races(TlLintFacts *f)
{
   uint32_t main = f->s->impl->main->file;
   bool is_told = false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      if (x->op->range.file != main || is_told)
         continue;
      bool is_atomic = x->op->opcode == TL_OP_ATOMIC_RMW, is_store = x->op->opcode == TL_OP_STORE;
      is_told = (!is_atomic && check_overlap(f, x)) || (is_store && check_gap(f, x)) ||
                check_same_rounds(f, x) || (is_store && check_race(f, x));
   }
}
