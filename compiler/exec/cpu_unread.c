/* Rows and columns that nothing reads of an array that a kernel reads: a loop ends early, a stride
 * is missing, or the mask compares with another size.  And arrays that nothing touches.
 *
 * Whole rows, columns and the like alone are told of: triangles and diagonals have an element of
 * each.  Nothing is said where what was loaded decides what is read, which is a gather, nor of
 * arrays that the kernel changes by atomics.  The caller gives sizes of those arrays that are meant
 * to be read as a whole. */
#include "exec/cpu_impl.h"
#include "ir/walk.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SEEN = 1 << 24 /* elements of all arrays together */ };

void
tl_cpu_unread_open(TlArena *arena, const TlFunc *f, TlExecRun *run)
{
   uint64_t seen = 0;
   bool is_any = false;
   for (unsigned i = 0; i < run->num_args; i++) {
      TlExecBuffer *b = &run->buffers[i];
      uint64_t num = b->is_valid && run->args[i].dims ? b->bytes / b->elem_bytes : 0, all = 1;
      for (unsigned d = 0; num && d < run->args[i].rank; d++)
         all *= run->args[i].dims[d];
      if (!num || all != num || num > MOST_SEEN - seen)
         continue;
      seen += num;
      is_any = true;
      b->seen = tl_new_array(arena, uint8_t, num);
   }
   run->loaded = is_any ? tl_cpu_loaded_values(arena, f) : NULL;
}

void
tl_cpu_see_read(TlExecThread *t, const TlExecInst *inst, TlExecBuffer *b, uint64_t p, size_t n,
                uint32_t bytes)
{
   assert(b->seen && p >= b->base);
   if (bytes != b->elem_bytes || (p - b->base) % bytes) {
      atomic_store_explicit(&b->is_chosen, true, memory_order_relaxed);
      return;
   }
   memset(b->seen + (p - b->base) / bytes, 1, n);
   const TlExecInst *first = atomic_load_explicit(&b->load, memory_order_relaxed);
   while (first != inst && (!first || inst->number < first->number))
      if (atomic_compare_exchange_weak(&b->load, &first, inst))
         break;
   if (first != inst && tl_cpu_is_chosen(t->run->loaded, inst->op))
      atomic_store_explicit(&b->is_chosen, true, memory_order_relaxed);
}

/* ---- what is left out ---- */
/* Along one axis of an array: by index, is any element read? */
static uint64_t
count_read(const TlExecBuffer *b, uint64_t num, uint64_t inner, uint64_t size, uint8_t *is_read)
{
   uint64_t n = 0;
   memset(is_read, 0, size);
   for (uint64_t i = 0; i < num; i++)
      is_read[i / inner % size] |= b->seen[i];
   for (uint64_t i = 0; i < size; i++)
      n += is_read[i];
   return n;
}

/* "x[:, 3]" */
static void
name_slice(TlExecFault *f, const char *name, unsigned rank, unsigned axis, uint64_t index)
{
   size_t at = (size_t)snprintf(f->own, sizeof f->own, "%.100s[", name);
   for (unsigned d = 0; d < rank && at < sizeof f->own; d++) {
      const char *comma = d ? ", " : "";
      int n = d == axis ? snprintf(f->own + at, sizeof f->own - at, "%s%llu", comma,
                                   (unsigned long long)index)
                        : snprintf(f->own + at, sizeof f->own - at, "%s:", comma);
      at += (size_t)n;
   }
   if (at < sizeof f->own)
      snprintf(f->own + at, sizeof f->own - at, "]");
}

static bool
tell_slice(TlArena *arena, const TlExecRun *run, unsigned arg)
{
   const TlExecBuffer *b = &run->buffers[arg];
   const TlExecArg *a = &run->args[arg];
   const TlExecInst *by = atomic_load(&b->load);
   uint64_t num = b->bytes / b->elem_bytes, inner = num;
   for (unsigned d = 0; d < a->rank; d++) {
      uint64_t size = a->dims[d];
      inner /= size;
      uint8_t *is_read = tl_new_array(arena, uint8_t, size);
      uint64_t n = count_read(b, num, inner, size, is_read), first = 0;
      if (n == size)
         continue;
      while (is_read[first])
         first++;
      TlExecFault f = {.kind = TL_FAULT_UNREAD,
                       .range = by->op->range,
                       .op = tl_source_name(by->op),
                       .buffer = b->name,
                       .text = a->rank == 1       ? "elements"
                               : d + 1 == a->rank ? "columns"
                               : d + 2 == a->rank ? "rows"
                                                  : "matrices",
                       .bytes = first == n,
                       .value = (int64_t)n,
                       .limit = (int64_t)size};
      name_slice(&f, b->name, a->rank, d, first);
      run->opts->warn(run->opts->user, &f);
      return true;
   }
   return false;
}

void
tl_cpu_tell_unread(TlArena *arena, const TlExecRun *run)
{
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      if (!b->is_valid || !b->bytes)
         continue;
      if (run->args[i].is_asked && !atomic_load(&b->is_touched)) {
         TlExecFault f = {.kind = TL_FAULT_UNTOUCHED,
                          .range = run->plan->func->range,
                          .op = "kernel",
                          .buffer = b->name};
         run->opts->warn(run->opts->user, &f);
         return; /* another would be most often the same mistake */
      }
   }
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      bool is_told = b->seen && atomic_load(&b->load) && !atomic_load(&b->is_chosen);
      if (is_told && tell_slice(arena, run, i))
         return;
   }
}
