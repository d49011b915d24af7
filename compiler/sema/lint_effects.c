/* What a kernel does to no effect: stores of what was loaded from the same place, rounds that find
 * the same each time, and blocks of a loop that a causal mask leaves out. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <string.h>

enum { MAX_STEPS = 200 };

/* ---- stored as it was loaded ---- */
static const TlLintAccess *
access_of(const TlLintFacts *f, const TlOp *op)
{
   for (size_t i = 0; i < f->all.len; i++)
      if (f->all.data[i].op == op)
         return &f->all.data[i];
   return NULL;
}

/* Is nothing else that may be of the array written between the load and the store, of one block? */
static bool
is_kept_until(const TlLintFacts *f, const TlOp *load, const TlLintAccess *store)
{
   for (const TlOp *op = load->next; op && load->block == store->op->block; op = op->next) {
      const TlLintAccess *x = op->opcode == TL_OP_STORE ? access_of(f, op) : NULL;
      if (op == store->op)
         return true;
      bool is_other = x && x->base != store->base && tl_lint_is_argument(x->base);
      if (op->num_regions || op->opcode == TL_OP_DEBUG_BARRIER ||
          (tl_has_trait(op, TL_TRAIT_WRITE) && !is_other))
         return false;
   }
   return false;
}

/* What is computed from v, has a name and is stored nowhere as it is; NULL: nothing. */
static const TlValue *
unstored_result(const TlLintFacts *f, const TlValue *v, const TlOp *until)
{
   for (const TlOp *op = v->def->next; op && op != until; op = op->next) {
      const TlValue *r = op->num_results == 1 ? tl_result(op, 0) : NULL;
      bool is_stored = false;
      if (!r || !r->name || r->type != v->type || op->opcode == TL_OP_LOAD ||
          !tl_lint_comes_from(r, v))
         continue;
      for (size_t i = 0; i < f->all.len; i++)
         is_stored |= f->all.data[i].op->opcode == TL_OP_STORE &&
                      tl_lint_before_casts(tl_arg(f->all.data[i].op, 1)) == r;
      if (!is_stored)
         return r;
   }
   return NULL;
}

static bool
stores_elsewhere(const TlLintFacts *f, const TlLintAccess *store)
{
   for (size_t i = 0; i < f->all.len; i++)
      if (f->all.data[i].op->opcode == TL_OP_STORE && f->all.data[i].base != store->base)
         return true;
   return false;
}

/* t = load(v + i, m); new = b * t + ..; store(v + i, t, m) */
static bool
check_unchanged(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlValue *v = x->op->opcode == TL_OP_STORE ? tl_arg(x->op, 1) : NULL;
   const TlOp *load = v && v->def && v->def->opcode == TL_OP_LOAD ? v->def : NULL;
   const TlLintAccess *from = load ? access_of(f, load) : NULL;
   bool is_same = from && x->is_known && from->is_known && x->base == from->base &&
                  tl_lint_is_argument(x->base) && x->base->name && tl_same_sum(&x->sum, &from->sum);
   if (!is_same || x->op->range.file != s->impl->main->file || !stores_elsewhere(f, x) ||
       !is_kept_until(f, load, x) ||
       (tl_pred(load) && !(tl_pred(x->op) && tl_lint_is_same(tl_pred(load), tl_pred(x->op)))))
      return false;
   const TlValue *meant = unstored_result(f, v, x->op);
   if (!meant)
      return false;
   tl_report(s->diags, W0385, x->op->range, x->base->name);
   tl_help(s->diags,
           "'%.40s', which is computed from it and stored nowhere, may be what is meant; or leave "
           "the store out",
           meant->name);
   tl_note(s->diags, N0200, load->range, "it is loaded here");
   return true;
}

/* ---- a causal mask the wrong way round ---- */
/* Has the place v the axis's program, and does the loop's round not move it? */
static bool
is_place_of(TlLintFacts *f, const TlValue *v, const TlOp *loop, int axis)
{
   TlSum sum;
   const TlValue *base;
   return tl_value_sum(f->affine, v, &sum, &base) && !base && tl_lint_has_program(&sum, axis) &&
          !tl_lint_comes_from(v, tl_for_index(loop));
}

