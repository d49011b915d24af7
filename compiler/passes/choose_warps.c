/* More warps where the registers of the warps asked for would not hold the tiles, fewer where they
 * would hold nothing but copies.
 *
 * What the source asks for is a hint: with 4 warps a 256 x 128 accumulator takes all 256 registers
 * of each thread, and half of the registers of the multiprocessor stay unused by the block; with 8
 * it takes half of each thread's.  The number doubles while the tiles that live at once need more
 * than a thread has, and ends where each thread would get fewer registers than it may name.  It
 * goes on where a thread would have more elements of one tile than are compiled.
 *
 * A tile is taken to be spread over all threads once.  Index arithmetic is made again where it is
 * used, operands of products that come from memory stay in shared memory, and what is used once by
 * the next operation of a chain is never whole.
 *
 * Where every tile has fewer elements than there are threads, warps beyond those elements compute
 * what others compute and store nothing: they take issue slots, and places on the multiprocessor
 * that other blocks would have.  A product's form has its own number of warps; printing tells of
 * each thread. */
#include "passes/choose_warps.h"

#include "ir/control.h"
#include "ir/pressure.h"
#include "passes/dot_layouts.h"
#include "passes/pass.h"
#include "passes/remark.h"

/* Registers of a thread left for addresses, masks and the fragments of a product. */
enum { SPARE_REGISTERS = 32, LANES = 32 };

typedef struct Estimate {
   const TlFunc *func;
   bool *is_index;      /* by value id: made of ranges and scalars only */
   uint32_t *words;     /* by value id: of all threads */
   uint64_t most_elems; /* of one tile */
   const TlOp *largest; /* makes it */
   bool has_wgmma;
   bool needs_warps; /* an operation whose meaning depends on their number */
   bool keeps_warps; /* no fewer of them: a product, or a line printed by each thread */
} Estimate;

static bool
only_feeds_dots(const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool is_view = op->opcode == TL_OP_TRANS || op->opcode == TL_OP_RESHAPE;
      if (!(op->opcode == TL_OP_DOT && u - op->args < 2) &&
          !(is_view && only_feeds_dots(tl_result(op, 0))))
         return false;
   }
   return true;
}

/* Used once, by the next of a chain from a load to a reduction: a few registers at a time go
 * through it.  What is stored is whole before, as the store may change what other loads read. */
static bool
is_in_chain(const TlOp *op)
{
   if (op->num_results != 1 || !tl_result(op, 0)->uses || tl_result(op, 0)->uses->next)
      return false;
   const TlOp *user = tl_result(op, 0)->uses->user;
   bool is_link = op->opcode == TL_OP_LOAD || tl_has_trait(op, TL_TRAIT_ELTWISE);
   bool is_next = tl_has_trait(user, TL_TRAIT_ELTWISE) || user->opcode == TL_OP_REDUCE;
   return is_link && is_next && user->block == op->block;
}

/* Another view of the operand's registers, or too cheap to keep. */
static bool
is_made_again(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_RESHAPE:
   case TL_OP_TRANS:
   case TL_OP_HINT:
      return true;
   default:
      return false;
   }
}

static void
estimate(Estimate *e, const TlValue *v, bool is_index)
{
   const TlType *elem = tl_type_elem(v->type);
   e->is_index[v->id] = is_index;
   if (v->type->kind != TL_TYPE_TILE || is_index || elem->kind != TL_TYPE_SCALAR ||
       elem->dtype == TL_I1)
      return;
   e->words[v->id] =
      (uint32_t)((tl_type_num_elems(v->type) * tl_dtype_info[elem->dtype].bits + 31) / 32);
}

static void estimate_block(Estimate *e, const TlBlock *block);

