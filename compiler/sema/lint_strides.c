/* Tables whose rows are apart by another size than they have elements, or whose two strides are
 * exchanged: what masks, loops and the grid say of each index, held against its stride. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <ctype.h>

typedef struct Side { /* of a table: along one dimension of the tile */
   TlTerm stride;
   TlSum index;
   const TlValue *size; /* an argument that the index is held below; NULL: not known */
   const TlBound *own;  /* by a part of the access's own mask */
} Side;

/* Along dimension d of the access's own tile; -1: of any, for an index of another access. */
static const TlBound *
bound_of(const TlLintAccess *x, const TlSum *index, int d)
{
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (x->bound[i].is_upper && tl_lint_argument(&x->bound[i].limit) &&
          (d < 0 || tl_lint_has_dim(&x->bound[i].index, d)) &&
          tl_same_sum(&x->bound[i].index, index))
         return &x->bound[i];
   return NULL;
}

/* k + arange(0, BLOCK), with k in range(0, K, BLOCK): K. */
static const TlValue *
size_of_loop(const TlSum *index, uint32_t len)
{
   for (unsigned i = 0; i < index->num; i++) {
      const TlTerm *t = &index->term[i];
      bool is_round = t->num == 1 && t->factor[0].is_iteration && t->scale == len;
      const TlValue *end =
         is_round ? tl_for_upper(t->factor[0].value->block->region->parent) : NULL;
      if (end && tl_lint_is_argument(end))
         return index->num == 2 ? end : NULL;
   }
   return NULL;
}

static void
find_size(TlLintFacts *f, const TlLintAccess *x, unsigned d, Side *side)
{
   side->own = bound_of(x, &side->index, (int)d);
   const TlBound *b = side->own;
   bool is_plain = side->index.num == 1; /* arange alone: others may have the same */
   for (size_t i = 0; !b && !is_plain && i < f->all.len; i++)
      b = bound_of(&f->all.data[i], &side->index, -1);
   side->size =
      b ? tl_lint_argument(&b->limit) : size_of_loop(&side->index, x->pointers->type->shape[d]);
   if (!side->size)
      side->size = tl_lint_size_of_index(f, &side->index);
}

static const TlValue *
stride_argument(const TlTerm *t)
{
   TlSum one = {(TlTerm *)(uintptr_t)t, 1};
   return tl_lint_argument(&one);
}

/* Is the argument known as a size: by its place in a mask or the grid? */
static bool
is_size(TlLintFacts *f, const TlValue *v)
{
   for (size_t i = 0; i < f->all.len; i++)
      for (unsigned k = 0; k < f->all.data[i].num_bounds; k++)
         if (tl_lint_argument(&f->all.data[i].bound[k].limit) == v)
            return true;
   return tl_lint_axis_of_size(f, v) >= 0;
}

/* Is the same block loaded with rows that are `size` apart?  Its store turns it, then. */
static bool
is_loaded_straight(TlLintFacts *f, const Side *row, const Side *column)
{
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *y = &f->all.data[i];
      TlTerm apart, beside;
      TlSum r, c;
      if (y->op->opcode != TL_OP_LOAD || !y->is_known || y->pointers->type->rank != 2)
         continue;
      for (unsigned d = 0; d < 2; d++)
         if (tl_lint_index(f, y, d, &apart, &r) && tl_lint_index(f, y, 1 - d, &beside, &c) &&
             stride_argument(&apart) == column->size && beside.scale == 1 && !beside.num &&
             tl_same_sum(&r, &row->index) && tl_same_sum(&c, &column->index))
            return true;
   }
   return false;
}

/* x + rows[:, None] * M + columns[None, :], where the columns go to N. */
static bool
check_apart(TlLintFacts *f, const TlLintAccess *x, const Side *row, const Side *column)
{
   TlSema *s = f->s;
   const TlValue *apart = stride_argument(&row->stride);
   bool is_unit = column->stride.scale == 1 && !column->stride.num;
   if (!apart || !is_unit || !apart->name || tl_has_word(apart->name, "stride") ||
       tl_has_word(apart->name, "ld") || !column->size || column->size == apart ||
       tl_same_sum(&row->index, &column->index))
      return false;
   bool is_same = row->own && column->own && row->size == column->size;
   if (is_same && tl_lint_is_size_name(apart->name)) {
      tl_report(s->diags, W0244, tl_lint_bound_range(s, column->own), apart->name,
                column->size->name);
      tl_help(s->diags, "rows have as many elements as they are apart: compare the columns with %s",
              apart->name);
      return true;
   }
   if (!is_size(f, apart))
      return false;
   tl_report(s->diags, W0244, x->op->range, apart->name, column->size->name);
   if (x->op->opcode == TL_OP_STORE && row->size == apart && is_loaded_straight(f, row, column))
      tl_help(s->diags,
              "what is loaded with rows that are '%s' apart is stored transposed with row and "
              "column exchanged: columns * %s + rows; a copy has rows * %s + columns",
              column->size->name, apart->name, column->size->name);
   else
      tl_help(s->diags, "rows of '%s' elements are '%s' apart: multiply the rows by '%s'",
              column->size->name, column->size->name, column->size->name);
   return true;
}

