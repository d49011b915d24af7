/* Tiles stored as boxes of a tensor: what would go through shared memory anyway, to be stored in
 * rows, stays there, and one thread stores it by the tensor memory accelerator.
 *
 *    %c = convert_layout %acc              %buffer = local_alloc
 *    store %ptrs, %c, %mask         ->     local_store %acc, %buffer
 *                                          box_store %map, %buffer, [%row, %column]
 *                                          ..
 *                                          box_stores_wait %buffer        before the buffer ends
 *
 * Saved are the way back to registers, the stores and their addresses.  The kernel has to have maps
 * already: others would make its launch longer for this alone.  Of a tensor that only the kernel
 * knows, each thread that stores has a map of its own.
 *
 * A buffer of a store in loops is made around them where there is room beside the rings, so that
 * the boxes are written while the next tile begins.  Else, and outside of loops, it lives to the
 * end of its block.
 *
 * Where each box holds what four warps have, these store it by themselves (group_bits): they meet
 * without the others, which go on multiplying meanwhile (docs/decisions/0029).
 *
 * What holds: nothing in the kernel reads the tensor, nothing else writes it, and nothing that
 * comes after orders memory: atomics, barriers of the program.  A store waits until all before it
 * are written, unless they are of the same turn of the loop and certainly of other elements. */
#include "ir/affine.h"
#include "ir/control.h"
#include "ir/launch_expr.h"
#include "ir/walk.h"
#include "ir/written.h"
#include "layout/hw_layouts.h"
#include "passes/box_access.h"
#include "passes/lower/lower.h"
#include "passes/pipeline_loops.h"
#include "passes/remark.h"

#include <assert.h>

typedef struct Store {
   TlOp *op;
   TlOp *home; /* home_of(op) */
   TlValue *tile;
   const TlType *buffer_type;
   TlBoxAccess box;
   unsigned num_group_bits; /* 0: one thread stores all */
   TlGroupBit group_bit[TL_MOST_GROUP_BITS];
   TlBoxes parts;                          /* then: those of the groups */
   const char *why;                        /* by threads */
   TlOp *alloc, *first, *sent, *last_wait; /* the buffer, what comes behind it, .., where it ends */
} Store;

typedef struct Stores {
   TlPassCx *cx;
   TlFunc *func;
   TlAffine *affine;
   TL_VEC(Store) all;
} Stores;

/* ---- which stores ---- */
/* The tile before it was brought into the layout of the pointers, by way of shared memory. */
static TlValue *
tile_of(Stores *s, const TlOp *store)
{
   const TlValue *v = tl_arg(store, 1);
   const TlOp *convert = v->def;
   if (!convert || convert->opcode != TL_OP_CONVERT_LAYOUT || v->uses->next ||
       tl_type_elem(v->type)->kind != TL_TYPE_SCALAR || tl_type_elem(v->type)->dtype == TL_I1)
      return NULL;
   TlLinear from = tl_layout_of(tl_arg(convert, 0)->type), to = tl_layout_of(v->type);
   TlConvertPlan *plan = tl_new(s->cx->scratch, TlConvertPlan);
   bool is_shared = tl_plan_conversion(v->type->elem, &from, &to, plan) &&
                    plan->kind == TL_CONVERT_SHARED && plan->shared.rounds == 1;
   return is_shared ? tl_arg(convert, 0) : NULL;
}

/* Rows of the tensor one after the other, in boxes as wide as a swizzle allows. */
static const TlType *
buffer_of(TlTypes *types, const TlType *tile, unsigned inner)
{
   unsigned order[TL_MAX_RANK], n = 0;
   order[n++] = inner;
   for (unsigned d = tile->rank; d-- > 0;)
      if (d != inner)
         order[n++] = d;
   TlDtype t = tl_type_elem(tile)->dtype;
   TlLinear memory =
      tl_hw_shared_swizzled(tile->rank, tile->shape, tl_dtype_info[t].bytes, order, 128);
   return tl_type_memdesc(types, t, tile->rank, tile->shape, tl_layout_intern(types, &memory), 1);
}

