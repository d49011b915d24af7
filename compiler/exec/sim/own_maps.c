/* Tensor maps that a warp makes itself: PTX ISA, "tensormap.replace", "fence.proxy.tensormap".
 *
 * A map is that of a site and a warp.  Boxes move by it when it has been written and fenced since;
 * and it is written anew only when none is under way by it: a copy that somebody has waited for is
 * not, a stored box is until its thread has waited for it to be written. */
#include "exec/sim/impl.h"

struct SimOwnMap {
   int64_t words[2 * TL_TMAP_RANK]; /* first: code passes their address */
   SimOwnMap *next;
   const TlHostSite *site;
   uint32_t warp, loading; /* boxes on their way */
   bool is_written, is_fenced, is_storing;
};

static _Noreturn void
fault(SimThread *t, const TlHostSite *s, SimMapFault why)
{
   sim_fault(t, s, (TlSimFault){.kind = TL_SIM_FAULT_MAP, .shared_at = why});
}

static SimOwnMap *
map_at(const SimThread *t, const TlHostSite *s)
{
   SimOwnMap *m = t->block->own_maps;
   while (m && (m->site != s || m->warp != t->warp->index))
      m = m->next;
   return m;
}

void
sim_own_maps_clear(SimBlock *b)
{
   for (SimOwnMap *m = b->own_maps; m; m = m->next) {
      m->is_written = m->is_storing = false;
      m->loading = 0;
   }
}

void
sim_map_place(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   (void)host;
   memset(frame + s->result_at[0], 0, sizeof(int64_t));
}

enum { PLACE, ADDRESS, PRED, BASE };

static void
write_together(SimWarp *w, const TlHostSite *s)
{
   SimThread *t = &w->thread[0];
   SimOwnMap *m = map_at(t, s);
   for (unsigned l = 0; l < SIM_WARP; l++)
      memcpy(w->thread[l].frame + s->result_at[0], &m, sizeof m);
   if (!t->frame[s->arg_at[PRED]])
      return;
   m->is_storing &= !tl_attr_int(s->op, TL_ATTR_WRITTEN);
   if (m->loading || m->is_storing)
      fault(t, s, SIM_MAP_IN_USE);
   m->is_written = true;
   m->is_fenced = false;
   for (unsigned i = BASE; i < s->op->num_args; i++) {
      const TlType *type = tl_arg(s->op, i)->type;
      const unsigned char *from = t->frame + s->arg_at[i];
      bool is_narrow = type->kind == TL_TYPE_SCALAR && tl_dtype_info[type->dtype].bytes == 4;
      int32_t narrow;
      memcpy(&m->words[i - BASE], from, is_narrow ? 4 : 8);
      memcpy(&narrow, from, sizeof narrow);
      m->words[i - BASE] = is_narrow ? narrow : m->words[i - BASE];
   }
}

void
sim_map_write(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   if (!map_at(t, s)) {
      SimOwnMap *m = sim_alloc(t, sizeof *m);
      *m = (SimOwnMap){.next = t->block->own_maps, .site = s, .warp = t->warp->index};
      t->block->own_maps = m;
   }
   sim_together(t, s, frame, write_together);
}

static SimOwnMap *
operand(const TlHostSite *s, const unsigned char *frame, unsigned i)
{
   SimOwnMap *m;
   memcpy(&m, frame + s->arg_at[i], sizeof m);
   return m;
}

void
sim_map_fence(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   (void)host;
   if (frame[s->arg_at[1]])
      operand(s, frame, 0)->is_fenced = true;
}

SimOwnMap *
sim_use_own_map(SimThread *t, const TlHostSite *s, const unsigned char *frame)
{
   SimOwnMap *m = operand(s, frame, 1);
   if (!m->is_written || m->warp != t->warp->index)
      fault(t, s, SIM_MAP_UNWRITTEN);
   if (!m->is_fenced)
      fault(t, s, SIM_MAP_UNFENCED);
   if (s->op->opcode == TL_OP_TMA_LOAD)
      m->loading++;
   else
      m->is_storing = true;
   return m;
}

void
sim_own_map_landed(SimOwnMap *m)
{
   assert(m->loading);
   m->loading--;
}

void
sim_own_maps_written(const SimThread *t)
{
   for (SimOwnMap *m = t->block->own_maps; m; m = m->next)
      m->is_storing &= m->warp != t->warp->index;
}

static void
leave_together(SimWarp *w, const TlHostSite *s)
{
   SimThread *t = &w->thread[0];
   if (tl_attr_int(s->op, TL_ATTR_WRITTEN))
      sim_own_maps_written(t);
   for (const SimOwnMap *m = w->thread[0].block->own_maps; m; m = m->next)
      if (m->warp == w->index && (m->loading || m->is_storing))
         fault(t, s, SIM_MAP_IN_USE);
}

void
sim_map_leave(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   sim_together(sim_thread(host), s, frame, leave_together);
}
