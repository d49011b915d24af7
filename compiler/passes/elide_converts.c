/* Conversions that need not be: between equal layouts, of conversions (the outer reads the inner's
 * source), of values without operands or of one scalar (made in the other layout at once), of tiles
 * read from shared memory (read in the other layout, when that is no dearer).  Of what was cast to
 * a wider type the narrow values are exchanged.  And buffers filled from another one of equal
 * arrangement, as where a tile of a ring is used turned as well.
 *
 * Each rewrite removes an operation or a use of one, turns a conversion into something else, or
 * moves it towards the start of the function, before operations that only rename elements or before
 * such a cast, so this ends. */
#include "ir/walk.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"
#include "passes/place/place.h"

#include <assert.h>

/* Every element comes from nothing but its position. */
static bool
is_made_anywhere(const TlOp *op)
{
   return op->opcode == TL_OP_CONSTANT || op->opcode == TL_OP_POISON || op->opcode == TL_OP_SPLAT ||
          op->opcode == TL_OP_ARANGE;
}

/* The conversion's source, made again with its result's layout, where it was made: what is in a
 * buffer may change later. */
static void
make_again(TlPassCx *cx, TlOp *cvt)
{
   assert(cvt->opcode == TL_OP_CONVERT_LAYOUT && tl_arg(cvt, 0)->def);
   TlOp *source = tl_arg(cvt, 0)->def;
   TlBuilder b = tl_builder_before(source);
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
is_cheaper_to_load(TlPassCx *cx, const TlOp *load, const TlType *to)
{
   assert(load->opcode == TL_OP_LOCAL_LOAD && to->layout);
   const TlType *from = tl_result(load, 0)->type, *memory = tl_arg(load, 0)->type;
   unsigned bytes = tl_dtype_info[tl_memory_dtype(to->elem)].bytes;
   TlConvertPlan *plan = tl_new(cx->scratch, TlConvertPlan);
   if (!tl_plan_conversion(to->elem, from->layout, to->layout, plan))
      return false;
   int64_t now = tl_place_conversion_wavefronts(plan, bytes);
   if (!tl_result(load, 0)->uses->next)
      now += tl_place_shared_wavefronts(from->layout, memory->layout, bytes, TL_TILE_LOAD);
   return tl_place_shared_wavefronts(to->layout, memory->layout, bytes, TL_TILE_LOAD) <= now;
}

/* Before an operation that renames elements and has no other user. */
static bool
move_up(TlPassCx *cx, TlFunc *f, TlOp *cvt)
{
   TlValue *src = tl_arg(cvt, 0), *out = tl_result(cvt, 0);
   TlOp *op = src->def;
   if (!op || src->uses->next ||
       (op->opcode != TL_OP_EXPAND_DIMS && op->opcode != TL_OP_TRANS &&
        op->opcode != TL_OP_RESHAPE))
      return false;
   TlValue *x = tl_arg(op, 0);
   const TlLinear *l = tl_place_renamed_source(cx, f, op, out->type->layout);
   if (x->type->kind != TL_TYPE_TILE || !l)
      return false;
   TlBuilder b = tl_builder_before(op);
   const TlType *type = tl_type_with_layout(f->module->types, x->type, l);
   tl_set_arg(op, 0, tl_t1(&b, TL_OP_CONVERT_LAYOUT, type, x));
   src->type = out->type;
   tl_replace_uses(out, src);
   tl_remove(cvt);
   return true;
}

static int64_t
wavefronts_of(TlPassCx *cx, const TlType *from, const TlType *to)
{
   TlConvertPlan *plan = tl_new(cx->scratch, TlConvertPlan);
   if (!tl_plan_conversion(from->elem, from->layout, to->layout, plan))
      return INT64_MAX;
   return tl_place_conversion_wavefronts(plan, tl_dtype_info[tl_memory_dtype(from->elem)].bytes);
}

/* Before a cast to a wider type, where fewer bytes are exchanged.  The cast stays for its other
 * users: to make it twice costs less than words that live in both layouts. */
static bool
move_before_cast(TlPassCx *cx, TlFunc *f, TlOp *cvt)
{
   TlValue *src = tl_arg(cvt, 0), *out = tl_result(cvt, 0);
   TlOp *op = src->def;
   if (!op || op->opcode != TL_OP_CAST)
      return false;
   TlValue *x = tl_arg(op, 0);
   const TlType *type = tl_type_with_layout(f->module->types, x->type, out->type->layout);
   if (tl_dtype_info[tl_memory_dtype(x->type->elem)].bytes >=
          tl_dtype_info[tl_memory_dtype(out->type->elem)].bytes ||
       wavefronts_of(cx, x->type, type) >= wavefronts_of(cx, src->type, out->type))
      return false;
   TlBuilder b = tl_builder_before(op);
   TlMap map;
   tl_map_init(&map, cx->scratch);
   TlValue *moved = tl_t1(&b, TL_OP_CONVERT_LAYOUT, type, x);
   TlOp *cast = tl_clone_op(&b, op, &map);
   tl_set_arg(cast, 0, moved);
   cast->results[0].type = out->type;
   tl_replace_uses(out, tl_result(cast, 0));
   tl_remove(cvt);
   if (tl_is_unused(op))
      tl_remove(op);
   return true;
}

static bool
elide(TlPassCx *cx, TlFunc *f, TlOp *cvt)
{
   assert(cvt->opcode == TL_OP_CONVERT_LAYOUT);
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
      elide(cx, f, cvt);
      return true;
   }
   if (src->def && (is_made_anywhere(src->def) || (src->def->opcode == TL_OP_LOCAL_LOAD &&
                                                   is_cheaper_to_load(cx, src->def, out->type)))) {
      make_again(cx, cvt);
      return true;
   }
   return move_up(cx, f, cvt) || move_before_cast(cx, f, cvt);
}