/* start + lanes: the places of a round */
static bool
is_place_of_round(TlLintFacts *f, const TlValue *v, const TlOp *loop)
{
   TlSum sum;
   const TlValue *base;
   const TlOp *op = v->def;
   for (unsigned i = 0; op && op->opcode == TL_OP_ADD && i < 2; i++)
      if (tl_lint_before_moves(tl_arg(op, i)) == tl_for_index(loop))
         return tl_value_sum(f->affine, v, &sum, &base) && !base && !tl_lint_has_any_program(&sum);
   return false;
}

/* rows <= places of the round: what lies before the rows is left out. */
static bool
keeps_what_is_behind(TlLintFacts *f, const TlOp *op, const TlOp *loop, int axis)
{
   bool is_below = op->opcode == TL_OP_LE || op->opcode == TL_OP_LT;
   if (!is_below && op->opcode != TL_OP_GE && op->opcode != TL_OP_GT)
      return false;
   const TlValue *low = tl_lint_before_moves(tl_arg(op, !is_below));
   const TlValue *high = tl_lint_before_moves(tl_arg(op, is_below));
   return is_place_of(f, low, loop, axis) && is_place_of_round(f, high, loop);
}

static const TlOp *
turned_comparison(TlLintFacts *f, const TlValue *condition, const TlOp *loop, int axis)
{
   const TlOp *op = condition->def;
   if (!op || op->range.file != f->s->impl->main->file)
      return NULL;
   if (op->opcode == TL_OP_AND || op->opcode == TL_OP_BROADCAST) {
      const TlOp *found = turned_comparison(f, tl_arg(op, 0), loop, axis);
      return found || op->num_args < 2 ? found : turned_comparison(f, tl_arg(op, 1), loop, axis);
   }
   return keeps_what_is_behind(f, op, loop, axis) ? op : NULL;
}

/* The axis of the grid whose blocks alone the loop's end follows, from 0 on; -1: none. */
static int
axis_of_end(TlLintFacts *f, const TlOp *loop)
{
   uint64_t from;
   TlSum sum;
   const TlValue *base;
   if (loop->opcode != TL_OP_FOR || !tl_is_const(tl_for_lower(loop), &from) || from ||
       !tl_value_sum(f->affine, tl_for_upper(loop), &sum, &base) || base)
      return -1;
   for (int axis = 0; axis < TL_LINT_AXES; axis++)
      if (tl_lint_has_program(&sum, axis))
         return axis;
   return -1;
}

/* for start in range(0, (pid + 1) * BLOCK, ..): where(rows <= start + lanes, s, -inf) */
static bool
check_causal(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlOp *loop = op->opcode == TL_OP_SELECT ? tl_parent(op) : NULL;
   int axis = loop && tl_result(op, 0)->type->rank == 2 ? axis_of_end(f, loop) : -1;
   const TlOp *compare = axis < 0 ? NULL : turned_comparison(f, tl_arg(op, 0), loop, axis);
   double other;
   if (!compare || !tl_is_number(tl_lint_before_moves(tl_arg(op, 2)), &other))
      return false;
   static const struct {
      TlOpcode op;
      const char *is, *turned;
   } ways[] = {
      {TL_OP_LE, "<=", ">="}, {TL_OP_LT, "<", ">="}, {TL_OP_GE, ">=", "<="}, {TL_OP_GT, ">", "<="}};
   unsigned i = 0;
   while (ways[i].op != compare->opcode)
      i++;
   tl_report(s->diags, W0386, compare->range, tl_range_text(s, compare->range));
   tl_help(s->diags,
           "a causal mask keeps what lies before each row and its own place: '%s' in place of "
           "'%s'; what lies behind a row is reached by a loop to the end alone",
           ways[i].turned, ways[i].is);
   tl_note(s->diags, N0200, tl_for_upper(loop)->def ? tl_for_upper(loop)->def->range : loop->range,
           "the loop ends with the block of its rows");
   return true;
}

/* ---- the same found in each round ---- */
/* Does no round of the loop change it? */
static bool
is_still(const TlValue *v, const TlOp *loop, unsigned *steps)
{
   const TlBlock *body = loop->regions[0]->block;
   const TlOp *op = v->def;
   const TlOp *around = op ? op : NULL;
   if (!op)
      return v->block != body;
   while (around && around->block != body)
      around = tl_parent(around);
   if (!around)
      return true;
   if (++*steps > MAX_STEPS || tl_has_trait(op, TL_TRAIT_READ) ||
       tl_has_trait(op, TL_TRAIT_WRITE) || (op->num_regions && op->opcode != TL_OP_REDUCE))
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_still(tl_arg(op, i), loop, steps))
         return false;
   return true;
}

