/* Remarks of the group "tma": which operands of dots are boxes of a tensor that is known at the
 * launch, or to the kernel before the loop, and why others are not.  They look at TYPED code, where
 * addresses are still whole. */
#include "ir/affine.h"
#include "ir/walk.h"
#include "passes/remark.h"

static const char *
product_cstr(TlArena *arena, const TlTerm *t)
{
   TlSb sb;
   TlTerm copy = *t;
   tl_sb_init(&sb, arena);
   tl_sum_print(&(TlSum){&copy, 1}, &sb);
   return tl_sb_cstr(&sb);
}

static void
remark_box(TlPassCx *cx, const TlOp *load, const TlTileAccess *x)
{
   TlSb at, size;
   tl_sb_init(&at, cx->scratch);
   tl_sb_init(&size, cx->scratch);
   for (unsigned k = 0; k < x->num_outer; k++) {
      tl_sum_print(&x->outer[k].index, &at);
      tl_sb_printf(&at, " by %s, ", product_cstr(cx->scratch, &x->outer[k].stride));
   }
   for (unsigned d = 0; d < x->rank; d++) {
      if (d)
         tl_sb_str(&at, ", ");
      tl_sum_print(&x->dim[d].start, &at);
      tl_sb_printf(&at, " by %s", product_cstr(cx->scratch, &x->dim[d].stride));
      if (!x->dim[d].has_bound)
         continue;
      tl_sb_str(&size, size.len ? ", " : "; masked off from ");
      tl_sum_print(&x->dim[d].bound, &size);
   }
   const TlValue *base = x->base;
   while (tl_value_is(base, TL_OP_HINT)) /* a descriptor's promise */
      base = tl_arg(base->def, 0);
   tl_report(cx->diags, R0418, load->range, base->name ? base->name : "", tl_sb_cstr(&at),
             tl_sb_cstr(&size));
}

void
tl_remark_tiles(TlPassCx *cx, TlFunc *f)
{
   const TlBlock *body = f->body->block;
   if (!tl_wants_remarks(cx->diags, "tma"))
      return;
   TlAffine *affine = tl_affine_new(cx->scratch, f);
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      for (unsigned i = 0; op->opcode == TL_OP_DOT && i < 2; i++) {
         const TlOp *load = tl_dot_load(op, i);
         TlTileAccess x;
         bool is_own;
         if (load && tl_any_tile_access(affine, load, &x, &is_own))
            remark_box(cx, load, &x);
         else if (load)
            tl_report(cx->diags, R0419, load->range, x.why);
      }
}
