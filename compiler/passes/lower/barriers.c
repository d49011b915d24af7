/* mbarriers: rings of them in shared memory by which the warps of one role tell those of another
 * that a stage is full, or empty again; and boxes of a tensor, whose bytes they count. */
#include "ir/walk.h"
#include "layout/hw_layouts.h"
#include "passes/lower/impl.h"

#include <assert.h>

enum { MBARRIER_BYTES = 8 };

/* The first thread makes them; all see them after the barrier that roles begin with. */
void
tl_lower_barriers(TlLowerCx *cx, TlOp *op)
{
   const TlType *t = tl_result(op, 0)->type;
   assert(cx->first_warp == 0 && tl_memdesc_stage_bytes(t) == MBARRIER_BYTES);
   int64_t offset = tl_attr_int(op, TL_ATTR_OFFSET);
   for (uint32_t i = 0; i < t->count; i++) {
      TlValue *args[] = {tl_i32(cx, offset + i * MBARRIER_BYTES),
                         tl_thread_is_zero(cx, UINT32_MAX, UINT32_MAX)};
      tl_build_n(&cx->b, TL_OP_MBAR_INIT, args, 2, NULL,
                 TL_ATTRS_({TL_ATTR_ARRIVALS, *tl_attr(op, TL_ATTR_ARRIVALS)}));
   }
   tl_lower_def(cx, tl_result(op, 0), tl_i32(cx, offset));
}

/* Operands `first` and the one behind it: barriers and a stage. */
static TlValue *
address_at(TlLowerCx *cx, const TlOp *op, unsigned first)
{
   TlValue *stage = tl_lower_use(cx, tl_arg(op, first + 1));
   TlValue *bytes = tl_op2(cx, TL_OP_MUL, stage, tl_i32(cx, MBARRIER_BYTES));
   return tl_op2(cx, TL_OP_ADD, bytes, tl_lower_use(cx, tl_arg(op, first)));
}

static TlValue *
stage_address(TlLowerCx *cx, const TlOp *op)
{
   return address_at(cx, op, 0);
}

void
tl_lower_barrier_wait(TlLowerCx *cx, TlOp *op)
{
   TlValue *args[] = {stage_address(cx, op), tl_lower_use(cx, tl_arg(op, 2))};
   tl_build_n(&cx->b, TL_OP_MBAR_WAIT, args, 2, NULL, TL_ATTRS_());
}

void
tl_lower_copy_arrive(TlLowerCx *cx, TlOp *op)
{
   TlValue *at = stage_address(cx, op);
   tl_build_n(&cx->b, TL_OP_CP_ASYNC_ARRIVE, &at, 1, NULL, TL_ATTRS_());
}

/* One lane speaks for its warp, once all of them are here. */
void
tl_lower_barrier_arrive(TlLowerCx *cx, TlOp *op)
{
   const TlValue *pred = tl_pred(op);
   TlValue *mine = tl_thread_is_zero(cx, UINT32_MAX, 0);
   tl_build_n(&cx->b, TL_OP_BAR_WARP, NULL, 0, NULL, TL_ATTRS_());
   TlValue *args[] = {stage_address(cx, op),
                      tl_and_pred(cx, mine, pred ? tl_lower_use(cx, pred) : NULL)};
   tl_build_n(&cx->b, TL_OP_MBAR_ARRIVE, args, 2, NULL, TL_ATTRS_());
}

/* ---- boxes ---- */
static TlValue *
by_first_thread(TlLowerCx *cx, const TlValue *pred)
{
   TlValue *mine = tl_thread_is_zero(cx, UINT32_MAX, UINT32_MAX);
   return tl_and_pred(cx, mine, pred ? tl_lower_use(cx, pred) : NULL);
}

void
tl_lower_barrier_expect(TlLowerCx *cx, TlOp *op)
{
   const TlValue *pred = tl_pred(op);
   TlValue *args[] = {stage_address(cx, op), by_first_thread(cx, pred)};
   tl_build_n(&cx->b, TL_OP_MBAR_EXPECT, args, 2, NULL,
              TL_ATTRS_({TL_ATTR_BYTES, *tl_attr(op, TL_ATTR_BYTES)}));
}

/* Along dimension d. */
static uint32_t
part_along(const TlLinear *memory, unsigned d, uint32_t start)
{
   return start >> tl_ll_dim_shift(memory, d) & ((1u << memory->log2_dim[d]) - 1);
}

/* Coordinate d of the tile's element `start` on top of the first one's. */
static TlValue *
moved_by(TlLowerCx *cx, TlValue *first, const TlLinear *memory, unsigned d, uint32_t start)
{
   uint32_t by = part_along(memory, d, start);
   return by ? tl_op2(cx, TL_OP_ADD, first, tl_i32(cx, by)) : first;
}

/* The bits of a box's number that say which four warps it belongs to. */
static TlInts
group_bits_of(const TlOp *op)
{
   return op->opcode == TL_OP_BOX_STORE ? tl_attr_ints(op, TL_ATTR_GROUP_BITS) : (TlInts){0};
}

