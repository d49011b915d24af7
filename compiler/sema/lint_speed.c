/* What makes right kernels slow, where it is asked for: lanes of a load that lie rows apart, while
 * neighbouring programs read what lies side by side, and programs of one element each. */
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/launch_args.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

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
   tl_help(s->diags,
           "let lanes go along what lies side by side, several of them a program: c = "
           "tl.program_id(%d) * 32 + tl.arange(0, 32), pointers + r[:, None] * %.40s + c[None, :], "
           "and reduce along axis 0",
           axis, stride->name);
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

void
tl_lint_speed(TlSema *s, const TlFunc *func)
{
   TlLintFacts f;
   tl_lint_facts(s, func, tl_affine_new(s->arena, func), &f);
   if (check_single(&f))
      return;
   for (size_t i = 0; i < f.all.len; i++)
      if (check_column(&f, &f.all.data[i]))
         return;
}
