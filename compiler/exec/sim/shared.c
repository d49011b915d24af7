/* Shared memory: bytes, who touched them, and the operations on them.
 *
 * The race test is exact for what ran: a cell (of `granule` bytes, which divides every access of
 * the kernel) remembers its last write and, for each warp, its last read since.  Older ones need
 * not be kept: what is ordered after a warp's later access is ordered after its earlier one.  An
 * asynchronous copy makes its cells SIM_IN_FLIGHT, which nothing is ordered after, until its
 * thread waits for its group; only then do the bytes change.  Atomics do not race with each
 * other: they are noted as reads that conflict with everything else.  Two threads may write or
 * copy to the same bytes the same value: copies of a replicated tile do so. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

enum { POISON = 0xFB };

static const unsigned char zeros[16] = {0}; /* what a copy that is off brings */

static void
init_one(SimBlock *b, SimShared *s)
{
   const TlSimKernel *k = b->launch->kernel;
   s->bytes = k->func->shared_bytes;
   s->granule = k->granule;
   assert(s->granule > 0 && (s->granule & (s->granule - 1)) == 0);
   s->cells = (s->bytes + s->granule - 1) / s->granule;
   s->byte = tl_arena_alloc(b->arena, s->bytes + 16);
   s->write = tl_new_array(b->arena, SimWrite, s->cells + 1);
   s->read = tl_new_array(b->arena, SimRead, (size_t)s->cells * b->num_warps + 1);
}

bool
sim_shared_init(SimBlock *b)
{
   for (uint32_t r = 0; r < b->cluster; r++)
      init_one(b, &b->shared[r]);
   return true;
}

void
sim_shared_clear(SimBlock *b)
{
   for (uint32_t r = 0; r < b->cluster; r++) {
      SimShared *s = &b->shared[r];
      memset(s->byte, POISON, s->bytes);
      memset(s->write, 0, s->cells * sizeof *s->write);
      memset(s->read, 0, (size_t)s->cells * b->num_warps * sizeof *s->read);
   }
}

/* ---- races ---- */
typedef struct Touch {
   SimThread *t;
   SimShared *to; /* NULL: of its own block */
   const TlHostSite *site;
   uint32_t at, bytes;
   bool is_write, is_atomic;
   bool all_lanes;            /* a matrix operation: every lane of the warp takes part */
   bool is_copy;              /* asynchronous: the data come later */
   bool is_async;             /* wgmma or a box: past the way that stores take */
   const unsigned char *data; /* of a write */
} Touch;

static const TlOp *
op_of(const SimBlock *b, uint32_t site)
{
   return b->launch->kernel->code->sites[site]->op;
}

static _Noreturn void
race(const Touch *x, uint32_t site, uint32_t thread, bool is_write, TlSimFaultKind kind)
{
   const TlOp *other = op_of(x->t->block, site);
   sim_fault(x->t, x->site,
             (TlSimFault){.kind = kind,
                          .is_write = x->is_write,
                          .other = other->range,
                          .other_op = tl_info(other)->text,
                          .other_thread = thread,
                          .other_is_write = is_write,
                          .shared_at = x->at,
                          .shared_bytes = x->bytes});
}

/* Are the copy's bytes from `first` on these? */
static bool
brings(const SimCopy *c, uint32_t first, const unsigned char *data, uint32_t bytes)
{
   uint32_t there = first >= c->len ? 0 : c->len - first < bytes ? c->len - first : bytes;
   return (!there || !memcmp(c->from + first, data, there)) &&
          !memcmp(zeros, data + there, bytes - there);
}

/* Another thread's copy, in flight to the cell, brings the same bytes: a replicated tile. */
static bool
brings_same(const Touch *x, const SimWrite *w, uint32_t cell)
{
   const SimBlock *b = x->t->block;
   assert(w->epoch == SIM_IN_FLIGHT && w->thread < b->num_threads);
   const SimThread *other = &b->thread[w->thread];
   const SimCopies *c = &other->copies;
   uint32_t g = x->t->shared->granule, at = cell * g;
   for (uint32_t i = c->len; x->is_copy && other != x->t && i-- > c->first;) {
      const SimCopy *y = &c->copy[i];
      if (at >= y->to && at - y->to < sim_site(y->site)->bytes)
         return brings(y, at - y->to, x->data + (at - x->at), g);
   }
   return false;
}

