/* Every shared-memory address of lowered code is computed here.
 *
 * An arrangement and a layout make the byte offset of an element a linear function of (register,
 * lane, warp).  The thread's part is computed once; a register's part splits into bits that no
 * thread part has, which become immediates, and the rest, which costs one XOR for each distinct
 * value.
 * Invariant: an access never crosses its alignment, since no other column touches its low bits. */
#include "passes/lower/impl.h"
#include "layout/cost.h"
#include "layout/matrices.h"

#include <assert.h>
#include <string.h>

TlSharedRef
tl_scratch_ref(TlLowerCx *cx, const TlOp *op)
{
   const TlScratchSlot *slot = tl_map_get(&cx->scratch_of, op);
   assert(slot && "lowering uses scratch that tl_scratch_bytes did not ask for");
   return (TlSharedRef){
      .offset = slot->offset,
      .extent = {.begin = slot->offset, .end = slot->offset + slot->bytes, .phase = -1}};
}

TlSharedRef
tl_shared_part(TlSharedRef ref, uint32_t offset, uint32_t bytes)
{
   assert(ref.offset + offset + bytes <= ref.extent.end);
   ref.offset += offset;
   ref.extent.begin = ref.offset;
   ref.extent.end = ref.offset + bytes;
   return ref;
}

uint32_t
tl_memdesc_stage_bytes(const TlType *t)
{
   assert(t->kind == TL_TYPE_MEMDESC);
   return (uint32_t)tl_type_num_elems(t) * tl_dtype_info[t->dtype].bytes;
}

TlSharedRef
tl_memdesc_ref(TlLowerCx *cx, const TlValue *v)
{
   assert(v->type->kind == TL_TYPE_MEMDESC);
   const TlOp *root = v->def;
   int64_t phase = -1, guarded = 0;
   while (root && (root->opcode == TL_OP_LOCAL_VIEW || root->opcode == TL_OP_LOCAL_TRANS)) {
      bool is_stage = root->opcode == TL_OP_LOCAL_VIEW;
      phase = is_stage ? tl_attr_int(root, TL_ATTR_PHASE) : phase;
      guarded |= is_stage && tl_attr_int(root, TL_ATTR_GUARDED);
      root = tl_arg(root, 0)->def;
   }
   if (!root || root->opcode != TL_OP_LOCAL_ALLOC)
      return (TlSharedRef){.base = tl_lower_use(cx, v)};
   int64_t begin = tl_attr_int(root, TL_ATTR_OFFSET);
   const TlType *t = tl_result(root, 0)->type;
   TlSharedRef ref = {
      .extent = {.begin = begin, .end = begin + tl_memdesc_stage_bytes(t) * t->count}};
   ref.extent.groups = tl_attr_int(root, TL_ATTR_GROUPS);
   bool is_ring = phase >= 0 && t->count > 1;
   ref.extent.guarded = guarded;
   ref.extent.stages = is_ring ? t->count : 0;
   ref.extent.phase = is_ring ? phase : -1;
   uint64_t bits;
   TlValue *base = tl_lower_use(cx, v);
   if (tl_is_const(base, &bits))
      ref.offset = (uint32_t)bits;
   else
      ref.base = base;
   return ref;
}

/* Register bits that make consecutive elements: their XOR masks, low first. */
static unsigned
vector_bits(const TlLinear *l, const uint32_t *col, unsigned elem_bytes, uint32_t *mask)
{
   assert(elem_bytes && (elem_bytes & (elem_bytes - 1)) == 0);
   unsigned n = 0;
   for (; elem_bytes << n < 16; n++) {
      uint32_t found = 0;
      for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
         if (col[i] == elem_bytes << n)
            found = 1u << i;
      if (!found)
         break;
      mask[n] = found;
   }
   for (; n > 0; n--) {
      uint32_t own = 0, others = 0;
      for (unsigned i = 0; i < n; i++)
         own |= mask[i];
      for (unsigned i = 0; i < tl_ll_in_bits(l); i++)
         if (!(i < l->num[TL_HW_REG] && (own >> i & 1)))
            others |= col[i];
      if ((others & ((elem_bytes << n) - 1)) == 0)
         break;
   }
   return n;
}

