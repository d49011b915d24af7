/* mbarriers: phases that are complete when enough arrivals came; who waits for one then knows what
 * those who arrived knew.
 *
 * An mbarrier is named by its address.  A warp waits as a whole, and is let go by the arrival that
 * completes the phase.  What is on its way comes as late as it can, when somebody waits for the
 * phase: an arrival that stands for asynchronous copies, and boxes, whose bytes it expects. */
#include "exec/sim/impl.h"

#include <string.h>

/* Copies that are to land before it counts. */
typedef struct CopyArrival {
   SimThread *thread;
   uint32_t end; /* of its copies */
   uint32_t clock[SIM_MAX_WARPS];
} CopyArrival;

struct SimMbarrier {
   SimMbarrier *next;
   uint32_t at;   /* shared address */
   uint32_t rank; /* of the block it is in */
   const SimThread *maker;
   const TlHostSite *made; /* where, and in which epoch of its warp */
   uint32_t made_epoch;
   uint32_t count, pending; /* arrivals of a phase (0: of another block), those still missing */
   uint32_t phase;          /* how many are complete */
   uint32_t arrived[SIM_MAX_WARPS]; /* clock of those who arrived in the phase at hand */
   uint32_t known[SIM_MAX_WARPS];   /* of complete phases */
   CopyArrival *copies;
   uint32_t num_copies, cap_copies;
   uint32_t expected; /* bytes of boxes that the phase takes as well */
   SimBox *boxes;     /* on their way */
   uint32_t num_boxes, cap_boxes;
};

static uint32_t
word(const unsigned char *frame, uint32_t at)
{
   uint32_t v;
   memcpy(&v, frame + at, sizeof v);
   return v;
}

/* Does the thread know that the mbarrier is there? */
static bool
is_known(const SimThread *t, const SimMbarrier *m)
{
   return t == m->maker || t->block->clock[t->warp->index][m->maker->warp->index] > m->made_epoch;
}

/* The mbarrier at the address; a thread that names none there is wrong, and one that nothing
 * orders after who made it. */
static SimMbarrier *
find(SimThread *t, const TlHostSite *s, uint32_t at, uint32_t rank)
{
   for (SimMbarrier *m = t->block->mbarriers; m; m = m->next)
      if (m->at == at && m->rank == rank && m->count) {
         if (is_known(t, m))
            return m;
         sim_fault(t, s,
                   (TlSimFault){.kind = TL_SIM_FAULT_RACE,
                                .shared_at = at,
                                .shared_bytes = 8,
                                .other = m->made->op->range,
                                .other_op = tl_info(m->made->op)->text,
                                .other_thread = m->maker->index,
                                .other_is_write = true});
      }
   sim_fault(t, s,
             (TlSimFault){.kind = TL_SIM_FAULT_UNWRITTEN, .shared_at = at, .shared_bytes = 8});
}

void
sim_mbarriers_clear(SimBlock *b)
{
   for (SimMbarrier *m = b->mbarriers; m; m = m->next)
      m->count = 0;
}

void
sim_mbar_init(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   if (!sim_pred(sim_site(s), s, frame, 0))
      return;
   uint32_t at = word(frame, s->arg_at[0]);
   SimMbarrier *m = t->block->mbarriers;
   while (m && (m->at != at || m->rank != t->warp->rank))
      m = m->next;
   if (!m) {
      m = sim_alloc(t, sizeof *m);
      m->next = t->block->mbarriers;
      t->block->mbarriers = m;
   }
   uint32_t count = (uint32_t)tl_attr_int(s->op, TL_ATTR_ARRIVALS);
   *m = (SimMbarrier){.next = m->next,
                      .at = at,
                      .rank = t->warp->rank,
                      .maker = t,
                      .made = s,
                      .made_epoch = t->block->epoch[t->warp->index],
                      .count = count,
                      .pending = count,
                      .copies = m->copies,
                      .cap_copies = m->cap_copies,
                      .boxes = m->boxes,
                      .cap_boxes = m->cap_boxes};
}

static void
learn(uint32_t *clock, const uint32_t *other, uint32_t n)
{
   for (uint32_t v = 0; v < n; v++)
      clock[v] = other[v] > clock[v] ? other[v] : clock[v];
}

static bool
is_complete(const SimMbarrier *m, uint32_t parity)
{
   return (m->phase & 1) != (parity & 1);
}

static void
complete(SimBlock *b, SimMbarrier *m)
{
   m->pending = m->count;
   m->phase++;
   learn(m->known, m->arrived, b->num_warps);
   for (uint32_t v = 0; v < b->num_warps; v++) {
      SimWarp *other = &b->warp[v];
      if (other->waits_for != m || !is_complete(m, other->parity))
         continue;
      other->waits_for = NULL;
      learn(b->clock[v], m->known, b->num_warps);
      sim_release(other);
   }
}

static void
count_arrival(SimBlock *b, SimMbarrier *m, const uint32_t *clock)
{
   learn(m->arrived, clock, b->num_warps);
   if (--m->pending == 0 && m->expected == 0)
      complete(b, m);
}

/* ---- what is on its way ---- */
static uint32_t
bytes_of_boxes(const SimMbarrier *m)
{
   uint32_t bytes = 0;
   for (uint32_t i = 0; i < m->num_boxes; i++)
      bytes += sim_box_bytes(&m->boxes[i]);
   return bytes;
}