/* `first`, moved by step[k] for each of them that is set in this thread's. */
static TlValue *
moved_by_group(TlLowerCx *cx, const TlOp *op, TlValue *first, const uint32_t *step)
{
   TlInts bits = group_bits_of(op);
   uint32_t cols[TL_LANE_BITS + 5] = {0}, any;
   for (size_t i = 0; i < bits.len; i++)
      cols[TL_LANE_BITS + TL_LOG2_GROUP_WARPS + i] = step[bits.data[i]];
   TlValue *by = tl_thread_word(cx, cols, &any);
   return any ? tl_op2(cx, TL_OP_ADD, first, by) : first;
}

enum { MAP, BUFFER, BARRIERS, MOST_OPERANDS = BARRIERS + 2 + TL_TMAP_RANK };

/* Box after box: machine operations whose operands are an address, the map, `head` given ones and
 * coordinates, of the operation `op` whose coordinates begin at operand `first`. */
static void
move_boxes(TlLowerCx *cx, const TlOp *op, TlOpcode opcode, TlValue *const *head, unsigned num_head,
           unsigned first)
{
   const TlType *buffer = tl_arg(op, BUFFER)->type, *map = tl_arg(op, MAP)->type;
   unsigned bytes = tl_dtype_info[buffer->dtype].bytes, outer = map->rank - buffer->rank, n = 2;
   TlBoxes boxes;
   bool ok = tl_hw_boxes_of(buffer->layout, bytes, map->shape + outer, &boxes);
   assert(ok && "infer_box_copy, infer_box_store");
   TlSharedRef ref = tl_memdesc_ref(cx, tl_arg(op, BUFFER));
   TlInts group_bits = group_bits_of(op);
   TlValue *args[MOST_OPERANDS], *coordinate[TL_TMAP_RANK];
   uint32_t others = 0, step[TL_LL_MAX_BITS] = {0};
   for (size_t i = 0; i < group_bits.len; i++)
      others |= 1u << group_bits.data[i];
   for (unsigned k = 0; ok && k < boxes.log2_num; k++)
      step[k] = boxes.elems * bytes << k;
   TlValue *at = moved_by_group(cx, op, ref.base ? ref.base : tl_i32(cx, ref.offset), step);
   for (unsigned d = 0; d < map->rank; d++) {
      for (unsigned k = 0; ok && d >= outer && k < boxes.log2_num; k++)
         step[k] = part_along(buffer->layout, d - outer, boxes.start[k]);
      coordinate[d] = tl_lower_use(cx, tl_arg(op, first + d));
      if (d >= outer)
         coordinate[d] = moved_by_group(cx, op, coordinate[d], step);
   }
   args[1] = tl_lower_use(cx, tl_arg(op, MAP));
   while (n < 2 + num_head) {
      args[n] = head[n - 2];
      n++;
   }
   for (uint32_t i = 0; ok && i >> boxes.log2_num == 0; i++) {
      uint32_t start = 0;
      if (i & others)
         continue;
      for (unsigned k = 0; k < boxes.log2_num; k++)
         start ^= i >> k & 1 ? boxes.start[k] : 0;
      args[0] = i ? tl_op2(cx, TL_OP_ADD, at, tl_i32(cx, i * boxes.elems * bytes)) : at;
      for (unsigned d = 0; d < map->rank; d++)
         args[n + d] = d < outer ? coordinate[d]
                                 : moved_by(cx, coordinate[d], buffer->layout, d - outer, start);
      tl_build_n(&cx->b, opcode, args, n + map->rank, NULL,
                 TL_ATTRS_({TL_ATTR_EXTENT, {.ints = tl_extent_ints(cx->arena, ref.extent)}}));
   }
}

/* All by the first thread. */
void
tl_lower_box_copy(TlLowerCx *cx, TlOp *op)
{
   enum { COORDINATES = BARRIERS + 2 };
   unsigned end = COORDINATES + tl_arg(op, MAP)->type->rank;
   TlValue *head[] = {address_at(cx, op, BARRIERS),
                      by_first_thread(cx, op->num_args > end ? tl_arg(op, end) : NULL)};
   move_boxes(cx, op, TL_OP_TMA_LOAD, head, 2, COORDINATES);
}

/* By the first thread of the role, or of each group. */
void
tl_lower_box_store(TlLowerCx *cx, TlOp *op)
{
   uint32_t warps = UINT32_MAX;
   if (group_bits_of(op).len)
      warps = TL_GROUP_WARPS - 1;
   TlValue *mine = tl_thread_is_zero(cx, UINT32_MAX, warps);
   move_boxes(cx, op, TL_OP_TMA_STORE, &mine, 1, BUFFER + 1);
}

/* Of the other threads none stored any. */
void
tl_lower_box_stores_wait(TlLowerCx *cx, TlOp *op)
{
   tl_build_n(&cx->b, TL_OP_TMA_STORES_WAIT, NULL, 0, NULL,
              TL_ATTRS_({TL_ATTR_WRITTEN, *tl_attr(op, TL_ATTR_WRITTEN)}));
}