TlSharedMap
tl_shared_map_of_columns(TlLowerCx *cx, const TlLinear *l, const uint32_t *col, unsigned elem_bytes)
{
   unsigned regs = 1u << l->num[TL_HW_REG];
   uint32_t mask[5], own = 0, dead = 0;
   unsigned vec_bits = vector_bits(l, col, elem_bytes, mask);
   TlSharedMap m = {.num_regs = regs, .vec = 1u << vec_bits};
   m.reg = tl_new_array(cx->scratch, uint32_t, regs);
   m.offset = tl_new_array(cx->scratch, uint32_t, regs);
   m.position = tl_new_array(cx->scratch, uint32_t, regs);
   for (unsigned i = 0; i < vec_bits; i++)
      own |= mask[i];
   for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
      if (col[i] == 0)
         dead |= 1u << i;
   for (uint32_t r = 0; r < regs; r++) {
      if (r & (own | dead))
         continue;
      for (uint32_t v = 0; v < m.vec; v++) {
         uint32_t reg = r, offset = 0;
         for (unsigned i = 0; i < vec_bits; i++)
            reg |= v >> i & 1 ? mask[i] : 0;
         for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
            offset ^= reg >> i & 1 ? col[i] : 0;
         m.reg[m.num] = reg;
         m.offset[m.num] = offset;
         m.position[reg] = m.num++;
      }
   }
   for (uint32_t r = 0; r < regs; r++)
      m.position[r] = m.position[r & ~dead];
   assert(m.num && m.num % m.vec == 0);
   unsigned lane = tl_ll_first(l, TL_HW_LANE);
   for (unsigned i = 0; i < l->num[TL_HW_LANE] + l->num[TL_HW_WARP]; i++)
      m.thread_cols[i] = col[lane + i];
   return m;
}

TlSharedMap
tl_shared_map(TlLowerCx *cx, const TlLinear *regs, const TlLinear *memory, unsigned elem_bytes)
{
   uint32_t col[TL_LL_MAX_IN] = {0};
   bool ok = tl_cost_offset_columns(regs, memory, elem_bytes, col);
   assert(ok && "a shared arrangement is a bijection");
   (void)ok;
   return tl_shared_map_of_columns(cx, regs, col, elem_bytes);
}

/* Addresses of n accesses whose thread-0 byte offsets are `offset`: a scalar or n registers, and
 * the immediates. */
static TlValue *
addresses(TlLowerCx *cx, const TlSharedRef *ref, const uint32_t *thread_cols,
          const uint32_t *offset, unsigned n, int64_t *imm)
{
   assert(n > 0);
   uint32_t bits;
   TlValue *thread = tl_thread_word(cx, thread_cols, &bits);
   if (ref->flip)
      thread = tl_op2(cx, TL_OP_XOR, thread, ref->flip);
   bits |= ref->flipped;
   TL_VEC(TlValue *) parts = {0};
   TL_VEC(uint32_t) xors = {0};
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < n; i++) {
      uint32_t x = offset[i] & bits;
      unsigned k = 0;
      imm[i] = ref->offset + (offset[i] & ~bits);
      while (k < xors.len && xors.data[k] != x)
         k++;
      if (k == xors.len) {
         TlValue *a = x ? tl_op2(cx, TL_OP_XOR, thread, tl_i32(cx, x)) : thread;
         if (ref->base)
            a = tl_op2(cx, TL_OP_ADD, a, ref->base);
         tl_vec_push(cx->scratch, &xors, x);
         tl_vec_push(cx->scratch, &parts, a);
      }
      index[i] = k;
   }
   if (parts.len == 1)
      return parts.data[0];
   return tl_regs_gather(cx, parts.data, (unsigned)parts.len, index, n);
}

static const TlInts *
extent_of(TlLowerCx *cx, const TlSharedRef *ref)
{
   assert(ref->extent.begin <= ref->extent.end || !ref->extent.end);
   return ref->extent.end ? tl_extent_ints(cx->arena, ref->extent) : NULL;
}

/* Operands and attributes of the accesses of a map. */
typedef struct Access {
   TlValue *address;
   TlAttrInit attrs[4];
} Access;

static Access
access_of(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map)
{
   assert(map->num % map->vec == 0);
   unsigned n = map->num / map->vec;
   uint32_t *offset = tl_new_array(cx->scratch, uint32_t, n);
   int64_t *imm = tl_new_array(cx->scratch, int64_t, n);
   for (unsigned i = 0; i < n; i++)
      offset[i] = map->offset[i * map->vec];
   Access a = {.address = addresses(cx, ref, map->thread_cols, offset, n, imm)};
   a.attrs[0] = (TlAttrInit){TL_ATTR_VEC, {.i = map->vec}};
   a.attrs[1] = (TlAttrInit){TL_ATTR_OFFSETS, {.ints = tl_ints(cx->arena, imm, n)}};
   a.attrs[2] = (TlAttrInit){TL_ATTR_EXTENT, {.ints = extent_of(cx, ref)}};
   a.attrs[3] = (TlAttrInit){TL_ATTR_COUNT, {.i = 0}};
   return a;
}

TlValue *
tl_shared_load(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map, TlDtype t)
{
   Access a = access_of(cx, ref, map);
   const TlType *type = tl_type_regs(cx->types, tl_type_scalar(cx->types, t), map->num);
   TlValue *v = tl_build_n(&cx->b, TL_OP_LD_SHARED, &a.address, 1, type, a.attrs);
   return tl_regs_pick(cx, v, map->position, map->num_regs);
}

