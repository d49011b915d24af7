/* Which axis of a tile a reduction left, and where its values go: of a square tile rows' values fit
 * along columns as well.
 *
 * What is told of is a tile that meets a reduction of itself along the wrong axis: the two have a
 * tile in common that both are computed from element by element, or the one is a product of the
 * other, whose rows or columns it has.  Outer differences of a vector and other pairs of tiles are
 * meant.  So are these: values that the tile meets along the right axis as
 * well (A * d[:, None] * d[None, :]), products that are summed up at once (a vector times a
 * matrix), and rows or diagonals that a sum picks out (sum(where(i == k, A, 0))).
 *
 * The same of ranges: one that a load has along its columns is an index of columns. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

enum { MAX_STEPS = 200, MAX_ROOTS = 16 };

static bool
is_eltwise(const TlOp *op)
{
   return tl_has_trait(op, TL_TRAIT_ELTWISE) || op->opcode == TL_OP_HINT;
}

/* What a loop carries from round to round: what the value becomes; NULL: it is no such value. */
static const TlValue *
carried_on(const TlValue *v)
{
   const TlOp *loop = v->def ? v->def : v->block->region->parent;
   if (!loop || loop->opcode != TL_OP_FOR || v == tl_for_index(loop))
      return NULL;
   return tl_yielded(loop->regions[0]->block,
                     v->def ? v->index : v->index - tl_first_carried(loop));
}

/* ---- the tile of a value ---- */
typedef struct Roots { /* of two dimensions, neither computed element by element nor spread */
   const TlValue *root[MAX_ROOTS];
   unsigned num, steps;
} Roots;

static void
find_roots(Roots *r, const TlValue *v)
{
   const TlOp *op = v->def;
   uint64_t bits;
   if (v->type->rank != 2 || ++r->steps > MAX_STEPS || r->num == MAX_ROOTS || tl_is_const(v, &bits))
      return;
   if (op && (op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_SPLAT ||
              op->opcode == TL_OP_EXPAND_DIMS))
      return;
   if (!op || !is_eltwise(op)) {
      const TlValue *next = carried_on(v);
      for (unsigned i = 0; i < r->num; i++)
         if (r->root[i] == v)
            return;
      r->root[r->num++] = v;
      if (next)
         find_roots(r, next);
      return;
   }
   for (unsigned i = op->opcode == TL_OP_SELECT; i < op->num_args; i++)
      find_roots(r, tl_arg(op, i));
}

static bool
have_common_root(const Roots *x, const Roots *y)
{
   for (unsigned i = 0; i < x->num; i++)
      for (unsigned k = 0; k < y->num; k++)
         if (x->root[i] == y->root[k])
            return true;
   return false;
}

/* Does the axis of `tile` mean what it does of `other`?  Rows of a product are those of its left
 * side, columns those of its right. */
static bool
has_axis_of(const TlValue *tile, const TlValue *other, unsigned axis)
{
   Roots x = {.num = 0}, y = {.num = 0};
   find_roots(&x, tile);
   find_roots(&y, other);
   if (have_common_root(&x, &y))
      return true;
   for (unsigned i = 0; i < x.num; i++) {
      const TlOp *dot = x.root[i]->def;
      Roots side = {.num = 0};
      if (!dot || dot->opcode != TL_OP_DOT)
         continue;
      find_roots(&side, tl_arg(dot, axis));
      if (have_common_root(&side, &y))
         return true;
   }
   return false;
}

/* ---- the reduction of a value ---- */
static bool
has_equality(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode == TL_OP_EQ)
      return true;
   bool goes_on = is_eltwise(op) || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
   for (unsigned i = 0; goes_on && i < op->num_args; i++)
      if (has_equality(tl_arg(op, i), steps))
         return true;
   return false;
}

/* where(i == k, A, 0), A * (i == k) */
static bool
picks(const TlOp *reduce)
{
   const TlOp *op = tl_arg(reduce, 0)->def;
   unsigned steps = 0;
   if (op && op->opcode == TL_OP_SELECT)
      return has_equality(tl_arg(op, 0), &steps);
   return op && op->opcode == TL_OP_MUL && has_equality(tl_result(op, 0), &steps);
}

typedef struct Left {
   const TlOp *reduce; /* of a tile of two dimensions to a value for each element of one */
   bool is_mixed;      /* of two axes */
   bool in_loop;       /* in what a loop carries on: it leads there again */
   unsigned steps;
} Left;

