/* What a choice drops need not be loaded: the half of a triangle that is not there,
 *
 *    %x = ld_global %p, %m, 0.0                // one element an access
 *    %y = select %c, %x, 0.0                   // becomes  %y = ld_global %p, (%m and %c), 0.0
 *
 * also with a cast between.  Memory is spared, and a thread's seven predicates, for which ptxas
 * orders choices and loads: it waited for half of a tile before it began the rest.
 * Refused: loads of vectors, whose width one mask for all elements keeps; loads with another use,
 * volatile ones, and those of parts; a condition that a load makes, or what comes later; what
 * is loaded or chosen otherwise being two values, or no zero on the way through a cast.
 * Each choice goes with its rewrite, so it ends. */
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { MAX_DEPTH = 8 };

static TlOp *
only_for(const TlValue *v, TlOpcode opcode)
{
   return tl_value_is(v, opcode) && v->uses && !v->uses->next ? v->def : NULL;
}

static bool
are_equal(const TlValue *x, const TlValue *y)
{
   uint64_t a, b;
   return x == y || (tl_is_const(x, &a) && tl_is_const(y, &b) && a == b);
}

static bool
is_zero(const TlValue *v)
{
   uint64_t bits;
   return tl_is_const(v, &bits) && !bits;
}

/* Made in few steps of what asks no memory, and as early as the load: one that waits for another
 * load would be late. */
static bool
may_precede(const TlValue *v, const TlOp *load, unsigned depth)
{
   const TlOp *op = v->def;
   if (!op)
      return tl_value_dominates(v, load);
   if ((op->block != load->block && !tl_value_dominates(v, load)) || depth == MAX_DEPTH)
      return false;
   switch (op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_SPLAT:
   case TL_OP_PICK:
   case TL_OP_LANE_ID:
   case TL_OP_WARP_ID:
   case TL_OP_PROGRAM_ID:
      break;
   default:
      if (!tl_has_trait(op, TL_TRAIT_ELTWISE))
         return false;
   }
   for (unsigned i = 0; i < op->num_args; i++)
      if (!may_precede(tl_arg(op, i), load, depth + 1))
         return false;
   return true;
}

static void
bring_before(const TlValue *v, TlOp *load)
{
   if (tl_value_dominates(v, load))
      return;
   for (unsigned i = 0; i < v->def->num_args; i++)
      bring_before(tl_arg(v->def, i), load);
   tl_move_before(v->def, load);
}

/* The load may leave out elements and give `instead` for them. */
static bool
may_mask(const TlOp *load, const TlValue *condition, const TlValue *instead, bool is_cast)
{
   if (tl_attr_int(load, TL_ATTR_VEC) != 1 || tl_attr_int(load, TL_ATTR_VOLATILE) ||
       tl_is_partial(load) || condition->type->kind != TL_TYPE_REGS ||
       !may_precede(condition, load, 0))
      return false;
   if (!is_zero(instead) && (is_cast || !tl_value_dominates(instead, load)))
      return false;
   return load->num_args == 1 ||
          (load->num_args == 3 && tl_arg(load, 1)->type == condition->type &&
           (is_cast ? is_zero(tl_arg(load, 2)) : are_equal(tl_arg(load, 2), instead)));
}

static bool
mask_load(TlOp *choice)
{
   if (choice->opcode != TL_OP_SELECT || tl_result(choice, 0)->type->kind != TL_TYPE_REGS)
      return false;
   TlValue *chosen = tl_arg(choice, 1), *condition = tl_arg(choice, 0);
   const TlOp *cast = only_for(chosen, TL_OP_CAST);
   TlOp *load = only_for(cast ? tl_arg(cast, 0) : chosen, TL_OP_LD_GLOBAL);
   if (!load || !may_mask(load, condition, tl_arg(choice, 2), cast != NULL))
      return false;
   bring_before(condition, load);
   TlBuilder b = tl_builder_before(load);
   if (load->num_args == 3) {
      tl_set_arg(load, 1, tl_b2(&b, TL_OP_AND, tl_arg(load, 1), condition));
   } else {
      tl_append_arg(load, condition);
      tl_append_arg(load, is_zero(tl_arg(choice, 2))
                             ? tl_const_bits(&b, tl_result(load, 0)->type, 0)
                             : tl_arg(choice, 2));
   }
   tl_replace_uses(tl_result(choice, 0), chosen);
   tl_remove(choice);
   return true;
}

bool
tl_pass_mask_loads(TlPassCx *cx, TlFunc *f)
{
   (void)cx;
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      changed |= mask_load(op);
   }
   return changed;
}
