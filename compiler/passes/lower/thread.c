/* What depends on the thread: its words of linear maps, and which thread owns an element that
 * several hold.  "Who am I" comes from lane_id and warp_id alone, so code inside a role is right as
 * it is.
 * Invariant: everything here is placed in the entry block, so it dominates all uses. */
#include "passes/lower/impl.h"
#include "layout/gf2.h"

#include <assert.h>
#include <string.h>

struct TlThreadMap {
   TlThreadMap *next;
   uint32_t cols[TL_LANE_BITS + 5];
   TlValue *word;
   TlValue *uniform; /* the word of lane 0 in all lanes, or NULL */
};

TlValue *
tl_lane_id(TlLowerCx *cx)
{
   if (!cx->lane)
      cx->lane = tl_b0(&cx->entry, TL_OP_LANE_ID, tl_type_scalar(cx->types, TL_I32));
   return cx->lane;
}

TlValue *
tl_warp_id(TlLowerCx *cx)
{
   if (!cx->warp)
      cx->warp = tl_build_n(&cx->entry, TL_OP_WARP_ID, NULL, 0, tl_type_scalar(cx->types, TL_I32),
                            TL_ATTRS_({TL_ATTR_FIRST_WARP, {.i = cx->first_warp}}));
   return cx->warp;
}

/* A term of the word: (id & mask) shifted; the id has num bits. */
static TlValue *
diagonal(TlBuilder *b, TlValue *id, unsigned num, uint32_t mask, int shift)
{
   assert(mask && shift > -32 && shift < 32);
   bool is_all = mask == (1u << num) - 1;
   TlValue *v = is_all ? id : tl_b2(b, TL_OP_AND, id, tl_const_int(b, TL_I32, mask));
   if (shift == 0)
      return v;
   TlValue *by = tl_const_int(b, TL_I32, shift > 0 ? shift : -shift);
   return tl_b2(b, shift > 0 ? TL_OP_SHL : TL_OP_SHR, v, by);
}

/* Adds the terms of one id (lane or warp) to *word; *have = output bits already used. */
static void
add_terms(TlLowerCx *cx, TlValue *id, const uint32_t *cols, unsigned num, TlValue **word,
          uint32_t *have)
{
   TlBuilder *b = &cx->entry;
   for (int shift = -31; shift <= 31; shift++) {
      uint32_t mask = 0, out = 0;
      for (unsigned i = 0; i < num; i++) {
         int to = (int)i + shift;
         if (to >= 0 && to < 32 && (cols[i] >> to & 1)) {
            mask |= 1u << i;
            out |= 1u << to;
         }
      }
      if (!mask)
         continue;
      TlValue *term = diagonal(b, id, num, mask, shift);
      if (*word)
         *word = tl_b2(b, *have & out ? TL_OP_XOR : TL_OP_OR, *word, term);
      else
         *word = term;
      *have |= out;
   }
}

static TlThreadMap *
thread_map(TlLowerCx *cx, const uint32_t *cols, uint32_t *bits)
{
   assert(cx->log2_warps <= 5);
   unsigned n = TL_LANE_BITS + cx->log2_warps;
   *bits = 0;
   for (unsigned i = 0; i < n; i++)
      *bits |= cols[i];
   for (TlThreadMap *m = cx->thread_maps; m; m = m->next)
      if (memcmp(m->cols, cols, n * sizeof cols[0]) == 0)
         return m;
   TlThreadMap *m = tl_new(cx->scratch, TlThreadMap);
   memcpy(m->cols, cols, n * sizeof cols[0]);
   uint32_t have = 0;
   if (n && *bits) {
      uint32_t lanes = 0, warps = 0;
      for (unsigned i = 0; i < n; i++)
         *(i < TL_LANE_BITS ? &lanes : &warps) |= cols[i];
      if (lanes)
         add_terms(cx, tl_lane_id(cx), cols, TL_LANE_BITS, &m->word, &have);
      if (warps)
         add_terms(cx, tl_warp_id(cx), cols + TL_LANE_BITS, cx->log2_warps, &m->word, &have);
   }
   if (!m->word)
      m->word = tl_const_int(&cx->entry, TL_I32, 0);
   m->next = cx->thread_maps;
   cx->thread_maps = m;
   return m;
}

TlValue *
tl_thread_word(TlLowerCx *cx, const uint32_t *cols, uint32_t *bits)
{
   return thread_map(cx, cols, bits)->word;
}

TlValue *
tl_warp_word(TlLowerCx *cx, const uint32_t *cols, uint32_t *bits)
{
   TlThreadMap *m = thread_map(cx, cols, bits);
   if (*bits && !m->uniform) {
      TlValue *args[] = {m->word, tl_const_int(&cx->entry, TL_I32, 0)};
      m->uniform = tl_build_n(&cx->entry, TL_OP_SHFL, args, 2, m->word->type,
                              TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_IDX}}));
   }
   return *bits ? m->uniform : m->word;
}

TlOwner
tl_owner_of(const TlLinear *l)
{
   assert(l->num[TL_HW_BLOCK] == 0);
   TlOwner o = {.is_plain = true};
   TlBasis basis = {0};
   for (unsigned h = 0, at = 0; h < TL_HW_COUNT; h++)
      for (unsigned i = 0; i < l->num[h]; i++, at++)
         if (!tl_gf2_add(&basis, l->col[at], at)) {
            uint32_t bit = 1u << i;
            o.is_plain = o.is_plain && l->col[at] == 0;
            if (h == TL_HW_REG)
               o.free_regs |= bit;
            else if (h == TL_HW_LANE)
               o.free_lanes |= bit;
            else
               o.free_warps |= bit;
         }
   return o;
}

unsigned
tl_owner_regs(const TlOwner *o, unsigned num_regs, uint32_t *index)
{
   assert(num_regs && (num_regs & (num_regs - 1)) == 0);
   unsigned n = 0;
   for (uint32_t r = 0; r < num_regs; r++)
      if (!(r & o->free_regs))
         index[n++] = r;
   return n;
}

TlValue *
tl_thread_is_zero(TlLowerCx *cx, uint32_t lane_mask, uint32_t warp_mask)
{
   assert(cx->entry.block && "the entry block takes it");
   /* Gather the masked bits in one word: lanes in the low bits, warps above. */
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
   for (unsigned i = 0; i < TL_LANE_BITS; i++)
      cols[i] = lane_mask & 1u << i;
   for (unsigned i = 0; i < cx->log2_warps; i++)
      cols[TL_LANE_BITS + i] = (warp_mask & 1u << i) << TL_LANE_BITS;
   TlValue *word = tl_thread_word(cx, cols, &bits);
   if (!bits)
      return NULL;
   return tl_b2(&cx->entry, TL_OP_EQ, word, tl_const_int(&cx->entry, TL_I32, 0));
}

TlValue *
tl_owner_pred(TlLowerCx *cx, const TlOwner *o)
{
   return tl_thread_is_zero(cx, o->free_lanes, o->free_warps);
}

TlValue *
tl_and_pred(TlLowerCx *cx, TlValue *pred, TlValue *other)
{
   if (!pred || !other)
      return pred ? pred : other;
   return tl_op2(cx, TL_OP_AND, pred, other);
}
