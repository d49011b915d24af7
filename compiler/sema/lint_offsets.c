/* Offsets of pointers that 32 bits do not hold: those that do wrap by the numbers that a launch, or
 * the kernel's own grid, is written with, and, where it is asked for, those that may. */
#include "ir/analysis.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/launch_args.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 400 };

static bool
is_int32(const TlValue *v)
{
   const TlType *e = tl_type_elem(v->type);
   return e->kind == TL_TYPE_SCALAR && e->dtype == TL_I32;
}

/* Do the parts of an offset come from the operands of the operation, as they are? */
static bool
is_sum(const TlOp *op)
{
   return op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_CAST ||
          op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_SPLAT ||
          (op->num_args == 1 && tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS));
}

/* ---- that do, by a launch ---- */
typedef struct Sizes { /* that the text gives */
   const TlKernelInfo *kernel;
   const int64_t *given;       /* by parameter of the kernel; -1: not known */
   int64_t grid[TL_LINT_AXES]; /* 0: not known */
   unsigned steps;
} Sizes;

static bool greatest(Sizes *z, const TlValue *v, int64_t *out);

static bool
greatest_of_argument(const Sizes *z, const TlValue *v, int64_t *out)
{
   for (unsigned p = 0; z->given && v->name && p < z->kernel->num_params; p++)
      if (strcmp(z->kernel->params[p].name, v->name) == 0) {
         *out = z->given[p];
         return *out >= 0 && *out <= INT32_MAX;
      }
   return false;
}

static bool
greatest_of_two(Sizes *z, const TlOp *op, int64_t *out)
{
   int64_t a, b;
   if (!greatest(z, tl_arg(op, 0), &a) || !greatest(z, tl_arg(op, 1), &b))
      return false;
   switch ((int)op->opcode) {
   case TL_OP_ADD:
      return !__builtin_add_overflow(a, b, out);
   case TL_OP_MUL:
      return !__builtin_mul_overflow(a, b, out);
   case TL_OP_MIN:
      *out = a < b ? a : b;
      return true;
   case TL_OP_REM:
      *out = a < b ? a : b - 1;
      return b > 0;
   case TL_OP_DIV: { /* by its greatest divisor, which is the only one where that is a number */
      uint64_t bits;
      *out = b > 0 ? a / b : 0;
      return b > 0 && (tl_is_const(tl_arg(op, 1), &bits) || tl_lint_is_argument(tl_arg(op, 1)));
   }
   }
   return false;
}

/* The greatest of integers that are never negative, as they are without wrapping. */
static bool
greatest(Sizes *z, const TlValue *v, int64_t *out)
{
   const TlOp *op = v->def;
   uint64_t bits;
   if (++z->steps > MAX_STEPS || tl_type_elem(v->type)->kind != TL_TYPE_SCALAR)
      return false;
   if (tl_is_const(v, &bits)) {
      *out = tl_bits_to_int(tl_type_elem(v->type)->dtype, bits);
      return *out >= 0;
   }
   if (!op) {
      const TlOp *loop = v->block->region->parent;
      if (!loop)
         return greatest_of_argument(z, v, out);
      bool is_index = loop->opcode == TL_OP_FOR && v == tl_for_index(loop);
      return is_index && greatest(z, tl_for_upper(loop), out) && --*out >= 0;
   }
   if (op->opcode == TL_OP_PROGRAM_ID || op->opcode == TL_OP_NUM_PROGRAMS) {
      *out = z->grid[tl_attr_int(op, TL_ATTR_AXIS)] - (op->opcode == TL_OP_PROGRAM_ID);
      return z->grid[tl_attr_int(op, TL_ATTR_AXIS)] > 0;
   }
   if (op->opcode == TL_OP_ARANGE) {
      *out = tl_attr_int(op, TL_ATTR_END) - 1;
      return true;
   }
   if (op->num_args == 1 && is_sum(op))
      return greatest(z, tl_arg(op, 0), out);
   return op->num_args == 2 && greatest_of_two(z, op, out);
}

