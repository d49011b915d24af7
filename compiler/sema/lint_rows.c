/* Loads of neighbours that go on to another row, of weights that an inner loop does not move, of
 * matrices of which all programs take the first, of the first row for a row of each program, and of
 * one element a program where a launch gives one for each column. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/launch_args.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns beside the last and the first ---- */
static bool
has_term(const TlSum *s, const TlTerm *t)
{
   for (unsigned i = 0; i < s->num; i++)
      if (s->term[i].dim == t->dim && s->term[i].scale == t->scale && tl_same_term(&s->term[i], t))
         return true;
   return false;
}

/* The argument, and a number, that a limit is: W - 1; NULL: it is another. */
static const TlValue *
size_and_number(const TlSum *limit, int64_t *number)
{
   const TlValue *found = NULL;
   *number = tl_lint_constant(limit);
   for (unsigned i = 0; i < limit->num; i++) {
      const TlTerm *t = &limit->term[i];
      if (!t->num && t->dim < 0)
         continue;
      if (found || t->num != 1 || t->scale != 1 || t->dim >= 0 ||
          !tl_lint_is_argument(t->factor[0].value))
         return NULL;
      found = t->factor[0].value;
   }
   return found && found->name ? found : NULL;
}

/* Is the index one of columns: lanes beside each other, each part of it a part of the address? */
static bool
is_column(const TlLintAccess *x, const TlSum *index)
{
   bool has_lanes = false;
   for (unsigned i = 0; i < index->num; i++) {
      const TlTerm *t = &index->term[i];
      if (t->dim < 0 && !t->num)
         continue;
      if (t->scale < 0 || !has_term(&x->sum, t))
         return false;
      has_lanes |= t->dim >= 0 && !t->num && t->scale == 1;
   }
   return has_lanes;
}

/* Is the argument how far rows are apart, and all that is added but for them and the column a
 * number? */
static bool
is_row_and_column(const TlLintAccess *x, const TlSum *column, const TlValue *size)
{
   bool has_rows = false;
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      unsigned times = 0;
      for (unsigned k = 0; k < t->num; k++)
         times += t->factor[k].value == size && !t->factor[k].is_iteration;
      has_rows |= times == 1 && (t->num > 1 || t->dim >= 0);
      bool is_outer = t->dim < 0 && t->num > 1; /* a batch and its stride */
      if (!times && !is_outer && (t->num || t->dim >= 0) && !has_term(column, t))
         return false;
   }
   return has_rows;
}

/* Is what is loaded chosen from afterwards, or none of it used? */
static bool
is_chosen_later(const TlOp *load)
{
   const TlValue *v = tl_result(load, 0);
   for (const TlUse *u = v->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_SELECT ||
          (u->user->opcode == TL_OP_MUL && u->user->num_args == 2 &&
           tl_type_elem(tl_lint_before_casts(tl_arg(u->user, tl_arg(u->user, 0) == v))->type)
                 ->dtype == TL_I1))
         return true;
   return !v->uses;
}

static const char *
column_name(TlSema *s, const TlBound *b)
{
   const TlValue *v = b->compare ? tl_arg(b->compare, 0) : NULL;
   bool is_row = v && v->type->rank == 2 && v->type->shape[0] == 1;
   bool is_column = v && v->type->rank == 2 && v->type->shape[1] == 1 && !is_row;
   while (v && v->def && !v->name &&
          (v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_EXPAND_DIMS ||
           v->def->opcode == TL_OP_CAST))
      v = tl_arg(v->def, 0);
   if (!v || !v->name)
      return "column";
   return v->type->rank != 1 ? v->name
                             : tl_arena_printf(s->arena, "%.32s%s", v->name,
                                               is_row      ? "[None, :]"
                                               : is_column ? "[:, None]"
                                                           : "");
}

/* What an address is beside the columns that a mask lets in: so many elements behind the last
 * column of a row, and so many from its first. */
typedef struct RowEnds {
   int64_t behind, before;
} RowEnds;