/* Who waits knows of the boxes; not of what their threads did since they sent for them. */
static void
land_boxes(SimBlock *b, SimMbarrier *m)
{
   for (uint32_t i = 0; i < m->num_boxes; i++) {
      const SimBox *box = &m->boxes[i];
      uint32_t *arrived = &m->arrived[box->t->warp->index];
      sim_box_arrives(box);
      *arrived = *arrived > box->epoch ? *arrived : box->epoch + 1;
   }
   m->num_boxes = m->expected = 0;
   complete(b, m);
}

/* Copies land until the phase at hand is complete; the others may come later.  Boxes come only when
 * they complete the phase: all arrived, and it expects just their bytes. */
static void
land_phase(SimBlock *b, SimMbarrier *m)
{
   uint32_t n = 0, phase = m->phase;
   while (n < m->num_copies && m->phase == phase && m->pending) {
      const CopyArrival *a = &m->copies[n++];
      a->thread->copies.num_arrivals--;
      sim_land_copies(a->thread, a->end);
      count_arrival(b, m, a->clock);
   }
   m->num_copies -= n;
   if (m->num_copies)
      memmove(m->copies, m->copies + n, m->num_copies * sizeof *m->copies);
   if (m->phase == phase && m->pending == 0 && m->expected == bytes_of_boxes(m))
      land_boxes(b, m);
}

static bool
is_waited_for(const SimBlock *b, const SimMbarrier *m)
{
   for (uint32_t v = 0; v < b->num_warps; v++)
      if (b->warp[v].waits_for == m)
         return true;
   return false;
}

/* Who waits is let go as soon as only what is on its way is missing. */
static void
land_if_waited_for(SimBlock *b, SimMbarrier *m)
{
   for (uint32_t phase = m->phase - 1;
        m->phase != phase && m->num_copies >= m->pending && is_waited_for(b, m);) {
      phase = m->phase;
      land_phase(b, m);
   }
}

static void
arrive(SimThread *t, const TlHostSite *s, unsigned char *frame, uint32_t bytes, bool is_both)
{
   SimBlock *b = t->block;
   uint32_t w = t->warp->index;
   if (!sim_pred(sim_site(s), s, frame, 0))
      return;
   b->clock[w][w] = ++b->epoch[w]; /* what the warp did so far comes before */
   for (uint32_t r = 0; r < b->cluster; r++) {
      if (r != t->warp->rank && !is_both)
         continue;
      sim_reach_block(t, s, r);
      SimMbarrier *m = find(t, s, word(frame, s->arg_at[0]), r);
      if (!m->pending) /* all have arrived, and the phase waits for bytes */
         sim_fault(t, s, (TlSimFault){.kind = TL_SIM_FAULT_ARRIVALS});
      m->expected += bytes;
      count_arrival(b, m, b->clock[w]);
      land_if_waited_for(b, m);
   }
}

void
sim_mbar_arrive(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   arrive(sim_thread(host), s, frame, 0, tl_attr_int(s->op, TL_ATTR_BOTH));
}

void
sim_mbar_expect(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   arrive(sim_thread(host), s, frame, (uint32_t)tl_attr_int(s->op, TL_ATTR_BYTES), false);
}

void
sim_cp_async_arrive(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   SimBlock *b = t->block;
   uint32_t w = t->warp->index;
   SimMbarrier *m = find(t, s, word(frame, s->arg_at[0]), t->warp->rank);
   if (m->num_copies == m->cap_copies)
      m->copies = sim_grown(t, m->copies, m->num_copies, &m->cap_copies, sizeof *m->copies);
   CopyArrival *a = &m->copies[m->num_copies++];
   *a = (CopyArrival){.thread = t, .end = sim_copies_arrive(t)};
   b->clock[w][w] = ++b->epoch[w];
   memcpy(a->clock, b->clock[w], sizeof a->clock);
   land_if_waited_for(b, m);
}

void
sim_mbarrier_takes(uint32_t mbarrier, const SimBox *box)
{
   SimThread *t = box->t;
   SimBlock *b = t->block;
   uint32_t w = t->warp->index;
   SimMbarrier *m = find(t, box->site, mbarrier, box->rank);
   if (m->num_boxes == m->cap_boxes)
      m->boxes = sim_grown(t, m->boxes, m->num_boxes, &m->cap_boxes, sizeof *m->boxes);
   SimBox *taken = &m->boxes[m->num_boxes++];
   *taken = *box;
   taken->epoch = b->epoch[w];
   b->clock[w][w] = ++b->epoch[w];
   land_if_waited_for(b, m);
}

static void
wait_together(SimWarp *w, const TlHostSite *s)
{
   SimThread *t = &w->thread[0];
   SimMbarrier *m = find(t, s, word(t->frame, s->arg_at[0]), w->rank);
   w->parity = word(t->frame, s->arg_at[1]);
   if (!is_complete(m, w->parity))
      land_phase(t->block, m);
   if (is_complete(m, w->parity)) {
      learn(t->block->clock[w->index], m->known, t->block->num_warps);
      return;
   }
   w->waits_for = m;
   w->at_barrier = SIM_AT_MBARRIER;
}

void
sim_mbar_wait(TlHostThread *t, const TlHostSite *s, unsigned char *frame)
{
   sim_together(sim_thread(t), s, frame, wait_together);
}
