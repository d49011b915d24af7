/* Stores that meet others of the same program: elements that it reads again without a barrier,
 * one place written in each round of a loop, sums of what equal indices lead to. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

enum { MAX_STEPS = 200 };

/* ---- read again ---- */
typedef struct Reach { /* of the lanes of a tile, behind what they all share */
   int64_t lo, hi;
   bool is_known; /* all strides are numbers, and 64 bits hold where they lead */
} Reach;

static Reach
reach_of(const TlLintAccess *x)
{
   int64_t start = tl_lint_constant(&x->sum);
   Reach r = {.lo = start, .hi = start, .is_known = true};
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      int64_t span, *end = t->scale < 0 ? &r.lo : &r.hi;
      if (t->dim < 0)
         continue;
      int64_t steps = (int64_t)x->pointers->type->shape[t->dim] - 1;
      r.is_known &= !t->num && !__builtin_mul_overflow(t->scale, steps, &span) &&
                    !__builtin_add_overflow(*end, span, end);
   }
   return r;
}

/* The terms that all lanes share, and of lanes (with_lanes) their strides, wherever they go. */
static bool
has_same_terms(const TlSum *x, const TlSum *y, bool with_lanes)
{
   unsigned counted = 0, others = 0;
   for (unsigned k = 0; k < y->num; k++)
      others += with_lanes || (y->term[k].dim < 0 && y->term[k].num);
   for (unsigned i = 0; i < x->num; i++) {
      const TlTerm *t = &x->term[i];
      if (!with_lanes && (t->dim >= 0 || !t->num))
         continue;
      unsigned k = 0;
      while (k < y->num && !tl_same_term(t, &y->term[k]))
         k++;
      if (k == y->num)
         return false;
      counted++;
   }
   return counted == others;
}

static const TlTerm *
only_lane(const TlSum *s)
{
   const TlTerm *found = NULL;
   for (unsigned i = 0; i < s->num; i++) {
      if (s->term[i].dim >= 0 && found)
         return NULL;
      found = s->term[i].dim >= 0 ? &s->term[i] : found;
   }
   return found;
}

/* The same strides along the same dimensions. */
static bool
has_same_lanes(const TlLintAccess *x, const TlLintAccess *y)
{
   unsigned lanes = 0, found = 0;
   for (unsigned k = 0; k < y->sum.num; k++)
      lanes += y->sum.term[k].dim >= 0;
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      for (unsigned k = 0; t->dim >= 0 && k < y->sum.num; k++)
         found += y->sum.term[k].dim == t->dim && tl_same_term(t, &y->sum.term[k]);
   }
   return found == lanes;
}

/* x + i * stride and x + i * stride + shift: of tables nothing is said. */
static bool
meets_shifted(const TlLintAccess *x, const TlLintAccess *y)
{
   const TlTerm *lane = only_lane(&x->sum);
   int64_t shift;
   if (!lane || lane->num ||
       __builtin_sub_overflow(tl_lint_constant(&x->sum), tl_lint_constant(&y->sum), &shift) ||
       shift == INT64_MIN)
      return false;
   int64_t len = x->pointers->type->shape[lane->dim], steps = shift / lane->scale;
   return shift % lane->scale == 0 && steps < len && steps > -len;
}

static bool
meets(const TlLintAccess *x, const TlLintAccess *y)
{
   bool is_same = x->sum.num == y->sum.num;
   for (unsigned i = 0; is_same && i < x->sum.num; i++) {
      unsigned k = 0;
      while (k < y->sum.num && !(y->sum.term[k].dim == x->sum.term[i].dim &&
                                 tl_same_term(&x->sum.term[i], &y->sum.term[k])))
         k++;
      is_same = k < y->sum.num;
   }
   if (is_same || !has_same_terms(&x->sum, &y->sum, false))
      return false;
   if (has_same_lanes(x, y))
      return meets_shifted(x, y);
   Reach a = reach_of(x), b = reach_of(y);
   if (a.is_known && b.is_known)
      return a.lo <= b.hi && b.lo <= a.hi;
   return has_same_terms(&x->sum, &y->sum, true); /* rows and columns exchanged */
}