/* The greatest or least of a tile from before the loop, or where that is. */
static const TlOp *
found_in(const TlValue *v, const TlOp *loop)
{
   unsigned steps = 0;
   v = tl_lint_before_casts(v);
   const TlOp *op = v->def;
   if (!op || op->opcode != TL_OP_REDUCE || tl_parent(op) != loop || v->type->rank ||
       !is_still(v, loop, &steps))
      return NULL;
   TlOpcode by = op->num_args == 1 ? tl_combined_by(op) : TL_OP_COUNT;
   return op->num_args == 2 || by == TL_OP_MAX || by == TL_OP_MIN ? op : NULL;
}

/* for k in range(K): store(y + k, max(x, axis=0)) */
static bool
check_rounds(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlOp *loop = x->op->opcode == TL_OP_STORE ? tl_parent(x->op) : NULL;
   if (!loop || loop->opcode != TL_OP_FOR || x->op->range.file != s->impl->main->file)
      return false;
   const TlOp *reduce = found_in(tl_arg(x->op, 1), loop);
   if (!reduce || reduce->range.file != x->op->range.file ||
       !tl_lint_comes_from(x->pointers, tl_for_index(loop)))
      return false;
   const TlValue *tile = tl_lint_before_casts(tl_arg(reduce, 0));
   const char *name = tile->name ? tile->name : "x";
   tl_report(s->diags, W0387, reduce->range, name);
   tl_help(s->diags,
           "take out what was found at the end of a round: %.40s = tl.where(i == at, "
           "-float(\"inf\"), %.40s), where i are the places of its elements and at is what "
           "tl.argmax gives; of the least, float(\"inf\")",
           name, name);
   tl_note(s->diags, N0200, x->op->range, "each round stores it to a place of its own");
   return true;
}

/* ---- dropout ---- */
/* rand(seed, i) > p, or a name that stands for it: what random.tile makes. */
static bool
is_random(TlSema *s, const TlOp *compare)
{
   const char *text = tl_range_text(s, compare->range);
   text = strncmp(text, "tl.", 3) == 0 ? text + 3 : text;
   const TlValue *v = tl_lint_before_moves(tl_arg(compare, 0));
   const TlSource *src = v->def ? tl_source(s->sources, v->def->range.file) : NULL;
   return strncmp(text, "rand(", 5) == 0 || (src && strstr(src->name, "random.tile"));
}

/* where(rand(seed, i) > p, x / p, 0.0) */
static bool
check_dropout(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlOp *compare =
      op->opcode == TL_OP_SELECT ? tl_lint_before_moves(tl_arg(op, 0))->def : NULL;
   const TlOp *div = compare ? tl_lint_before_casts(tl_arg(op, 1))->def : NULL;
   if (!div || div->opcode != TL_OP_DIV ||
       (compare->opcode != TL_OP_GT && compare->opcode != TL_OP_GE) ||
       op->range.file != s->impl->main->file)
      return false;
   const TlValue *p = tl_lint_before_moves(tl_arg(compare, 1));
   double other;
   if (!tl_lint_is_argument(p) || !p->name || tl_lint_before_moves(tl_arg(div, 1)) != p ||
       !is_random(s, compare) || !tl_is_number(tl_lint_before_moves(tl_arg(op, 2)), &other) ||
       other != 0)
      return false;
   tl_report(s->diags, W0389, div->range, p->name, p->name);
   tl_help(s->diags,
           "divide by what it is kept with, 1 - %.40s; or keep it where the random "
           "number is below '%.40s'",
           p->name, p->name);
   tl_note(
      s->diags, N0200, compare->range,
      tl_arena_printf(s->arena, "of numbers from 0 to 1 a part of 1 - %.40s is above it", p->name));
   return true;
}

void
tl_lint_effects(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   bool is_told[4] = {false};
   for (size_t i = 0; i < f->all.len; i++) {
      is_told[0] = is_told[0] || check_unchanged(f, &f->all.data[i]);
      is_told[1] = is_told[1] || check_rounds(f, &f->all.data[i]);
   }
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      is_told[2] = is_told[2] || check_causal(f, op);
      is_told[3] = is_told[3] || check_dropout(f, op);
   }
}