/* "stride_xm" is M's: both end in one letter. */
static bool
is_stride_of(const char *stride, const TlValue *size)
{
   size_t n = strlen(stride);
   return n && size->name && size->name[0] && !size->name[1] &&
          tolower((unsigned char)stride[n - 1]) == tolower((unsigned char)size->name[0]);
}

/* rows[:, None] * stride_xn + columns[None, :] * stride_xm */
static bool
check_exchanged(TlLintFacts *f, const TlLintAccess *x, const Side *a, const Side *b)
{
   TlSema *s = f->s;
   const TlValue *p = stride_argument(&a->stride), *q = stride_argument(&b->stride);
   if (!p || !q || !p->name || !q->name || !a->size || !b->size || a->size == b->size ||
       !tl_has_word(p->name, "stride") || !tl_has_word(q->name, "stride") ||
       !is_stride_of(p->name, b->size) || !is_stride_of(q->name, a->size))
      return false;
   tl_report(s->diags, W0245, x->op->range, a->size->name, p->name, b->size->name, q->name);
   tl_help(s->diags, "exchange them: what goes to %s times %s, what goes to %s times %s",
           a->size->name, q->name, b->size->name, p->name);
   return true;
}

static TlSum
without_rounds(TlLintFacts *f, const TlSum *s)
{
   TlSum out = {tl_new_array(f->s->arena, TlTerm, s->num), 0};
   for (unsigned i = 0; i < s->num; i++)
      if (!tl_lint_is_round(&s->term[i]))
         out.term[out.num++] = s->term[i];
   return out;
}

/* What the index is held below, whatever the rounds of loops add to it. */
static const TlValue *
size_without_rounds(TlLintFacts *f, const TlLintAccess *x, const TlSum *index)
{
   TlSum own = without_rounds(f, index);
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *y = own.num == 1 ? x : &f->all.data[i]; /* arange alone: as it says */
      for (unsigned k = 0; k < y->num_bounds; k++) {
         TlSum other = without_rounds(f, &y->bound[k].index);
         const TlValue *size = tl_lint_argument(&y->bound[k].limit);
         if (y->bound[k].is_upper && size && tl_same_sum(&own, &other))
            return size;
      }
   }
   return NULL;
}

/* rows and columns of M and N, both of program_id(0) */
static bool
check_diagonal(TlLintFacts *f, const TlLintAccess *x, const Side *a, const Side *b)
{
   TlSema *s = f->s;
   if (x->op->opcode != TL_OP_STORE || !a->own || !b->own || a->size == b->size)
      return false;
   for (int axis = 0; axis < TL_LINT_AXES; axis++) {
      if (!tl_lint_has_program(&a->index, axis) || !tl_lint_has_program(&b->index, axis) ||
          a->index.num != 2 || b->index.num != 2)
         continue;
      tl_report(s->diags, W0270, tl_lint_bound_range(s, b->own), axis);
      tl_help(s->diags, "make one of them of tl.program_id(%d), and give the grid a size for it",
              1 - axis < 0 ? 0 : 1 - axis);
      tl_note(s->diags, N0200, x->op->range, "the blocks that are stored");
      return true;
   }
   return false;
}

static bool
find_sides(TlLintFacts *f, const TlLintAccess *x, Side side[2])
{
   if (!x->is_known || x->pointers->type->rank != 2 || x->op->range.file != f->s->impl->main->file)
      return false;
   for (unsigned d = 0; d < 2; d++) {
      side[d] = (Side){0};
      if (!tl_lint_index(f, x, d, &side[d].stride, &side[d].index))
         return false;
      find_size(f, x, d, &side[d]);
   }
   return true;
}

bool
tl_lint_apart(TlLintFacts *f)
{
   Side side[2];
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      if (find_sides(f, x, side) &&
          (check_apart(f, x, &side[0], &side[1]) || check_apart(f, x, &side[1], &side[0])))
         return true;
   }
   return false;
}

bool
tl_lint_exchanged(TlLintFacts *f)
{
   Side side[2];
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      if (!find_sides(f, x, side))
         continue;
      for (unsigned d = 0; d < 2; d++)
         side[d].size = side[d].size ? side[d].size : size_without_rounds(f, x, &side[d].index);
      if (check_exchanged(f, x, &side[0], &side[1]) || check_diagonal(f, x, &side[0], &side[1]))
         return true;
   }
   return false;
}