/* The last write of the cell must come before; true when it writes what is there anyway. */
static inline bool
after_write(const Touch *x, const SimShared *m, const SimWrite *w, uint32_t cell)
{
   const SimBlock *b = x->t->block;
   uint32_t mine = x->t->warp->index, g = m->granule;
   if (w->epoch == SIM_IN_FLIGHT) {
      if (brings_same(x, w, cell))
         return true;
      race(x, w->site, w->thread, true, TL_SIM_FAULT_IN_FLIGHT);
   }
   if (b->clock[mine][w->thread / SIM_WARP] > w->epoch || !w->epoch ||
       (w->thread == x->t->index && !x->all_lanes))
      return false;
   if (x->data && !memcmp(m->byte + (size_t)cell * g, x->data + (cell * g - x->at), g))
      return true;
   race(x, w->site, w->thread, true, TL_SIM_FAULT_RACE);
}

/* All reads since must come before; `atomics_only`: those that are atomics. */
static void
after_reads(const Touch *x, const SimRead *reads, bool atomics_only, bool not_atomics)
{
   const SimBlock *b = x->t->block;
   uint32_t mine = x->t->warp->index;
   for (uint32_t v = 0; v < b->num_warps; v++) {
      const SimRead *r = &reads[v];
      if (!r->epoch || b->clock[mine][v] > r->epoch || (atomics_only && !r->atomic) ||
          (not_atomics && r->atomic))
         continue;
      bool is_own = v == mine && !r->many && r->lane == x->t->lane && !x->all_lanes;
      if (!is_own)
         race(x, r->site, v * SIM_WARP + r->lane, r->atomic, TL_SIM_FAULT_RACE);
   }
}

static void
note_read(const Touch *x, SimRead *r)
{
   const SimBlock *b = x->t->block;
   uint32_t epoch = b->epoch[x->t->warp->index];
   bool many = x->all_lanes || (r->epoch == epoch && (r->many || r->lane != x->t->lane));
   *r = (SimRead){.epoch = epoch,
                  .site = x->site->index & 0x1FFFFFF,
                  .many = many,
                  .lane = x->t->lane & 31,
                  .atomic = x->is_atomic};
}

static void
check_place(SimThread *t, const TlHostSite *s, uint32_t at, uint32_t bytes)
{
   const SimSite *d = sim_site(s);
   TlSimFault f = {.shared_at = at, .shared_bytes = bytes, .extent = {d->begin, d->end}};
   if (at < d->begin || bytes > d->end || at > d->end - bytes)
      f.kind = TL_SIM_FAULT_EXTENT;
   else if (at % bytes)
      f.kind = TL_SIM_FAULT_ALIGNMENT;
   else
      return;
   sim_fault(t, s, f);
}

static bool
is_copy(const TlOp *op)
{
   return op->opcode == TL_OP_CP_ASYNC || op->opcode == TL_OP_TMA_LOAD;
}

/* wgmma sees what a thread wrote, and a box comes after it, when the thread fenced after that and
 * the warp knows of it; what a copy brought needs no fence. */
static void
after_fence(const Touch *x, const SimWrite *w)
{
   SimBlock *b = x->t->block;
   const SimThread *writer = &b->thread[w->thread];
   uint32_t fence = w->fences + 1; /* the first one after the write */
   if (fence + SIM_FENCES <= writer->num_fences)
      fence = writer->num_fences - SIM_FENCES + 1;
   bool is_own = writer->warp == x->t->warp;
   if (!w->epoch || is_copy(op_of(b, w->site)) ||
       (writer->num_fences >= fence && (is_own || b->clock[x->t->warp->index][writer->warp->index] >
                                                     writer->fence_epoch[fence % SIM_FENCES])))
      return;
   const TlOp *other = op_of(b, w->site);
   sim_fault(x->t, x->site,
             (TlSimFault){.kind = TL_SIM_FAULT_PROXY,
                          .other = other->range,
                          .other_op = tl_info(other)->text,
                          .other_thread = w->thread,
                          .shared_at = x->at,
                          .shared_bytes = x->bytes});
}

