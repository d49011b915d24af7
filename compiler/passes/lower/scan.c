/* scan: for every bit of the axis index, lowest first, blocks of twice the size are made of two.
 * Each position keeps its inclusive prefix within its block, and each block its total; joining two
 * blocks combines the lower one's total into every prefix of the upper one (reverse: the other way
 * round).  The other block's total comes from another register, by shuffle, or through shared
 * memory, wherever the layout put that bit, so any layout with separate axis bits will do. */
#include "passes/lower/impl.h"

#include <assert.h>
#include <string.h>

enum { WIDEST_ACCESS = 16 }; /* bytes */

typedef struct Scan {
   TlLowerCx *cx;
   const TlOp *op;
   const TlLinear *l;
   unsigned k;            /* values scanned together */
   unsigned regs;         /* register bits of the layout */
   TlValue **prefix;      /* k: all registers */
   TlValue **total;       /* k: one register for each setting of the `kept` bits */
   uint32_t kept;         /* register bits that number the totals */
   uint32_t lanes, warps; /* bits of threads that have the same totals, as they were joined */
   bool reverse;
} Scan;

/* Bits of r selected by mask, packed. */
static uint32_t
pack_bits(uint32_t r, uint32_t mask)
{
   uint32_t out = 0;
   for (unsigned n = 0; mask; mask &= mask - 1)
      out |= (r >> __builtin_ctz(mask) & 1) << n++;
   return out;
}

static unsigned
num_totals(const Scan *s)
{
   return 1u << __builtin_popcount(s->kept);
}

static void
combine(Scan *s, TlValue **before, TlValue **now, unsigned n, TlValue **out)
{
   assert(s->op->regions[0]->block->num_args == 2 * s->k);
   TlValue **args = tl_new_array(s->cx->scratch, TlValue *, 2 * s->k);
   memcpy(args, before, s->k * sizeof *args);
   memcpy(args + s->k, now, s->k * sizeof *args);
   tl_inline_region(s->cx, s->op->regions[0], args, 2 * s->k, n, out);
}

static TlValue **
values(const Scan *s)
{
   return tl_new_array(s->cx->scratch, TlValue *, s->k);
}

/* The bit is a register bit: only registers of the later half change. */
static void
join_registers(Scan *s, unsigned bit)
{
   assert(s->kept >> bit & 1);
   TlLowerCx *cx = s->cx;
   unsigned n = 1u << s->regs, half = num_totals(s) / 2, changed = 0;
   uint32_t below = s->kept & ((1u << bit) - 1), rest = s->kept & ~(1u << bit);
   unsigned at = (unsigned)__builtin_popcount(below);
   uint32_t *pos = tl_new_array(cx->scratch, uint32_t, n);
   uint32_t *total = tl_new_array(cx->scratch, uint32_t, n);
   uint32_t *merge = tl_new_array(cx->scratch, uint32_t, n);
   TlValue **side[2] = {values(s), values(s)}, **now = values(s), **before = values(s);
   for (unsigned h = 0; h < 2; h++) {
      unsigned m = 0;
      for (uint32_t t = 0; t < 2 * half; t++)
         if ((t >> at & 1) == h)
            pos[m++] = t;
      for (unsigned i = 0; i < s->k; i++)
         side[h][i] = tl_regs_pick(cx, s->total[i], pos, half);
   }
   unsigned later = s->reverse ? 0 : 1;
   for (uint32_t r = 0; r < n; r++) {
      merge[r] = r;
      if ((r >> bit & 1) == later) {
         merge[r] = n + changed;
         pos[changed] = r;
         total[changed++] = pack_bits(r, rest);
      }
   }
   for (unsigned i = 0; i < s->k; i++) {
      now[i] = tl_regs_pick(cx, s->prefix[i], pos, changed);
      before[i] = tl_regs_pick(cx, side[!later][i], total, changed);
   }
   combine(s, before, now, changed, now);
   for (unsigned i = 0; i < s->k; i++)
      s->prefix[i] = tl_regs_gather(cx, (TlValue *const[]){s->prefix[i], now[i]}, 2, merge, n);
   s->kept = rest;
   combine(s, side[!later], side[later], half, s->total);
}

/* The totals of the thread that differs in a warp bit.  Of threads that have the same one stores.
 * Lanes lie 16 bytes apart and a thread's further vectors behind all of theirs, so that no bank is
 * met twice. */
static TlValue *
other_warp(Scan *s, TlValue *v, unsigned bit, uint32_t at)
{
   assert(bit < s->cx->log2_warps);
   TlLowerCx *cx = s->cx;
   const TlType *elem = tl_type_elem(v->type);
   TlValue *raw = tl_regs_to_memory(cx, v);
   TlDtype t = tl_type_elem(raw->type)->dtype;
   unsigned es = tl_dtype_info[t].bytes, regs = (unsigned)__builtin_ctz(num_totals(s));
   unsigned in_vector = 0, used = 0, warp0 = regs + TL_LANE_BITS;
   uint32_t col[TL_LL_MAX_IN] = {0};
   TlLinear m = {.rank = 1};
   m.num[TL_HW_REG] = (uint8_t)regs;
   m.num[TL_HW_LANE] = TL_LANE_BITS;
   m.num[TL_HW_WARP] = (uint8_t)cx->log2_warps;
   while (in_vector < regs && es << in_vector < WIDEST_ACCESS)
      in_vector++;
   for (unsigned k = 0; k < in_vector; k++)
      col[k] = es << used++;
   for (unsigned k = 0; k < TL_LANE_BITS; k++)
      col[regs + k] = s->lanes >> k & 1 ? 0 : es << used++;
   for (unsigned k = in_vector; k < regs; k++)
      col[k] = es << used++;
   for (unsigned k = 0; k < cx->log2_warps; k++)
      col[warp0 + k] = s->warps >> k & 1 ? 0 : es << used++;
   TlSharedMap map = tl_shared_map_of_columns(cx, &m, col, es);
   TlSharedRef ref = tl_shared_part(tl_scratch_ref(cx, s->op), at, es << used);
   tl_shared_store(cx, &ref, &map, raw, tl_thread_is_zero(cx, s->lanes, s->warps));
   for (unsigned i = 0; i < map.num; i++)
      map.offset[i] ^= col[warp0 + bit];
   return tl_regs_from_memory(cx, tl_shared_load(cx, &ref, &map, t), elem);
}