static void
find_reduction(Left *l, const TlValue *v)
{
   const TlOp *op = v->def;
   const TlValue *next = carried_on(v);
   if (++l->steps > MAX_STEPS || v->type->rank != 1)
      return;
   if (next && !l->in_loop) {
      l->in_loop = true;
      find_reduction(l, next);
      l->in_loop = false;
   }
   if (!op)
      return;
   if (op->opcode == TL_OP_REDUCE) {
      if (op->num_args != 1 || tl_arg(op, 0)->type->rank != 2 || picks(op))
         return;
      l->is_mixed |=
         l->reduce && tl_attr_int(l->reduce, TL_ATTR_AXIS) != tl_attr_int(op, TL_ATTR_AXIS);
      l->reduce = l->reduce ? l->reduce : op;
      return;
   }
   for (unsigned i = 0; is_eltwise(op) && i < op->num_args; i++)
      find_reduction(l, tl_arg(op, i));
}

/* The reduction that a value of one dimension is computed from, element by element; NULL: none, or
 * several along different axes. */
static const TlOp *
reduction_of(const TlValue *v)
{
   Left l = {.steps = 0};
   find_reduction(&l, v);
   return l.is_mixed ? NULL : l.reduce;
}

/* ---- the spreading of a value ---- */
typedef struct Spread {
   const TlValue *row; /* of one dimension, that is spread */
   const TlOp *view;   /* that gives it its second dimension */
   unsigned axis;      /* of that dimension, in the end */
   const TlOp *reduce;
} Spread;

/* The view of one dimension as two, of which v, with one element along an axis, is computed. */
static const TlOp *
view_of(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS || v->type->rank != 2)
      return NULL;
   bool is_view = op->opcode == TL_OP_EXPAND_DIMS || op->opcode == TL_OP_RESHAPE;
   if (is_view && tl_arg(op, 0)->type->rank == 1)
      return op;
   bool goes_on = is_eltwise(op) || op->opcode == TL_OP_TRANS || op->opcode == TL_OP_RESHAPE;
   for (unsigned i = 0; goes_on && i < op->num_args; i++) {
      const TlOp *view = view_of(tl_arg(op, i), steps);
      if (view && reduction_of(tl_arg(view, 0)))
         return view;
   }
   return NULL;
}

/* Is v a reduction that goes along one axis of a tile? */
static bool
find_spread(const TlValue *v, Spread *out)
{
   const TlOp *op = v->def;
   const TlValue *flat = op && op->opcode == TL_OP_BROADCAST ? tl_arg(op, 0) : NULL;
   unsigned steps = 0;
   if (!flat || flat->type->rank != 2 || (flat->type->shape[0] == 1) == (flat->type->shape[1] == 1))
      return false;
   out->view = view_of(flat, &steps);
   out->axis = flat->type->shape[1] == 1;
   out->row = out->view ? tl_arg(out->view, 0) : NULL;
   out->reduce = out->row ? reduction_of(out->row) : NULL;
   return out->reduce != NULL;
}

static unsigned
axis_of(const TlOp *reduce)
{
   return (unsigned)tl_attr_int(reduce, TL_ATTR_AXIS);
}

/* ---- what is meant ---- */
/* Does the tile meet the same values, somewhere behind v, along the axis that is left? */
static bool
meets_rightly(const TlValue *v, const Spread *wrong, unsigned *steps)
{
   unsigned axis = axis_of(wrong->reduce);
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool goes_on = is_eltwise(op) || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
      if (++*steps > MAX_STEPS)
         return true;
      if (op->num_results != 1 || !goes_on || tl_result(op, 0)->type->rank != 2)
         continue;
      Spread s;
      for (unsigned i = 0; op->num_args == 2 && i < 2; i++)
         if (find_spread(tl_arg(op, i), &s) && s.row == wrong->row && s.axis == axis &&
             has_axis_of(tl_arg(op, 1 - i), tl_arg(s.reduce, 0), 1 - axis))
            return true;
      if (meets_rightly(tl_result(op, 0), wrong, steps))
         return true;
   }
   return false;
}

/* v * m is summed up at once. */
static bool
is_summed(const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next)
      if (u->user->opcode != TL_OP_REDUCE && u->user->opcode != TL_OP_SELECT)
         return false;
   return v->uses != NULL;
}

