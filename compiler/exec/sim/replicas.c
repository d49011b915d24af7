/* Replicas of a tile that its owner changes in place (global_races.c).  They may load what they do
 * not use, before or after the owner's store; but what a thread loaded after the store, and stores
 * itself, is another value than the owner's.
 *
 * Each register of a load has a number.  A load after the store marks it, a store computed from it
 * is a race.  A value is followed through elementwise operations and shuffles; behind a shuffle,
 * whose source is not known here, a whole warp must have marked it.  Left out, rather than
 * suspected wrongly: what a `select` may discard, shared memory (its barrier orders the loads),
 * values carried by loops; and loads that only here come before the store. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

enum { MAX_STEPS = 512, MAX_FEEDS = 16 };

/* ---- what stores are computed from ---- */
typedef struct Prepare {
   TlSimKernel *k;
   TlMap loads; /* op → SimSite */
   SimFeed feed[MAX_FEEDS];
   unsigned num, steps;
} Prepare;

static void
add_feed(Prepare *p, const TlOp *load, uint32_t r, bool in_warp)
{
   const SimSite *s = tl_map_get(&p->loads, load);
   if (!s || s->is_volatile || p->num == MAX_FEEDS)
      return;
   SimFeed f = {s->first_value + r, in_warp};
   for (unsigned i = 0; i < p->num; i++)
      if (p->feed[i].value == f.value && p->feed[i].in_warp == f.in_warp)
         return;
   p->feed[p->num++] = f;
}

static void
follow(Prepare *p, const TlValue *v, uint32_t r, bool in_warp)
{
   const TlOp *op = v->def;
   if (!op || p->steps++ >= MAX_STEPS)
      return;
   r = tl_type_num_regs(v->type) == 1 ? 0 : r;
   if (op->opcode == TL_OP_LD_GLOBAL) {
      add_feed(p, op, r, in_warp);
   } else if (op->opcode == TL_OP_PICK) {
      int64_t at = tl_attr_ints(op, TL_ATTR_INDEX).data[r];
      unsigned i = 0;
      for (; at >= tl_type_num_regs(tl_arg(op, i)->type); i++)
         at -= tl_type_num_regs(tl_arg(op, i)->type);
      follow(p, tl_arg(op, i), (uint32_t)at, in_warp);
   } else if (op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_SHFL) {
      follow(p, tl_arg(op, 0), r, in_warp || op->opcode == TL_OP_SHFL);
   } else if (tl_has_trait(op, TL_TRAIT_ELTWISE) && op->opcode != TL_OP_SELECT) {
      for (unsigned i = 0; i < op->num_args; i++)
         follow(p, tl_arg(op, i), r, in_warp);
   }
}

static void
find_feeds(Prepare *p, SimSite *s)
{
   uint32_t n = s->accesses * s->vec;
   s->feeds = tl_new_array(p->k->arena, SimFeeds, n);
   for (uint32_t r = 0; r < n; r++) {
      p->num = p->steps = 0;
      follow(p, tl_arg(s->op, 1), r, false);
      SimFeed *feed = tl_new_array(p->k->arena, SimFeed, p->num + 1);
      memcpy(feed, p->feed, p->num * sizeof *feed);
      s->feeds[r] = (SimFeeds){feed, p->num};
   }
}

void
sim_replicas_prepare(TlSimKernel *k)
{
   Prepare p = {.k = k};
   tl_map_init(&p.loads, k->arena);
   k->num_values = 0;
   for (unsigned i = 0; i < k->code->num_sites; i++) {
      SimSite *s = k->code->sites[i]->model;
      if (s->op->opcode != TL_OP_LD_GLOBAL)
         continue;
      s->first_value = k->num_values;
      k->num_values += s->accesses * s->vec;
      tl_map_put(&p.loads, s->op, s);
   }
   for (unsigned i = 0; i < k->code->num_sites && k->num_values; i++) {
      SimSite *s = k->code->sites[i]->model;
      if (s->op->opcode == TL_OP_ST_GLOBAL)
         find_feeds(&p, s);
   }
}

/* ---- one thread ---- */
void
sim_replica_clear(SimThread *t)
{
   if (t->stale)
      memset(t->stale, 0, t->block->launch->kernel->num_values * sizeof *t->stale);
}

void
sim_replica_loads(SimThread *t, const SimSite *s, uint32_t access)
{
   t->loading = s->first_value + access * s->vec;
   for (uint32_t i = 0; t->stale && i < s->vec; i++)
      t->stale[t->loading + i].is_set = false;
}

void
sim_replica_is_stale(const SimGlobalTouch *x, uint32_t from, uint32_t bytes, uint32_t writer_site,
                     uint32_t writer)
{
   SimThread *t = x->t;
   const SimSite *s = sim_site(x->site);
   uint32_t n = t->block->launch->kernel->num_values;
   if (s->op->opcode != TL_OP_LD_GLOBAL) /* cp_async: to shared memory */
      return;
   assert(bytes > 0 && from + bytes <= x->bytes && t->loading < n);
   if (!t->stale)
      t->stale = memset(sim_alloc(t, n * sizeof *t->stale), 0, n * sizeof *t->stale);
   for (uint32_t e = from / s->elem_bytes; e * s->elem_bytes < from + bytes; e++)
      t->stale[t->loading + e] = (SimStale){*x, writer_site, (uint16_t)writer, true};
}

static bool
is_in_whole_warp(const SimWarp *w, uint32_t value)
{
   for (uint32_t i = 0; i < SIM_WARP; i++)
      if (!w->thread[i].stale || !w->thread[i].stale[value].is_set)
         return false;
   return true;
}

const SimStale *
sim_replica_used(const SimThread *t, const SimSite *s, uint32_t access)
{
   if (!t->stale || !s->feeds)
      return NULL;
   for (uint32_t r = access * s->vec; r < (access + 1) * s->vec; r++)
      for (uint32_t i = 0; i < s->feeds[r].num; i++) {
         const SimFeed *f = &s->feeds[r].feed[i];
         if (t->stale[f->value].is_set && (!f->in_warp || is_in_whole_warp(t->warp, f->value)))
            return &t->stale[f->value];
      }
   return NULL;
}