/* False: a bound leaves open what it lets in. */
static bool
take_bounds(const TlLintAccess *x, const TlValue *size, int64_t off, RowEnds *out)
{
   *out = (RowEnds){.behind = INT64_MAX, .before = off};
   for (unsigned i = 0; i < x->num_bounds; i++) {
      const TlBound *b = &x->bound[i];
      int64_t more, here = off - tl_lint_constant(&b->index);
      if (!is_column(x, &b->index))
         continue;
      if (b->is_upper && size_and_number(&b->limit, &more) == size) {
         here += more - b->is_strict + 1;
         out->behind = here < out->behind ? here : out->behind;
      } else if (!b->is_upper) {
         const TlTerm *t = b->limit.num == 1 ? &b->limit.term[0] : NULL;
         if (b->limit.num > 1 || (t && (t->num || t->dim >= 0)))
            return false;
         here += tl_lint_constant(&b->limit) + b->is_strict;
         out->before = here > out->before ? here : out->before;
      } else {
         return false;
      }
   }
   return true;
}

/* Are all parts of the mask bounds that are known, or the same for all lanes? */
static bool
is_of_bounds(const TlLintAccess *x, const TlValue *mask)
{
   const TlOp *op = mask->def;
   uint64_t bits;
   for (unsigned i = 0; op && i < x->num_bounds; i++)
      if (x->bound[i].compare == op)
         return true;
   if (!tl_type_is_tile(mask->type) || tl_is_const(mask, &bits) || !op || op->opcode == TL_OP_SPLAT)
      return op || !tl_type_is_tile(mask->type);
   bool goes_on = op->opcode == TL_OP_AND || op->opcode == TL_OP_BROADCAST ||
                  op->opcode == TL_OP_EXPAND_DIMS || op->opcode == TL_OP_HINT;
   for (unsigned i = 0; goes_on && i < op->num_args; i++)
      if (!is_of_bounds(x, tl_arg(op, i)))
         return false;
   return goes_on;
}

/* p = x + r * W + c; load(p + 1, c < W), load(p - 1, c < W) */
static bool
check_row_end(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   int64_t off = tl_lint_constant(&x->sum), more;
   const TlValue *mask = tl_pred(x->op);
   if (x->op->opcode != TL_OP_LOAD || !x->is_known || !off || !mask || !is_of_bounds(x, mask) ||
       x->op->range.file != s->impl->main->file || !tl_lint_is_argument(x->base) ||
       tl_value_is_chosen(f->affine, x->pointers) || is_chosen_later(x->op))
      return false;
   for (unsigned i = 0; i < x->num_bounds; i++) {
      const TlBound *b = &x->bound[i];
      const TlValue *size = b->is_upper ? size_and_number(&b->limit, &more) : NULL;
      int64_t moved = off - tl_lint_constant(&b->index);
      RowEnds ends;
      if (!size || !moved || !is_column(x, &b->index) || !is_row_and_column(x, &b->index, size) ||
          !take_bounds(x, size, off, &ends) || (ends.behind <= 0 && ends.before >= 0))
         continue;
      bool is_behind = ends.behind > 0;
      const char *name = column_name(s, b), *sign = moved > 0 ? "+" : "-";
      long long far = llabs(moved);
      tl_report(s->diags, W0373, x->op->range, (long long)(is_behind ? ends.behind : -ends.before),
                is_behind ? "behind the last" : "before the first", size->name,
                is_behind ? "next row" : "row before");
      tl_help(s->diags,
              "let the mask keep it within the row, & (%.40s %s %lld %s); or, where rows go round, "
              "take (%.40s + %.40s %s %lld) %% %.40s for the column",
              name, sign, far,
              is_behind ? tl_arena_printf(s->arena, "< %.40s", size->name) : ">= 0", name,
              size->name, sign, far, size->name);
      return true;
   }
   return false;
}

