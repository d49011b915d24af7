/* Conversions that need not be: between equal layouts, of conversions (the outer reads the inner's
 * source), of values without operands or of one scalar (made in the other layout at once).  Each
 * rewrite removes an operation or a use of one, or turns a conversion into something else, so this
 * ends. */
#include "passes/pass.h"

/* Every element comes from nothing but its position. */
static bool
is_made_anywhere(const TlOp *op)
{
   return op->opcode == TL_OP_CONSTANT || op->opcode == TL_OP_POISON ||
          op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_ARANGE;
}

/* The conversion's source, made again with its result's layout. */
static void
make_again(TlPassCx *cx, TlOp *cvt)
{
   TlOp *source = tl_arg(cvt, 0)->def;
   TlBuilder b = tl_builder_before(cvt);
   TlMap map;
   tl_map_init(&map, cx->scratch);
   TlValue *copy = tl_result(tl_clone_op(&b, source, &map), 0);
   copy->type = tl_result(cvt, 0)->type;
   tl_replace_uses(tl_result(cvt, 0), copy);
   tl_remove(cvt);
   if (tl_is_unused(source))
      tl_remove(source);
}

static bool
elide(TlPassCx *cx, TlOp *cvt)
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
      elide(cx, cvt);
      return true;
   }
   if (src->def && is_made_anywhere(src->def)) {
      make_again(cx, cvt);
      return true;
   }
   return false;
}

static bool
walk(TlPassCx *cx, TlBlock *block)
{
   bool changed = false;
   for (TlOp *op = block->first, *next; op; op = next) {
      next = op->next;
      for (unsigned i = 0; i < op->num_regions; i++)
         changed |= walk(cx, op->regions[i]->block);
      if (op->opcode == TL_OP_CONVERT_LAYOUT)
         changed |= elide(cx, op);
   }
   return changed;
}

bool
tl_pass_elide_converts(TlPassCx *cx, TlFunc *f)
{
   return walk(cx, f->body->block);
}