/* ---- buffers ---- */
static const TlValue *
root_of(const TlValue *buffer)
{
   while (tl_value_is(buffer, TL_OP_LOCAL_VIEW) || tl_value_is(buffer, TL_OP_LOCAL_TRANS))
      buffer = tl_arg(buffer->def, 0);
   return buffer;
}

/* Is the buffer only read, and in this block?  Collects the operations of the block that do it. */
static bool
find_readers(const TlValue *buffer, const TlBlock *block, TlMap *readers)
{
   for (const TlUse *u = buffer->uses; u; u = u->next) {
      TlOpcode op = u->user->opcode;
      const TlOp *reader = tl_in_block(u->user, block);
      bool is_view = op == TL_OP_LOCAL_VIEW || op == TL_OP_LOCAL_TRANS;
      if (!reader || (op != TL_OP_LOCAL_LOAD && op != TL_OP_DOT && !is_view) ||
          (is_view && !find_readers(tl_result(u->user, 0), block, readers)))
         return false;
      tl_map_put(readers, reader, (void *)reader);
   }
   return true;
}

static bool
writes_to(const TlOp *op, const TlValue *root)
{
   if ((op->opcode == TL_OP_ASYNC_COPY || op->opcode == TL_OP_LOCAL_STORE) &&
       root_of(tl_arg(op, 1)) == root)
      return true;
   for (unsigned i = 0; i < op->num_regions; i++)
      for (const TlOp *in = op->regions[i]->block->first; in; in = in->next)
         if (writes_to(in, root))
            return true;
   return false;
}

/* Is nothing written to the buffer between `from` and the last reader of the same turn? */
static bool
is_kept_for(const TlValue *buffer, const TlOp *from, const TlMap *readers)
{
   const TlValue *root = root_of(buffer);
   bool is_written = false;
   for (const TlOp *op = from->next; op; op = op->next) {
      if (is_written && tl_map_get(readers, op))
         return false;
      is_written |= writes_to(op, root);
   }
   return true;
}