static uint8_t *
touch_cells(const Touch *x)
{
   SimBlock *b = x->t->block;
   SimShared *m = x->to ? x->to : x->t->shared;
   assert(x->at % m->granule == 0 && x->bytes % m->granule == 0 && x->at + x->bytes <= m->bytes);
   assert(!x->is_write || x->data);
   uint32_t first = x->at / m->granule, n = x->bytes / m->granule;
   for (uint32_t c = first; c < first + n; c++) {
      SimWrite *w = &m->write[c];
      SimRead *reads = &m->read[(size_t)c * b->num_warps];
      bool is_repeated = after_write(x, m, w, c);
      if (x->is_async)
         after_fence(x, w);
      if (!x->is_write && !w->epoch && !b->has_unwritten) {
         b->has_unwritten = true;
         b->unwritten = sim_place(x->t, x->site,
                                  (TlSimFault){.kind = TL_SIM_FAULT_UNWRITTEN,
                                               .shared_at = x->at,
                                               .shared_bytes = x->bytes});
      }
      if (x->is_atomic) {
         after_reads(x, reads, false, true);
         note_read(x, &reads[x->t->warp->index]);
      } else if (!x->is_write) {
         if (b->launch->kernel->has_shared_atomics)
            after_reads(x, reads, true, false);
         note_read(x, &reads[x->t->warp->index]);
      } else {
         after_reads(x, reads, false, false);
         if (is_repeated)
            continue;
         memset(reads, 0, b->num_warps * sizeof *reads);
         *w = (SimWrite){.epoch = b->epoch[x->t->warp->index],
                         .site = x->site->index,
                         .fences = x->t->num_fences,
                         .thread = (uint16_t)x->t->index};
      }
   }
   return m->byte + x->at;
}

static uint8_t *
touch(const Touch *x)
{
   check_place(x->t, x->site, x->at, x->bytes);
   return touch_cells(x);
}

static uint32_t
shared_address(const SimSite *s, const TlHostSite *h, const unsigned char *frame, uint32_t access)
{
   uint32_t base;
   memcpy(&base, frame + h->arg_at[0] + (s->num_addresses == 1 ? 0 : 4 * access), 4);
   return base + (s->offsets ? (uint32_t)s->offsets[access] : 0);
}

/* ---- loads, stores, atomics ---- */
void
sim_ld_shared(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      uint32_t at = shared_address(s, h, frame, a);
      Touch x = {.t = t, .site = h, .at = at, .bytes = s->bytes};
      memcpy(frame + h->result_at[0] + a * s->bytes, touch(&x), s->bytes);
      sim_count(t, h, SIM_COUNT_SHARED_LOAD, a, true, at);
   }
}

void
sim_st_shared(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      bool is_on = sim_pred(s, h, frame, a);
      uint32_t at = shared_address(s, h, frame, a);
      sim_count(t, h, SIM_COUNT_SHARED_STORE, a, is_on, at);
      const unsigned char *data = frame + h->arg_at[1] + a * s->bytes;
      Touch x = {.t = t, .site = h, .at = at, .bytes = s->bytes, .is_write = true, .data = data};
      if (is_on)
         memcpy(touch(&x), data, s->bytes);
   }
}

void
sim_atom_shared(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      bool is_on = sim_pred(s, h, frame, a);
      uint32_t at = shared_address(s, h, frame, a);
      sim_count(t, h, SIM_COUNT_SHARED_ATOMIC, a, is_on, at);
      if (!is_on)
         continue;
      Touch x = {.t = t, .site = h, .at = at, .bytes = s->bytes, .is_atomic = true};
      uint8_t *p = touch(&x);
      TlBits v = tl_load_elem(s->dtype, frame + h->arg_at[1] + a * s->bytes);
      tl_store_elem(s->dtype, p, sim_rmw(s->word, s->dtype, tl_load_elem(s->dtype, p), v));
   }
}

/* ---- matrices: PTX ISA "ldmatrix", "stmatrix" ----
 * Lane 8j + i gives the address of row i of matrix j.  Lane l holds, of every matrix, the bytes
 * 4 (l % 4) to 4 (l % 4) + 3 of row l / 4, whatever they mean; with .trans the elements of rows and
 * columns change places. */
