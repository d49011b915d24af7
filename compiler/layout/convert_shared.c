/* The scratch arrangement of a conversion through shared memory.
 *
 * The offset bits are, from low to high: C, registers of the side that moves the widest vectors
 * (those common to both sides first); Bank, what is left of 128 bytes; Segment, the rest.  Lanes of
 * one group collide when they differ by a combination of Segment vectors (and of vectors inside
 * their own access).  So Segment is chosen to meet neither side's lanes: vectors outside both
 * spans, then sums a ^ b of a lane vector of one side only and one of the other side only (this is
 * the XOR swizzle); only when these run out, vectors that cost conflicts.  Candidates for C are
 * compared by counted wavefronts.  Invariant: the arrangement is a bijection.
 *
 * A tile that no block's shared memory holds goes in rounds that do not depend on the thread: C
 * leaves vectors common to both sides to number them. */
#include "layout/convert_shared.h"
#include "layout/cost.h"
#include "layout/gf2.h"
#include "layout/matrices.h"

#include <assert.h>
#include <string.h>

/* More than any target's block has: the tile goes in rounds or not at all. */
enum { BEYOND_SHARED = 256 * 1024 };

/* An ordered set of independent vectors. */
typedef struct Vectors {
   uint32_t v[TL_GF2_MAX];
   unsigned n;
} Vectors;

static void
basis_of(TlBasis *b, const Vectors *set)
{
   for (unsigned i = 0; i < set->n; i++)
      tl_gf2_add(b, set->v[i], 0);
}

/* Appends v to `out` if it is independent in `b`, at most `limit` of them. */
static void
take(Vectors *out, unsigned limit, TlBasis *b, uint32_t v)
{
   if (out->n < limit && tl_gf2_add(b, v, 0))
      out->v[out->n++] = v;
}

static void
take_columns(Vectors *out, unsigned limit, TlBasis *b, const TlLinear *l, TlHw hw)
{
   for (unsigned i = 0; i < l->num[hw]; i++)
      take(out, limit, b, tl_ll_col(l, hw, i));
}

static bool
has_reg_column(const TlLinear *l, uint32_t v)
{
   for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
      if (l->col[i] == v)
         return true;
   return false;
}

/* Register vectors of `l` in the order of the element bits they move, those that `other` has too
 * or has not. */
static void
collect_regs(Vectors *out, unsigned limit, const TlLinear *l, const TlLinear *other, bool common)
{
   TlBasis b = {0};
   basis_of(&b, out);
   for (unsigned bit = 0; bit < TL_LL_MAX_BITS; bit++)
      for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
         if (l->col[i] && 31u - (unsigned)__builtin_clz(l->col[i]) == bit &&
             has_reg_column(other, l->col[i]) == common)
            take(out, limit, &b, l->col[i]);
}

/* Span of what must not collide for one side: its lanes of one group and the part of C inside one
 * access or one bank word. */
static Vectors
side_span(const TlLinear *l, const Vectors *c, unsigned vec_bits, unsigned es_log)
{
   Vectors out = {.n = 0};
   TlBasis b = {0};
   unsigned bytes_log = vec_bits + es_log, inside = bytes_log < 2 ? 2 - es_log : vec_bits;
   unsigned drop = bytes_log > 2 ? bytes_log - 2 : 0;
   for (unsigned i = 0; i < c->n && i < inside; i++)
      take(&out, TL_GF2_MAX, &b, c->v[i]);
   for (unsigned i = 0; i + drop < 5 && i < l->num[TL_HW_LANE]; i++)
      take(&out, TL_GF2_MAX, &b, tl_ll_col(l, TL_HW_LANE, i));
   return out;
}

/* Vectors of `from` that extend span(base). */
static Vectors
outside(const Vectors *from, const Vectors *base)
{
   Vectors out = {.n = 0};
   TlBasis b = {0};
   basis_of(&b, base);
   for (unsigned i = 0; i < from->n; i++)
      take(&out, TL_GF2_MAX, &b, from->v[i]);
   return out;
}