/* The innermost product or sum of an offset that is beyond 32 bits; NULL: none that is known. */
static const TlOp *
wrapping_part(Sizes *z, const TlValue *v, int64_t *reached)
{
   const TlOp *op = v->def, *found = NULL;
   if (!op || ++z->steps > MAX_STEPS || !(is_sum(op) || op->opcode == TL_OP_MUL))
      return NULL;
   for (unsigned i = 0; !found && i < op->num_args; i++)
      found = wrapping_part(z, tl_arg(op, i), reached);
   bool is_made = op->opcode == TL_OP_ADD || op->opcode == TL_OP_MUL;
   if (found || !is_made || !is_int32(v))
      return found;
   return greatest(z, v, reached) && *reached > INT32_MAX ? op : NULL;
}

static bool
check_sizes(TlLintFacts *f, Sizes *z, TlRange at)
{
   TlSema *s = f->s;
   const TlBlock *top = f->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      int64_t reached = 0;
      z->steps = 0;
      const TlOp *part =
         op->opcode == TL_OP_ADDPTR ? wrapping_part(z, tl_arg(op, 1), &reached) : NULL;
      if (!part || part->range.file != s->impl->main->file)
         continue;
      tl_report(s->diags, W0288, part->range, (long long)reached);
      tl_help(s->diags, "make one of the factors 64 bits wide: .to(tl.int64)");
      tl_note(s->diags, N0200, at, "by the numbers that are given here");
      return true;
   }
   return false;
}

/* The sizes of a launch go with its own blocks. */
bool
tl_lint_has_constants(const TlFunc *f, const TlLaunchText *t)
{
   for (unsigned p = 0; p < t->kernel->num_params; p++) {
      const TlKernelParam *param = &t->kernel->params[p];
      int64_t given;
      if (!param->is_constexpr || (!t->args[p].node && !t->args[p].is_open && param->default_text))
         continue;
      if (!t->args[p].node)
         return false;
      for (uint32_t i = 0; i < f->num_params; i++)
         if (strcmp(f->params[i].name, param->name) == 0 && f->params[i].constant &&
             t->args[p].kind != TL_ARG_TEXT &&
             (!tl_launch_number(t, t->args[p].node, &given) ||
              given != strtoll(f->params[i].constant, NULL, 10)))
            return false;
   }
   return true;
}

static bool
check_launch(TlLintFacts *f, const TlKernelInfo *k, const TlAstCall *call)
{
   TlLaunchText t;
   tl_launch_text(f->s, k, call, &t);
   if (!tl_lint_has_constants(f->func, &t))
      return false;
   int64_t *given = tl_new_array(f->s->arena, int64_t, k->num_params + 1);
   for (unsigned p = 0; p < k->num_params; p++)
      if (!t.args[p].node || !tl_launch_number(&t, t.args[p].node, &given[p]))
         given[p] = -1;
   Sizes z = {.kernel = k, .given = given};
   for (unsigned axis = 0; axis < TL_LINT_AXES; axis++) {
      const TlNode *item = tl_launch_grid_item(&t, axis);
      if (!item || !tl_launch_number(&t, item, &z.grid[axis]))
         z.grid[axis] = item || axis == 0 ? 0 : 1;
   }
   return check_sizes(f, &z, call->node.range);
}

bool
tl_lint_wraps(TlLintFacts *f, const TlKernelInfo *k)
{
   enum { MOST_LAUNCHES = 16 };
   Sizes own = {.given = NULL};
   const TlNode *grid = tl_lint_own_grid(f);
   for (unsigned axis = 0; grid && axis < TL_LINT_AXES; axis++) {
      const TlNode *item = tl_grid_item(grid, axis);
      own.grid[axis] = item && item->kind == TL_AST_INT ? (int64_t)tl_ast_Int(item)->value : 0;
   }
   if (grid && check_sizes(f, &own, grid->range))
      return true;
   const TlCalls *calls = tl_launches_of(f->s, k->name);
   for (size_t i = 0; calls && i < calls->len && i < MOST_LAUNCHES; i++)
      if (check_launch(f, k, calls->data[i]))
         return true;
   return false;
}