/* ---- weights of a window ---- */
/* How many rounds it has, from 0 on: a number, or an argument; false: it is another loop. */
static bool
rounds_of(const TlOp *loop, int64_t *num, const TlValue **argument)
{
   uint64_t from, to, by;
   *num = 0;
   *argument = NULL;
   if (loop->opcode != TL_OP_FOR || !tl_is_const(tl_for_lower(loop), &from) || from ||
       !tl_is_const(tl_for_step(loop), &by) || by != 1)
      return false;
   const TlValue *end = tl_for_upper(loop);
   if (tl_is_const(end, &to))
      *num = tl_bits_to_int(end->type->dtype, to);
   else
      *argument = tl_lint_is_argument(end) ? end : NULL;
   return *num > 1 || *argument;
}

static bool
is_of_round(const TlTerm *t, const TlOp *loop)
{
   for (unsigned k = 0; k < t->num; k++)
      if (t->factor[k].value == tl_for_index(loop))
         return true;
   return false;
}

/* for dy in range(K): for dx in range(K): load(w + dy * K) */
static bool
check_window(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlOp *inner = tl_parent(x->op), *outer = inner ? tl_parent(inner) : NULL;
   int64_t num, outer_num;
   const TlValue *size, *outer_size;
   bool has_row = false;
   if (x->op->opcode != TL_OP_LOAD || !x->is_known || !tl_lint_is_argument(x->base) ||
       x->op->range.file != s->impl->main->file || !outer || !rounds_of(inner, &num, &size) ||
       !rounds_of(outer, &outer_num, &outer_size) || !tl_for_index(inner)->uses ||
       !tl_for_index(inner)->name)
      return false;
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      if (is_of_round(t, inner) || (t->dim >= 0 && !t->num && llabs(t->scale) < (num ? num : 2)))
         return false;
      if (!is_of_round(t, outer) || t->dim >= 0)
         continue;
      bool is_by_number = num && t->num == 1 && t->scale == num;
      bool is_by_size = size && t->num == 2 && t->scale == 1 &&
                        (t->factor[0].value == size || t->factor[1].value == size);
      if (!is_by_number && !is_by_size)
         return false;
      has_row = true;
   }
   if (!has_row)
      return false;
   const char *column = tl_for_index(inner)->name;
   tl_report(s->diags, W0375, x->op->range, x->base->name, column);
   tl_help(s->diags,
           "the rows of '%.40s' have as many elements as the inner loop has rounds: add '%.40s' to "
           "the offset, or load it before that loop, if one for each row is meant",
           x->base->name, column);
   return true;
}

/* ---- matrices of a batch ---- */
static bool
begins_with(const char *text, const char *with, size_t len)
{
   for (size_t i = 0; i < len; i++)
      if (tolower((unsigned char)text[i]) != tolower((unsigned char)with[i]))
         return false;
   return true;
}

/* Is it called as a stride of the array is: sab, stride_ab, stride_a_batch, lda, of 'a' or
 * 'a_ptr'? */
static bool
is_stride_name(const char *name, const char *array)
{
   static const char *const words[] = {"stride_", "stride", "st_", "s_", "ld", "s"};
   size_t len = strlen(array);
   if (len > 4 && begins_with(array + len - 4, "_ptr", 4))
      len -= 4;
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
      size_t n = strlen(words[i]);
      if (!begins_with(name, words[i], n) || !begins_with(name + n, array, len))
         continue;
      const char *rest = name + n + len;
      return *rest == '_' || strlen(rest) <= 1 || (n > 2 && strlen(rest) <= 2);
   }
   return false;
}

/* An access of another array that goes from program to program of the axis by a stride of its
 * own. */
static const TlLintAccess *
moved_beside(const TlLintFacts *f, const TlLintAccess *x, TlOpcode by, int axis)
{
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *other = &f->all.data[i];
      if (other->op->opcode != by || !other->is_known || other->base == x->base ||
          !tl_lint_is_argument(other->base) || !other->base->name)
         continue;
      for (unsigned k = 0; k < other->sum.num; k++) {
         const TlTerm *t = &other->sum.term[k];
         bool is_step = t->dim < 0 && t->num == 2 && t->scale == 1 && tl_lint_axis(t) == axis;
         for (unsigned n = 0; is_step && n < 2; n++)
            if (t->factor[n].value->name && tl_lint_is_argument(t->factor[n].value) &&
                is_stride_name(t->factor[n].value->name, other->base->name))
               return other;
      }
   }
   return NULL;
}