/* Do all products that read `copy` read the buffer, too?  Then it is not kept for longer. */
static bool
read_both(const TlValue *copy, const TlValue *buffer)
{
   for (const TlUse *u = copy->uses; u; u = u->next)
      if (u->user->opcode != TL_OP_DOT ||
          (tl_arg(u->user, 0) != buffer && tl_arg(u->user, 1) != buffer))
         return false;
   return true;
}

/* The type of the buffer that a transposition sees as one of type `t`. */
static const TlType *
type_before(TlTypes *types, const TlType *t, TlInts order)
{
   unsigned back[TL_MAX_RANK];
   uint32_t shape[TL_MAX_RANK];
   for (unsigned d = 0; d < t->rank; d++) {
      back[order.data[d]] = d;
      shape[order.data[d]] = t->shape[d];
   }
   TlLinear memory = tl_ll_transpose(t->layout, back);
   return tl_type_memdesc(types, t->dtype, t->rank, shape, tl_layout_intern(types, &memory), 1);
}

/* A buffer that holds the tile when `alloc` fills another with it: one that it was read from, or
 * one of the type that was filled with it; *since: the operation from which on it does. */
static TlValue *
holder_of(const TlValue *tile, const TlType *type, const TlOp *alloc, TlOp **since)
{
   *since = tile->def;
   if (tile->def->opcode == TL_OP_LOCAL_LOAD)
      return tl_arg(tile->def, 0)->type == type ? tl_arg(tile->def, 0) : NULL;
   for (*since = alloc->prev; *since; *since = (*since)->prev)
      if ((*since)->opcode == TL_OP_LOCAL_ALLOC && (*since)->num_args &&
          tl_arg(*since, 0) == tile && tl_result(*since, 0)->type == type)
         return tl_result(*since, 0);
   return NULL;
}

/* A buffer filled with what another holds, in the same arrangement: read from that one, if nothing
 * is written to it before the last reader of the same turn of the loop.  The right operand of
 * dot(x, trans(x)) is x's buffer seen transposed. */
static bool
share_buffer(TlPassCx *cx, TlFunc *f, TlOp *alloc)
{
   TlValue *copy = tl_result(alloc, 0), *tile = alloc->num_args ? tl_arg(alloc, 0) : NULL;
   TlOp *trans = tile && tl_value_is(tile, TL_OP_TRANS) ? tile->def : NULL, *since;
   tile = trans ? tl_arg(trans, 0) : tile;
   if (!tile || !tile->def || tile->def->block != alloc->block)
      return false;
   const TlType *type = copy->type;
   if (trans)
      type = type_before(f->module->types, type, tl_attr_ints(trans, TL_ATTR_ORDER));
   TlValue *buffer = holder_of(tile, type, alloc, &since);
   if (!buffer || (trans && !read_both(copy, buffer)))
      return false;
   TlMap readers;
   tl_map_init(&readers, cx->scratch);
   if (!find_readers(copy, alloc->block, &readers) || !is_kept_for(buffer, since, &readers))
      return false;
   if (trans) {
      TlBuilder b = tl_builder_before(alloc);
      buffer = tl_t1(&b, TL_OP_LOCAL_TRANS, copy->type, buffer,
                     {TL_ATTR_ORDER, {.ints = tl_attr(trans, TL_ATTR_ORDER)->ints}});
   }
   tl_replace_uses(copy, buffer);
   tl_remove(alloc);
   if (trans && tl_is_unused(trans))
      tl_remove(trans);
   if (tl_is_unused(tile->def))
      tl_remove(tile->def);
   return true;
}

static bool
elide_all(TlPassCx *cx, TlFunc *f)
{
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      if (op->opcode == TL_OP_CONVERT_LAYOUT)
         changed |= elide(cx, f, op);
      else if (op->opcode == TL_OP_LOCAL_ALLOC)
         changed |= share_buffer(cx, f, op);
   }
   return changed;
}

bool
tl_pass_elide_converts(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   bool changed = false;
   while (elide_all(cx, f)) /* what moved up may meet its equal there */
      changed = true;
   return changed;
}
