/* What makes right kernels slow, where it is asked for: lanes of a load that lie rows apart, while
 * neighbouring programs read what lies side by side, programs of one element each, a program that
 * loops over single elements, and atomics of a whole tile to one address. */
#include "ir/control.h"
#include "ir/trips.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/launch_args.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <string.h>

/* "n" of cdiv(n, ..) or of a grid's own size, for the help. */
static const char *
size_of_axis(TlLintFacts *f, int axis)
{
   const TlNode *item = tl_grid_item(tl_lint_own_grid(f), (unsigned)axis);
   return item && item->kind == TL_AST_NAME ? tl_ast_Name(item)->id : "n";
}

/* The program's number alone: neighbouring programs are neighbours in memory. */
static const TlTerm *
neighbour_term(const TlSum *s)
{
   for (unsigned i = 0; i < s->num; i++)
      if (s->term[i].num == 1 && s->term[i].scale == 1 && s->term[i].dim < 0 &&
          tl_lint_axis(&s->term[i]) >= 0)
         return &s->term[i];
   return NULL;
}

static bool
has_op(const TlBlock *top, TlOpcode opcode)
{
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == opcode)
         return true;
   return false;
}

/* x + arange(0, BLOCK) * N + program_id(0) */
static bool
check_column(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlTerm *pid = x->is_known ? neighbour_term(&x->sum) : NULL, *lane = NULL;
   if (!pid || x->op->opcode != TL_OP_LOAD || x->pointers->type->rank != 1 ||
       x->op->range.file != s->impl->main->file)
      return false;
   for (unsigned i = 0; i < x->sum.num; i++)
      lane = x->sum.term[i].dim == 0 ? &x->sum.term[i] : lane;
   const TlValue *stride = lane && lane->num == 1 ? lane->factor[0].value : NULL;
   if (!stride || !tl_lint_is_argument(stride) || !stride->name)
      return false;
   int axis = tl_lint_axis(pid);
   tl_report(s->diags, W0289, x->op->range, stride->name, axis);
   tl_help(
      s->diags,
      "let lanes go along what lies side by side, several of them a program: c = "
      "tl.program_id(%d) * 32 + tl.arange(0, 32), pointers + r[:, None] * %.40s + c[None, :]%s",
      axis, stride->name,
      has_op(f->func->body->block, TL_OP_REDUCE) ? ", and reduce along axis 0" : "");
   return true;
}

static bool
has_tiles_or_loops(const TlFunc *f)
{
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      if (op->opcode == TL_OP_FOR || op->opcode == TL_OP_WHILE)
         return true;
      for (unsigned i = 0; i < op->num_results; i++)
         if (tl_type_is_tile(tl_result(op, i)->type))
            return true;
   }
   return false;
}

/* i = program_id(0); store(y + i, load(x + i)) */
static bool
check_single(TlLintFacts *f)
{
   TlSema *s = f->s;
   const TlLintAccess *store = NULL;
   bool is_read = false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      if (!x->is_known || !neighbour_term(&x->sum))
         continue;
      is_read |= x->op->opcode == TL_OP_LOAD;
      if (x->op->opcode == TL_OP_STORE && x->op->range.file == s->impl->main->file)
         store = store ? store : x;
   }
   if (!store || !is_read || has_tiles_or_loops(f->func) || tl_is_launched_once(s, f->func->name))
      return false;
   int axis = tl_lint_axis(neighbour_term(&store->sum));
   const char *n = size_of_axis(f, axis);
   tl_report(s->diags, W0290, store->op->range);
   tl_help(
      s->diags,
      "take a block of them: i = tl.program_id(%d) * BLOCK + tl.arange(0, BLOCK), the mask i < "
      "%.40s, and cdiv(%.40s, BLOCK) programs",
      axis, n, n);
   return true;
}

