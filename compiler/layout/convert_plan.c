/* Choice of the conversion and its register and shuffle forms.
 *
 * C = convert_map(src, dst) gives for every dst hardware bit the src bits that hold its element.  A
 * shuffle round serves one register of every lane, and a source lane can offer only one value in
 * it.  So the rounds are skewed: in round p lane l receives dst register p ^ T l, with T chosen so
 * that the source lane N l ^ (function of p) tells which source register is wanted.  The skew is
 * undone by the post stages, the choice at the source is made by the pre stages.  Invariants kept
 * by plan_shuffle: ker N is in the kernel of G, the wanted registers, so P with P N = G exists. */
#include "layout/convert_plan.h"
#include "layout/convert_shared.h"
#include "layout/gf2.h"

#include <assert.h>
#include <string.h>

/* Columns of C split into register and lane parts. */
typedef struct Blocks {
   unsigned regs, lanes, warps;                     /* bits of dst */
   uint32_t rr[TL_LL_MAX_BITS], lr[TL_LL_MAX_BITS]; /* source register, lane by dst register bit */
   uint32_t rl[TL_CONVERT_MAX_THREAD_BITS], ll[TL_CONVERT_MAX_THREAD_BITS]; /* by dst lane bit */
   uint32_t rw[TL_CONVERT_MAX_THREAD_BITS], lw[TL_CONVERT_MAX_THREAD_BITS]; /* by warp bit */
} Blocks;

static uint32_t
select_xor(const uint32_t *col, uint64_t set)
{
   uint32_t v = 0;
   for (unsigned i = 0; set >> i; i++)
      v ^= set >> i & 1 ? col[i] : 0;
   return v;
}

/* False when some element comes from another warp. */
static bool
split_blocks(const TlConvertPlan *p, const uint64_t *x, Blocks *b)
{
   const TlLinear *s = &p->src, *d = &p->dst;
   unsigned lane0 = s->num[TL_HW_REG], warp0 = tl_ll_first(s, TL_HW_WARP);
   uint32_t reg_mask = (1u << lane0) - 1, lane_mask = (1u << s->num[TL_HW_LANE]) - 1;
   *b = (Blocks){.regs = d->num[TL_HW_REG]};
   b->lanes = d->num[TL_HW_LANE];
   b->warps = d->num[TL_HW_WARP];
   for (unsigned h = 0, j = 0; h < TL_HW_BLOCK; h++)
      for (unsigned i = 0; i < d->num[h]; i++, j++) {
         uint64_t self = h == TL_HW_WARP ? 1ull << i : 0;
         if (h == TL_HW_REG && !(p->dst_live >> i & 1))
            continue;
         if (x[j] >> warp0 != self)
            return false;
         uint32_t reg = (uint32_t)x[j] & reg_mask, lane = (uint32_t)(x[j] >> lane0) & lane_mask;
         if (h == TL_HW_REG)
            b->rr[i] = reg, b->lr[i] = lane;
         else if (h == TL_HW_LANE)
            b->rl[i] = reg, b->ll[i] = lane;
         else
            b->rw[i] = reg, b->lw[i] = lane;
      }
   return true;
}

static bool
is_thread_local(const Blocks *b)
{
   for (unsigned i = 0; i < b->regs; i++)
      if (b->lr[i])
         return false;
   for (unsigned i = 0; i < b->lanes; i++)
      if (b->rl[i] || b->ll[i] != 1u << i)
         return false;
   for (unsigned i = 0; i < b->warps; i++)
      if (b->rw[i] || b->lw[i])
         return false;
   return true;
}

static void
plan_registers(TlConvertPlan *p, const Blocks *b)
{
   p->kind = p->src.num[TL_HW_REG] == b->regs ? TL_CONVERT_NOTHING : TL_CONVERT_REGISTERS;
   for (unsigned i = 0; i < b->regs; i++) {
      bool both_copies = !(p->dst_live >> i & 1) && i < p->src.num[TL_HW_REG] && !p->src.col[i];
      p->from_reg[i] = b->rr[i];
      if (b->rr[i] != 1u << i && !both_copies)
         p->kind = TL_CONVERT_REGISTERS;
   }
}