/* By a descriptor's pointers: of the kernel's arguments, or one that it makes. */
static bool
is_of_descriptor(const TlFunc *f, const TlOp *store)
{
   const TlValue *v = tl_arg(store, 0);
   while (v->def && v->def->num_args &&
          (v->def->opcode == TL_OP_ADDPTR || tl_has_trait(v->def, TL_TRAIT_SAME_ELEMENTS) ||
           v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_CONVERT_LAYOUT ||
           v->def->opcode == TL_OP_HINT)) {
      if (v->def->opcode == TL_OP_HINT && tl_attr_int(v->def, TL_ATTR_TENSOR))
         return true;
      v = tl_arg(v->def, 0);
   }
   unsigned n = 0;
   for (unsigned i = 0; !v->def && i < f->num_params; i++)
      if (f->params[i].is_runtime && n++ == v->index)
         return f->params[i].descriptor != NULL;
   return false;
}

/* A box is stored in whole chunks of 16 bytes: what the last one of a row has behind the tensor's
 * end is written, too, with what the buffer has there (seen on an H200).  For descriptors that is
 * so under Triton as well; where a mask says that nothing is written, nothing is. */
static bool
ends_at_chunk(const Stores *s, const Store *x)
{
   const TlTileDim *d = &x->box.access.dim[tl_inner_dim(&x->box.access)];
   return !d->has_bound || is_of_descriptor(s->func, x->op) ||
          tl_sum_is_aligned(s->affine, &d->bound, tl_dtype_info[x->buffer_type->dtype].bytes);
}

static const char *
find_box(Stores *s, Store *x)
{
   const TlOp *op = x->op;
   if (tl_attr_int(op, TL_ATTR_CACHE) != 0 || tl_attr_int(op, TL_ATTR_EVICT) != 0)
      return "it says how to use the caches";
   const char *why = tl_box_tensor(s->affine, op, &x->box);
   if (why)
      return why;
   x->buffer_type = buffer_of(s->func->module->types, x->tile->type, tl_inner_dim(&x->box.access));
   why = tl_box_access(s->affine, op, x->buffer_type, &x->box);
   return why || ends_at_chunk(s, x) ? why : "its rows may end within 16 bytes";
}

static bool
orders_memory(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_ATOMIC_RMW:
   case TL_OP_ATOMIC_CAS:
   case TL_OP_DEBUG_BARRIER:
   case TL_OP_GDC_WAIT:
   case TL_OP_GDC_LAUNCH:
      return true;
   case TL_OP_INLINE_ASM:
      return !tl_attr_int(op, TL_ATTR_PURE);
   default:
      return false;
   }
}

static bool
block_orders_memory(const TlOp *first, const TlBlock *block)
{
   for (const TlOp *op = first; op; op = tl_walk_next(op, block))
      if (orders_memory(op))
         return true;
   return false;
}

/* What runs after the operation: the loops around it from their beginning, else what follows. */
static bool
order_comes_after(const TlOp *op)
{
   for (const TlOp *outer; op; op = outer) {
      outer = tl_parent(op);
      bool is_loop = outer && tl_is_loop(outer);
      for (unsigned r = 0; is_loop && r < outer->num_regions; r++)
         if (block_orders_memory(outer->regions[r]->block->first, outer->regions[r]->block))
            return true;
      if (!is_loop && op->next && block_orders_memory(op->next, op->block))
         return true;
   }
   return false;
}

/* What is around the operation in the body of the kernel or of a role; NULL: it is there itself. */
static TlOp *
home_of(const TlOp *op)
{
   TlOp *home = NULL;
   for (TlOp *outer = tl_parent(op); outer && outer->opcode != TL_OP_ROLE; outer = tl_parent(outer))
      home = outer;
   return home;
}

static unsigned
param_of(const TlFunc *f, const TlValue *base)
{
   unsigned arg = 0, i = 0;
   while (i < f->num_params && (!f->params[i].is_runtime || f->body->block->args[arg] != base))
      arg += f->params[i++].is_runtime;
   assert(i < f->num_params && "tl_tile_access");
   return i;
}

/* Of which tensor an operation moves elements, or of which it may: a pointer to it.  NULL: it
 * touches none. */
static const TlValue *
tensor_of(const TlOp *op)
{
   if (op->opcode == TL_OP_BOX_COPY || op->opcode == TL_OP_BOX_STORE)
      return tl_arg(tl_arg(op, 0)->def, 0);
   bool is_access = tl_has_trait(op, TL_TRAIT_ACCESS) || op->opcode == TL_OP_ASYNC_COPY;
   return is_access ? tl_arg(op, 0) : NULL;
}

/* May an operation that reads or writes memory, none of `ours`, do so where the store does?  Here
 * pointers from a table are known by it. */