/* ---- rows' values along columns ---- */
static void
report_spread(TlSema *s, const TlOp *op, const Spread *found)
{
   static const char *const lines[2][2] = {{"column", "row"}, {"row", "column"}};
   unsigned axis = axis_of(found->reduce);
   const char *brackets = axis ? "[:, None]" : "[None, :]";
   const char *text = tl_range_text(s, found->row->def->range), *name = found->row->name;
   bool is_unsaid =
      found->view->range.begin == op->range.begin && found->view->range.end == op->range.end;
   bool is_plain = found->reduce == found->row->def;
   if (is_unsaid)
      tl_report(s->diags, W0272, op->range, name ? name : text);
   else
      tl_report(s->diags, W0278, op->range, name ? name : text, lines[axis][0], lines[axis][1],
                lines[axis][0]);
   bool is_turned = found->view->range.begin == found->reduce->range.begin &&
                    found->view->range.end == found->reduce->range.end;
   if (is_turned) /* keep_dims=True in it */
      tl_help(s->diags, "take it as keep_dims=True leaves it, and do not turn it round");
   else if (name)
      tl_help(s->diags, "write %.60s%s, or reduce along axis=%u", name, brackets, 1 - axis);
   else
      tl_help(s->diags,
              is_plain ? "write %.60s%s, or keep_dims=True in it"
                       : "write (%.60s)%s, or keep_dims=True in the reduction",
              text, brackets);
   if (!is_unsaid && found->reduce->range.begin != found->row->def->range.begin)
      tl_note(s->diags, N0200, found->reduce->range,
              tl_arena_printf(s->arena, "axis %u is reduced here", axis));
}

/* s - max(s, 1)[None, :], and e / sum(e, axis=1), where they are square */
static bool
check_spread(TlLintFacts *f, const TlOp *op)
{
   bool is_pair = op->opcode == TL_OP_SUB || op->opcode == TL_OP_DIV || op->opcode == TL_OP_MUL;
   for (unsigned i = 0; is_pair && i < 2; i++) {
      Spread s;
      unsigned steps = 0;
      if (!find_spread(tl_arg(op, i), &s) || s.axis == axis_of(s.reduce) ||
          s.reduce->range.file != op->range.file ||
          !has_axis_of(tl_arg(op, 1 - i), tl_arg(s.reduce, 0), 1 - axis_of(s.reduce)) ||
          (op->opcode == TL_OP_MUL && is_summed(tl_result(op, 0))) ||
          meets_rightly(s.row, &s, &steps))
         continue;
      report_spread(f->s, op, &s);
      return true;
   }
   return false;
}

/* ---- stored along the wrong axis ---- */
typedef struct Lanes { /* ranges that an index of one dimension is made of */
   const TlOp *range[MAX_ROOTS];
   unsigned num, steps;
} Lanes;

static void
find_lanes(Lanes *l, const TlValue *v)
{
   const TlOp *op = v->def;
   if (!op || ++l->steps > MAX_STEPS || l->num == MAX_ROOTS || v->type->rank != 1)
      return;
   if (op->opcode == TL_OP_ARANGE)
      l->range[l->num++] = op;
   for (unsigned i = 0; is_eltwise(op) && i < op->num_args; i++)
      find_lanes(l, tl_arg(op, i));
}

/* By dimension of the pointers of two. */
static void
find_lanes_of_tile(Lanes l[2], const TlValue *v)
{
   const TlOp *op = v->def, *loop = op ? NULL : v->block->region->parent;
   if (++l->steps > MAX_STEPS || v->type->rank != 2)
      return;
   if (loop && loop->opcode == TL_OP_FOR && v != tl_for_index(loop)) /* as the loop begins */
      find_lanes_of_tile(l, tl_init(loop, v->index - tl_first_carried(loop)));
   if (!op)
      return;
   if (op->opcode == TL_OP_EXPAND_DIMS && tl_arg(op, 0)->type->rank == 1)
      find_lanes(&l[!tl_attr_int(op, TL_ATTR_AXIS)], tl_arg(op, 0));
   bool goes_on = is_eltwise(op) || op->opcode == TL_OP_BROADCAST;
   for (unsigned i = 0; goes_on && i < op->num_args; i++)
      find_lanes_of_tile(l, tl_arg(op, i));
}