static void
matrix_addresses(SimWarp *w, const TlHostSite *h, uint32_t access, bool is_store, uint32_t at[32])
{
   const SimSite *s = sim_site(h);
   assert(s->num >= 1 && 8 * s->num <= SIM_WARP);
   for (unsigned i = 0; i < 8 * s->num; i++)
      at[i] = shared_address(s, h, w->thread[i].frame, access);
   if (w->thread[0].block->counter)
      sim_count_rows(w->thread[0].block, at, s->num, is_store);
}

/* Between registers of all lanes (data: their place in the frame) and the rows. */
static void
move_matrices(SimWarp *w, const SimSite *s, uint32_t data, unsigned char row[32][16], bool to_rows)
{
   for (unsigned l = 0; l < SIM_WARP; l++)
      for (unsigned j = 0; j < s->num; j++)
         for (unsigned e = 0; e < 2; e++) {
            unsigned r = l / 4, c = l % 4 * 2 + e;
            unsigned char *m = s->trans ? row[8 * j + c] + 2 * r : row[8 * j + r] + 2 * c;
            unsigned char *reg = w->thread[l].frame + data + 2 * (2 * j + e);
            memcpy(to_rows ? m : reg, to_rows ? reg : m, 2);
         }
}

static void
load_matrices(SimWarp *w, const TlHostSite *h)
{
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      unsigned char row[32][16];
      uint32_t at[32];
      matrix_addresses(w, h, a, false, at);
      for (unsigned i = 0; i < 8 * s->num; i++)
         memcpy(row[i],
                touch(&(Touch){
                   .t = &w->thread[i], .site = h, .at = at[i], .bytes = 16, .all_lanes = true}),
                16);
      move_matrices(w, s, h->result_at[0] + 4 * s->num * a, row, false);
   }
}

static void
store_matrices(SimWarp *w, const TlHostSite *h)
{
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      unsigned char row[32][16];
      uint32_t at[32];
      matrix_addresses(w, h, a, true, at);
      move_matrices(w, s, h->arg_at[1] + 4 * s->num * a, row, true);
      for (unsigned i = 0; i < 8 * s->num; i++)
         memcpy(touch(&(Touch){.t = &w->thread[i],
                               .site = h,
                               .at = at[i],
                               .bytes = 16,
                               .is_write = true,
                               .data = row[i]}),
                row[i], 16);
   }
}

void
sim_ldmatrix(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   sim_together(sim_thread(t), h, frame, load_matrices);
}

void
sim_stmatrix(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   sim_together(sim_thread(t), h, frame, store_matrices);
}

/* ---- asynchronous copies ---- */
void *
sim_grown(SimThread *t, void *old, uint32_t len, uint32_t *cap, size_t elem)
{
   uint32_t want = *cap ? 2 * *cap : 16;
   void *p = sim_alloc(t, want * elem);
   if (len)
      memcpy(p, old, len * elem);
   *cap = want;
   return p;
}

void
sim_cp_async(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   SimCopies *c = &t->copies;
   SimShared *m = t->shared;
   if (s->op->num_args > 3 && !(frame[h->arg_at[3]] & 1))
      return;
   for (uint32_t a = 0; a < s->accesses; a++) {
      uint32_t at = shared_address(s, h, frame, a);
      SimCopy copy = {.site = h, .to = at};
      uint64_t from;
      memcpy(&from, frame + h->arg_at[1] + 8 * a, 8);
      unsigned char data[sizeof zeros] = {0};
      copy.len = sim_part(s, h, frame, a);
      sim_count(t, h, SIM_COUNT_LOAD, a, copy.len > 0, from);
      if (copy.len) {
         copy.from = sim_global(t, h, from, copy.len, SIM_READS, NULL);
         memcpy(data, copy.from, copy.len);
      }
      touch(&(Touch){.t = t,
                     .site = h,
                     .at = at,
                     .bytes = s->bytes,
                     .is_write = true,
                     .is_copy = true,
                     .data = data});
      for (uint32_t i = at / m->granule; i < (at + s->bytes) / m->granule; i++)
         m->write[i] =
            (SimWrite){.epoch = SIM_IN_FLIGHT, .site = h->index, .thread = (uint16_t)t->index};
      assert(c->first <= c->len && c->len <= c->cap);
      if (c->len == c->cap)
         c->copy = sim_grown(t, c->copy, c->len, &c->cap, sizeof *c->copy);
      c->copy[c->len++] = copy;
      t->block->stats.async_bytes += s->bytes;
   }
   if (t->lane == 0)
      t->block->stats.async_copies += s->accesses;
}

