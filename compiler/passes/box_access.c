/* Accesses of tiles as boxes of a tensor: base, sizes and strides, which are known at the launch,
 * become a tensor map at the top of the kernel; where the tile begins becomes coordinates.
 *
 *    x = load(a + rows * n + (k + columns), rows < m)   rows from i * 128 on
 *    map = tensor_map(a, [m, any], [n])                 box_copy(map, stage, .., [i * 128, k])
 *
 * Outside of the sizes boxes bring zeros, as masked elements of a ring are, and store nothing.  A
 * dimension without a mask has the largest size there is: the kernel accesses all of it anyway.
 * Sizes below 1, strides below 0 and sizes of 2^31 on make no map: who launches then takes the
 * kernel without boxes (runtime/core/launch.c). */
#include "passes/box_access.h"
#include "ir/launch_expr.h"
#include "ir/walk.h"
#include "passes/pipeline_loops.h"

#include <assert.h>
#include <string.h>

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

const char *
tl_box_access(TlAffine *affine, const TlOp *access, const TlType *buffer, TlBoxAccess *x)
{
   if (!tl_tile_access(affine, access, &x->access))
      return x->access.why;
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