static bool
check_read_again(TlLintFacts *f, const TlLintAccess *store)
{
   TlSema *s = f->s;
   bool is_candidate = store->is_known && tl_type_num_elems(store->pointers->type) > 1;
   for (const TlOp *op = store->op->next; is_candidate && op; op = op->next) {
      if (op->opcode == TL_OP_DEBUG_BARRIER || op->num_regions ||
          (op->opcode != TL_OP_STORE && tl_has_trait(op, TL_TRAIT_WRITE)))
         return false;
      if (op->opcode != TL_OP_LOAD)
         continue;
      for (size_t i = 0; i < f->all.len; i++) {
         const TlLintAccess *y = &f->all.data[i];
         if (y->op != op || !y->is_known || y->base != store->base || !meets(store, y))
            continue;
         tl_report(s->diags, W0258, op->range);
         tl_help(s->diags, "write tl.debug_barrier() between them");
         tl_note(s->diags, N0200, store->op->range, "the store");
         return true;
      }
   }
   return false;
}

/* ---- in each round ---- */
static const TlValue *
base_of(const TlValue *p)
{
   while (p->def && (p->def->opcode == TL_OP_ADDPTR || p->def->opcode == TL_OP_SPLAT ||
                     p->def->opcode == TL_OP_BROADCAST || p->def->opcode == TL_OP_EXPAND_DIMS ||
                     p->def->opcode == TL_OP_BITCAST))
      p = tl_arg(p->def, 0);
   return !p->def && tl_lint_is_argument(p) ? p : NULL;
}

/* Computed in the loop. */
static bool
is_of_loop(const TlValue *v, const TlOp *loop, unsigned *steps)
{
   if (!tl_is_defined_in(v, loop) && !(v->block && v->block->region->parent == loop))
      return false;
   if (!v->def || ++*steps > MAX_STEPS || v->def->num_regions ||
       !tl_has_trait(v->def, TL_TRAIT_PURE))
      return true;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (is_of_loop(tl_arg(v->def, i), loop, steps))
         return true;
   return false;
}

/* Has the value what the rounds before left? */
static bool
is_carried(const TlValue *v, const TlOp *loop, unsigned *steps)
{
   if (v->block && v->block->region->parent == loop)
      return v != tl_for_index(loop);
   if (!v->def || !tl_is_defined_in(v, loop))
      return false;
   if (++*steps > MAX_STEPS || v->def->num_regions)
      return v->def->opcode != TL_OP_REDUCE || is_carried(tl_arg(v->def, 0), loop, steps);
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (is_carried(tl_arg(v->def, i), loop, steps))
         return true;
   return false;
}

/* Does the loop itself do nothing else to the array? */
static bool
is_alone(const TlOp *loop, const TlOp *store, const TlValue *base)
{
   const TlBlock *body = loop->regions[0]->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      bool is_access = op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE;
      if (op != store && is_access && base_of(tl_arg(op, 0)) == base)
         return false;
      if (!is_access && tl_has_trait(op, TL_TRAIT_WRITE))
         return false;
   }
   return true;
}

/* By blocks: a loop by ones may be a condition, `for i in range(0, is_mine)`. */
static bool
goes_by_blocks(const TlOp *loop)
{
   uint64_t bits;
   const TlValue *step = tl_for_step(loop);
   return tl_is_const(step, &bits) && tl_bits_to_int(step->type->dtype, bits) > 1;
}

