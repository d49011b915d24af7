/* Global memory: every access is checked against its buffer; atomics are serialised by address. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

/* What the program wrote, of which the access is a part. */
static const char *
written_as(const SimSite *s, SimUse use)
{
   if (use == SIM_WRITES)
      return "store";
   return use == SIM_UPDATES && !s->is_volatile ? tl_source_name(s->op) : "load";
}

/* The first element of the access that lies outside, where the access begins inside. */
static int64_t
first_outside(const TlExecFault *f)
{
   int64_t end = (int64_t)f->buffer_bytes;
   bool begins_inside = f->byte >= 0 && f->byte < end && f->elem_bytes;
   return begins_inside && (end - f->byte) % f->elem_bytes == 0 ? end : f->byte;
}

/* A copy that is cut is aligned as a whole one is; of a vector that is cut each element is an
 * access by itself. */
static uint32_t
aligned_to(const SimSite *s, uint32_t bytes)
{
   return s->op->opcode == TL_OP_CP_ASYNC ? s->bytes : bytes;
}

static bool
may_touch(const SimSite *s, SimUse use, bool is_writable)
{
   return use == SIM_READS || use == SIM_LANDS || s->is_volatile || is_writable;
}

/* Bytes that no argument reaches: of an address that the kernel read from a table (b is NULL), or
 * in front of the buffer b, which begins in the middle of its allocation.  NULL: there are none. */
static uint8_t *
beside(SimThread *t, const TlExecArg *b, uint64_t base, uint64_t address, uint32_t bytes,
       const SimSite *s, SimUse use)
{
   uint64_t host = b ? (uintptr_t)b->data + (address - base) : address;
   bool is_known =
      b ? (int64_t)(address - base) < 0 : address >> TL_EXEC_BUFFER_BITS < TL_EXEC_HOST_BUFFERS;
   const TilecMemory *m = is_known ? sim_memory(t, host) : NULL;
   if (!m || (b && (uintptr_t)b->data - (uintptr_t)m->begin >= m->bytes))
      return NULL;
   uint64_t at = host - (uintptr_t)m->begin;
   bool is_right = m->bytes - at >= bytes && address % aligned_to(s, bytes) == 0 &&
                   may_touch(s, use, !m->is_read_only);
   return is_right ? m->begin + at : NULL;
}

/* At most one warning of each argument, of the first block. */
static void
warn_unwritten(SimThread *t, const TlHostSite *s, uint64_t slot, TlExecFault f)
{
   SimLaunch *l = t->block->launch;
   SimWarning *w = &l->unwritten[slot];
   pthread_mutex_lock(&l->lock);
   if (!w->block || t->block->number + 1 < w->block) {
      f.kind = TL_FAULT_UNDEFINED_SEEN;
      f.is_unwritten = true;
      *w = (SimWarning){t->block->number + 1, sim_place(t, s, (TlSimFault){.base = f}).base};
      w->fault.origin = w->fault.range;
      w->fault.origin_op = f.op;
   }
   pthread_mutex_unlock(&l->lock);
}

/* An access of an array that was made without values: what is written has one from now on. */
static void
see_unwritten(SimThread *t, const TlHostSite *s, uint64_t slot, SimUse use, TlExecFault f)
{
   uint8_t *written = t->block->launch->written[slot] + f.byte;
   const SimSite *site = sim_site(s);
   bool is_atomic = use == SIM_UPDATES && !site->is_volatile;
   bool is_exchange = site->op->opcode == TL_OP_ATOM_RMW && site->word == TL_RMW_XCHG;
   const uint8_t *first = memchr(written, 0, f.bytes);
   if (first && (use == SIM_READS || (use == SIM_UPDATES && !is_exchange))) {
      f.byte += first - written;
      warn_unwritten(t, s, slot, f);
   }
   if (use == SIM_WRITES || is_atomic)
      memset(written, 1, f.bytes);
}

