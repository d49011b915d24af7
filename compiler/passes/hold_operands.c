/* Left operands that a loop only reads, kept in registers.
 *
 *    before:   k = local_alloc ..;                       for: s = dot(k, q)
 *    after:    k = local_alloc ..; kept = local_load k;  for: s = dot(kept, q)
 *
 * wgmma reads shared operands anew for each instruction: 64 rows of A and the columns of B, 16
 * deep.  Of 32 columns that takes the shared memory 24 cycles, at 128 bytes each, and the tensor
 * cores 16; of 64 columns it takes both 32, which leaves no cycle for anything else that goes
 * through shared memory.  From registers A costs nothing.
 *
 * Done where the sums of the loop leave room, and only where they take so many registers that the
 * block is alone on its multiprocessor anyway: else another block would be worth more. */
#include "ir/walk.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/pass.h"

#include <assert.h>

enum {
   FEW_COLUMNS = 64,
   MOST_WORDS = 160,  /* of sums and kept operands */
   WORDS_BESIDE = 64, /* at least, of a thread */
   LANES = 32,
};

/* The fragment's type when A is a buffer from outside of the loop that is worth keeping. */
static const TlType *
kept_type(TlFunc *f, const TlOp *loop, const TlOp *dot)
{
   TlDotForm form;
   TlWgmmaOperand shared[2];
   const TlValue *a = tl_arg(dot, 0);
   if (a->type->kind != TL_TYPE_MEMDESC || tl_is_defined_in(a, loop) ||
       !tl_match_wgmma(dot, &form, shared) || form.tile.instr_n > FEW_COLUMNS)
      return NULL;
   TlTypes *types = f->module->types;
   const TlType *t = a->type;
   return tl_type_tile(types, tl_type_scalar(types, t->dtype), t->rank, t->shape,
                       tl_layout_intern(types, &form.operand[0]));
}

static bool
hold_in(TlPassCx *cx, TlFunc *f, TlOp *loop)
{
   const TlBlock *body = loop->regions[0]->block;
   unsigned words = tl_words_of_products(body);
   unsigned most = cx->target->sm_registers / (f->num_warps * LANES) - WORDS_BESIDE;
   most = most < MOST_WORDS ? most : MOST_WORDS;
   bool changed = false;
   if (!tl_only_by_wgmma(body) || !tl_is_alone(cx->target, f->num_warps, words))
      return false;
   TlBuilder b = tl_builder_before(loop);
   TlMap kept; /* buffer -> its fragment */
   tl_map_init(&kept, cx->scratch);
   for (TlOp *op = body->first; op; op = op->next) {
      const TlType *t = op->opcode == TL_OP_DOT ? kept_type(f, loop, op) : NULL;
      TlValue *buffer = t ? tl_arg(op, 0) : NULL, *v = tl_map_get(&kept, buffer);
      if (!t || (!v && words + tl_words_of(t) > most) || (v && v->type != t))
         continue;
      if (!v) {
         words += tl_words_of(t);
         b.range = op->range;
         v = tl_t1(&b, TL_OP_LOCAL_LOAD, t, buffer);
         tl_map_put(&kept, buffer, v);
      }
      tl_set_arg(op, 0, v);
      changed = true;
   }
   return changed;
}

bool
tl_pass_hold_operands(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   if (!cx->target || !(cx->target->features & TL_FEAT_WGMMA))
      return false;
   const TlBlock *top = f->body->block;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_FOR)
         changed |= hold_in(cx, f, op);
   return changed;
}
