/* Layout conversions and tiles in shared buffers: executes the plans of layout/convert_plan.h.
 * Invariant: only the data movement is emitted here; barriers come from insert_barriers, which
 * knows the extents of every access. */
#include "passes/lower/impl.h"
#include "layout/convert_plan.h"
#include "layout/cost.h"

#include <assert.h>
#include <string.h>

/* A conversion's scratch is cut into rounds beyond this when rounds are cheap. */
enum { PREFERRED_SCRATCH = 64 * 1024, MOST_SCRATCH = 1 << 23 };

bool
tl_plan_conversion(const TlType *elem, const TlLinear *from, const TlLinear *to,
                   TlConvertPlan *plan)
{
   unsigned bytes = tl_dtype_info[tl_memory_dtype(elem)].bytes;
   if (!tl_convert_plan(from, to, bytes, MOST_SCRATCH, plan))
      return false;
   if (plan->kind != TL_CONVERT_SHARED || plan->shared.scratch_bytes <= PREFERRED_SCRATCH)
      return true;
   TlConvertPlan cut;
   if (tl_convert_plan(from, to, bytes, PREFERRED_SCRATCH, &cut) && cut.kind == TL_CONVERT_SHARED &&
       cut.shared.access[TL_CONVERT_STORE].static_rounds &&
       cut.shared.access[TL_CONVERT_LOAD].static_rounds)
      *plan = cut;
   return true;
}

uint32_t
tl_convert_scratch(TlArena *arena, const TlType *elem, const TlLinear *from, const TlLinear *to)
{
   TlConvertPlan *plan = tl_new(arena, TlConvertPlan);
   if (!tl_plan_conversion(elem, from, to, plan) || plan->kind != TL_CONVERT_SHARED)
      return 0;
   return plan->shared.scratch_bytes;
}

/* parity(lane & lane_mask) ^ parity(warp & warp_mask) as a scalar i1. */
static TlValue *
stage_condition(TlLowerCx *cx, const TlConvertStage *s)
{
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
   for (unsigned i = 0; i < TL_LANE_BITS; i++)
      cols[i] = s->lane >> i & 1;
   for (unsigned i = 0; i < cx->log2_warps; i++)
      cols[TL_LANE_BITS + i] = s->warp >> i & 1;
   return tl_op2(cx, TL_OP_NE, tl_thread_word(cx, cols, &bits), tl_i32(cx, 0));
}

/* v[x] = active ? v[x ^ stage.reg] : v[x]; registers are numbered by `number` (n of them), and
 * position_of inverts it. */
static TlValue *
exchange(TlLowerCx *cx, TlValue *v, const TlConvertStage *s, const uint32_t *number,
         const uint32_t *position_of, unsigned n)
{
   assert(tl_regs_of(v->type) == n);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < n; i++)
      index[i] = position_of[number[i] ^ s->reg];
   TlValue *other = tl_regs_pick(cx, v, index, n);
   TlValue *active = tl_regs_splat(cx, stage_condition(cx, s), n);
   return tl_b3(&cx->b, TL_OP_SELECT, active, other, v);
}

static uint32_t
select_xor(const uint32_t *col, uint32_t set)
{
   uint32_t v = 0;
   for (unsigned i = 0; set >> i; i++)
      v ^= set >> i & 1 ? col[i] : 0;
   return v;
}

/* Live registers of dst, those that may share a word next to each other. */
static unsigned
shuffle_order(const TlConvertPlan *p, uint32_t *order)
{
   const TlConvertShuffle *sh = &p->shuffle;
   unsigned n = 0, regs = 1u << p->dst.num[TL_HW_REG];
   assert(n == 0 || n % (1u << sh->pack_bits) == 0);
   uint32_t packed = 0;
   for (unsigned i = 0; i < sh->pack_bits; i++)
      packed |= 1u << sh->pack_dst[i];
   for (uint32_t r = 0; r < regs; r++) {
      if (r & (packed | ~p->dst_live))
         continue;
      for (uint32_t k = 0; k < 1u << sh->pack_bits; k++) {
         uint32_t reg = r;
         for (unsigned i = 0; i < sh->pack_bits; i++)
            reg |= (k >> i & 1) << sh->pack_dst[i];
         order[n++] = reg;
      }
   }
   return n;
}

/* ---- registers that travel together, in words ---- */
/* The register bits whose elements share a word. */
static uint32_t
mask_of(const uint8_t *bits, unsigned n)
{
   uint32_t mask = 0;
   for (unsigned i = 0; i < n; i++)
      mask |= 1u << bits[i];
   return mask;
}