uint8_t *
sim_global(SimThread *t, const TlHostSite *s, uint64_t address, uint32_t bytes, SimUse use,
           const unsigned char *data)
{
   const SimLaunch *l = t->block->launch;
   /* Nearest buffer: an address a little below a buffer still belongs to it. */
   uint64_t slot = tl_exec_buffer_number(address);
   if (slot >= l->num_args || !l->args[slot].is_buffer) {
      uint8_t *there = beside(t, NULL, 0, address, bytes, sim_site(s), use);
      if (there)
         return there;
      sim_base_fault(t, s,
                     (TlExecFault){.kind = TL_FAULT_WILD,
                                   .op = written_as(sim_site(s), use),
                                   .bytes = bytes,
                                   .address = address},
                     TL_EXEC_FAULT);
   }
   const TlExecArg *a = &l->args[slot];
   uint64_t offset = address - l->bits[slot];
   TlExecFault f = {.op = written_as(sim_site(s), use),
                    .buffer = a->name,
                    .byte = (int64_t)offset,
                    .bytes = bytes,
                    .elem_bytes = sim_site(s)->pointee_bytes,
                    .buffer_bytes = a->bytes,
                    .address = address};
   if (offset >= a->bytes || a->bytes - offset < bytes)
      f.kind = TL_FAULT_BOUNDS;
   else if (address % aligned_to(sim_site(s), bytes))
      f.kind = TL_FAULT_MISALIGNED;
   else if (!may_touch(sim_site(s), use, a->is_writable))
      f.kind = TL_FAULT_READ_ONLY;
   else {
      uint8_t *p = (uint8_t *)a->data + offset;
      assert(use != SIM_WRITES || data);
      if (l->written && l->written[slot] && use != SIM_LANDS)
         see_unwritten(t, s, slot, use, f);
      t->block->syncs += use == SIM_UPDATES || l->watch[slot] == SIM_ORDERS;
      if (use != SIM_LANDS && l->watch[slot] == SIM_RACES)
         sim_global_touch(&(SimGlobalTouch){t, s, use, p, data, a->name, f.byte, bytes});
      return p;
   }
   if (f.kind == TL_FAULT_BOUNDS) {
      uint8_t *there = beside(t, a, l->bits[slot], address, bytes, sim_site(s), use);
      if (there)
         return there;
      f.byte = first_outside(&f);
   }
   sim_base_fault(t, s, f, TL_EXEC_FAULT);
}

static uint64_t
pointer(const TlHostSite *h, const unsigned char *frame, uint32_t access)
{
   uint64_t p;
   memcpy(&p, frame + h->arg_at[0] + 8 * (size_t)access, 8);
   return p;
}

/* One access of `bytes` at a time: the whole, or element by element where it is cut. */
static uint32_t
step_of(const SimSite *s, uint32_t part)
{
   return part == s->bytes ? s->bytes : s->elem_bytes;
}

static void
fill_other(const SimSite *s, const TlHostSite *h, unsigned char *frame, uint32_t a, uint32_t from)
{
   unsigned char *to = frame + h->result_at[0] + (size_t)a * s->bytes;
   const unsigned char *other = s->other < 0 ? NULL : frame + h->arg_at[s->other];
   if (!other)
      memset(to + from, 0, s->bytes - from);
   for (uint32_t i = from / s->elem_bytes; other && i < s->vec; i++)
      memcpy(to + i * s->elem_bytes,
             other + (s->num_other == 1 ? 0 : a * s->vec + i) * s->elem_bytes, s->elem_bytes);
}

void
sim_ld_global(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      unsigned char *to = frame + h->result_at[0] + (size_t)a * s->bytes;
      uint32_t part = sim_part(s, h, frame, a), step = step_of(s, part);
      uint64_t p = pointer(h, frame, a);
      sim_count(t, h, SIM_COUNT_LOAD, a, part > 0, p);
      sim_replica_loads(t, s, a);
      for (uint32_t i = 0; i < part; i += step)
         memcpy(to + i,
                sim_global(t, h, p + i, step, s->is_volatile ? SIM_UPDATES : SIM_READS, NULL),
                step);
      if (part < s->bytes)
         fill_other(s, h, frame, a, part);
   }
}