void
tl_shared_store(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map, TlValue *values,
                TlValue *pred)
{
   assert(tl_regs_of(values->type) >= map->num);
   Access a = access_of(cx, ref, map);
   TlValue *args[3] = {a.address, tl_regs_pick(cx, values, map->reg, map->num), pred};
   tl_build_n(&cx->b, TL_OP_ST_SHARED, args, pred ? 3 : 2, NULL, a.attrs);
}

void
tl_shared_copy_async(TlLowerCx *cx, const TlSharedRef *ref, const TlSharedMap *map, TlValue *ptrs,
                     TlValue *pred, TlOp *op)
{
   assert(tl_arg(op, 1)->type->kind == TL_TYPE_MEMDESC);
   Access a = access_of(cx, ref, map);
   TlLinear l = tl_layout_of(tl_arg(op, 0)->type);
   TlOwner o = tl_owner_of(&l);
   TlValue *owner = tl_owner_pred(cx, &o); /* an element that several threads hold comes once */
   if (owner && !pred)
      pred = tl_const_int(&cx->b, TL_I1, 1);
   TlValue *args[4] = {a.address, ptrs, pred, owner};
   int64_t bytes = (int64_t)map->vec * tl_dtype_info[tl_arg(op, 1)->type->dtype].bytes;
   unsigned num_args = pred ? 3 : 2;
   num_args += owner != NULL;
   tl_build_n(&cx->b, TL_OP_CP_ASYNC, args, num_args, NULL,
              TL_ATTRS_({TL_ATTR_BYTES, {.i = bytes}}, a.attrs[1], a.attrs[2],
                        {TL_ATTR_CACHE, *tl_attr(op, TL_ATTR_CACHE)},
                        {TL_ATTR_EVICT, *tl_attr(op, TL_ATTR_EVICT)}));
}

TlValue *
tl_shared_start(TlLowerCx *cx, const TlSharedRef *ref, const uint32_t *warp_cols)
{
   uint32_t bits;
   TlValue *warp = tl_warp_word(cx, warp_cols, &bits);
   if (!ref->base)
      return warp;
   return bits ? tl_op2(cx, TL_OP_ADD, warp, ref->base) : ref->base;
}

/* Run-time byte offsets as an address operand. */
static Access
access_at(TlLowerCx *cx, const TlSharedRef *ref, TlValue *bytes)
{
   unsigned n = tl_regs_of(bytes->type);
   int64_t *imm = tl_new_array(cx->scratch, int64_t, n);
   for (unsigned i = 0; i < n; i++)
      imm[i] = ref->offset;
   Access a = {.address = ref->base ? tl_op2(cx, TL_OP_ADD, bytes, ref->base) : bytes};
   a.attrs[0] = (TlAttrInit){TL_ATTR_OFFSETS, {.ints = tl_ints(cx->arena, imm, n)}};
   a.attrs[1] = (TlAttrInit){TL_ATTR_EXTENT, {.ints = extent_of(cx, ref)}};
   a.attrs[2] = (TlAttrInit){TL_ATTR_COUNT, {.i = 0}};
   return a;
}

TlValue *
tl_shared_load_at(TlLowerCx *cx, const TlSharedRef *ref, TlValue *bytes, TlDtype t)
{
   assert(tl_type_elem(bytes->type)->dtype == TL_I32);
   Access a = access_at(cx, ref, bytes);
   const TlType *type =
      tl_type_regs(cx->types, tl_type_scalar(cx->types, t), tl_regs_of(bytes->type));
   return tl_build_n(&cx->b, TL_OP_LD_SHARED, &a.address, 1, type, a.attrs);
}

void
tl_shared_add_at(TlLowerCx *cx, const TlSharedRef *ref, TlValue *bytes, TlValue *values,
                 TlValue *pred)
{
   assert(tl_regs_of(values->type) == tl_regs_of(bytes->type));
   Access a = access_at(cx, ref, bytes);
   TlValue *args[3] = {a.address, values, pred};
   tl_build_n(&cx->b, TL_OP_ATOM_SHARED, args, pred ? 3 : 2, NULL, a.attrs);
}

/* What the accesses move of the registers with (r & mask) == value: access i those from
 * reg[i * per] on, at thread 0's byte offset[i]. */
typedef struct MatrixAccesses {
   unsigned num, per;
   uint32_t *offset, *reg;
   uint32_t dead; /* register bits that only make copies */
} MatrixAccesses;