static const TlOp *
common_lane(const Lanes *a, const Lanes *b)
{
   for (unsigned i = 0; i < a->num; i++)
      for (unsigned k = 0; k < b->num; k++)
         if (a->range[i] == b->range[k])
            return a->range[i];
   return NULL;
}

/* By dimension of a tile that is computed from loads and products of them. */
static void
find_lanes_of_value(Lanes l[2], const TlValue *v, unsigned depth)
{
   Roots r = {.num = 0};
   find_roots(&r, v);
   for (unsigned i = 0; i < r.num && depth < 4; i++) {
      const TlOp *op = r.root[i]->def;
      Lanes a[2] = {{.num = 0}, {.num = 0}}, b[2] = {{.num = 0}, {.num = 0}};
      if (op && op->opcode == TL_OP_LOAD) {
         find_lanes_of_tile(a, tl_arg(op, 0));
      } else if (op && op->opcode == TL_OP_DOT) {
         find_lanes_of_value(a, tl_arg(op, 0), depth + 1);
         find_lanes_of_value(b, tl_arg(op, 1), depth + 1);
         a[1] = b[1];
      } else if (op && op->opcode == TL_OP_TRANS) {
         find_lanes_of_value(b, tl_arg(op, 0), depth + 1);
         a[0] = b[1];
         a[1] = b[0];
      }
      for (unsigned d = 0; d < 2; d++)
         for (unsigned k = 0; k < a[d].num && l[d].num < MAX_ROOTS; k++)
            l[d].range[l[d].num++] = a[d].range[k];
   }
}

/* The load that a tile is computed from, element by element. */
static const TlOp *
load_of(const TlValue *tile)
{
   Roots r = {.num = 0};
   find_roots(&r, tile);
   for (unsigned i = 0; i < r.num; i++)
      if (r.root[i]->def && r.root[i]->def->opcode == TL_OP_LOAD)
         return r.root[i]->def;
   return NULL;
}

/* v = load(x + r[:, None] * N + c[None, :]); store(y + r, sum(v, axis=0)) */
static bool
check_stored(TlLintFacts *f, const TlOp *store)
{
   TlSema *s = f->s;
   const TlOp *reduce = tl_arg(store, 0)->type->rank == 1 ? reduction_of(tl_arg(store, 1)) : NULL;
   const TlOp *load = reduce ? load_of(tl_arg(reduce, 0)) : NULL;
   if (!load || tl_arg(load, 0)->type->rank != 2 || reduce->range.file != store->range.file)
      return false;
   unsigned axis = axis_of(reduce);
   Lanes of[2] = {{.num = 0}, {.num = 0}}, to = {.num = 0};
   find_lanes_of_tile(of, tl_arg(load, 0));
   find_lanes(&to, tl_arg(store, 0));
   const TlOp *gone = common_lane(&to, &of[axis]);
   if (!gone || !of[1 - axis].num || common_lane(&to, &of[1 - axis]) || common_lane(&of[0], &of[1]))
      return false;
   const TlValue *left = tl_result(of[1 - axis].range[0], 0), *by = tl_result(gone, 0);
   tl_report(s->diags, W0279, store->range, axis, axis ? "row" : "column", axis ? "column" : "row");
   if (left->name && by->name)
      tl_help(s->diags,
              "what is left goes by '%.40s', as in the load; where a value for each of '%.40s' is "
              "meant, reduce along axis %u",
              left->name, by->name, 1 - axis);
   else
      tl_help(s->diags, "store it by the range of the load's other axis, or reduce along axis %u",
              1 - axis);
   tl_note(s->diags, N0200, reduce->range,
           tl_arena_printf(s->arena, "axis %u is reduced here", axis));
   return true;
}

/* ---- a range along two axes ---- */
static bool
has_lane(const Lanes *l, const TlOp *range)
{
   for (unsigned i = 0; i < l->num; i++)
      if (l->range[i] == range)
         return true;
   return false;
}

/* One that is along axis d in the one, and along the other axis in the other alone. */
static const TlOp *
turned_range(const Lanes in[2], const Lanes of[2], unsigned *d)
{
   for (*d = 0; *d < 2; ++*d)
      for (unsigned i = 0; i < in[*d].num; i++) {
         const TlOp *range = in[*d].range[i];
         if (has_lane(&of[1 - *d], range) && !has_lane(&of[*d], range) &&
             !has_lane(&in[1 - *d], range))
            return range;
      }
   return NULL;
}