static bool
may_meet_others(const Stores *s, const Store *x, const TlMap *ours)
{
   const TlBlock *top = s->func->body->block;
   const TlValue *stored = tl_arg(x->op, 0);
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      const TlValue *tensor = tl_map_get(ours, op) ? NULL : tensor_of(op);
      if ((tensor && tl_may_be_one_tensor(tensor, stored)) ||
          (op->opcode == TL_OP_INLINE_ASM && orders_memory(op)))
         return true;
   }
   return false;
}

/* Of tensors that others read or write as well, no store is left. */
static void
refuse_shared_tensors(Stores *s)
{
   TlFunc *f = s->func;
   bool *read = tl_new_array(s->cx->scratch, bool, f->num_params + 1);
   bool *written = tl_new_array(s->cx->scratch, bool, f->num_params + 1);
   tl_read_params(s->cx->scratch, f, read);
   for (bool again = true; again;) {
      TlMap ours;
      tl_map_init(&ours, s->cx->scratch);
      again = false;
      for (size_t i = 0; i < s->all.len; i++)
         if (!s->all.data[i].why)
            tl_map_put(&ours, s->all.data[i].op, s->all.data[i].op);
      tl_written_params_except(s->cx->scratch, f, &ours, written);
      for (size_t i = 0; i < s->all.len; i++) {
         Store *x = &s->all.data[i];
         unsigned p = x->why || x->box.is_own ? 0 : param_of(f, x->box.access.base);
         if (x->why || (!x->box.is_own && !read[p] && !written[p]) || !may_meet_others(s, x, &ours))
            continue;
         x->why = x->box.is_own ? "the kernel may read the memory it writes, or write it otherwise"
                  : read[p]     ? "the kernel reads the memory it writes"
                                : "the kernel writes to that memory in another way as well";
         again = true;
      }
   }
}

/* In the conversions' places buffers have room, but for their alignment. */
static void
refuse_without_room(Stores *s)
{
   enum { ALIGNMENT = 1024 };
   uint64_t bytes = tl_shared_bytes_for(s->cx, s->func) + s->all.len * ALIGNMENT;
   for (size_t i = 0; i < s->all.len && bytes > s->cx->target->max_shared_bytes; i++)
      if (!s->all.data[i].why)
         s->all.data[i].why = "shared memory has no room for the alignment of boxes";
}

/* ---- by groups of warps ---- */
static bool
is_multiple(const TlSum *sum, uint32_t of)
{
   for (unsigned i = 0; i < sum->num; i++)
      if (sum->term[i].scale % of)
         return false;
   return true;
}

/* Is it known that no element is of both? */
static bool
are_of_two_tensors(const Store *x, const Store *y)
{
   return x->box.is_own || y->box.is_own ? !tl_may_be_one_tensor(tl_arg(x->op, 0), tl_arg(y->op, 0))
                                         : x->box.access.base != y->box.access.base;
}

/* Are elements of one coordinate of the same group in both? */
static bool
have_equal_groups(const Store *x, const Store *y)
{
   bool are_equal = x->num_group_bits == y->num_group_bits;
   for (unsigned i = 0; i < x->num_group_bits && are_equal; i++)
      are_equal =
         x->group_bit[i].dim == y->group_bit[i].dim && x->group_bit[i].step == y->group_bit[i].step;
   return are_equal;
}

/* Boxes of one thread come one after the other where it waits for them, those of two do not: so
 * each element of a tensor is stored by the same group, whenever it is.  A coordinate says which
 * where tiles begin at multiples of what the groups have together. */
static bool
keeps_its_group(Stores *s, const Store *x)
{
   bool is_only = !tl_is_of_loop(tl_parent(x->op));
   for (size_t i = 0; i < s->all.len; i++) {
      const Store *y = &s->all.data[i];
      if (y == x || y->why || are_of_two_tensors(x, y))
         continue;
      is_only = false;
      if (!have_equal_groups(x, y) ||
          !tl_tiles_share_tensor(s->affine, &x->box.access, &y->box.access))
         return false;
   }
   for (unsigned i = 0; i < x->num_group_bits && !is_only; i++) {
      const TlGroupBit *bit = &x->group_bit[i];
      if (!is_multiple(&x->box.access.dim[bit->dim].start, 2 * bit->step))
         return false;
   }
   return true;
}

/* Of a tensor all, or none. */
static bool
others_are_parted(const Stores *s, const Store *x)
{
   for (size_t i = 0; i < s->all.len; i++) {
      const Store *y = &s->all.data[i];
      if (!y->why && !are_of_two_tensors(x, y) && !y->num_group_bits)
         return false;
   }
   return true;
}

