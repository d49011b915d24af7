/* Accesses of tiles as boxes of a tensor: base, sizes and strides, which are known at the launch,
 * become a tensor map at the top of the kernel; where the tile begins becomes coordinates.
 *
 *    x = load(a + rows * n + (k + columns), rows < m)   rows from i * 128 on
 *    map = tensor_map(a, [m, any], [n])                 box_copy(map, stage, .., [i * 128, k])
 *
 * Outside of the sizes boxes bring zeros, as masked elements of a ring are, and store nothing.  A
 * dimension without a mask has the largest size there is: the kernel accesses all of it anyway.
 * Sizes below 1, strides below 0 and sizes of 2^31 on make no map: who launches then takes the
 * kernel without boxes (runtime/core/launch.c).
 *
 * What only the kernel knows, as a descriptor made of a pointer that it has loaded, becomes a map
 * of its own (own_map) where the last part of it is known (docs/decisions/0036).  A tensor without
 * elements has no map: its sizes are 1 then, and its boxes lie outside. */
#include "passes/box_access.h"
#include "ir/launch_expr.h"
#include "ir/walk.h"
#include "passes/pipeline_loops.h"

#include <assert.h>
#include <string.h>

/* ---- memory ---- */
/* The parameter that a pointer is computed from, also as an integer, or through which it was
 * loaded: so many tables are between. */
typedef struct Origin {
   const TlValue *parameter; /* NULL: not known */
   unsigned tables;
} Origin;

static bool
keeps_pointer(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_ADDPTR:
   case TL_OP_HINT:
   case TL_OP_BITCAST:
   case TL_OP_CAST:
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_CONVERT_LAYOUT:
      return true;
   default:
      return false;
   }
}

static Origin
origin_of(const TlValue *v)
{
   enum { MOST_STEPS = 64 };
   Origin o = {0};
   for (unsigned steps = 0; steps < MOST_STEPS && !o.parameter; steps++) {
      o.parameter = tl_pointer_root(v);
      bool is_loaded = !o.parameter && v->def && v->def->opcode == TL_OP_LOAD;
      if (!o.parameter && (!v->def || (!is_loaded && !keeps_pointer(v->def))))
         break;
      o.tables += is_loaded;
      v = o.parameter ? v : tl_arg(v->def, 0);
   }
   return o;
}

bool
tl_may_be_one_tensor(const TlValue *pointer, const TlValue *other)
{
   Origin a = origin_of(pointer), b = origin_of(other);
   return !a.parameter || !b.parameter || (a.parameter == b.parameter && a.tables == b.tables);
}

/* ---- at the top of the kernel ---- */
typedef struct Top {
   TlFunc *func;
   TlArena *scratch;
   TlBuilder b;
   TlMap copies; /* of what is computed further down */
   const char *why;
} Top;

/* A scalar that the launch knows, computed there. */
static const TlValue *
hoisted(Top *top, const TlValue *v)
{
   const TlValue *copy = tl_map_get(&top->copies, v);
   if (copy || !v->def)
      return copy ? copy : v;
   assert(tl_op_is_pure(v->def) && !v->def->num_regions && "tl_launch_expr");
   for (unsigned i = 0; i < v->def->num_args; i++) {
      const TlValue *arg = tl_arg(v->def, i);
      const TlValue *now = hoisted(top, arg);
      if (now != arg)
         tl_map_put(&top->copies, arg, (void *)now);
   }
   return tl_result(tl_clone_op(&top->b, v->def, &top->copies), v->index);
}

static TlTerm
hoisted_term(Top *top, const TlTerm *t)
{
   TlTerm out = *t;
   for (unsigned i = 0; i < t->num; i++)
      out.factor[i].value = hoisted(top, t->factor[i].value);
   return out;
}

static TlValue *
build_sum_at_top(Top *top, const TlSum *s)
{
   TlSum out = {tl_new_array(top->scratch, TlTerm, s->num + 1), s->num};
   for (unsigned i = 0; i < s->num; i++)
      out.term[i] = hoisted_term(top, &s->term[i]);
   return tl_sum_build(&top->b, &out);
}