/* Of the array's strides the one that nothing reads before the first that is read; NULL: none. */
static const TlValue *
unread_stride(const TlLintFacts *f, const TlLintAccess *x)
{
   const TlBlock *top = f->func->body->block;
   const TlValue *before = NULL;
   for (unsigned i = 0; i < top->num_args; i++) {
      const TlValue *v = top->args[i];
      bool is_number = v->type->kind == TL_TYPE_SCALAR && tl_dtype_is_int(v->type->dtype);
      if (!is_number || !v->name || !is_stride_name(v->name, x->base->name))
         continue;
      if (v->uses)
         return before;
      before = v;
   }
   return NULL;
}

/* a + r * sar + c beside x + b * sxb + c, and nothing reads sab. */
static bool
check_batch(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   if (x->op->opcode != TL_OP_LOAD || !x->is_known || !tl_lint_is_argument(x->base) ||
       !x->base->name || x->op->range.file != s->impl->main->file)
      return false;
   const TlValue *stride = unread_stride(f, x);
   unsigned own = f->programs[x->pointers->id] | tl_lint_guard(f, x->op);
   for (int axis = 0; stride && axis < TL_LINT_AXES; axis++) {
      const TlLintAccess *load = moved_beside(f, x, TL_OP_LOAD, axis);
      if (own >> axis & 1 || !load || !moved_beside(f, x, TL_OP_STORE, axis))
         continue;
      tl_report(s->diags, W0376, x->op->range, (unsigned)axis, x->base->name, load->base->name);
      tl_help(
         s->diags,
         "'%.40s' is never read: move the pointers on by it, %.40s + tl.program_id(%d) * %.40s",
         stride->name, x->base->name, axis, stride->name);
      return true;
   }
   return false;
}

/* ---- bounds that take the row and the column together ---- */
/* Is the sum of the lower bound that of the upper one and where a row begins, program * size? */
static bool
is_column_of_row(const TlSum *both, const TlSum *column, const TlValue *size)
{
   unsigned rows = 0, others = 0;
   for (unsigned i = 0; i < both->num; i++) {
      const TlTerm *t = &both->term[i];
      if (has_term(column, t)) {
         others++;
         continue;
      }
      bool has_size = false;
      for (unsigned k = 0; k < t->num; k++)
         has_size |= t->factor[k].value == size && !t->factor[k].is_iteration;
      if (!has_size || t->num != 2 || t->dim >= 0 || t->scale < 0 ||
          (tl_lint_axis(t) < 0 && !tl_lint_is_round(t)))
         return false;
      rows++;
   }
   return rows == 1 && others == column->num;
}

/* May a column be below 0: is something taken off what counts from 0 on? */
static bool
may_be_negative(const TlSum *column)
{
   for (unsigned i = 0; i < column->num; i++)
      if (column->term[i].scale < 0)
         return true;
   return false;
}

/* load(x + row * W + c, (row * W + c >= 0) & (c < W)) */
static bool
check_low_bound(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   if (!x->is_known || x->op->range.file != s->impl->main->file || !tl_lint_is_argument(x->base))
      return false;
   for (unsigned i = 0; i < x->num_bounds; i++) {
      const TlBound *low = &x->bound[i];
      bool is_low = !low->is_upper && !low->limit.num && low->compare;
      for (unsigned k = 0; is_low && k < x->num_bounds; k++) {
         const TlBound *high = &x->bound[k];
         int64_t more;
         const TlValue *size = high->is_upper ? size_and_number(&high->limit, &more) : NULL;
         if (!size || !is_column_of_row(&low->index, &high->index, size) ||
             !may_be_negative(&high->index))
            continue;
         const char *column = column_name(s, high);
         tl_report(s->diags, W0377, tl_lint_bound_range(s, low), size->name, column);
         tl_help(s->diags, "keep the column itself within the row: (%.40s >= 0) & (%.40s < %.40s)",
                 column, column, size->name);
         return true;
      }
   }
   return false;
}