/* A basis of the lane space with, for some of its vectors, the register bit that skews them. */
typedef struct Skew {
   uint32_t vec[TL_CONVERT_MAX_THREAD_BITS];
   int reg[TL_CONVERT_MAX_THREAD_BITS]; /* dst register bit, or -1 */
   unsigned n;
} Skew;

/* Gives every lane direction that reads several registers of one lane its own register bit, whose
 * source lanes nobody else reads.  False when there is none. */
static bool
assign_skew(const Blocks *b, Skew *s, const uint32_t *kernel, unsigned num_kernel, TlBasis *lanes)
{
   uint32_t taken = 0;
   for (unsigned k = 0; k < num_kernel; k++) {
      int found = -1;
      for (unsigned pass = 0; pass < 2 && found < 0; pass++)
         for (unsigned i = 0; i < b->regs && found < 0; i++)
            if (!(taken >> i & 1) && b->lr[i] && (pass == 1 || b->lr[i] == kernel[k]) &&
                tl_gf2_add(lanes, b->lr[i], i))
               found = (int)i;
      if (found < 0)
         return false;
      taken |= 1u << found;
      s->vec[s->n] = kernel[k];
      s->reg[s->n++] = found;
   }
   return true;
}

static bool
find_skew(const Blocks *b, Skew *s)
{
   TlBasis lanes = {0}, wanted = {0};
   uint32_t kernel[TL_CONVERT_MAX_THREAD_BITS], problem[TL_CONVERT_MAX_THREAD_BITS];
   unsigned num_kernel = 0, num_problem = 0;
   for (unsigned j = 0; j < b->lanes; j++) {
      uint64_t from;
      if (tl_gf2_add(&lanes, b->ll[j], j)) {
         s->vec[s->n] = 1u << j;
         s->reg[s->n++] = -1;
      } else {
         tl_gf2_express(&lanes, lanes.n, b->ll[j], &from);
         kernel[num_kernel++] = (uint32_t)from | 1u << j;
      }
   }
   for (unsigned k = 0; k < num_kernel; k++) {
      uint32_t reg = select_xor(b->rl, kernel[k]);
      uint64_t from;
      if (tl_gf2_add(&wanted, reg, num_problem)) {
         problem[num_problem++] = kernel[k];
         continue;
      }
      tl_gf2_express(&wanted, wanted.n, reg, &from);
      s->vec[s->n] = kernel[k] ^ select_xor(problem, from); /* a plain broadcast */
      s->reg[s->n++] = -1;
   }
   return assign_skew(b, s, problem, num_problem, &lanes);
}

/* Stages from columns: one for each distinct non-zero register mask. */
static void
add_stage(TlConvertStage *stages, unsigned *n, uint32_t reg, uint32_t lane, uint32_t warp)
{
   if (reg == 0)
      return;
   unsigned i = 0;
   while (i < *n && stages[i].reg != reg)
      i++;
   if (i == *n) {
      assert(*n < TL_CONVERT_MAX_THREAD_BITS);
      stages[(*n)++] = (TlConvertStage){reg, 0, 0};
   }
   stages[i].lane |= lane;
   stages[i].warp |= warp;
}

/* P: for each source lane bit the registers it adds; P n[s] = g[s] for all lane bits s. */
static void
solve_pre(const uint32_t *n, const uint32_t *g, unsigned lanes, uint32_t *p)
{
   TlBasis basis = {0};
   uint32_t value[TL_GF2_MAX + TL_CONVERT_MAX_THREAD_BITS] = {0};
   for (unsigned s = 0; s < lanes; s++) {
      uint64_t from;
      value[s] = g[s];
      if (!tl_gf2_add(&basis, n[s], s)) {
         tl_gf2_express(&basis, basis.n, n[s], &from);
         assert(select_xor(value, from) == g[s]);
      }
   }
   for (unsigned u = 0; u < lanes; u++)
      tl_gf2_add(&basis, 1u << u, lanes + u); /* directions that nobody reads: value 0 */
   for (unsigned u = 0; u < lanes; u++) {
      uint64_t from;
      tl_gf2_express(&basis, basis.n, 1u << u, &from);
      p[u] = select_xor(value, from);
   }
}