static void
estimate_op(Estimate *e, const TlOp *op)
{
   bool is_index = tl_op_is_pure(op) && !op->num_regions;
   for (unsigned i = 0; i < op->num_args; i++)
      is_index &= e->is_index[tl_arg(op, i)->id];
   bool is_free = is_made_again(op) || is_in_chain(op) ||
                  (op->opcode == TL_OP_LOAD && only_feeds_dots(tl_result(op, 0)));
   for (unsigned i = 0; i < op->num_results; i++)
      estimate(e, tl_result(op, i), is_index || tl_result(op, i)->type->kind != TL_TYPE_TILE);
   for (unsigned i = 0; i < op->num_results; i++) {
      const TlType *t = tl_result(op, i)->type;
      if (t->kind == TL_TYPE_TILE && tl_type_num_elems(t) > e->most_elems) {
         e->most_elems = tl_type_num_elems(t);
         e->largest = op;
      }
   }
   for (unsigned i = 0; is_free && i < op->num_results; i++)
      e->words[tl_result(op, i)->id] = 0;
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlBlock *block = op->regions[r]->block;
      for (unsigned i = 0; i < block->num_args; i++)
         estimate(e, block->args[i], block->args[i]->type->kind != TL_TYPE_TILE);
      estimate_block(e, block);
   }
   if (e->has_wgmma && op->opcode == TL_OP_DOT && tl_dot_promoted_k(op))
      e->words[tl_result(op, 0)->id] *= 2; /* the part that is not added yet */
   e->needs_warps |=
      op->opcode == TL_OP_SREG || (op->opcode == TL_OP_INLINE_ASM && !tl_op_is_pure(op));
   e->keeps_warps |= op->opcode == TL_OP_DOT || op->opcode == TL_OP_DEVICE_PRINT;
}

static void
estimate_block(Estimate *e, const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next)
      estimate_op(e, op);
}

static Estimate
estimate_tiles(TlPassCx *cx, const TlFunc *f)
{
   Estimate e = {.func = f, .has_wgmma = cx->target && cx->target->features & TL_FEAT_WGMMA};
   e.is_index = tl_new_array(cx->scratch, bool, f->next_value_id);
   e.words = tl_new_array(cx->scratch, uint32_t, f->next_value_id);
   for (unsigned i = 0; i < f->body->block->num_args; i++)
      e.is_index[f->body->block->args[i]->id] = true;
   estimate_block(&e, f->body->block);
   e.needs_warps |= f->needs_warps;
   return e;
}

uint32_t *
tl_tile_words(TlPassCx *cx, const TlFunc *f, bool *needs_warps)
{
   Estimate e = estimate_tiles(cx, f);
   *needs_warps = e.needs_warps;
   return e.words;
}

uint32_t
tl_warps_for_words(const TlTarget *target, uint32_t warps, unsigned spare, uint64_t words,
                   bool *have_room)
{
   uint32_t of_warp = LANES * (target->thread_registers - spare);
   while (words > warps * of_warp &&
          2 * warps * LANES * target->thread_registers <= target->sm_registers)
      warps *= 2;
   *have_room = words <= warps * of_warp;
   return warps;
}

/* One warp at least: programs may have no tile.  False: no operation is another one, so nothing is
 * to be verified again, and what nests too deep is place_layouts' to refuse. */
static bool
drop_copies(TlPassCx *cx, TlFunc *f, const Estimate *e)
{
   uint32_t warps = f->num_warps;
   while (warps > 1 && e->most_elems <= warps / 2 * LANES)
      warps /= 2;
   if (warps == f->num_warps || e->keeps_warps)
      return false;
   if (e->largest && tl_wants_remarks(cx->diags, "layout"))
      tl_report(cx->diags, R0430, e->largest->range, f->num_warps,
                e->needs_warps ? "the kernel depends on their number"
                               : tl_arena_printf(cx->scratch, "the kernel runs with %u", warps));
   if (!e->needs_warps)
      f->num_warps = warps;
   return false;
}

bool
tl_pass_choose_warps(TlPassCx *cx, TlFunc *f)
{
   const TlOp *at = NULL;
   bool have_room;
   Estimate e = estimate_tiles(cx, f);
   uint32_t most = tl_pressure(cx->scratch, f, e.words, &at);
   uint32_t warps = tl_warps_for_words(cx->target, f->num_warps, SPARE_REGISTERS, most, &have_room);
   if (e.most_elems > (uint64_t)warps * LANES * TL_MAX_REGS_PER_THREAD) {
      at = e.largest;
      most = (uint32_t)e.most_elems;
   }
   while (e.most_elems > (uint64_t)warps * LANES * TL_MAX_REGS_PER_THREAD && warps < TL_MAX_WARPS)
      warps *= 2;
   if (warps == f->num_warps)
      return drop_copies(cx, f, &e);
   if (tl_wants_remarks(cx->diags, "layout"))
      tl_report(cx->diags, R0417, at->range, f->num_warps, f->num_warps == 1 ? "" : "s",
                most / (f->num_warps * LANES),
                e.needs_warps ? "the kernel depends on their number"
                              : tl_arena_printf(cx->scratch, "the kernel runs with %u", warps));
   if (e.needs_warps)
      return false;
   f->num_warps = warps;
   return true;
}