static TlValue *
build_stride(Top *top, const TlTerm *stride, unsigned elem_bytes)
{
   TlTerm t = hoisted_term(top, stride);
   if (!t.scale) /* of one element, whatever its stride */
      return tl_const_int(&top->b, TL_I64, 16 / elem_bytes);
   return tl_term_build(&top->b, &t);
}

static TlValue *
build_size(Top *top, const TlTileDim *d)
{
   return d && d->has_bound ? build_sum_at_top(top, &d->bound)
                            : tl_const_int(&top->b, TL_I64, INT32_MAX);
}

/* Base, sizes, strides of all but the innermost dimension. */
static bool
build_map(Top *top, const TlType *t, TlBoxAccess *x)
{
   const TlTileAccess *a = &x->access;
   uint32_t box[TL_TMAP_RANK];
   unsigned elem_bytes = tl_dtype_info[t->dtype].bytes, n = 0;
   TlValue *args[2 * TL_TMAP_RANK], *base = (TlValue *)a->base;
   if (a->offset.num)
      base = tl_b2(&top->b, TL_OP_ADDPTR, base, build_sum_at_top(top, &a->offset));
   args[n++] = base;
   for (unsigned i = 0; i < x->rank; i++) {
      bool is_outer = i < a->num_outer;
      unsigned d = is_outer ? 0 : (unsigned)x->order[i - a->num_outer];
      box[i] = is_outer ? 1 : x->boxes.shape[i - a->num_outer];
      args[n++] = build_size(top, is_outer ? NULL : &a->dim[d]);
   }
   for (unsigned i = 0; i + 1 < x->rank; i++) {
      bool is_outer = i < a->num_outer;
      args[n++] = build_stride(
         top, is_outer ? &a->outer[i].stride : &a->dim[x->order[i - a->num_outer]].stride,
         elem_bytes);
   }
   for (unsigned i = 0; i < n; i++)
      if (!tl_launch_expr(top->scratch, top->func, args[i])) {
         top->why = "its tensor cannot be described to whoever launches the kernel";
         return false;
      }
   x->map = tl_build_n(&top->b, TL_OP_TENSOR_MAP, args, n,
                       tl_type_tmap(top->func->module->types, t->dtype, x->rank, box),
                       TL_ATTRS_({TL_ATTR_SWIZZLE, {.i = x->boxes.swizzle}}));
   return true;
}

/* ---- where the kernel knows it ---- */
/* Behind the last of the values that a map is made of: all of them are seen at the access, so that
 * each of their blocks is within the other. */
typedef struct Place {
   const TlBlock *block;
   unsigned depth;
   TlOp *behind; /* NULL: the block's beginning */
} Place;

static unsigned
depth_of(const TlBlock *block)
{
   unsigned depth = 0;
   for (const TlOp *op = block->region->parent; op; op = tl_parent(op))
      depth++;
   return depth;
}

static void
note_value(Place *p, const TlValue *v)
{
   const TlBlock *block = tl_value_block(v);
   unsigned depth = depth_of(block);
   if (p->block && (depth < p->depth || (depth == p->depth && !v->def)))
      return;
   if (!p->block || depth > p->depth)
      *p = (Place){block, depth, NULL};
   if (v->def && (!p->behind || tl_stands_before(p->behind, v->def)))
      p->behind = v->def;
}

static void
note_sum(Place *p, const TlSum *s)
{
   for (unsigned i = 0; i < s->num; i++)
      for (unsigned k = 0; k < s->term[i].num; k++)
         note_value(p, s->term[i].factor[k].value);
}

static Place
place_of(const TlTileAccess *a)
{
   Place p = {0};
   note_value(&p, a->base);
   for (unsigned d = 0; d < a->rank; d++) {
      note_sum(&p, &(TlSum){(TlTerm *)&a->dim[d].stride, a->dim[d].stride.scale != 0});
      if (a->dim[d].has_bound)
         note_sum(&p, &a->dim[d].bound);
   }
   for (unsigned k = 0; k < a->num_outer; k++)
      note_sum(&p, &(TlSum){(TlTerm *)&a->outer[k].stride, 1});
   return p;
}

static const TlTileDim *
dim_of_map(const TlBoxAccess *x, unsigned i)
{
   return i < x->access.num_outer ? NULL : &x->access.dim[x->order[i - x->access.num_outer]];
}

