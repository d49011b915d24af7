/* What the accesses of a warp cost.  Lanes come one by one, so an access is kept until all 32
 * lanes have made it: the n-th time that a lane reaches a site belongs to the n-th time of the
 * others.  Lanes that branch around a site leave an access incomplete; it is counted when the
 * block ends. */
#include "exec/sim/impl.h"
#include "layout/cost.h"

#include <assert.h>
#include <string.h>

typedef struct Pending {
   uint32_t came, lanes; /* lanes that came, and that took part */
   uint64_t address[SIM_WARP];
} Pending;

/* One access (the i-th of a site) of one warp. */
typedef struct Stream {
   SimCount kind;
   uint32_t bytes;
   uint32_t seen[SIM_WARP]; /* times a lane came */
   uint32_t first;          /* number of the oldest one kept */
   uint32_t begin, len, cap;
   Pending *pending; /* those kept begin at `begin` */
} Stream;

struct SimCounter {
   Stream **stream; /* by warp * streams + first_stream[site] + access */
   uint32_t *first_stream;
   uint32_t streams;
};

void
sim_count_init(SimBlock *b)
{
   if (!b->launch->count)
      return;
   const TlHostCode *code = b->launch->kernel->code;
   SimCounter *c = tl_new(b->arena, SimCounter);
   c->first_stream = tl_new_array(b->arena, uint32_t, code->num_sites + 1);
   for (unsigned i = 0; i < code->num_sites; i++) {
      c->first_stream[i] = c->streams;
      c->streams += sim_site(code->sites[i])->accesses;
   }
   c->stream = tl_new_array(b->arena, Stream *, (size_t)c->streams * b->num_warps + 1);
   b->counter = c;
}

/* Lanes that are not there take the address of one that is, in the group that is served
 * together. */
static void
count_shared(TlSimStats *s, const Pending *p, uint32_t bytes)
{
   uint32_t at[SIM_WARP] = {0};
   unsigned group = bytes <= 4 ? 32 : 128 / bytes, empty = 0;
   for (unsigned first = 0; first < SIM_WARP; first += group) {
      uint32_t mask = (group == 32 ? UINT32_MAX : (1u << group) - 1) << first;
      uint32_t here = p->lanes & mask;
      empty += !here;
      for (unsigned i = first; i < first + group; i++)
         if (here)
            at[i] = (uint32_t)p->address[p->lanes >> i & 1 ? i : (unsigned)__builtin_ctz(here)];
   }
   assert(p->lanes && (p->lanes & ~p->came) == 0);
   TlSharedCost cost = tl_cost_shared(at, bytes); /* an empty group costs one, of address 0 */
   s->shared_wavefronts += cost.wavefronts - empty;
   s->shared_min_wavefronts += cost.minimum - empty;
   s->shared_bytes += (uint64_t)bytes * (unsigned)__builtin_popcount(p->lanes);
}

static void
finish(SimBlock *b, const Stream *s, const Pending *p)
{
   if (!p->lanes)
      return;
   TlSimStats *out = &b->stats;
   if (s->kind >= SIM_COUNT_SHARED_LOAD) {
      out->shared_loads += s->kind == SIM_COUNT_SHARED_LOAD;
      out->shared_stores += s->kind == SIM_COUNT_SHARED_STORE;
      out->shared_atomics += s->kind == SIM_COUNT_SHARED_ATOMIC;
      count_shared(out, p, s->bytes);
      return;
   }
   uint64_t at[SIM_WARP];
   for (unsigned i = 0; i < SIM_WARP; i++)
      at[i] = p->address[p->lanes >> i & 1 ? i : (unsigned)__builtin_ctz(p->lanes)];
   uint64_t sectors = tl_cost_global(at, s->bytes).sectors;
   uint64_t bytes = (uint64_t)s->bytes * (unsigned)__builtin_popcount(p->lanes);
   if (s->kind == SIM_COUNT_LOAD) {
      out->global_loads++;
      out->load_sectors += sectors;
      out->load_bytes += bytes;
   } else {
      out->global_stores++;
      out->store_sectors += sectors;
      out->store_bytes += bytes;
   }
}

/* Room for len + 1 of them.  Those before `begin` are given up when they are half of the room, so
 * that each access moves once or twice however far a lane is ahead. */
static void
make_room(SimThread *t, Stream *s)
{
   Pending *to = s->pending;
   if (s->begin + s->len < s->cap)
      return;
   if (s->begin < s->cap / 2 || !s->cap) {
      s->cap = s->cap ? s->cap * 2 : 8;
      to = sim_alloc(t, s->cap * sizeof *to);
   }
   if (s->len)
      memmove(to, s->pending + s->begin, s->len * sizeof *to);
   s->pending = to;
   s->begin = 0;
}

static Pending *
pending_at(SimThread *t, Stream *s, uint32_t i)
{
   while (s->len <= i) {
      make_room(t, s);
      s->pending[s->begin + s->len++] = (Pending){0};
   }
   assert(s->begin + s->len <= s->cap);
   return &s->pending[s->begin + i];
}

void
sim_count_access(SimThread *t, const TlHostSite *h, SimCount kind, uint32_t access, bool is_on,
                 uint64_t address)
{
   SimBlock *b = t->block;
   SimCounter *c = b->counter;
   Stream **slot =
      &c->stream[(size_t)t->warp->index * c->streams + c->first_stream[h->index] + access];
   if (!*slot) {
      *slot = sim_alloc(t, sizeof **slot);
      **slot = (Stream){.kind = kind, .bytes = sim_site(h)->bytes};
   }
   Stream *s = *slot;
   assert(s->kind == kind && access < sim_site(h)->accesses);
   uint32_t number = s->seen[t->lane]++;
   if (number < s->first)
      number = s->first; /* it had branched around some: joins the oldest */
   Pending *p = pending_at(t, s, number - s->first);
   p->came |= 1u << t->lane;
   p->lanes |= (uint32_t)is_on << t->lane;
   p->address[t->lane] = address;
   while (s->len && s->pending[s->begin].came == UINT32_MAX) {
      finish(b, s, &s->pending[s->begin++]);
      s->len--;
      s->first++;
   }
}

void
sim_count_flush(SimBlock *b)
{
   SimCounter *c = b->counter;
   for (size_t i = 0; c && i < (size_t)c->streams * b->num_warps; i++) {
      Stream *s = c->stream[i];
      if (!s)
         continue;
      for (uint32_t k = 0; k < s->len; k++)
         finish(b, s, &s->pending[s->begin + k]);
      s->begin = s->len = s->first = 0;
      memset(s->seen, 0, sizeof s->seen);
   }
}

void
sim_count_rows(SimBlock *b, const uint32_t *row, unsigned matrices, bool is_store)
{
   enum { MATRIX_BYTES = 128 };
   TlSharedCost cost = tl_cost_matrices(row, matrices);
   b->stats.shared_loads += !is_store;
   b->stats.shared_stores += is_store;
   b->stats.shared_wavefronts += cost.wavefronts;
   b->stats.shared_min_wavefronts += cost.minimum;
   b->stats.shared_bytes += (uint64_t)matrices * MATRIX_BYTES;
}