/* The number of a register's word: its bits without those of the mask. */
static uint32_t
word_of(uint32_t reg, uint32_t mask)
{
   uint32_t word = 0;
   for (unsigned i = 0, n = 0; reg >> i; i++)
      if (!(mask >> i & 1))
         word |= (reg >> i & 1) << n++;
   return word;
}

/* The registers of the source, those of a word next to each other. */
static void
source_order(const TlConvertShuffle *sh, unsigned regs, uint32_t *order)
{
   uint32_t mask = mask_of(sh->pack_src, sh->pack_bits);
   for (uint32_t r = 0; r < regs; r++) {
      uint32_t at = word_of(r, mask) << sh->pack_bits;
      for (unsigned i = 0; i < sh->pack_bits; i++)
         at |= (r >> sh->pack_src[i] & 1) << i;
      order[at] = r;
   }
}

static TlConvertStage
stage_of_words(const TlConvertStage *s, uint32_t mask)
{
   assert((s->reg & mask) == 0 && "no stage moves a part of a word");
   return (TlConvertStage){word_of(s->reg, mask), s->lane, s->warp};
}

static const TlType *
regs_of_words(TlLowerCx *cx, const TlType *elem, unsigned group, unsigned words)
{
   bool is_half = tl_dtype_info[elem->dtype].bytes * group == 2;
   return tl_type_regs(cx->types, tl_type_scalar(cx->types, is_half ? TL_I16 : TL_I32), words);
}

/* Every word from its lane; the first register of word i is order[i * group]. */
static TlValue *
shuffle_lanes(TlLowerCx *cx, const TlConvertPlan *p, TlValue *v, const uint32_t *order,
              unsigned group)
{
   const TlConvertShuffle *sh = &p->shuffle;
   unsigned words = tl_regs_of(v->type);
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
   uint32_t *lane = tl_new_array(cx->scratch, uint32_t, words), any = 0;
   for (unsigned i = 0; i < TL_LANE_BITS; i++)
      cols[i] = sh->lane_by_lane[i];
   for (unsigned i = 0; i < cx->log2_warps; i++)
      cols[TL_LANE_BITS + i] = sh->lane_by_warp[i];
   for (unsigned i = 0; i < words; i++) {
      lane[i] = select_xor(sh->lane_by_reg, order[i * group]);
      any |= lane[i];
   }
   TlValue *from = tl_thread_word(cx, cols, &bits);
   if (any)
      from = tl_op2(cx, TL_OP_XOR, from, tl_regs_i32(cx, lane, words));
   return tl_build_n(&cx->b, TL_OP_SHFL, (TlValue *const[]){v, from}, 2, v->type,
                     TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_IDX}}));
}

/* What travels together is packed in words throughout: choices between registers are as many. */
static TlValue *
convert_shuffles(TlLowerCx *cx, const TlConvertPlan *p, TlValue *v)
{
   assert(p->kind == TL_CONVERT_SHUFFLES);
   const TlConvertShuffle *sh = &p->shuffle;
   unsigned src = 1u << p->src.num[TL_HW_REG], dst = 1u << p->dst.num[TL_HW_REG];
   unsigned most = src > dst ? src : dst, group = 1u << sh->pack_bits;
   uint32_t from_mask = mask_of(sh->pack_src, sh->pack_bits),
            to_mask = mask_of(sh->pack_dst, sh->pack_bits);
   uint32_t *order = tl_new_array(cx->scratch, uint32_t, most);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, most);
   uint32_t *number = tl_new_array(cx->scratch, uint32_t, most);
   uint32_t *position = tl_new_array(cx->scratch, uint32_t, most);
   const TlType *elem = tl_type_elem(v->type);
   bool is_packed = group > 1;
   assert(tl_regs_of(v->type) == src && src % group == 0);
   if (is_packed) {
      source_order(sh, src, index);
      v = tl_regs_pick(cx, v, index, src);
      v = tl_t1(&cx->b, TL_OP_REPACK, regs_of_words(cx, elem, group, src / group), v);
   }
   for (uint32_t w = 0; w < src / group; w++)
      number[w] = position[w] = w;
   for (unsigned i = 0; i < sh->num_pre; i++) {
      TlConvertStage stage = stage_of_words(&sh->pre[i], from_mask);
      v = exchange(cx, v, &stage, number, position, src / group);
   }
   unsigned n = shuffle_order(p, order), words = n / group;
   for (unsigned i = 0; i < words; i++) {
      index[i] = word_of(select_xor(p->from_reg, order[i * group]), from_mask);
      number[i] = word_of(order[i * group], to_mask);
      position[number[i]] = i;
   }
   v = tl_regs_pick(cx, v, index, words);
   if (sh->exchange)
      v = shuffle_lanes(cx, p, v, order, group);
   for (unsigned i = 0; i < sh->num_post; i++) {
      TlConvertStage stage = stage_of_words(&sh->post[i], to_mask);
      v = exchange(cx, v, &stage, number, position, words);
   }
   if (is_packed)
      v = tl_t1(&cx->b, TL_OP_REPACK, tl_type_regs(cx->types, elem, n), v);
   for (unsigned i = 0; i < n; i++)
      position[order[i]] = i;
   for (uint32_t r = 0; r < dst; r++)
      index[r] = position[r & p->dst_live];
   return tl_regs_pick(cx, v, index, dst);
}