static bool
report_turned(TlLintFacts *f, const TlOp *op, const TlOp *range, unsigned d, const char *in,
              const char *of)
{
   static const char *const lines[2] = {"rows", "columns"};
   const char *name = tl_result(range, 0)->name;
   if (!name)
      return false;
   tl_report(f->s->diags, W0281, op->range, name, lines[d], in, lines[1 - d], of);
   tl_help(f->s->diags, "write %.40s%s", name, d ? "[:, None]" : "[None, :]");
   return true;
}

/* load(b + k[:, None] * N + j[:, None], (k < K)[:, None] & (j < N)[None, :]) */
static bool
check_pointers(TlLintFacts *f, const TlOp *access)
{
   const TlValue *mask = tl_pred(access);
   Lanes in[2] = {{.num = 0}, {.num = 0}}, of[2] = {{.num = 0}, {.num = 0}};
   unsigned d;
   if (!mask || tl_arg(access, 0)->type->rank != 2)
      return false;
   find_lanes_of_tile(in, tl_arg(access, 0));
   find_lanes_of_tile(of, mask);
   const TlOp *range = in[0].num && in[1].num ? NULL : turned_range(in, of, &d);
   return range && report_turned(f, access, range, d, "pointers", "mask");
}

/* where(j[:, None] <= i[:, None], s, float("-inf")), where j goes along the columns of s */
static bool
check_choice(TlLintFacts *f, const TlOp *op)
{
   if (op->opcode != TL_OP_SELECT || tl_result(op, 0)->type->rank != 2)
      return false;
   Lanes in[2] = {{.num = 0}, {.num = 0}}, of[2] = {{.num = 0}, {.num = 0}};
   unsigned d;
   find_lanes_of_tile(in, tl_arg(op, 0));
   find_lanes_of_value(of, tl_result(op, 0), 0);
   const TlOp *range = of[0].num && of[1].num ? turned_range(in, of, &d) : NULL;
   return range && report_turned(f, op, range, d, "condition", "tile");
}

/* ---- values of columns spread along rows ---- */
/* A value for each element of one dimension that v, of two, is made of, spread along axis d; NULL:
 * there is none, or of `d` it is no load with the range. */
static const TlOp *
spread_load(const TlValue *v, unsigned d, const TlOp *range, const TlValue **spread,
            unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || v->type->rank != 2 || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_EXPAND_DIMS && tl_arg(op, 0)->type->rank == 1) {
      const TlOp *load = tl_lint_before_casts(tl_arg(op, 0))->def;
      Lanes l = {.num = 0};
      if (!load || load->opcode != TL_OP_LOAD || (tl_attr_int(op, TL_ATTR_AXIS) == 0) != (d == 1))
         return NULL;
      find_lanes(&l, tl_arg(load, 0));
      *spread = tl_result(op, 0);
      return l.num == 1 && l.range[0] == range ? load : NULL;
   }
   bool goes_on = op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_CAST ||
                  op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_MUL ||
                  op->opcode == TL_OP_DIV;
   for (unsigned i = 0; goes_on && i < op->num_args; i++) {
      const TlOp *found = spread_load(tl_arg(op, i), d, range, spread, steps);
      if (found)
         return found;
   }
   return NULL;
}

/* The one axis of the grid that the programs' bits are. */
static int
only_axis(unsigned programs)
{
   for (int axis = 0; axis < TL_LINT_AXES; axis++)
      if (programs == 1u << axis)
         return axis;
   return -1;
}

/* v = load(x + j, j < M), where the mask of the rows v[:, None] is i < M: its index is meant. */
static bool
help_index_of_mask(TlLintFacts *f, const TlOp *load, unsigned d)
{
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      const TlBound *b = x->op == load && x->num_bounds == 1 ? &x->bound[0] : NULL;
      const TlValue *limit = b && b->is_upper ? tl_lint_argument(&b->limit) : NULL;
      const TlValue *index = limit && limit->name ? tl_lint_index_below(f, limit, (int)d) : NULL;
      if (!index || tl_lint_index_below(f, limit, 1 - (int)d))
         continue;
      tl_lint_help_index(f->s, x, index, limit, (int)d);
      return true;
   }
   return false;
}