/* Register bits that are copied one to one and used by nobody else. */
static void
find_packing(TlConvertPlan *p, const Blocks *b, unsigned elem_bytes)
{
   TlConvertShuffle *sh = &p->shuffle;
   uint32_t once = 0, more = 0;
   for (unsigned i = 0; i < b->regs; i++) {
      more |= once & b->rr[i];
      once |= b->rr[i];
   }
   for (unsigned i = 0; i < b->lanes; i++)
      more |= b->rl[i];
   for (unsigned i = 0; i < b->warps; i++)
      more |= b->rw[i];
   for (unsigned i = 0; i < b->regs && elem_bytes << sh->pack_bits < 4; i++) {
      uint32_t reg = b->rr[i];
      if (reg == 0 || (reg & (reg - 1)) != 0 || (reg & more) != 0 || b->lr[i] != 0)
         continue;
      sh->pack_dst[sh->pack_bits] = (uint8_t)i;
      sh->pack_src[sh->pack_bits++] = (uint8_t)__builtin_ctz(reg);
   }
}

static unsigned
count_shuffles(const TlConvertPlan *p, unsigned elem_bytes)
{
   unsigned live = 1u << __builtin_popcount(p->dst_live);
   unsigned words = elem_bytes > 4 ? elem_bytes / 4 : 1;
   return p->shuffle.exchange ? (live >> p->shuffle.pack_bits) * words : 0;
}

static bool
plan_shuffle(TlConvertPlan *p, const Blocks *b, unsigned elem_bytes)
{
   TlConvertShuffle *sh = &p->shuffle;
   Skew skew = {.n = 0};
   TlBasis dual = {0};
   uint32_t g[TL_CONVERT_MAX_THREAD_BITS], pre[TL_CONVERT_MAX_THREAD_BITS];
   *sh = (TlConvertShuffle){0};
   if (!find_skew(b, &skew))
      return false;
   for (unsigned i = 0; i < skew.n; i++)
      tl_gf2_add(&dual, skew.vec[i], i);
   assert(dual.n == b->lanes);
   for (unsigned s = 0; s < b->lanes; s++) {
      uint64_t coeff;
      tl_gf2_express(&dual, dual.n, 1u << s, &coeff);
      sh->lane_by_lane[s] = b->ll[s];
      g[s] = b->rl[s];
      for (unsigned i = 0; i < skew.n; i++)
         if ((coeff >> i & 1) && skew.reg[i] >= 0) {
            sh->lane_by_lane[s] ^= b->lr[skew.reg[i]];
            g[s] ^= b->rr[skew.reg[i]];
            add_stage(sh->post, &sh->num_post, 1u << skew.reg[i], 1u << s, 0);
         }
      sh->exchange |= sh->lane_by_lane[s] != 1u << s;
   }
   solve_pre(sh->lane_by_lane, g, b->lanes, pre);
   for (unsigned s = 0; s < b->lanes; s++)
      add_stage(sh->pre, &sh->num_pre, pre[s], 1u << s, 0);
   for (unsigned w = 0; w < b->warps; w++) {
      add_stage(sh->pre, &sh->num_pre, b->rw[w] ^ select_xor(pre, b->lw[w]), 0, 1u << w);
      sh->lane_by_warp[w] = b->lw[w];
      sh->exchange |= b->lw[w] != 0;
   }
   for (unsigned i = 0; i < b->regs; i++) {
      p->from_reg[i] = b->rr[i] ^ select_xor(pre, b->lr[i]);
      sh->lane_by_reg[i] = b->lr[i];
      sh->exchange |= b->lr[i] != 0;
   }
   find_packing(p, b, elem_bytes);
   sh->num_shuffles = count_shuffles(p, elem_bytes);
   p->kind = TL_CONVERT_SHUFFLES;
   return true;
}