/* for ..: store(y, sum(load(..))).  A sum that goes on from round to round is right in the end. */
static bool
check_rounds(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlOp *loop = tl_parent(x->op);
   const TlValue *base = base_of(x->pointers), *mask = tl_pred(x->op);
   unsigned steps = 0, carried = 0;
   if (!loop || loop->opcode != TL_OP_FOR || !goes_by_blocks(loop) || !base ||
       is_of_loop(x->pointers, loop, &steps) || (mask && is_of_loop(mask, loop, &steps)) ||
       !is_of_loop(tl_arg(x->op, 1), loop, &steps) ||
       is_carried(tl_arg(x->op, 1), loop, &carried) || !is_alone(loop, x->op, base))
      return false;
   tl_report(s->diags, W0259, x->op->range);
   tl_help(s->diags, "store behind the loop what it ends with, or add what the loop moves to the "
                     "pointer");
   return true;
}

/* ---- equal indices ---- */
/* Is a part of the offsets a tile that was loaded? */
static bool
has_loaded_index(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode == TL_OP_LOAD)
      return tl_type_num_elems(v->type) > 1;
   bool goes_on = tl_has_trait(op, TL_TRAIT_ELTWISE) || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) ||
                  op->opcode == TL_OP_BROADCAST;
   for (unsigned i = 0; goes_on && i < op->num_args; i++)
      if (has_loaded_index(tl_arg(op, i), steps))
         return true;
   return false;
}

/* One that this program loads from a table of indices: others may find the same in it. */
static bool
is_own_index(const TlLintFacts *f, const TlTerm *t)
{
   static const char *const words[] = {"ids",   "idx",    "index",  "indices", "token",
                                       "label", "target", "bucket", "segment", "bins"};
   for (unsigned k = 0; k < t->num; k++) {
      const TlOp *load =
         t->factor[k].is_iteration ? NULL : tl_lint_before_casts(t->factor[k].value)->def;
      const TlValue *table = load && load->opcode == TL_OP_LOAD ? base_of(tl_arg(load, 0)) : NULL;
      bool is_own = table && table->name && f->programs[tl_arg(load, 0)->id];
      for (size_t w = 0; is_own && w < sizeof words / sizeof words[0]; w++)
         if (tl_has_word(table->name, words[w]))
            return true;
   }
   return false;
}

/* table + row * D + d, where this program loads `row`, and what it is does not add to the rest. */
static bool
goes_by_own_index(TlLintFacts *f, const TlLintAccess *x)
{
   bool has_index = false;
   for (unsigned i = 0; x->is_known && i < x->sum.num; i++) {
      if (tl_lint_axis(&x->sum.term[i]) >= 0)
         return false;
      has_index |= is_own_index(f, &x->sum.term[i]);
   }
   return has_index && tl_lint_are_concurrent(f) && !tl_lint_guard(f, x->op);
}

/* store(h + bin, load(h + bin) + 1) */
static bool
check_equal_indices(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlOp *sum = tl_arg(x->op, 1)->def;
   while (sum && sum->opcode == TL_OP_CAST)
      sum = tl_arg(sum, 0)->def;
   unsigned steps = 0;
   if (!sum || sum->opcode != TL_OP_ADD ||
       (!has_loaded_index(x->pointers, &steps) && !goes_by_own_index(f, x)))
      return false;
   for (unsigned i = 0; i < 2; i++) {
      const TlOp *load = tl_arg(sum, i)->def;
      while (load && load->opcode == TL_OP_CAST)
         load = tl_arg(load, 0)->def;
      if (!load || load->opcode != TL_OP_LOAD || !tl_lint_is_same(tl_arg(load, 0), x->pointers))
         continue;
      tl_report(s->diags, W0262, x->op->range);
      tl_help(s->diags, "write tl.atomic_add(pointers, value, mask) in place of load, + and store");
      return true;
   }
   return false;
}