static void
part_among_groups(Stores *s)
{
   for (size_t i = 0; i < s->all.len; i++) {
      Store *x = &s->all.data[i];
      if (x->why)
         continue;
      TlLinear tile = tl_layout_of(x->tile->type);
      x->num_group_bits =
         tl_box_access_group(&x->box, &tile, x->buffer_type, &x->parts, x->group_bit);
   }
   bool *keeps = tl_new_array(s->cx->scratch, bool, s->all.len + 1);
   for (size_t i = 0; i < s->all.len; i++)
      keeps[i] = !s->all.data[i].why && keeps_its_group(s, &s->all.data[i]);
   for (size_t i = 0; i < s->all.len; i++)
      if (!keeps[i])
         s->all.data[i].num_group_bits = 0;
   for (size_t i = 0; i < s->all.len; i++) {
      Store *x = &s->all.data[i];
      if (x->num_group_bits && !others_are_parted(s, x))
         x->num_group_bits = 0;
      else if (x->num_group_bits)
         x->box.boxes = x->parts;
   }
}

/* Those by boxes have their maps and coordinates then; `maps`: those that there are. */
static void
find_stores(Stores *s, unsigned maps)
{
   const TlBlock *top = s->func->body->block;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      Store x = {.op = op, .tile = op->opcode == TL_OP_STORE ? tile_of(s, op) : NULL};
      if (!x.tile)
         continue;
      x.home = home_of(op);
      x.why = order_comes_after(op) ? "what follows orders memory" : find_box(s, &x);
      tl_vec_push(s->cx->scratch, &s->all, x);
   }
   refuse_shared_tensors(s);
   refuse_without_room(s);
   part_among_groups(s);
   for (size_t i = 0; i < s->all.len; i++) {
      Store *x = &s->all.data[i];
      maps += !x->why && !x->box.is_own;
      if (!x->why && !x->box.is_own && maps > TL_MAX_MAPS)
         x->why = "the kernel has as many tensor maps as a launch makes";
      if (!x->why)
         x->why = tl_box_access_build(s->cx->scratch, s->func, x->op, x->buffer_type, &x->box);
      if (!x->why && x->box.is_own) {
         tl_attr(x->box.map->def, TL_ATTR_WRITTEN)->i = 1;
         tl_attr(x->box.map->def, TL_ATTR_GROUPED)->i = x->num_group_bits > 0;
      }
   }
   refuse_shared_tensors(s); /* of which a store is left */
}

/* ---- the buffers ---- */
static TlOp *
build_wait(TlBuilder *b, TlValue *buffer, bool is_written)
{
   tl_build_n(b, TL_OP_BOX_STORES_WAIT, &buffer, 1, NULL,
              TL_ATTRS_({TL_ATTR_WRITTEN, {.i = is_written}}));
   return b->before ? b->before->prev : b->block->last;
}

/* Do all stores before this one have to be written first?  Of earlier turns of the loop they are,
 * where a store before it in the block has waited; of this turn they may be under way where they
 * are certainly of other elements. */
static bool
must_wait(Stores *s, size_t i)
{
   const Store *x = &s->all.data[i];
   bool has_waited = !tl_is_of_loop(tl_parent(x->op));
   for (size_t k = 0; k < i; k++) {
      const Store *y = &s->all.data[k];
      bool is_near = y->op->block == x->op->block && y->buffer_type == x->buffer_type;
      if (y->why)
         continue;
      has_waited |= y->op->block == x->op->block;
      if (!are_of_two_tensors(x, y) &&
          !(is_near &&
            tl_tiles_are_apart(s->affine, &y->box.access, &x->box.access, x->tile->type->shape)))
         return true;
   }
   return !has_waited;
}

