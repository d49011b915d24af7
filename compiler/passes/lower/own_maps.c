/* Tensor maps that the kernel makes itself: by the warp that sends for boxes, or by each that
 * stores them.  Maps of a warp lie side by side in a place in global memory, which it takes before
 * its first one and leaves at the end; each is put together in 128 shared bytes of its own.
 *
 *    %place = map_place %mine                           at the beginning of the role, or kernel
 *    %map = map_write %place, %address, %mine, ..       own_map
 *    map_fence %map, %mine
 *    map_leave %place, %mine                            at its end */
#include "ir/walk.h"
#include "passes/lower/impl.h"

#include <assert.h>

enum { MAP_BYTES = 128, MOST_PLACES = 32 /* bits of a word */ };

uint32_t
tl_own_map_bytes(const TlFunc *f, const TlOp *own_map)
{
   bool is_grouped = tl_attr_int(own_map, TL_ATTR_GROUPED) != 0;
   return MAP_BYTES * (is_grouped ? tl_warps_at(f, own_map) / TL_GROUP_WARPS : 1);
}

/* Does this warp make maps: the first of the role, or of each four? */
static TlValue *
is_maker(TlLowerCx *cx, TlBuilder *b, bool is_grouped)
{
   TlValue *mine = tl_thread_is_zero(cx, 0, is_grouped ? TL_GROUP_WARPS - 1 : UINT32_MAX);
   return mine ? mine : tl_const_int(b, TL_I1, 1);
}

/* Its shared bytes. */
static TlValue *
staging_of(TlLowerCx *cx, const TlOp *op)
{
   int64_t offset = tl_attr_int(op, TL_ATTR_OFFSET);
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
   assert(offset >= 0 && "tl_alloc_shared");
   if (!tl_attr_int(op, TL_ATTR_GROUPED))
      return tl_i32(cx, offset);
   for (unsigned i = TL_LOG2_GROUP_WARPS; i < cx->log2_warps; i++)
      cols[TL_LANE_BITS + i] = (uint32_t)MAP_BYTES << (i - TL_LOG2_GROUP_WARPS);
   TlValue *by = tl_thread_word(cx, cols, &bits);
   return bits ? tl_op2(cx, TL_OP_ADD, by, tl_i32(cx, offset)) : tl_i32(cx, offset);
}

/* The place is filled in when all maps are known. */
void
tl_lower_own_map(TlLowerCx *cx, TlOp *op)
{
   enum { HEAD = 3 };
   TlValue *mine = is_maker(cx, &cx->b, tl_attr_int(op, TL_ATTR_GROUPED) != 0);
   TlValue *args[HEAD + 2 * TL_TMAP_RANK] = {tl_const_int(&cx->b, TL_I64, 0), staging_of(cx, op),
                                             mine};
   for (unsigned i = 0; i < op->num_args; i++)
      args[HEAD + i] = tl_lower_use(cx, tl_arg(op, i));
   TlValue *map =
      tl_build_n(&cx->b, TL_OP_MAP_WRITE, args, HEAD + op->num_args, tl_result(op, 0)->type,
                 TL_ATTRS_({TL_ATTR_POSITION, {.i = cx->num_own_maps}},
                           {TL_ATTR_SWIZZLE, *tl_attr(op, TL_ATTR_SWIZZLE)},
                           {TL_ATTR_FILL_NAN, *tl_attr(op, TL_ATTR_FILL_NAN)},
                           {TL_ATTR_WRITTEN, *tl_attr(op, TL_ATTR_WRITTEN)}));
   TlValue *fenced[] = {map, mine};
   tl_build_n(&cx->b, TL_OP_MAP_FENCE, fenced, 2, NULL, TL_ATTRS_());
   cx->num_own_maps++;
   cx->has_grouped_maps |= tl_attr_int(op, TL_ATTR_GROUPED) != 0;
   tl_lower_def(cx, tl_result(op, 0), map);
}

/* Fences wait for the writing, which takes its way through memory: those of maps that are made one
 * after the other come behind the last. */
static void
join_fences(TlBlock *body)
{
   for (TlOp *op = body->first, *next; op; op = next) {
      TlOp *last = NULL;
      next = tl_walk_next(op, body);
      if (op->opcode != TL_OP_MAP_FENCE)
         continue;
      for (TlOp *p = op->next; p; p = p->next) {
         if (p->opcode == TL_OP_MAP_WRITE)
            last = p;
         else if (p->num_regions || (p->opcode != TL_OP_MAP_FENCE && !tl_op_is_pure(p)))
            break;
      }
      if (last)
         tl_move_before(op, last->next);
   }
}

void
tl_place_own_maps(TlLowerCx *cx, TlBlock *body)
{
   if (!cx->num_own_maps)
      return;
   join_fences(body);
   bool stores = false;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      stores |= op->opcode == TL_OP_MAP_WRITE && tl_attr_int(op, TL_ATTR_WRITTEN);
   TlBuilder b = tl_builder_before(body->first);
   b.range = cx->func->range;
   TlValue *mine = is_maker(cx, &b, cx->has_grouped_maps);
   TlValue *place = tl_build_n(&b, TL_OP_MAP_PLACE, &mine, 1, tl_type_scalar(cx->types, TL_I64),
                               TL_ATTRS_({TL_ATTR_NUM, {.i = cx->num_own_maps}}));
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_MAP_WRITE)
         tl_set_arg(op, 0, place);
   b = tl_builder_before(body->last);
   b.range = cx->func->range;
   TlValue *args[] = {place, mine};
   tl_build_n(&b, TL_OP_MAP_LEAVE, args, 2, NULL,
              TL_ATTRS_({TL_ATTR_NUM, {.i = cx->num_own_maps}}, {TL_ATTR_WRITTEN, {.i = stores}}));
   cx->num_makers += cx->has_grouped_maps ? 1u << (cx->log2_warps - TL_LOG2_GROUP_WARPS) : 1;
   cx->most_own_maps = cx->num_own_maps > cx->most_own_maps ? cx->num_own_maps : cx->most_own_maps;
   cx->num_own_maps = 0;
   cx->has_grouped_maps = false;
}

/* Blocks that a multiprocessor holds at most. */
static uint32_t
most_blocks(const TlTarget *t, const TlFunc *f)
{
   enum { OF_BLOCK = 1024 /* shared bytes that the system takes of each */ };
   uint32_t by_warps = t->sm_warps / tl_total_warps(f);
   uint32_t by_shared = t->sm_shared_bytes / (f->shared_bytes + OF_BLOCK);
   uint32_t n = by_warps < by_shared ? by_warps : by_shared;
   n = n < t->sm_blocks ? n : t->sm_blocks;
   return n ? n : 1;
}

/* Warps of all blocks that are there at a time find a place. */
void
tl_count_map_places(TlLowerCx *cx)
{
   const TlBlock *body = cx->func->body->block;
   if (!cx->num_makers)
      return;
   uint32_t places = cx->num_makers * most_blocks(cx->pass->target, cx->func);
   assert(places <= MOST_PLACES && "no block of fewer than four warps has boxes");
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_MAP_PLACE || op->opcode == TL_OP_MAP_LEAVE) {
         tl_attr(op, TL_ATTR_NUM)->i = cx->most_own_maps;
         tl_attr(op, TL_ATTR_PLACES)->i = places < MOST_PLACES ? places : MOST_PLACES;
      }
}