static MatrixAccesses
list_accesses(TlLowerCx *cx, const TlLinear *l, const uint32_t *col, const TlMatrices *m,
              uint32_t mask, uint32_t value)
{
   unsigned regs = l->num[TL_HW_REG];
   MatrixAccesses a = {.per = m->num << m->word_bits};
   uint32_t skip = tl_matrices_word(m);
   a.offset = tl_new_array(cx->scratch, uint32_t, 1u << regs);
   a.reg = tl_new_array(cx->scratch, uint32_t, 1u << regs);
   for (unsigned i = 0; 1u << i < m->num; i++)
      skip |= 1u << m->select[i];
   for (unsigned i = 0; i < regs; i++)
      a.dead |= col[i] ? 0 : 1u << i;
   for (uint32_t r = 0; r < 1u << regs; r++) {
      if ((r & (skip | a.dead)) || (r & mask) != (value & ~a.dead))
         continue;
      for (unsigned i = 0; i < regs; i++)
         a.offset[a.num] ^= r >> i & 1 ? col[i] : 0;
      for (uint32_t k = 0; k < a.per; k++) {
         uint32_t matrix = k >> m->word_bits, reg = r;
         for (unsigned i = 0; i < m->word_bits; i++)
            reg |= k >> i & 1 ? 1u << m->word[i] : 0;
         reg |= matrix & 1 ? 1u << m->select[0] : 0;
         a.reg[a.num * a.per + k] = reg | (matrix >> 1 ? 1u << m->select[1] : 0);
      }
      a.num++;
   }
   return a;
}

TlValue *
tl_shared_ldmatrix(TlLowerCx *cx, const TlSharedRef *ref, const TlLinear *regs,
                   const TlLinear *memory, TlDtype dtype, uint32_t mask, uint32_t value)
{
   assert((value & ~mask) == 0);
   uint32_t col[TL_LL_MAX_IN] = {0};
   TlMatrices m = {0};
   unsigned bytes = tl_dtype_info[dtype].bytes;
   if (!tl_cost_offset_columns(regs, memory, bytes, col) ||
       !tl_find_matrices(regs, col, mask, bytes, &m))
      return NULL;
   MatrixAccesses a = list_accesses(cx, regs, col, &m, mask, value);
   unsigned total = 1u << regs->num[TL_HW_REG], wanted = 0;
   uint32_t *position = tl_new_array(cx->scratch, uint32_t, total);
   uint32_t *order = tl_new_array(cx->scratch, uint32_t, total);
   for (unsigned i = 0; i < a.num * a.per; i++)
      position[a.reg[i]] = i;
   for (uint32_t r = 0; r < total; r++)
      if ((r & mask) == value)
         order[wanted++] = position[r & ~a.dead];
   int64_t *imm = tl_new_array(cx->scratch, int64_t, a.num);
   TlValue *address = addresses(cx, ref, m.thread_cols, a.offset, a.num, imm);
   const TlType *type = tl_type_regs(cx->types, tl_type_scalar(cx->types, dtype), a.num * a.per);
   TlValue *v = tl_build_n(&cx->b, TL_OP_LDMATRIX, &address, 1, type,
                           TL_ATTRS_({TL_ATTR_NUM, {.i = m.num}}, {TL_ATTR_TRANS, {.i = m.trans}},
                                     {TL_ATTR_OFFSETS, {.ints = tl_ints(cx->arena, imm, a.num)}},
                                     {TL_ATTR_EXTENT, {.ints = extent_of(cx, ref)}}));
   return tl_regs_pick(cx, v, order, wanted);
}

bool
tl_shared_stmatrix(TlLowerCx *cx, const TlSharedRef *ref, const TlLinear *regs, const uint32_t *col,
                   TlValue *values)
{
   TlMatrices m = {0};
   TlOwner owner = tl_owner_of(regs);
   bool has_copies = owner.free_warps || owner.free_lanes;
   unsigned bytes = tl_dtype_info[tl_type_elem(values->type)->dtype].bytes;
   if (!(cx->pass->target->features & TL_FEAT_STMATRIX) || has_copies ||
       !tl_find_matrices(regs, col, 0, bytes, &m))
      return false;
   MatrixAccesses a = list_accesses(cx, regs, col, &m, 0, 0);
   int64_t *imm = tl_new_array(cx->scratch, int64_t, a.num);
   TlValue *args[] = {addresses(cx, ref, m.thread_cols, a.offset, a.num, imm),
                      tl_regs_pick(cx, values, a.reg, a.num * a.per)};
   tl_build_n(&cx->b, TL_OP_STMATRIX, args, 2, NULL,
              TL_ATTRS_({TL_ATTR_NUM, {.i = m.num}}, {TL_ATTR_TRANS, {.i = m.trans}},
                        {TL_ATTR_OFFSETS, {.ints = tl_ints(cx->arena, imm, a.num)}},
                        {TL_ATTR_EXTENT, {.ints = extent_of(cx, ref)}}));
   return true;
}