/* ---- that may ---- */
static bool
is_constant(TlAnalysis *a, const TlValue *v)
{
   int64_t value;
   return tl_axis_known(tl_axis_info(a, v), &value);
}

/* Rows, columns and strides of a million are not out of the way; 32 rows that are 2^26 elements
 * apart are. */
static double
ordinary(TlAnalysis *a, const TlValue *v)
{
   const double most_ordinary = 1 << 20;
   const TlAxisInfo *info = tl_axis_info(a, v);
   double lo = info->has_range ? (double)info->lo : INT32_MIN,
          hi = info->has_range ? (double)info->hi : INT32_MAX;
   double most = -lo > hi ? -lo : hi;
   return most < most_ordinary ? most : most_ordinary;
}

/* Is the value, or a part of it, what memory holds: the number of a row of a table? */
static bool
is_loaded(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   bool found = op->opcode == TL_OP_LOAD;
   for (unsigned i = 0; is_sum(op) && !found && i < op->num_args; i++)
      found = is_loaded(tl_arg(op, i), steps);
   return found;
}

/* A product of two int32 of any size that is a part of the offset, or that a constant scales to
 * one; NULL: none.  Of a program's number times a constant the offset goes through one array, with
 * a mask of its length; a number that was loaded chooses a row of the constant's length. */
static const TlOp *
wide_product(TlAnalysis *a, const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def, *found = NULL;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   bool is_product = op->opcode == TL_OP_MUL && is_int32(v);
   bool is_scaled = is_product && (is_constant(a, tl_arg(op, 0)) || is_constant(a, tl_arg(op, 1)));
   bool is_row = is_scaled && (is_loaded(tl_arg(op, 0), steps) || is_loaded(tl_arg(op, 1), steps));
   if (is_product && (!is_scaled || is_row) &&
       ordinary(a, tl_arg(op, 0)) * ordinary(a, tl_arg(op, 1)) > INT32_MAX)
      return op;
   for (unsigned i = 0; (is_sum(op) || is_scaled) && !found && i < op->num_args; i++)
      found = wide_product(a, tl_arg(op, i), steps);
   return found;
}

void
tl_lint_offsets(TlSema *s, const TlFunc *f)
{
   enum { MOST_NOTES = 3, MOST_PARTS = 64 };
   TlAnalysis *a = tl_analysis_new(s->arena, f);
   TlRange at[MOST_PARTS];
   const TlOp *first = NULL;
   unsigned num = 0;
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op && num < MOST_PARTS; op = tl_walk_next(op, top)) {
      unsigned steps = 0, same = 0;
      const TlOp *part = op->opcode == TL_OP_ADDPTR ? wide_product(a, tl_arg(op, 1), &steps) : NULL;
      while (part && same < num && memcmp(&at[same], &part->range, sizeof at[0]) != 0)
         same++;
      if (part && same == num)
         at[num++] = part->range;
      first = first ? first : part;
   }
   if (!num)
      return;
   int64_t row;
   bool is_row = tl_axis_known(tl_axis_info(a, tl_arg(first, 1)), &row) ||
                 tl_axis_known(tl_axis_info(a, tl_arg(first, 0)), &row);
   tl_report(s->diags, W0207, at[0]);
   tl_help(s->diags, "make one of the factors 64 bits wide%s: .to(tl.int64)",
           is_row && row > 0
              ? tl_arena_printf(s->arena, ", it wraps from %lld on", INT32_MAX / (long long)row + 1)
              : "");
   for (unsigned i = 1; i < num && i <= MOST_NOTES; i++)
      tl_note(s->diags, N0200, at[i],
              i == MOST_NOTES && num > i + 1
                 ? tl_arena_printf(s->arena, "so may this, and %u more", num - i - 1)
                 : "so may this");
}