/* At most `limit` Segment vectors, best first.  `c` is kept independent of them. */
static Vectors
choose_segment(const TlLinear *s, const TlLinear *d, const Vectors *c, const Vectors *u,
               const Vectors *w, unsigned limit)
{
   Vectors seg = {.n = 0};
   TlBasis all = {0}, used = {0};
   basis_of(&all, u);
   basis_of(&all, w);
   basis_of(&all, c);
   for (unsigned i = 0; i < s->num[TL_HW_REG]; i++)
      if (has_reg_column(d, s->col[i]))
         take(&seg, limit, &all, s->col[i]);
   take_columns(&seg, limit, &all, s, TL_HW_WARP);
   take_columns(&seg, limit, &all, d, TL_HW_WARP);
   take_columns(&seg, limit, &all, s, TL_HW_REG);
   take_columns(&seg, limit, &all, d, TL_HW_REG);
   for (unsigned bit = 0; bit < tl_ll_bits(s); bit++)
      take(&seg, limit, &all, 1u << bit);
   Vectors a = outside(u, w), b = outside(w, u);
   basis_of(&used, c);
   basis_of(&used, &seg);
   for (unsigned i = 0; i < a.n && i < b.n; i++)
      take(&seg, limit, &used, a.v[i] ^ b.v[i]);
   for (unsigned i = 0; i < a.n || i < b.n; i++) {
      if (i >= b.n)
         take(&seg, limit, &used, a.v[i]);
      if (i >= a.n)
         take(&seg, limit, &used, b.v[i]);
   }
   for (unsigned bit = 0; bit < tl_ll_bits(s); bit++)
      take(&seg, limit, &used, 1u << bit);
   return seg;
}

/* element <- offset from C; vec[side] = leading vectors of C that the side moves at once. */
static TlLinear
arrange(const TlLinear *s, const TlLinear *d, const Vectors *c, const unsigned vec[2],
        unsigned es_log)
{
   unsigned n = tl_ll_bits(s), bank = 7 - es_log - c->n;
   unsigned seg_bits = n > c->n + bank ? n - c->n - bank : 0;
   Vectors u = side_span(s, c, vec[TL_CONVERT_STORE], es_log);
   Vectors w = side_span(d, c, vec[TL_CONVERT_LOAD], es_log);
   Vectors seg = choose_segment(s, d, c, &u, &w, seg_bits);
   TlLinear l = *s;
   TlBasis b = {0};
   Vectors banks = {.n = 0};
   basis_of(&b, c);
   basis_of(&b, &seg);
   assert(b.n == c->n + seg.n);
   take_columns(&banks, n, &b, s, TL_HW_LANE);
   take_columns(&banks, n, &b, d, TL_HW_LANE);
   for (unsigned bit = 0; bit < n; bit++)
      take(&banks, n, &b, 1u << bit);
   memset(l.num, 0, sizeof l.num);
   memset(l.col, 0, sizeof l.col);
   for (unsigned d2 = 0; d2 < l.rank; d2++)
      l.repeat[d2] = 1;
   for (unsigned i = 0; i < c->n; i++)
      tl_ll_push(&l, TL_HW_REG, c->v[i]);
   for (unsigned i = 0; i < banks.n; i++)
      tl_ll_push(&l, TL_HW_REG, banks.v[i]);
   for (unsigned i = 0; i < seg.n; i++)
      tl_ll_push(&l, TL_HW_REG, seg.v[i]);
   assert(l.num[TL_HW_REG] == n);
   return l;
}

/* Vector bits that no column but their own register's touches, so that every access is aligned and
 * in register order. */
static unsigned
aligned_bits(const uint32_t *col, unsigned n, unsigned vec_bits, unsigned elem_bytes)
{
   for (; vec_bits > 0; vec_bits--) {
      unsigned touching = 0;
      for (unsigned i = 0; i < n; i++)
         touching += (col[i] & ((elem_bytes << vec_bits) - 1)) != 0;
      if (touching == vec_bits)
         break;
   }
   return vec_bits;
}