/* The sizes, within what a map takes; whether one is below 1, NULL: none can be. */
static TlValue *
build_own_sizes(TlBuilder *b, const TlBoxAccess *x, TlValue **size)
{
   TlValue *one = tl_const_int(b, TL_I64, 1), *most = tl_const_int(b, TL_I64, INT32_MAX);
   TlValue *is_empty = NULL;
   for (unsigned i = 0; i < x->rank; i++) {
      const TlTileDim *d = dim_of_map(x, i);
      size[i] = d && d->has_bound ? tl_sum_build(b, &d->bound) : most;
      if (size[i] == most)
         continue;
      TlValue *is_none = tl_b2(b, TL_OP_LT, size[i], one);
      is_empty = is_empty ? tl_b2(b, TL_OP_OR, is_empty, is_none) : is_none;
      size[i] = tl_b2(b, TL_OP_MIN, size[i], most);
   }
   for (unsigned i = 0; i < x->rank && is_empty; i++)
      size[i] = tl_b3(b, TL_OP_SELECT, is_empty, one, size[i]);
   return is_empty;
}

/* Makes the map; whether there are no elements. */
static TlValue *
build_own_map(TlFunc *f, const TlType *t, TlBoxAccess *x, TlRange range)
{
   const TlTileAccess *a = &x->access;
   Place place = place_of(a);
   TlBuilder b = tl_builder_before(place.behind ? place.behind->next : place.block->first);
   uint32_t box[TL_TMAP_RANK];
   TlValue *args[2 * TL_TMAP_RANK] = {(TlValue *)a->base};
   unsigned elem_bytes = tl_dtype_info[t->dtype].bytes, n = 1 + x->rank;
   b.range = range;
   TlValue *is_empty = build_own_sizes(&b, x, args + 1);
   for (unsigned i = 0; i < x->rank; i++)
      box[i] = i < a->num_outer ? 1 : x->boxes.shape[i - a->num_outer];
   for (unsigned i = 0; i + 1 < x->rank; i++) {
      const TlTerm *s = i < a->num_outer ? &a->outer[i].stride : &dim_of_map(x, i)->stride;
      args[n++] = s->scale ? tl_term_build(&b, s) : tl_const_int(&b, TL_I64, 16 / elem_bytes);
   }
   x->map =
      tl_build_n(&b, TL_OP_OWN_MAP, args, n, tl_type_tmap(f->module->types, t->dtype, x->rank, box),
                 TL_ATTRS_({TL_ATTR_SWIZZLE, {.i = x->boxes.swizzle}}));
   return is_empty;
}

/* ---- where the tile begins ---- */
static TlValue *
build_coordinate(TlBuilder *b, const TlSum *start)
{
   const TlType *i32 = tl_type_scalar(b->module->types, TL_I32);
   return tl_t1(b, TL_OP_CAST, i32, tl_sum_build(b, start));
}

static void
build_coordinates(TlOp *access, TlBoxAccess *x)
{
   const TlTileAccess *a = &x->access;
   TlBuilder b = tl_builder_before(access);
   for (unsigned i = 0; i < x->rank; i++)
      x->coordinate[i] = build_coordinate(
         &b, i < a->num_outer ? &a->outer[i].index : &a->dim[x->order[i - a->num_outer]].start);
}

/* Boxes of a tensor without elements lie behind the one that its map has. */
static void
move_outside(TlOp *access, TlBoxAccess *x, TlValue *is_empty)
{
   enum { FAR_AWAY = 1 << 30 };
   TlBuilder b = tl_builder_before(access);
   if (is_empty)
      x->coordinate[0] =
         tl_b3(&b, TL_OP_SELECT, is_empty, tl_const_int(&b, TL_I32, FAR_AWAY), x->coordinate[0]);
}

/* ---- which accesses ---- */
unsigned
tl_inner_dim(const TlTileAccess *a)
{
   unsigned inner = a->rank - 1;
   for (unsigned d = 0; d < a->rank; d++)
      if (a->dim[d].stride.scale == 1 && !a->dim[d].stride.num)
         inner = d;
   return inner;
}

/* The dimensions of the access in the order of the map: the contiguous one last. */
static void
order_dims(const TlTileAccess *a, int64_t *order)
{
   unsigned n = 0, inner = tl_inner_dim(a);
   for (unsigned d = 0; d < a->rank; d++)
      if (d != inner)
         order[n++] = d;
   order[n] = inner;
}