static void
join_threads(Scan *s, TlHw hw, unsigned bit, bool is_last)
{
   assert(hw == TL_HW_LANE || hw == TL_HW_WARP);
   TlLowerCx *cx = s->cx;
   unsigned n = 1u << s->regs;
   bool commutes = tl_region_commutes(s->op->regions[0]); /* then either order of a total will do */
   TlValue *upper = tl_thread_bit(cx, hw, bit);
   TlValue **lo = values(s), **hi = values(s), **before = values(s), **now = values(s);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n), at = 0;
   for (uint32_t r = 0; r < n; r++)
      index[r] = pack_bits(r, s->kept);
   for (unsigned i = 0; i < s->k; i++) {
      TlValue *own = s->total[i], *other;
      if (hw == TL_HW_LANE) {
         other = tl_shuffle_xor(cx, own, 1u << bit);
      } else {
         other = other_warp(s, own, bit, at);
         int same = __builtin_popcount(s->lanes) + __builtin_popcount(s->warps);
         at += num_totals(s) * (32u << cx->log2_warps >> same) *
               tl_dtype_info[tl_memory_dtype(tl_type_elem(own->type))].bytes;
      }
      lo[i] = commutes ? own : tl_regs_select(cx, upper, other, own);
      hi[i] = commutes ? other : tl_regs_select(cx, upper, own, other);
      before[i] = tl_regs_pick(cx, other, index, n);
   }
   combine(s, before, s->prefix, n, now);
   for (unsigned i = 0; i < s->k; i++)
      s->prefix[i] = s->reverse ? tl_regs_select(cx, upper, s->prefix[i], now[i])
                                : tl_regs_select(cx, upper, now[i], s->prefix[i]);
   if (is_last)
      return;
   *(hw == TL_HW_LANE ? &s->lanes : &s->warps) |= 1u << bit;
   if (s->reverse)
      combine(s, hi, lo, num_totals(s), s->total);
   else
      combine(s, lo, hi, num_totals(s), s->total);
}

/* The hardware bit that moves by `image`. */
static bool
find_bit(const TlLinear *l, uint32_t image, TlHw *hw, unsigned *bit)
{
   for (unsigned h = 0; h < TL_HW_COUNT; h++)
      for (unsigned i = 0; i < l->num[h]; i++)
         if (tl_ll_col(l, (TlHw)h, i) == image) {
            *hw = (TlHw)h;
            *bit = i;
            return true;
         }
   return false;
}

uint32_t
tl_scan_scratch(const TlOp *op, unsigned num_warps)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), bit;
   TlLinear l = tl_layout_of(tl_arg(op, 0)->type);
   uint32_t most = 0, totals = (1u << l.num[TL_HW_REG]) * 32 * num_warps; /* of all threads */
   TlHw hw;
   if (!tl_axis_is_separate(&l, axis))
      return 0;
   for (unsigned i = 0; i < l.log2_dim[axis]; i++) {
      if (!find_bit(&l, 1u << (tl_ll_dim_shift(&l, axis) + i), &hw, &bit))
         continue;
      most = hw == TL_HW_WARP && totals > most ? totals : most;
      totals /= 2; /* of registers there is one less, threads that were joined have the same */
   }
   uint32_t bytes = 0;
   for (unsigned i = 0; i < op->num_args; i++)
      bytes += most * tl_dtype_info[tl_memory_dtype(tl_arg(op, i)->type->elem)].bytes;
   return bytes;
}

void
tl_lower_scan(TlLowerCx *cx, TlOp *op)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), bit = 0;
   TlLinear l = tl_layout_of(tl_arg(op, 0)->type);
   assert(op->num_results == op->num_args && axis < l.rank);
   if (!tl_axis_is_separate(&l, axis)) {
      tl_report(cx->pass->diags, E0408, op->range, "scan");
      tl_fail(cx);
      return;
   }
   Scan s = {.cx = cx, .op = op, .l = &l, .k = op->num_args, .regs = l.num[TL_HW_REG]};
   s.reverse = tl_attr_int(op, TL_ATTR_REVERSE) != 0;
   s.kept = (1u << s.regs) - 1;
   s.prefix = values(&s);
   s.total = values(&s);
   for (unsigned i = 0; i < s.k; i++)
      s.prefix[i] = s.total[i] = tl_lower_use(cx, tl_arg(op, i));
   for (unsigned i = 0; i < l.log2_dim[axis]; i++) {
      TlHw hw = TL_HW_REG;
      bool found = find_bit(&l, 1u << (tl_ll_dim_shift(&l, axis) + i), &hw, &bit);
      assert(found);
      (void)found;
      if (hw == TL_HW_REG)
         join_registers(&s, bit);
      else
         join_threads(&s, hw, bit, i + 1u == l.log2_dim[axis]);
   }
   for (unsigned i = 0; i < s.k; i++)
      tl_lower_def(cx, tl_result(op, i), s.prefix[i]);
}