/* The positions of a map that lie in round k, with offsets inside the scratch. */
static TlSharedMap
one_round(TlLowerCx *cx, const TlSharedMap *all, uint32_t round, uint32_t scratch_bytes)
{
   assert(scratch_bytes > 0);
   TlSharedMap m = *all;
   m.reg = tl_new_array(cx->scratch, uint32_t, all->num);
   m.offset = tl_new_array(cx->scratch, uint32_t, all->num);
   m.position = tl_new_array(cx->scratch, uint32_t, all->num);
   m.num = 0;
   for (unsigned i = 0; i < all->num; i++)
      if (all->offset[i] / scratch_bytes == round) {
         m.reg[m.num] = all->reg[i];
         m.offset[m.num] = all->offset[i] % scratch_bytes;
         m.position[m.num] = m.num;
         m.num++;
      }
   m.num_regs = m.num; /* loads give the positions themselves */
   return m;
}

static TlValue *
convert_shared(TlLowerCx *cx, const TlOp *op, const TlConvertPlan *p, TlValue *v)
{
   assert(p->kind == TL_CONVERT_SHARED && p->shared.rounds > 0);
   const TlConvertScratch *sc = &p->shared;
   TlDtype t = tl_type_elem(v->type)->dtype;
   unsigned bytes = tl_dtype_info[t].bytes, loaded = 0;
   TlSharedRef ref = tl_shared_part(tl_scratch_ref(cx, op), 0, sc->scratch_bytes);
   /* Warps that hold copies would share the bytes: their next use needs a block barrier. */
   if (sc->warp_local && sc->rounds == 1 && tl_owner_of(&p->src).free_warps == 0)
      ref.extent.partition = cx->next_partition++;
   TlSharedMap st = tl_shared_map_of_columns(cx, &p->src, sc->access[TL_CONVERT_STORE].col, bytes);
   TlSharedMap ld = tl_shared_map_of_columns(cx, &p->dst, sc->access[TL_CONVERT_LOAD].col, bytes);
   /* Of warps that hold copies one stores: in a kernel that works in place the others may have read
    * the tile again after it changed. */
   TlValue *owner = tl_thread_is_zero(cx, 0, tl_owner_of(&p->src).free_warps);
   TlValue **parts = tl_new_array(cx->scratch, TlValue *, sc->rounds);
   uint32_t *at = tl_new_array(cx->scratch, uint32_t, ld.num);
   for (uint32_t k = 0; k < sc->rounds; k++) {
      TlSharedMap st_k = one_round(cx, &st, k, sc->scratch_bytes);
      TlSharedMap ld_k = one_round(cx, &ld, k, sc->scratch_bytes);
      if (sc->rounds > 1 ||
          !tl_shared_stmatrix(cx, &ref, &p->src, sc->access[TL_CONVERT_STORE].col, v))
         tl_shared_store(cx, &ref, &st_k, v, owner);
      parts[k] = tl_shared_load(cx, &ref, &ld_k, t);
      for (unsigned i = 0, n = loaded; i < ld.num; i++)
         if (ld.offset[i] / sc->scratch_bytes == k) {
            at[i] = n++;
            loaded = n;
         }
   }
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, ld.num_regs);
   for (uint32_t r = 0; r < ld.num_regs; r++)
      index[r] = at[ld.position[r]];
   return tl_regs_gather(cx, parts, sc->rounds, index, ld.num_regs);
}

