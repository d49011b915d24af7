/* Numbers that are scaled to the range of 8 bits by the greatest of their absolute values, and
 * become integers unrounded: the conversion goes towards zero, so that errors are twice as large
 * and lean to one side. */
#include "ir/walk.h"
#include "sema/builtin.h"
#include "sema/lint_access.h"

enum { MAX_STEPS = 200 };

/* The elements as they were before masks, shapes and types changed. */
static const TlOp *
element_source(const TlValue *v)
{
   uint64_t bits;
   for (unsigned steps = 0; v->def && steps < MAX_STEPS; steps++) {
      TlOpcode code = v->def->opcode;
      if (code == TL_OP_SELECT)
         v = tl_arg(v->def, tl_is_const(tl_arg(v->def, 1), &bits) ? 2 : 1);
      else if (code == TL_OP_CAST || code == TL_OP_RESHAPE || code == TL_OP_BROADCAST)
         v = tl_arg(v->def, 0);
      else
         break;
   }
   return v->def;
}

/* max(abs(x)) is in it. */
static bool
has_greatest_size(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || op->opcode == TL_OP_LOAD || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode == TL_OP_REDUCE) {
      const TlOp *from = element_source(tl_arg(op, 0));
      return from && from->opcode == TL_OP_ABS;
   }
   for (unsigned i = 0; !op->num_regions && i < op->num_args; i++)
      if (has_greatest_size(tl_arg(op, i), steps))
         return true;
   return false;
}

/* A product or quotient, or several of them, with a scale from within the kernel. */
static bool
is_scaled(const TlValue *v)
{
   unsigned steps = 0;
   const TlOp *op = v->def;
   return op && (op->opcode == TL_OP_DIV || op->opcode == TL_OP_MUL) &&
          has_greatest_size(v, &steps);
}

/* What is left of x, whatever its limits and its type on the way. */
static const TlValue *
before_limits(const TlValue *v)
{
   uint64_t bits;
   for (const TlOp *op = v->def; op; op = v->def) {
      bool is_bound = op->opcode == TL_OP_MIN || op->opcode == TL_OP_MAX;
      bool is_of_floats =
         op->opcode == TL_OP_CAST && tl_dtype_is_float(tl_value_dtype(tl_arg(op, 0)));
      if (!is_bound && !is_of_floats && op->opcode != TL_OP_CLAMP)
         return v;
      v = tl_arg(op, is_bound && tl_is_const(tl_arg(op, 0), &bits) ? 1 : 0);
   }
   return v;
}

static void
check_conversion(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   const TlType *to = tl_type_elem(tl_result(op, 0)->type);
   const TlValue *v = tl_arg(op, 0);
   if (to->kind != TL_TYPE_SCALAR || to->dtype != TL_I8 || !tl_dtype_is_float(tl_value_dtype(v)) ||
       op->range.file != s->impl->main->file)
      return;
   if (!is_scaled(before_limits(v)))
      return;
   tl_report(s->diags, W0362, op->range, tl_dtype_info[to->dtype].text);
   if (v->name)
      tl_help(s->diags, "round it before: libdevice.rint(%.40s), or tl.floor(%.40s + 0.5)", v->name,
              v->name);
}

void
tl_lint_quantised(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_CAST)
         check_conversion(f, op);
}