void
sim_st_global(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   for (uint32_t a = 0; a < s->accesses; a++) {
      uint32_t part = sim_part(s, h, frame, a), step = step_of(s, part);
      uint64_t p = pointer(h, frame, a);
      sim_count(t, h, SIM_COUNT_STORE, a, part > 0, p);
      const SimStale *used = part ? sim_replica_used(t, s, a) : NULL;
      if (used)
         sim_global_race(&used->read, used->writer_site, used->writer, true);
      const unsigned char *data = frame + h->arg_at[1] + (size_t)a * s->bytes;
      for (uint32_t i = 0; i < part; i += step)
         memcpy(sim_global(t, h, p + i, step, SIM_WRITES, data + i), data + i, step);
   }
}

TlBits
sim_rmw(int64_t rmw, TlDtype d, TlBits old, TlBits v)
{
   static const TlOpcode op[] = {
      [TL_RMW_ADD] = TL_OP_ADD, [TL_RMW_AND] = TL_OP_AND, [TL_RMW_OR] = TL_OP_OR,
      [TL_RMW_XOR] = TL_OP_XOR, [TL_RMW_MAX] = TL_OP_MAX, [TL_RMW_MIN] = TL_OP_MIN,
   };
   if (rmw == TL_RMW_XCHG)
      return v;
   bool undefined = false;
   assert(rmw >= 0 && rmw < (int64_t)(sizeof op / sizeof op[0]));
   TlAttr attrs[TL_MAX_OP_ATTRS] = {{0}};
   return tl_eval(op[rmw], attrs, d, (TlDtype[]){d, d}, (TlBits[]){old, v}, &undefined);
}

/* Old value; the new one is stored when compare is NULL or equals it. */
static TlBits
atomic(SimThread *t, const TlHostSite *h, uint64_t address, TlBits value, const TlBits *compare)
{
   const SimSite *s = sim_site(h);
   uint8_t *p = sim_global(t, h, address, s->elem_bytes, SIM_UPDATES, NULL);
   pthread_mutex_t *lock = &t->block->launch->atomic_lock[address / 8 % SIM_ATOMIC_LOCKS];
   pthread_mutex_lock(lock);
   TlBits old = tl_load_elem(s->dtype, p);
   if (!compare)
      tl_store_elem(s->dtype, p, sim_rmw(s->word, s->dtype, old, value));
   else if (old == *compare)
      tl_store_elem(s->dtype, p, value);
   pthread_mutex_unlock(lock);
   return old;
}

static void
atomics(TlHostThread *host, const TlHostSite *h, unsigned char *frame, bool compares)
{
   SimThread *t = sim_thread(host);
   const SimSite *s = sim_site(h);
   for (uint32_t e = 0; e < s->count; e++) { /* of a vector each element is an atomic by itself */
      uint32_t a = e / s->vec;
      size_t at = (size_t)e * s->elem_bytes;
      TlBits old = 0, compare = 0;
      if (sim_pred(s, h, frame, a)) {
         TlBits value = tl_load_elem(s->dtype, frame + h->arg_at[compares ? 2 : 1] + at);
         if (compares)
            compare = tl_load_elem(s->dtype, frame + h->arg_at[1] + at);
         uint64_t p = pointer(h, frame, a) + (uint64_t)(e % s->vec) * s->elem_bytes;
         old = atomic(t, h, p, value, compares ? &compare : NULL);
      }
      tl_store_elem(s->dtype, frame + h->result_at[0] + at, old);
   }
   if (t->lane == 0)
      t->block->stats.global_atomics += s->accesses;
}

void
sim_atom_rmw(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   atomics(t, h, frame, false);
}

void
sim_atom_cas(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   atomics(t, h, frame, true);
}