void
sim_cp_async_commit(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   (void)h;
   (void)frame;
   SimThread *t = sim_thread(host);
   SimCopies *c = &t->copies;
   if (c->num_groups == c->cap_groups)
      c->group_end =
         sim_grown(t, c->group_end, c->num_groups, &c->cap_groups, sizeof *c->group_end);
   assert(c->num_groups == c->first_group || c->group_end[c->num_groups - 1] <= c->len);
   c->group_end[c->num_groups++] = c->len;
}

/* The bytes arrive: from here on they count as written by the thread, now; where a replica has
 * begun a copy of the same bytes since, by that one. */
static void
land(SimThread *t, const SimCopy *c)
{
   SimBlock *b = t->block;
   SimShared *m = t->shared;
   uint32_t bytes = sim_site(c->site)->bytes;
   assert(c->to + bytes <= m->bytes && bytes <= sizeof zeros);
   if (c->len)
      memcpy(m->byte + c->to, c->from, c->len);
   memset(m->byte + c->to + c->len, 0, bytes - c->len);
   for (uint32_t i = c->to / m->granule; i < (c->to + bytes) / m->granule; i++)
      if (m->write[i].thread == t->index) {
         m->write[i].epoch = c->epoch ? c->epoch : b->epoch[t->warp->index];
         m->write[i].fences = t->num_fences;
      }
}

/* Numbers begin anew when nothing is left that counts by them. */
static void
forget_copies(SimCopies *c)
{
   if (c->first == c->len && !c->num_groups && !c->num_arrivals)
      c->first = c->len = c->arriving = 0;
}

void
sim_cp_async_wait(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   (void)frame;
   SimThread *t = sim_thread(host);
   SimCopies *c = &t->copies;
   uint32_t keep = (uint32_t)sim_site(h)->word;
   while (c->num_groups - c->first_group > keep)
      sim_land_copies(t, c->group_end[c->first_group++]);
   if (c->first_group == c->num_groups)
      c->first_group = c->num_groups = 0;
   forget_copies(c);
}

uint32_t
sim_copies_arrive(SimThread *t)
{
   SimCopies *c = &t->copies;
   for (; c->arriving < c->len; c->arriving++)
      c->copy[c->arriving].epoch = t->block->epoch[t->warp->index];
   c->num_arrivals++;
   return c->len;
}

void
sim_land_copies(SimThread *t, uint32_t end)
{
   SimCopies *c = &t->copies;
   assert(end <= c->len);
   while (c->first < end)
      land(t, &c->copy[c->first++]);
   forget_copies(c);
}

/* ---- boxes ---- */
enum { BOX_BYTES = 16 };

void
sim_begin_box(SimThread *t, SimShared *to, const TlHostSite *s, uint32_t at, const uint8_t *data)
{
   touch(&(Touch){.t = t,
                  .to = to,
                  .site = s,
                  .at = at,
                  .bytes = BOX_BYTES,
                  .is_write = true,
                  .is_async = true,
                  .data = data});
   for (uint32_t i = at / to->granule; i < (at + BOX_BYTES) / to->granule; i++)
      to->write[i] =
         (SimWrite){.epoch = SIM_IN_FLIGHT, .site = s->index, .thread = (uint16_t)t->index};
}

void
sim_land_box(SimShared *to, uint32_t at, const uint8_t *data, uint32_t epoch)
{
   memcpy(to->byte + at, data, BOX_BYTES);
   for (uint32_t i = at / to->granule; i < (at + BOX_BYTES) / to->granule; i++)
      to->write[i].epoch = epoch;
}