/* ---- rows of an array, and one access without the row ---- */
/* program_id(axis) * stride, an argument, in an address; NULL: none. */
static const TlTerm *
row_term(const TlLintAccess *x)
{
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      if (t->num != 2 || t->dim >= 0 || t->scale != 1 || tl_lint_axis(t) < 0)
         continue;
      for (unsigned k = 0; k < 2; k++)
         if (tl_lint_is_argument(t->factor[k].value) && t->factor[k].value->name)
            return t;
   }
   return NULL;
}

static const TlValue *
stride_of(const TlTerm *row)
{
   return tl_lint_is_argument(row->factor[0].value) ? row->factor[0].value : row->factor[1].value;
}

/* Are columns of it those that a mask keeps below the stride: rows that lie one behind another? */
static bool
has_whole_rows(const TlLintAccess *x, const TlValue *stride)
{
   int64_t more;
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (x->bound[i].is_upper && size_and_number(&x->bound[i].limit, &more) == stride && !more)
         return true;
   return false;
}

/* x + index, of an index that the program has loaded from a place of its own. */
static bool
is_by_loaded_index(const TlLintFacts *f, const TlLintAccess *x, int axis)
{
   const TlTerm *t = x->sum.num == 1 ? &x->sum.term[0] : NULL;
   const TlValue *v = t && t->num == 1 && t->scale == 1 && t->dim < 0
                         ? tl_lint_before_casts(t->factor[0].value)
                         : NULL;
   const TlOp *load = v && v->def && v->def->opcode == TL_OP_LOAD ? v->def : NULL;
   const TlLintAccess *from = NULL;
   for (size_t i = 0; load && i < f->all.len; i++)
      if (f->all.data[i].op == load)
         from = &f->all.data[i];
   return from && from->is_known && from->base != x->base && from->sum.num == 1 &&
          from->sum.term[0].num == 1 && from->sum.term[0].scale == 1 &&
          tl_lint_axis(&from->sum.term[0]) == axis;
}

/* x + row * W + c, c < W, and x + label, where the label is the row's */
static bool
check_left_row(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   if (x->op->opcode != TL_OP_LOAD || !x->is_known || !tl_lint_is_argument(x->base) ||
       !x->base->name || x->op->range.file != s->impl->main->file)
      return false;
   const TlLintAccess *rows = NULL;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *other = &f->all.data[i];
      if (other == x || other->base != x->base)
         continue;
      const TlTerm *row = other->is_known ? row_term(other) : NULL;
      if (!row) /* others take it so as well */
         return false;
      rows = has_whole_rows(other, stride_of(row)) ? other : rows;
   }
   const TlTerm *row = rows ? row_term(rows) : NULL;
   int axis = row ? tl_lint_axis(row) : -1;
   if (axis < 0 || tl_lint_guard(f, x->op) || !is_by_loaded_index(f, x, axis))
      return false;
   tl_report(s->diags, W0378, x->op->range, x->base->name);
   tl_help(s->diags,
           "the index was loaded for each program, and counts within its row: add "
           "tl.program_id(%d) * %.40s to the address",
           axis, stride_of(row)->name);
   tl_note(s->diags, N0200, rows->op->range, "the row is in the address here");
   return true;
}

/* ---- one element of what has one for each column ---- */
/* x + program_id(axis), of one element; -1: it is another. */
static int
axis_of_element(const TlLintAccess *x)
{
   const TlTerm *t = x->is_known && x->sum.num == 1 ? &x->sum.term[0] : NULL;
   return t && t->num == 1 && t->scale == 1 && t->dim < 0 ? tl_lint_axis(t) : -1;
}

