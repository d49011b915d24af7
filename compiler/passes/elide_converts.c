/* Conversions that do nothing: between equal layouts, and of conversions (the outer reads the
 * inner's source).  Each rewrite removes an operation or a use of one, so this ends. */
#include "passes/pass.h"

static bool
elide(TlOp *cvt)
{
   TlValue *src = tl_arg(cvt, 0), *out = tl_result(cvt, 0);
   if (src->type == out->type) {
      tl_replace_uses(out, src);
      tl_remove(cvt);
      return true;
   }
   if (tl_value_is(src, TL_OP_CONVERT_LAYOUT)) {
      TlOp *inner = src->def;
      tl_set_arg(cvt, 0, tl_arg(inner, 0));
      if (tl_is_unused(inner))
         tl_remove(inner);
      elide(cvt);
      return true;
   }
   return false;
}

static bool
walk(TlBlock *block)
{
   bool changed = false;
   for (TlOp *op = block->first, *next; op; op = next) {
      next = op->next;
      for (unsigned i = 0; i < op->num_regions; i++)
         changed |= walk(op->regions[i]->block);
      if (op->opcode == TL_OP_CONVERT_LAYOUT)
         changed |= elide(op);
   }
   return changed;
}

bool
tl_pass_elide_converts(TlPassCx *cx, TlFunc *f)
{
   (void)cx;
   return walk(f->body->block);
}