TlValue *
tl_convert_regs(TlLowerCx *cx, const TlOp *op, TlValue *v, const TlType *elem, const TlLinear *from,
                const TlLinear *to)
{
   assert(tl_regs_of(v->type) == 1u << from->num[TL_HW_REG]);
   TlConvertPlan *p = tl_new(cx->scratch, TlConvertPlan);
   bool ok = tl_plan_conversion(elem, from, to, p);
   assert(ok && p->repeats == 1);
   (void)ok;
   if (p->kind == TL_CONVERT_NOTHING || p->kind == TL_CONVERT_REGISTERS) {
      unsigned n = 1u << p->dst.num[TL_HW_REG];
      uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
      for (uint32_t r = 0; r < n; r++)
         index[r] = tl_convert_source_reg(p, r);
      return tl_regs_pick(cx, v, index, n);
   }
   TlValue *raw = tl_regs_to_memory(cx, v);
   raw = p->kind == TL_CONVERT_SHUFFLES ? convert_shuffles(cx, p, raw)
                                        : convert_shared(cx, op, p, raw);
   return tl_regs_from_memory(cx, raw, elem);
}

void
tl_lower_convert_layout(TlLowerCx *cx, TlOp *op)
{
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   assert(from->elem == to->elem);
   TlLinear a = tl_layout_of(from), b = tl_layout_of(to);
   TlValue *v = tl_lower_use(cx, tl_arg(op, 0));
   tl_lower_def(cx, tl_result(op, 0), tl_convert_regs(cx, op, v, to->elem, &a, &b));
}

/* ---- tiles in shared buffers ---- */
static void
store_tile(TlLowerCx *cx, const TlValue *tile, const TlValue *buffer)
{
   assert(tile->type->kind == TL_TYPE_TILE && buffer->type->kind == TL_TYPE_MEMDESC);
   TlLinear l = tl_layout_of(tile->type);
   TlSharedRef ref = tl_memdesc_ref(cx, buffer);
   TlValue *v = tl_regs_to_memory(cx, tl_lower_use(cx, tile));
   unsigned bytes = tl_dtype_info[tl_type_elem(v->type)->dtype].bytes;
   uint32_t col[TL_LL_MAX_IN] = {0};
   bool ok = tl_cost_offset_columns(&l, buffer->type->layout, bytes, col);
   assert(ok && "an arrangement is a bijection");
   (void)ok;
   if (tl_shared_stmatrix(cx, &ref, &l, col, v))
      return;
   TlSharedMap map = tl_shared_map_of_columns(cx, &l, col, bytes);
   tl_shared_store(cx, &ref, &map, v, tl_thread_is_zero(cx, 0, tl_owner_of(&l).free_warps));
}

void
tl_lower_local_alloc(TlLowerCx *cx, TlOp *op)
{
   tl_lower_def(cx, tl_result(op, 0), tl_i32(cx, tl_attr_int(op, TL_ATTR_OFFSET)));
   if (op->num_args)
      store_tile(cx, tl_arg(op, 0), tl_result(op, 0));
}

void
tl_lower_local_store(TlLowerCx *cx, TlOp *op)
{
   store_tile(cx, tl_arg(op, 0), tl_arg(op, 1));
}

void
tl_lower_local_load(TlLowerCx *cx, TlOp *op)
{
   const TlType *to = tl_result(op, 0)->type, *buffer = tl_arg(op, 0)->type;
   assert(buffer->kind == TL_TYPE_MEMDESC && tl_type_num_elems(to) == tl_type_num_elems(buffer));
   TlLinear l = tl_layout_of(to);
   if (tl_is_loaded_by_dot(op))
      return;
   TlSharedRef ref = tl_memdesc_ref(cx, tl_arg(op, 0));
   TlDtype t = tl_memory_dtype(to->elem);
   TlValue *v = tl_shared_ldmatrix(cx, &ref, &l, buffer->layout, t, 0, 0);
   if (!v) {
      TlSharedMap map = tl_shared_map(cx, &l, buffer->layout, tl_dtype_info[t].bytes);
      v = tl_shared_load(cx, &ref, &map, t);
   }
   tl_lower_def(cx, tl_result(op, 0), tl_regs_from_memory(cx, v, to->elem));
}

void
tl_lower_local_view(TlLowerCx *cx, TlOp *op)
{
   assert(tl_arg(op, 0)->type->kind == TL_TYPE_MEMDESC);
   uint32_t bytes = tl_memdesc_stage_bytes(tl_result(op, 0)->type);
   TlValue *base = tl_lower_use(cx, tl_arg(op, 0)), *stage = tl_lower_use(cx, tl_arg(op, 1));
   TlValue *offset = tl_op2(cx, TL_OP_MUL, stage, tl_i32(cx, bytes));
   tl_lower_def(cx, tl_result(op, 0), tl_op2(cx, TL_OP_ADD, base, offset));
}

void
tl_lower_local_trans(TlLowerCx *cx, TlOp *op)
{
   tl_lower_def(cx, tl_result(op, 0), tl_lower_use(cx, tl_arg(op, 0)));
}