static void
fill_access(const TlLinear *l, const TlLinear *scratch, unsigned vec_bits, unsigned elem_bytes,
            TlConvertAccess *a)
{
   *a = (TlConvertAccess){0};
   bool ok = tl_cost_offset_columns(l, scratch, elem_bytes, a->col);
   assert(ok);
   (void)ok;
   for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
      if (l->col[i])
         a->live |= 1u << i;
   a->vec_bits = vec_bits = aligned_bits(a->col, tl_ll_in_bits(l), vec_bits, elem_bytes);
   for (unsigned v = 0; v < vec_bits; v++)
      for (unsigned i = 0; i < l->num[TL_HW_REG] && !a->vec_reg[v]; i++)
         if (a->col[i] == elem_bytes << v)
            a->vec_reg[v] = 1u << i;
   TlSharedCost cost = tl_cost_shared_linear(&a->col[tl_ll_first(l, TL_HW_LANE)],
                                             l->num[TL_HW_LANE], elem_bytes << vec_bits);
   a->wavefronts = cost.wavefronts;
   a->minimum = cost.minimum;
}

/* Wavefronts and instructions of one side. */
static unsigned
access_cost(const TlConvertAccess *a)
{
   unsigned accesses = 1u << ((unsigned)__builtin_popcount(a->live) - a->vec_bits);
   return accesses * (a->wavefronts + 1);
}

/* Would stmatrix store this side, as its rows lie? */
static bool
makes_matrices(const TlLinear *l, const TlConvertAccess *a, unsigned es_log)
{
   TlMatrices m;
   return es_log == 1 && tl_find_matrices(l, a->col, 0, 1u << es_log, &m) && !m.trans;
}

/* Of equals the one whose stores can be matrices: where they are, a quarter as many. */
static void
try_candidate(TlConvertPlan *p, const Vectors *c, unsigned es_log, unsigned *best)
{
   const TlLinear *side[2] = {&p->src, &p->dst};
   TlConvertScratch sc = {.rounds = 1};
   unsigned vec[2] = {0, 0}, cost = 0;
   for (unsigned k = 0; k < 2; k++)
      while (vec[k] < c->n && has_reg_column(side[k], c->v[vec[k]]))
         vec[k]++;
   sc.layout = arrange(&p->src, &p->dst, c, vec, es_log);
   for (unsigned k = 0; k < 2; k++) {
      fill_access(side[k], &sc.layout, vec[k], 1u << es_log, &sc.access[k]);
      cost += access_cost(&sc.access[k]);
   }
   bool is_tie = cost == *best && makes_matrices(&p->src, &sc.access[TL_CONVERT_STORE], es_log) &&
                 !makes_matrices(&p->src, &p->shared.access[TL_CONVERT_STORE], es_log);
   if (cost < *best || is_tie) {
      *best = cost;
      p->shared = sc;
   }
}

/* Do threads of either side differ in this offset bit? */
static bool
is_thread_bit(const TlConvertPlan *p, unsigned byte_bit)
{
   const TlLinear *side[2] = {&p->src, &p->dst};
   for (unsigned k = 0; k < 2; k++)
      for (unsigned i = side[k]->num[TL_HW_REG]; i < tl_ll_in_bits(side[k]); i++)
         if (p->shared.access[k].col[i] >> byte_bit & 1)
            return true;
   return false;
}

/* Exchanges two offset bits everywhere. */
static void
swap_bits(TlConvertPlan *p, unsigned i, unsigned j, unsigned es_log)
{
   uint32_t *lc = p->shared.layout.col, t = lc[i];
   lc[i] = lc[j];
   lc[j] = t;
   for (unsigned k = 0; k < 2; k++)
      for (unsigned h = 0; h < TL_LL_MAX_IN; h++) {
         uint32_t *col = &p->shared.access[k].col[h];
         if ((*col >> (i + es_log) ^ *col >> (j + es_log)) & 1)
            *col ^= 1u << (i + es_log) | 1u << (j + es_log);
      }
}