/* Of all lanes, so that a write of the same thread meets it too. */
const uint8_t *
sim_begin_stored(SimThread *t, const TlHostSite *s, uint32_t at)
{
   SimShared *m = t->shared;
   SimStored *r = &t->stored;
   const uint8_t *p =
      touch(&(Touch){.t = t, .site = s, .at = at, .bytes = BOX_BYTES, .is_async = true});
   r->site = s;
   for (uint32_t cell = at / m->granule; cell < (at + BOX_BYTES) / m->granule; cell++) {
      SimRead *read = &m->read[(size_t)cell * t->block->num_warps + t->warp->index];
      read->epoch = SIM_IN_FLIGHT;
      read->many = true;
      if (r->len == r->cap)
         r->cell = sim_grown(t, r->cell, r->len, &r->cap, sizeof *r->cell);
      r->cell[r->len++] = cell;
   }
   return p;
}

void
sim_end_stored(SimThread *t)
{
   const SimBlock *b = t->block;
   for (uint32_t i = 0; i < t->stored.len; i++)
      t->shared->read[(size_t)t->stored.cell[i] * b->num_warps + t->warp->index].epoch =
         b->epoch[t->warp->index];
   t->stored.len = 0;
}

/* ---- what wgmma reads ---- */
void
sim_fence_async(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   (void)h;
   (void)frame;
   SimThread *t = sim_thread(host);
   t->num_fences++;
   t->fence_epoch[t->num_fences % SIM_FENCES] = t->block->epoch[t->warp->index];
}

static SimRead *
read_of(const SimWarp *w, uint32_t cell)
{
   const SimThread *t = &w->thread[0];
   return &t->shared->read[(size_t)cell * t->block->num_warps + w->index];
}

void
sim_begin_reads(SimWarp *w, uint32_t group)
{
   w->reads.group = group;
   w->reads.end[group % SIM_WGMMA_GROUPS] = w->reads.len;
}

const uint8_t *
sim_read_async(SimThread *t, const TlHostSite *s, uint32_t at, uint32_t bytes,
               const uint32_t extent[2])
{
   SimShared *m = t->shared;
   SimAsyncReads *reads = &t->warp->reads;
   uint32_t end = extent[1] < m->bytes ? extent[1] : m->bytes;
   TlSimFault f = {.shared_at = at, .shared_bytes = bytes, .extent = {extent[0], end}};
   f.kind = at % bytes ? TL_SIM_FAULT_ALIGNMENT : TL_SIM_FAULT_EXTENT;
   if (at % bytes || at < extent[0] || bytes > end || at > end - bytes)
      sim_fault(t, s, f);
   const uint8_t *p = touch_cells(
      &(Touch){.t = t, .site = s, .at = at, .bytes = bytes, .all_lanes = true, .is_async = true});
   for (uint32_t cell = at / m->granule; cell < (at + bytes) / m->granule; cell++) {
      read_of(t->warp, cell)->epoch = SIM_IN_FLIGHT;
      if (reads->len == reads->cap)
         reads->cell =
            sim_grown(t->block->running, reads->cell, reads->len, &reads->cap, sizeof *reads->cell);
      reads->cell[reads->len++] = cell;
   }
   reads->end[reads->group % SIM_WGMMA_GROUPS] = reads->len;
   return p;
}

/* Up to the group all is read, now; what later ones read is still being read. */
void
sim_end_reads(SimWarp *w, uint32_t last_group)
{
   SimAsyncReads *r = &w->reads;
   uint32_t epoch = w->thread[0].block->epoch[w->index];
   if (last_group <= r->done)
      return;
   uint32_t end = last_group == r->group ? r->len : r->end[last_group % SIM_WGMMA_GROUPS];
   for (uint32_t i = 0; i < end; i++)
      read_of(w, r->cell[i])->epoch = epoch;
   for (uint32_t i = end; i < r->len; i++)
      read_of(w, r->cell[i])->epoch = SIM_IN_FLIGHT;
   r->done = last_group;
   r->len -= end;
   memmove(r->cell, r->cell + end, r->len * sizeof *r->cell);
   for (unsigned i = 0; i < SIM_WGMMA_GROUPS; i++)
      r->end[i] -= r->end[i] < end ? r->end[i] : end;
}