/* The bound that keeps columns below an argument in an access of the program's row. */
static const TlBound *
columns_of_row(const TlLintAccess *x, int axis)
{
   int64_t more;
   bool has_row = false;
   for (unsigned i = 0; x->is_known && i < x->sum.num; i++)
      has_row |= x->sum.term[i].num == 2 && tl_lint_axis(&x->sum.term[i]) == axis;
   for (unsigned i = 0; has_row && i < x->num_bounds; i++) {
      const TlBound *b = &x->bound[i];
      if (b->is_upper && b->is_strict && size_and_number(&b->limit, &more) && !more &&
          is_column(x, &b->index))
         return b;
   }
   return NULL;
}

static const TlNode *
node_given(const TlLaunchText *t, const char *name)
{
   for (unsigned p = 0; p < t->kernel->num_params; p++)
      if (strcmp(t->kernel->params[p].name, name) == 0)
         return t->args[p].node;
   return NULL;
}

/* How many columns the launch gives the array elements for, and another number of programs: the
 * bound of these columns; NULL: it does not, or does not say. */
static const TlBound *
columns_given(const TlLintFacts *f, const TlLaunchText *t, const TlLintAccess *x, int axis,
              int64_t *programs)
{
   int64_t len, size, more;
   const TlNode *array = node_given(t, x->base->name);
   const TlNode *item = tl_launch_grid_item(t, (unsigned)axis);
   if (!array || !item || !tl_launch_length(t, array, &len) ||
       !tl_launch_number(t, item, programs) || *programs < 2 || *programs == len)
      return NULL;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlBound *b = columns_of_row(&f->all.data[i], axis);
      const TlNode *n = b ? node_given(t, size_and_number(&b->limit, &more)->name) : NULL;
      if (n && tl_launch_number(t, n, &size) && size == len)
         return b;
   }
   return NULL;
}

/* load(w + row), where a launch gives as many elements of w as columns, and other than rows. */
static bool
check_one_for_row(TlLintFacts *f, const TlKernelInfo *k, const TlLintAccess *x)
{
   enum { MOST_LAUNCHES = 16 };
   TlSema *s = f->s;
   int axis = axis_of_element(x);
   const TlCalls *calls = tl_launches_of(s, k->name);
   if (axis < 0 || x->op->opcode != TL_OP_LOAD || !tl_lint_is_argument(x->base) || !x->base->name ||
       x->op->range.file != s->impl->main->file)
      return false;
   for (size_t i = 0; i < f->all.len; i++)
      if (f->all.data[i].base == x->base && axis_of_element(&f->all.data[i]) != axis)
         return false;
   for (size_t i = 0; calls && i < calls->len && i < MOST_LAUNCHES; i++) {
      TlLaunchText t;
      int64_t programs, more;
      tl_launch_text(s, k, calls->data[i], &t);
      const TlBound *b = columns_given(f, &t, x, axis, &programs);
      if (!b)
         continue;
      const char *column = column_name(s, b), *size = size_and_number(&b->limit, &more)->name;
      tl_report(s->diags, W0379, x->op->range, x->base->name, size);
      tl_help(s->diags,
              "the launch has %lld programs and one element for each column: tl.load(%.40s + "
              "%.40s, %.40s < %.40s)",
              (long long)programs, x->base->name, column, column, size);
      tl_note(s->diags, N0200, calls->data[i]->node.range, "the launch with these numbers");
      return true;
   }
   return false;
}

void
tl_lint_rows(TlLintFacts *f, const TlKernelInfo *k)
{
   bool is_told[6] = {false};
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      is_told[0] = is_told[0] || check_row_end(f, x);
      is_told[1] = is_told[1] || check_window(f, x);
      is_told[2] = is_told[2] || check_batch(f, x);
      is_told[3] = is_told[3] || check_low_bound(f, x);
      is_told[4] = is_told[4] || check_left_row(f, x);
      is_told[5] = is_told[5] || check_one_for_row(f, k, x);
   }
}