/* Shuffles cost a shared-memory wavefront each and every stage a select per element; through shared
 * memory a word costs two wavefronts, and a synchronisation is added.  So: at most two shuffles per
 * word of data, and two stages per side for short moves, one for long ones. */
static bool
is_shuffle_worth(const TlConvertPlan *p, unsigned elem_bytes)
{
   const TlConvertShuffle *sh = &p->shuffle;
   unsigned elems = 1u << __builtin_popcount(p->dst_live), words = elem_bytes * elems / 4;
   unsigned stages = sh->num_pre > sh->num_post ? sh->num_pre : sh->num_post;
   if (sh->num_shuffles > 2 * (words ? words : 1))
      return false;
   return stages <= (elems <= 16 ? 2 : 1);
}

/* Common part of both entries; x receives the conversion map. */
static bool
start(const TlLinear *src, const TlLinear *dst, TlConvertPlan *p, uint64_t *x)
{
   memset(p, 0, sizeof *p);
   p->src = tl_ll_fold_repeats(src);
   p->dst = tl_ll_fold_repeats(dst);
   const TlLinear *s = &p->src, *d = &p->dst;
   if (!tl_ll_same_shape(s, d))
      return false;
   for (unsigned h = TL_HW_LANE; h < TL_HW_COUNT; h++)
      if (s->num[h] != d->num[h])
         return false;
   if (s->num[TL_HW_LANE] > 5 || s->num[TL_HW_WARP] > TL_CONVERT_MAX_THREAD_BITS - 5)
      return false;
   p->repeats = 1;
   for (unsigned i = 0; i < s->rank; i++)
      p->repeats *= s->repeat[i];
   for (unsigned i = 0; i < d->num[TL_HW_REG]; i++)
      if (d->col[i])
         p->dst_live |= 1u << i;
   if (!tl_ll_convert_map(s, d, x))
      return false;
   unsigned block0 = tl_ll_first(s, TL_HW_BLOCK);
   for (unsigned j = 0; j < tl_ll_in_bits(d); j++) {
      unsigned first = tl_ll_first(d, TL_HW_BLOCK);
      uint64_t want = j >= first ? 1ull << (j - first) : 0;
      if (x[j] >> block0 != want || (want && x[j] != want << block0))
         return false;
   }
   return true;
}

bool
tl_convert_plan_shared(const TlLinear *src, const TlLinear *dst, unsigned elem_bytes,
                       uint32_t scratch_budget, TlConvertPlan *plan)
{
   uint64_t x[TL_LL_MAX_IN];
   return start(src, dst, plan, x) && tl_convert_build_shared(plan, x, elem_bytes, scratch_budget);
}

bool
tl_convert_plan(const TlLinear *src, const TlLinear *dst, unsigned elem_bytes,
                uint32_t scratch_budget, TlConvertPlan *plan)
{
   uint64_t x[TL_LL_MAX_IN];
   Blocks b;
   if (!start(src, dst, plan, x))
      return false;
   if (split_blocks(plan, x, &b)) {
      if (is_thread_local(&b)) {
         plan_registers(plan, &b);
         return true;
      }
      if (plan_shuffle(plan, &b, elem_bytes) && is_shuffle_worth(plan, elem_bytes))
         return true;
   }
   return tl_convert_build_shared(plan, x, elem_bytes, scratch_budget);
}

uint32_t
tl_convert_source_reg(const TlConvertPlan *plan, uint32_t r)
{
   unsigned bits = plan->dst.num[TL_HW_REG];
   uint32_t low = r & ((1u << bits) - 1) & plan->dst_live;
   if (plan->kind == TL_CONVERT_NOTHING)
      return r;
   assert(plan->kind == TL_CONVERT_REGISTERS);
   return select_xor(plan->from_reg, low) | r >> bits << plan->src.num[TL_HW_REG];
}
