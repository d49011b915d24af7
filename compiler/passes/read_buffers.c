/* Conversions of tiles that go to shared memory anyway, for a product, read there.
 *
 *    before:   c = convert_layout x; store p, c       after:   b = local_alloc x
 *              b = local_alloc x                               c = local_load b; store p, c
 *              y = dot(a, b, ..)                               y = dot(a, b, ..)
 *
 * Both are writes of every element and a barrier: a state or a result that a step of a recurrence
 * stores and multiplies takes one of them.  The tile may have been cast for each by itself.
 *
 * Done where the wanted layout is read from the product's arrangement in no more wavefronts than
 * the exchange takes, and no loop lies between the two.  Not where warps have roles: what is in
 * shared memory there is counted to the byte.  Each rewrite removes a conversion, so it ends. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"
#include "passes/place/place.h"

#include <assert.h>

enum { FAR = 256 /* operations between the two */ };

/* Is the buffer, however it is seen, only read? */
static bool
is_only_read(const TlValue *buffer)
{
   for (const TlUse *u = buffer->uses; u; u = u->next) {
      TlOpcode op = u->user->opcode;
      bool is_view = op == TL_OP_LOCAL_VIEW || op == TL_OP_LOCAL_TRANS;
      if ((op != TL_OP_LOCAL_LOAD && op != TL_OP_DOT && !is_view) ||
          (is_view && !is_only_read(tl_result(u->user, 0))))
         return false;
   }
   return true;
}

static bool
is_cheaper_to_read(TlPassCx *cx, const TlOp *cvt, const TlType *memory)
{
   const TlType *from = tl_arg(cvt, 0)->type, *to = tl_result(cvt, 0)->type;
   unsigned bytes = tl_dtype_info[tl_memory_dtype(to->elem)].bytes;
   TlConvertPlan *plan = tl_new(cx->scratch, TlConvertPlan);
   return tl_plan_conversion(to->elem, from->layout, to->layout, plan) &&
          plan->kind == TL_CONVERT_SHARED &&
          tl_place_shared_wavefronts(to->layout, memory->layout, bytes, TL_TILE_LOAD) <=
             tl_place_conversion_wavefronts(plan, bytes);
}

/* The operation of the alloc's block that the conversion is or is in, when the buffer can be filled
 * before it: *is_before says that it is.  NULL: it cannot. */
static TlOp *
place_before(TlOp *cvt, const TlOp *alloc, bool *is_before)
{
   TlOp *top = tl_in_block(cvt, alloc->block);
   unsigned n = 0;
   *is_before = true;
   for (const TlOp *op = top; top && op && n < FAR; op = op->prev, n++)
      if (op == alloc)
         return top;
   *is_before = false;
   for (const TlOp *op = top; top && op && n < 2 * FAR && !tl_is_loop(op); op = op->next, n++)
      if (op == alloc)
         return top;
   return NULL;
}

/* The buffer of the alloc holds what is converted, or what is cast in the same way. */
static bool
is_same_tile(const TlValue *x, const TlValue *y)
{
   return x == y || (tl_value_is(x, TL_OP_CAST) && tl_value_is(y, TL_OP_CAST) &&
                     tl_arg(x->def, 0) == tl_arg(y->def, 0) && x->type == y->type);
}

static bool
read_from(TlPassCx *cx, TlOp *cvt, TlOp *alloc)
{
   TlValue *tile = tl_arg(alloc, 0), *buffer = tl_result(alloc, 0);
   bool is_before;
   if (!is_same_tile(tile, tl_arg(cvt, 0)) || !is_only_read(buffer) ||
       !is_cheaper_to_read(cx, cvt, buffer->type))
      return false;
   TlOp *top = place_before(cvt, alloc, &is_before);
   if (!top)
      return false;
   if (!is_before) {
      if (tile != tl_arg(cvt, 0) && tile->def->block == alloc->block)
         tl_move_before(tile->def, top);
      tl_move_before(alloc, top);
   }
   TlBuilder b = tl_builder_before(cvt);
   TlValue *x = tl_arg(cvt, 0), *out = tl_result(cvt, 0);
   tl_replace_uses(out, tl_t1(&b, TL_OP_LOCAL_LOAD, out->type, buffer));
   tl_remove(cvt);
   if (tl_is_unused(x->def))
      tl_remove(x->def);
   return true;
}

/* An alloc of the conversion's tile, or of another cast of what that was cast from. */
static bool
read_buffer(TlPassCx *cx, TlOp *cvt)
{
   TlValue *x = tl_arg(cvt, 0);
   if (!x->def)
      return false;
   for (const TlUse *u = x->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_LOCAL_ALLOC && read_from(cx, cvt, u->user))
         return true;
   for (const TlUse *u = x->def->opcode == TL_OP_CAST ? tl_arg(x->def, 0)->uses : NULL; u;
        u = u->next)
      for (const TlUse *v = u->user->opcode == TL_OP_CAST ? tl_result(u->user, 0)->uses : NULL; v;
           v = v->next)
         if (v->user->opcode == TL_OP_LOCAL_ALLOC && read_from(cx, cvt, v->user))
            return true;
   return false;
}

bool
tl_pass_read_buffers(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   const TlBlock *body = f->body->block;
   if (f->extra_warps)
      return false;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      if (op->opcode == TL_OP_CONVERT_LAYOUT)
         changed |= read_buffer(cx, op);
   }
   return changed;
}