/* ---- lost ---- */
/* May something behind the store see what it leaves, or may it be done without the store behind? */
static bool
ends_search(const TlOp *op, const TlValue *base, TlLintFacts *f)
{
   if (op->opcode == TL_OP_STORE || tl_has_trait(op, TL_TRAIT_PURE))
      return op->num_regions != 0;
   if (op->opcode != TL_OP_LOAD)
      return true;
   for (size_t i = 0; i < f->all.len; i++)
      if (f->all.data[i].op == op)
         return f->all.data[i].base == base;
   return true;
}

static bool
has_same(const TlSum *sum, const TlTerm *t)
{
   for (unsigned i = 0; i < sum->num; i++)
      if (sum->term[i].scale == t->scale && tl_same_term(&sum->term[i], t))
         return true;
   return false;
}

/* "half", the one term that `more` has beside those of the other sum; NULL: it is not so. */
static const char *
term_beside(TlSema *s, const TlSum *less, const TlSum *more)
{
   const TlTerm *left = NULL;
   for (unsigned i = 0; i < less->num; i++)
      if (!has_same(more, &less->term[i]))
         return NULL;
   for (unsigned i = 0; i < more->num; i++)
      if (!has_same(less, &more->term[i])) {
         if (left)
            return NULL;
         left = &more->term[i];
      }
   if (!left || left->dim >= 0 || left->num > 1 || (left->num && left->factor[0].is_iteration))
      return NULL;
   const char *name = left->num ? left->factor[0].value->name : NULL;
   if (left->num)
      return name && left->scale == 1 ? name : NULL;
   return tl_arena_printf(s->arena, "%lld", (long long)left->scale);
}

/* load(x + i), load(x + half + i), of which both values are made: half may lack in a store. */
static void
help_apart(TlLintFacts *f, const TlOp *first, const TlOp *second)
{
   for (size_t i = 0; i < f->all.len; i++)
      for (size_t k = 0; k < f->all.len; k++) {
         const TlLintAccess *a = &f->all.data[i], *b = &f->all.data[k];
         bool are_loads = a->op->opcode == TL_OP_LOAD && b->op->opcode == TL_OP_LOAD &&
                          a->base == b->base && a->is_known && b->is_known && a->base->name;
         const char *by = are_loads ? term_beside(f->s, &a->sum, &b->sum) : NULL;
         bool is_made = by != NULL;
         for (unsigned n = 0; n < 2 && is_made; n++) {
            const TlValue *v = tl_result(n ? b->op : a->op, 0);
            is_made =
               tl_lint_comes_from(tl_arg(first, 1), v) || tl_lint_comes_from(tl_arg(second, 1), v);
         }
         if (!is_made)
            continue;
         tl_help(f->s->diags,
                 "what is stored is made of loads of '%s' that lie %s apart: one of the stores may "
                 "lack + %s; else leave the first out",
                 a->base->name, by, by);
         return;
      }
}

/* store(m + i, a); store(m + i, b) */
static bool
check_lost(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlValue *mask = tl_pred(x->op);
   for (const TlOp *op = x->op->next; op && !ends_search(op, x->base, f); op = op->next) {
      const TlValue *other = op->opcode == TL_OP_STORE ? tl_pred(op) : NULL;
      if (op->opcode != TL_OP_STORE || op->range.file != x->op->range.file ||
          op->range.begin == x->op->range.begin || !tl_lint_is_same(tl_arg(op, 0), x->pointers))
         continue;
      if (other && !(mask && tl_lint_is_same(other, mask)))
         return false;
      tl_report(s->diags, W0276, x->op->range);
      help_apart(f, x->op, op);
      tl_note(s->diags, N0200, op->range, "the store that overwrites it");
      return true;
   }
   return false;
}

void
tl_lint_stores(TlLintFacts *f)
{
   uint32_t main = f->s->impl->main->file;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      bool is_own = x->op->opcode == TL_OP_STORE && x->op->range.file == main;
      if (is_own && (check_read_again(f, x) || check_rounds(f, x) || check_equal_indices(f, x) ||
                     check_lost(f, x)))
         return;
   }
}