/* v = load(x + j, j < N); store(c + i[:, None] * N + j[None, :], t * v[:, None]) */
static bool
check_stored_spread(TlLintFacts *f, const TlOp *store)
{
   static const char *const lines[2] = {"rows", "columns"};
   TlSema *s = f->s;
   const TlValue *pointers = tl_arg(store, 0);
   Lanes in[2] = {{.num = 0}, {.num = 0}};
   const TlLintAccess *x = NULL;
   for (size_t i = 0; i < f->all.len; i++)
      x = f->all.data[i].op == store ? &f->all.data[i] : x;
   if (!x || pointers->type->rank != 2 || pointers->type->shape[0] != pointers->type->shape[1])
      return false;
   find_lanes_of_tile(in, pointers);
   for (unsigned d = 0; d < 2; d++) {
      TlTerm stride;
      TlSum index;
      unsigned steps = 0;
      const TlValue *spread = NULL;
      if (in[0].num != 1 || in[1].num != 1 || in[0].range[0] == in[1].range[0] ||
          !tl_lint_index(f, x, d, &stride, &index))
         continue;
      const TlOp *load = spread_load(tl_arg(store, 1), d, in[1 - d].range[0], &spread, &steps);
      int axis = load ? only_axis(f->programs[tl_arg(load, 0)->id]) : -1;
      if (axis < 0 || tl_lint_has_program(&index, axis) ||
          !tl_lint_index(f, x, 1 - d, &stride, &index) || !tl_lint_has_program(&index, axis))
         continue;
      const char *name = tl_result(load, 0)->name;
      tl_report(s->diags, W0388, spread->def->range, lines[1 - d], lines[d]);
      if (!help_index_of_mask(f, load, d))
         tl_help(s->diags, "write %.40s%s", name ? name : "it", d ? "[:, None]" : "[None, :]");
      tl_note(s->diags, N0200, load->range,
              tl_arena_printf(s->arena, "it is loaded here, one for each of the %s", lines[1 - d]));
      return true;
   }
   return false;
}

/* ---- values of rows beside values of columns ---- */
static const TlOp *
reduction_here(const TlValue *v)
{
   Left l = {.in_loop = true}; /* what rounds before left is not looked into */
   find_reduction(&l, v);
   return l.is_mixed ? NULL : l.reduce;
}

/* l = l * exp(m - max(v, axis=1)) + sum(v, axis=0) */
static bool
check_mixed(TlLintFacts *f, const TlOp *op)
{
   bool is_pair = op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_MUL ||
                  op->opcode == TL_OP_DIV || op->opcode == TL_OP_MAX || op->opcode == TL_OP_MIN;
   const TlOp *loop = tl_parent(op);
   if (!is_pair || tl_result(op, 0)->type->rank != 1 || !loop || loop->opcode != TL_OP_FOR)
      return false;
   const TlOp *a = reduction_here(tl_arg(op, 0)), *b = reduction_here(tl_arg(op, 1));
   Roots x = {.num = 0}, y = {.num = 0};
   if (!a || !b || axis_of(a) == axis_of(b) || a->range.file != op->range.file ||
       b->range.file != op->range.file)
      return false;
   find_roots(&x, tl_arg(a, 0));
   find_roots(&y, tl_arg(b, 0));
   if (!have_common_root(&x, &y))
      return false;
   tl_report(f->s->diags, W0282, op->range);
   tl_help(f->s->diags, "reduce along the same axis, axis=%u or axis=%u, in both", axis_of(a),
           axis_of(b));
   tl_note(f->s->diags, N0200, a->range,
           tl_arena_printf(f->s->arena, "axis %u is reduced here", axis_of(a)));
   tl_note(f->s->diags, N0200, b->range,
           tl_arena_printf(f->s->arena, "axis %u is reduced here", axis_of(b)));
   return true;
}

void
tl_lint_axes(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   uint32_t main = f->s->impl->main->file;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_own = op->range.file == main;
      bool is_access = tl_has_trait(op, TL_TRAIT_ACCESS);
      if (is_own &&
          (check_spread(f, op) || check_choice(f, op) || check_mixed(f, op) ||
           (is_access && check_pointers(f, op)) ||
           (op->opcode == TL_OP_STORE && (check_stored(f, op) || check_stored_spread(f, op)))))
         return;
   }
}