static TlLinear
ordered(const TlLinear *l, const int64_t *order)
{
   unsigned dims[TL_MAX_RANK];
   for (unsigned d = 0; d < l->rank; d++)
      dims[d] = (unsigned)order[d];
   return tl_ll_transpose(l, dims);
}

/* Does only products' operands come of the tile? */
static bool
is_only_multiplied(const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      bool passes = u->user->opcode == TL_OP_TRANS || u->user->opcode == TL_OP_CONVERT_LAYOUT ||
                    u->user->opcode == TL_OP_LOCAL_ALLOC || u->user->opcode == TL_OP_LOCAL_TRANS;
      if (passes ? !is_only_multiplied(tl_result(u->user, 0)) : u->user->opcode != TL_OP_DOT)
         return false;
   }
   return true;
}

static bool
orders_memory(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_ATOMIC_CAS:
   case TL_OP_DEBUG_BARRIER:
   case TL_OP_GDC_WAIT:
      return true;
   case TL_OP_ATOMIC_RMW:
      return tl_result(op, 0)->uses != NULL;
   case TL_OP_INLINE_ASM:
      return !tl_attr_int(op, TL_ATTR_PURE);
   case TL_OP_LOAD:
      return tl_attr_int(op, TL_ATTR_VOLATILE) != 0;
   default:
      return false;
   }
}

/* May the kernel write where an own load reads, in an order that is to be kept?  A box comes by
 * another way than what threads store.  Factors of products are in no order with the program's own
 * stores but by what orders memory (docs/language.md). */
static bool
may_meet_store(const TlOp *load, const TlValue *base)
{
   const TlBlock *top = load->block;
   bool is_stored = false, is_ordered = !is_only_multiplied(tl_result(load, 0));
   while (top->region->parent)
      top = top->region->parent->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      is_ordered |= orders_memory(op);
      bool is_store = op->opcode == TL_OP_STORE || op->opcode == TL_OP_ATOMIC_RMW;
      is_stored |= is_store && tl_may_be_one_tensor(tl_arg(op, 0), base);
   }
   return is_stored && is_ordered;
}

const char *
tl_box_tensor(TlAffine *affine, const TlOp *access, TlBoxAccess *x)
{
   if (!tl_any_tile_access(affine, access, &x->access, &x->is_own))
      return x->access.why;
   return x->is_own && access->opcode == TL_OP_LOAD && may_meet_store(access, x->access.base)
             ? "the kernel may write to the memory it reads"
             : NULL;
}

const char *
tl_box_access(TlAffine *affine, const TlOp *access, const TlType *buffer, TlBoxAccess *x)
{
   const char *why = tl_box_tensor(affine, access, x);
   if (why)
      return why;
   if (x->access.base->type->elem->dtype != buffer->dtype ||
       x->access.base->type->elem->kind != TL_TYPE_SCALAR)
      return "its pointer is of another type than the kernel's argument";
   order_dims(&x->access, x->order);
   TlLinear memory = ordered(buffer->layout, x->order);
   x->rank = x->access.num_outer + buffer->rank;
   return tl_hw_boxes(&memory, tl_dtype_info[buffer->dtype].bytes, &x->boxes)
             ? NULL
             : "its buffer in shared memory is arranged otherwise than boxes are";
}

/* The one bit of an element's number that bit `warp` of a warp's number is, and nothing else of a
 * thread or register; 0: there is none. */
static uint32_t
bit_of_warps(const TlLinear *tile, unsigned warp)
{
   unsigned at = tl_ll_first(tile, TL_HW_WARP) + warp;
   uint32_t bit = tile->col[at];
   if (bit & (bit - 1))
      return 0;
   for (unsigned i = 0; i < tl_ll_in_bits(tile); i++)
      if (i != at && tile->col[i] & bit)
         return 0;
   return bit;
}

/* Halves boxes until the bit is not inside of one: false when it stays. */
static bool
cut_at(const TlLinear *memory, unsigned elem_bytes, uint32_t bit, unsigned *dim, TlBoxes *boxes)
{
   unsigned d = memory->rank - 1;
   while (bit >> tl_ll_dim_shift(memory, d) >> memory->log2_dim[d])
      d--;
   *dim = d;
   while (bit >> tl_ll_dim_shift(memory, d) < boxes->shape[d])
      if (!tl_hw_halve_boxes(memory, elem_bytes, boxes))
         return false;
   return true;
}