/* Cuts the scratch to the budget: the top offset bits number the rounds, those that only registers
 * decide first. */
static bool
split_rounds(TlConvertPlan *p, unsigned es_log, uint32_t budget)
{
   TlConvertScratch *sc = &p->shared;
   unsigned n = sc->layout.num[TL_HW_REG], rounds_log = 0;
   unsigned bank_end = 7 - es_log, vec = 0;
   for (unsigned k = 0; k < 2; k++)
      vec = sc->access[k].vec_bits > vec ? sc->access[k].vec_bits : vec;
   while (1ull << (n + es_log - rounds_log) > budget)
      if (n - ++rounds_log < vec)
         return false;
   for (unsigned r = 0; r < rounds_log; r++) {
      unsigned top = n - 1 - r;
      if (top < bank_end)
         break;
      for (unsigned i = top + 1; i-- > bank_end;)
         if (!is_thread_bit(p, i + es_log)) {
            swap_bits(p, i, top, es_log);
            break;
         }
   }
   sc->rounds = 1u << rounds_log;
   sc->scratch_bytes = 1u << (n + es_log - rounds_log);
   const TlLinear *side[2] = {&p->src, &p->dst};
   for (unsigned k = 0; k < 2; k++) {
      sc->access[k].static_rounds = true;
      for (unsigned i = side[k]->num[TL_HW_REG]; i < tl_ll_in_bits(side[k]); i++)
         if (sc->access[k].col[i] >= sc->scratch_bytes)
            sc->access[k].static_rounds = false;
   }
   return true;
}

static bool
has_static_rounds(const TlConvertScratch *sc)
{
   return sc->access[TL_CONVERT_STORE].static_rounds && sc->access[TL_CONVERT_LOAD].static_rounds;
}

/* Does every warp load only its own elements?  Rounds and repeats reuse the scratch: then the
 * warps' addresses must be disjoint too (replicated data and warps told apart by the round share
 * them). */
static bool
is_warp_local(const TlConvertPlan *p, const uint64_t *x)
{
   unsigned warp0 = tl_ll_first(&p->src, TL_HW_WARP), dst_warp0 = tl_ll_first(&p->dst, TL_HW_WARP);
   for (unsigned j = 0; j < tl_ll_first(&p->dst, TL_HW_BLOCK); j++) {
      uint64_t self = j >= dst_warp0 ? 1ull << (j - dst_warp0) : 0;
      bool is_copy = j < p->dst.num[TL_HW_REG] && p->dst.col[j] == 0;
      if (!is_copy && x[j] >> warp0 != self)
         return false;
   }
   if (p->shared.rounds == 1 && p->repeats == 1)
      return true;
   const uint32_t *col = p->shared.access[TL_CONVERT_STORE].col;
   uint32_t mask = p->shared.scratch_bytes - 1;
   TlBasis b = {0};
   for (unsigned j = 0; j < warp0; j++)
      tl_gf2_add(&b, col[j] & mask, j);
   for (unsigned j = warp0; j < tl_ll_first(&p->src, TL_HW_BLOCK); j++)
      if (!tl_gf2_add(&b, col[j] & mask, j))
         return false;
   return true;
}

/* C of 1 << width bytes, for the vectors of one side. */
static Vectors
candidate(const TlConvertPlan *p, TlConvertSide side, unsigned width, unsigned es_log)
{
   const TlLinear *wide = side == TL_CONVERT_LOAD ? &p->dst : &p->src;
   const TlLinear *other = side == TL_CONVERT_LOAD ? &p->src : &p->dst;
   Vectors c = {.n = 0};
   collect_regs(&c, width - es_log, wide, other, true);
   collect_regs(&c, width - es_log, wide, other, false);
   return c;
}

enum { MAX_WIDTH = 4 }; /* 16 bytes */