/* The buffer lives to the end of the block. */
static void
build_store(Stores *s, size_t i)
{
   Store *x = &s->all.data[i];
   TlBuilder b = tl_builder_before(x->op);
   b.range = x->op->range;
   TlValue *buffer = tl_b0(&b, TL_OP_LOCAL_ALLOC, x->buffer_type, {TL_ATTR_OFFSET, {.i = -1}},
                           {TL_ATTR_GROUPS, {.i = x->num_group_bits ? (int64_t)i + 1 : 0}});
   x->alloc = buffer->def;
   if (must_wait(s, i))
      build_wait(&b, buffer, true);
   TlValue *args[2 + TL_TMAP_RANK] = {x->tile, buffer};
   tl_build_n(&b, TL_OP_LOCAL_STORE, args, 2, NULL, TL_ATTRS_());
   x->first = x->alloc->next;
   args[0] = x->box.map;
   args[1] = tl_box_access_view(&b, &x->box, buffer);
   for (unsigned d = 0; d < x->box.rank; d++)
      args[2 + d] = x->box.coordinate[d];
   int64_t bits[TL_MOST_GROUP_BITS];
   for (unsigned i = 0; i < x->num_group_bits; i++)
      bits[i] = x->group_bit[i].box;
   const TlInts *group_bits =
      x->num_group_bits ? tl_ints(s->func->module->arena, bits, x->num_group_bits) : NULL;
   tl_build_n(&b, TL_OP_BOX_STORE, args, 2 + x->box.rank, NULL,
              TL_ATTRS_({TL_ATTR_GROUP_BITS, {.ints = group_bits}}));
   x->sent = x->op->prev;
   b = tl_builder_before(x->op->block->last);
   b.range = x->op->range;
   x->last_wait = build_wait(&b, buffer, false);
}

static void
remove_store(TlOp *store)
{
   TlOp *convert = tl_arg(store, 1)->def;
   tl_remove(store);
   tl_remove(convert);
}

/* So many that the system takes of each (CUDA C++ guide, "compute capability 9.0"). */
static uint64_t
blocks_of(const TlTarget *t, uint64_t shared)
{
   enum { OF_BLOCK = 1024 };
   return t->sm_shared_bytes / (shared + OF_BLOCK);
}

static bool
fits(const Stores *s)
{
   return tl_shared_bytes_for(s->cx, s->func) <= s->cx->target->max_shared_bytes;
}

/* Buffers that do not fit side by side end where they have been read: in the conversion's place,
 * each takes no more than it did. */
static void
end_early(Stores *s)
{
   for (size_t i = 0; i < s->all.len; i++) {
      const Store *x = &s->all.data[i];
      if (!x->why && x->sent->next != x->last_wait)
         tl_move_before(x->last_wait, x->sent->next);
   }
}

/* The buffers of stores in loops go around these, as long as there is room: blocks that do one tile
 * after the other are launched one for each multiprocessor. */
static void
move_around_loops(Stores *s)
{
   for (size_t i = 0; i < s->all.len; i++) {
      const Store *x = &s->all.data[i];
      if (x->why || !x->home)
         continue;
      TlOp *end = x->last_wait->next;
      tl_move_before(x->alloc, x->home);
      tl_move_before(x->last_wait, x->home->block->last);
      if (fits(s))
         continue;
      tl_move_before(x->alloc, x->first);
      tl_move_before(x->last_wait, end);
   }
}

static void
remark(const TlPassCx *cx, const Store *x)
{
   if (!tl_wants_remarks(cx->diags, "tma"))
      return;
   if (x->why)
      tl_report(cx->diags, R0424, x->op->range, x->why);
   else
      tl_report(cx->diags, R0423, x->op->range, 1u << x->box.boxes.log2_num,
                x->box.boxes.log2_num ? "es" : "", x->box.boxes.swizzle);
}

bool
tl_pass_store_boxes(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   unsigned maps = 0;
   if (cx->uses_boxes && (cx->target->features & TL_FEAT_WGMMA))
      tl_tensor_maps(cx->scratch, f, &maps);
   if (!maps && !tl_block_has(f->body->block, TL_OP_OWN_MAP))
      return false;
   Stores s = {.cx = cx, .func = f, .affine = tl_affine_new(cx->scratch, f)};
   tl_affine_doubt_arguments(s.affine);
   find_stores(&s, maps);
   bool changed = false;
   uint64_t blocks_before = blocks_of(cx->target, tl_shared_bytes_for(cx, f));
   for (size_t i = 0; i < s.all.len; i++) {
      remark(cx, &s.all.data[i]);
      if (!s.all.data[i].why) {
         build_store(&s, i);
         changed = true;
      }
   }
   for (size_t i = 0; i < s.all.len; i++)
      if (!s.all.data[i].why)
         remove_store(s.all.data[i].op);
   uint64_t bytes = tl_shared_bytes_for(cx, f);
   if (bytes > cx->target->max_shared_bytes || blocks_of(cx->target, bytes) < blocks_before)
      end_early(&s);
   move_around_loops(&s);
   return changed;
}