/* The bit of a box's number that moves it by `bit` alone, and which no other moves by. */
static bool
find_number_bit(const TlBoxes *boxes, uint32_t bit, int64_t *out)
{
   unsigned found = 0;
   for (unsigned k = 0; k < boxes->log2_num; k++)
      if (boxes->start[k] & bit) {
         *out = k;
         found += boxes->start[k] == bit ? 1 : 2;
      }
   return found == 1;
}

unsigned
tl_box_access_group(const TlBoxAccess *x, const TlLinear *tile, const TlType *buffer,
                    TlBoxes *boxes, TlGroupBit bits[TL_MOST_GROUP_BITS])
{
   unsigned elem_bytes = tl_dtype_info[buffer->dtype].bytes, n = 0;
   uint32_t bit[TL_MOST_GROUP_BITS];
   *boxes = x->boxes;
   if (tl_ll_has_repeats(tile) || tile->num[TL_HW_WARP] > TL_LOG2_GROUP_WARPS + TL_MOST_GROUP_BITS)
      return 0;
   TlLinear l = ordered(tile, x->order), memory = ordered(buffer->layout, x->order);
   for (unsigned w = TL_LOG2_GROUP_WARPS; w < l.num[TL_HW_WARP]; w++, n++) {
      unsigned d;
      bit[n] = bit_of_warps(&l, w);
      if (!bit[n] || !cut_at(&memory, elem_bytes, bit[n], &d, boxes))
         return 0;
      bits[n].dim = (uint32_t)x->order[d];
      bits[n].step = bit[n] >> tl_ll_dim_shift(&memory, d);
   }
   for (unsigned i = 0; i < n; i++)
      if (!find_number_bit(boxes, bit[i], &bits[i].box))
         return 0;
   return n;
}

const char *
tl_box_access_build(TlArena *scratch, TlFunc *f, TlOp *access, const TlType *buffer, TlBoxAccess *x)
{
   if (x->is_own) {
      TlValue *is_empty = build_own_map(f, buffer, x, access->range);
      build_coordinates(access, x);
      move_outside(access, x, is_empty);
      return NULL;
   }
   Top top = {.func = f, .scratch = scratch};
   top.b = tl_builder_before(f->body->block->first);
   top.b.range = access->range;
   tl_map_init(&top.copies, scratch);
   if (!build_map(&top, buffer, x))
      return top.why;
   build_coordinates(access, x);
   return NULL;
}

TlValue *
tl_box_access_view(TlBuilder *b, const TlBoxAccess *x, TlValue *view)
{
   const TlType *t = view->type;
   uint32_t shape[TL_MAX_RANK];
   bool is_same = true;
   for (unsigned d = 0; d < t->rank; d++) {
      shape[d] = t->shape[x->order[d]];
      is_same &= x->order[d] == d;
   }
   if (is_same)
      return view;
   TlTypes *types = b->module->types;
   TlLinear memory = ordered(t->layout, x->order);
   const TlInts *order = tl_ints(b->module->arena, x->order, t->rank);
   return tl_t1(
      b, TL_OP_LOCAL_TRANS,
      tl_type_memdesc(types, t->dtype, t->rank, shape, tl_layout_intern(types, &memory), 1), view,
      {TL_ATTR_ORDER, {.ints = order}});
}

void
tl_box_access_copy(TlBuilder *b, const TlBoxAccess *x, TlValue *view, TlValue *barriers,
                   TlValue *slot, const TlMap *map, TlValue *pred)
{
   TlValue *args[5 + TL_TMAP_RANK] = {tl_slice_mapped(map, x->map), tl_box_access_view(b, x, view),
                                      barriers, slot};
   for (unsigned i = 0; i < x->rank; i++)
      args[4 + i] = tl_slice_mapped(map, x->coordinate[i]);
   args[4 + x->rank] = pred;
   tl_build_n(b, TL_OP_BOX_COPY, args, 4 + x->rank + (pred != NULL), NULL, TL_ATTRS_());
}