static bool
arrange_cheapest(TlConvertPlan *p, unsigned es_log, uint32_t budget)
{
   unsigned best = ~0u;
   for (unsigned width = es_log; width <= MAX_WIDTH && 1u << width <= budget; width++)
      for (unsigned k = 0; k < 2; k++) {
         Vectors c = candidate(p, k, width, es_log);
         try_candidate(p, &c, es_log, &best);
      }
   return best != ~0u && split_rounds(p, es_log, budget);
}

/* The cheapest of those with rounds that registers alone tell apart; false: there is none. */
static bool
arrange_static_rounds(TlConvertPlan *p, unsigned es_log, uint32_t budget)
{
   TlConvertScratch found = {0};
   unsigned best = ~0u;
   for (unsigned width = es_log; width <= MAX_WIDTH && 1u << width <= budget; width++)
      for (unsigned k = 0; k < 2; k++) {
         unsigned cost = ~0u;
         Vectors c = candidate(p, k, width, es_log);
         try_candidate(p, &c, es_log, &cost);
         if (cost < best && split_rounds(p, es_log, budget) && has_static_rounds(&p->shared)) {
            best = cost;
            found = p->shared;
         }
      }
   p->shared = found;
   return best != ~0u;
}

bool
tl_convert_build_shared(TlConvertPlan *p, const uint64_t *x, unsigned elem_bytes, uint32_t budget)
{
   unsigned es_log = (unsigned)__builtin_ctz(elem_bytes);
   assert(elem_bytes <= 8 && (elem_bytes & (elem_bytes - 1)) == 0);
   p->kind = TL_CONVERT_SHARED;
   if (!arrange_cheapest(p, es_log, budget))
      return false;
   if ((uint64_t)p->shared.scratch_bytes * p->shared.rounds >= BEYOND_SHARED &&
       !has_static_rounds(&p->shared)) {
      TlConvertScratch whole = p->shared;
      if (!arrange_static_rounds(p, es_log, budget))
         p->shared = whole;
   }
   p->shared.warp_local = is_warp_local(p, x);
   return true;
}

static const TlLinear *
side_layout(const TlConvertPlan *plan, TlConvertSide side)
{
   return side == TL_CONVERT_STORE ? &plan->src : &plan->dst;
}

uint32_t
tl_convert_offset(const TlConvertPlan *plan, TlConvertSide side, uint32_t r, uint32_t lane,
                  uint32_t warp, uint32_t block)
{
   uint64_t hw = tl_ll_pack(side_layout(plan, side), r, lane, warp, block);
   uint32_t offset = 0;
   for (; hw; hw &= hw - 1)
      offset ^= plan->shared.access[side].col[__builtin_ctzll(hw)];
   return offset;
}

/* Accesses of one side by all warps: of warps that hold the same elements one stores. */
static unsigned
num_accesses(const TlConvertPlan *plan, TlConvertSide side)
{
   const TlLinear *l = side_layout(plan, side);
   const TlConvertAccess *a = &plan->shared.access[side];
   unsigned warps = 0;
   TlBasis b = {0};
   for (unsigned i = 0; i < tl_ll_first(l, TL_HW_BLOCK); i++) {
      bool is_new = tl_gf2_add(&b, l->col[i], i);
      warps += i >= tl_ll_first(l, TL_HW_WARP) && (is_new || side == TL_CONVERT_LOAD);
   }
   return plan->repeats << (warps + (unsigned)__builtin_popcount(a->live) - a->vec_bits);
}

unsigned
tl_convert_wavefronts(const TlConvertPlan *plan)
{
   const TlConvertAccess *a = plan->shared.access;
   return num_accesses(plan, TL_CONVERT_STORE) * a[TL_CONVERT_STORE].wavefronts +
          num_accesses(plan, TL_CONVERT_LOAD) * a[TL_CONVERT_LOAD].wavefronts;
}

unsigned
tl_convert_min_wavefronts(const TlConvertPlan *plan)
{
   const TlConvertAccess *a = plan->shared.access;
   return num_accesses(plan, TL_CONVERT_STORE) * a[TL_CONVERT_STORE].minimum +
          num_accesses(plan, TL_CONVERT_LOAD) * a[TL_CONVERT_LOAD].minimum;
}