/* The loop whose round alone is the index, and goes on by one element; NULL: none. */
static const TlOp *
loop_of_elements(const TlLintAccess *x)
{
   const TlTerm *t = x->is_known && x->sum.num == 1 ? &x->sum.term[0] : NULL;
   if (!t || tl_type_is_tile(x->pointers->type) || t->num != 1 || t->scale != 1 ||
       !tl_lint_is_round(t))
      return NULL;
   return t->factor[0].value->block->region->parent;
}

static bool
is_inside(const TlOp *op, const TlOp *loop)
{
   while (op && op != loop)
      op = op->block->region->parent;
   return op == loop;
}

/* Does a round need what another has done: a value that goes from one to the next, an element that
 * another stores? */
static bool
needs_other_rounds(const TlLintFacts *f, const TlOp *loop)
{
   for (size_t i = 0; i < f->all.len; i++)
      for (size_t k = 0; k < f->all.len; k++) {
         const TlLintAccess *x = &f->all.data[i], *y = &f->all.data[k];
         bool is_pair = x->op->opcode == TL_OP_STORE && is_inside(x->op, loop) &&
                        is_inside(y->op, loop) && y->base == x->base;
         if (is_pair && (!x->is_known || !y->is_known || !tl_same_sum(&x->sum, &y->sum)))
            return true;
      }
   return loop->num_results != 0 || f->has_atomics;
}

/* for i in range(0, n): store(y + i, load(x + i)), in one program */
static bool
check_elements(TlLintFacts *f)
{
   enum { FEW = 64 };
   TlSema *s = f->s;
   const TlBlock *top = f->func->body->block;
   if (has_op(top, TL_OP_PROGRAM_ID) || has_op(top, TL_OP_WHILE))
      return false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      const TlOp *loop = x->op->opcode == TL_OP_STORE ? loop_of_elements(x) : NULL;
      if (!loop || loop->opcode != TL_OP_FOR || x->op->range.file != s->impl->main->file ||
          loop->block != top || tl_known_trips(loop) <= FEW || needs_other_rounds(f, loop))
         continue;
      const TlValue *n = tl_for_upper(loop);
      const char *size = tl_lint_is_argument(n) && n->name ? n->name : "n";
      tl_report(s->diags, W0291, x->op->range);
      tl_help(s->diags,
              "take tiles of them, in several programs: i = tl.program_id(0) * BLOCK + "
              "tl.arange(0, BLOCK), the mask i < %.40s, and cdiv(%.40s, BLOCK) programs",
              size, size);
      return true;
   }
   return false;
}

/* atomic_add(count + zeros((BLOCK,), i32), hit): a lane waits for the one before. */
static bool
check_one_address(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlOp *op = x->op;
   unsigned lanes = (unsigned)tl_type_num_elems(x->pointers->type);
   if (op->opcode != TL_OP_ATOMIC_RMW || !x->is_known || lanes < 2 || tl_sum_has_index(&x->sum) ||
       op->range.file != s->impl->main->file || tl_result(op, 0)->uses)
      return false;
   const char *name = tl_source_name(op);
   const char *fold = strcmp(name, "atomic_add") == 0   ? "sum"
                      : strcmp(name, "atomic_max") == 0 ? "max"
                      : strcmp(name, "atomic_min") == 0 ? "min"
                      : strcmp(name, "atomic_xor") == 0 ? "xor_sum"
                                                        : NULL;
   if (!fold)
      return false;
   tl_report(s->diags, W0292, op->range, lanes, name);
   tl_help(s->diags, "reduce the tile to one value first: tl.%s(pointer, tl.%s(value%s))%s", name,
           fold, x->pointers->type->rank == 1 ? ", axis=0" : "",
           tl_pred(op) ? "; tl.where(mask, value, ..) takes the place of the mask" : "");
   return true;
}

void
tl_lint_speed(TlSema *s, const TlFunc *func)
{
   TlLintFacts f;
   tl_lint_facts(s, func, tl_affine_new(s->arena, func), &f);
   if (check_single(&f) || check_elements(&f))
      return;
   for (size_t i = 0; i < f.all.len; i++)
      if (check_one_address(&f, &f.all.data[i]) || check_column(&f, &f.all.data[i]))
         return;
}
