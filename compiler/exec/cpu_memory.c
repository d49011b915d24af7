/* Global memory: address checks, loads, stores, atomics.
 * Invariant: no byte is touched before find_bytes has found all bytes of the element inside one
 * buffer or allocation, aligned, and writable where it is written. */
#include "exec/cpu_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct Access {
   uint32_t bytes;
   bool writes;
} Access;

static bool
holds(const TilecMemory *m, uint64_t address)
{
   return m->begin && address - (uintptr_t)m->begin < m->bytes;
}

/* The allocation of the process that holds the byte at that address, or NULL. */
static const TilecMemory *
find_memory(TlExecThread *t, uint64_t address)
{
   const TlExecOptions *o = t->run->opts;
   for (unsigned k = 0; k < TL_EXEC_MEMORIES; k++)
      if (holds(&t->memories[k], address))
         return &t->memories[k];
   TilecMemory m = {0};
   if (!o->memory || !o->memory(o->user, address, &m) || !holds(&m, address))
      return NULL;
   TilecMemory *kept = &t->memories[t->next_memory++ % TL_EXEC_MEMORIES];
   *kept = m;
   return kept;
}

/* The allocation that the virtual address p lies in: one of the process, by its own address, or
 * the one in whose middle the buffer b begins.  *address receives the host's. */
static const TilecMemory *
find_beside(TlExecThread *t, const TlExecBuffer *b, uint64_t p, uint64_t *address)
{
   if (!b) {
      *address = p;
      return p >> TL_EXEC_BUFFER_BITS < TL_EXEC_HOST_BUFFERS ? find_memory(t, p) : NULL;
   }
   *address = (uintptr_t)b->data + (p - b->base);
   if ((int64_t)(p - b->base) >= 0)
      return NULL;
   const TilecMemory *m = find_memory(t, *address);
   return m && holds(m, (uintptr_t)b->data) ? m : NULL;
}

/* What is wrong with the access at byte `byte` of memory of `bytes` bytes. */
static TlFaultKind
fault_of(Access access, uint64_t p, uint64_t byte, uint64_t bytes, bool is_writable)
{
   if (byte > bytes || bytes - byte < access.bytes)
      return TL_FAULT_BOUNDS;
   if (p & (access.bytes - 1))
      return TL_FAULT_MISALIGNED;
   return access.writes && !is_writable ? TL_FAULT_READ_ONLY : TL_FAULT_NONE;
}

/* Was it made for the access by the same words of the program?  So are the addresses and bounds of
 * blocks; of plain pointers both are written out. */
static bool
is_made_for(const TlOp *access, const TlValue *v)
{
   while (v->def && v->def->num_args == 1 && v->def->opcode != TL_OP_LOAD)
      v = tl_arg(v->def, 0);
   return v->def && v->def->range.file == access->range.file &&
          v->def->range.begin == access->range.begin && v->def->range.end == access->range.end;
}

static TlExecMask
mask_kind(const TlOp *access)
{
   const TlValue *mask = tl_pred(access);
   /* one of them may be shared with an access before */
   bool is_block = is_made_for(access, tl_arg(access, 0)) || (mask && is_made_for(access, mask));
   if (mask)
      return is_block ? TL_EXEC_MASK_BLOCK : TL_EXEC_MASK_TRUE;
   return is_block ? TL_EXEC_MASK_NO_CHECK : TL_EXEC_MASK_NONE;
}

/* Host address of the element at virtual address p, with the bytes that lie there to the end of
 * its buffer or allocation, or NULL with the fault set. */
static uint8_t *
find_bytes(TlExecThread *t, const TlExecInst *inst, size_t i, uint64_t p, Access access,
           uint64_t *room)
{
   const TlExecRun *run = t->run;
   const TlExecSlot *slot = inst->arg[0];
   uint64_t number = tl_exec_buffer_number(p), address;
   assert(i < slot->n && (access.bytes & (access.bytes - 1)) == 0);
   const TlExecBuffer *b = number < run->num_args ? &run->buffers[number] : NULL;
   b = b && b->is_valid ? b : NULL;
   uint64_t byte = b ? p - b->base : 0;
   TlFaultKind kind = b ? fault_of(access, p, byte, b->bytes, b->is_writable) : TL_FAULT_WILD;
   if (kind == TL_FAULT_NONE) {
      *room = b->bytes - byte;
      return b->data + byte;
   }
   if (kind == TL_FAULT_WILD || kind == TL_FAULT_BOUNDS) {
      const TilecMemory *m = find_beside(t, b, p, &address);
      uint64_t at = m ? address - (uintptr_t)m->begin : 0;
      if (m && fault_of(access, p, at, m->bytes, !m->is_read_only) == TL_FAULT_NONE) {
         *room = m->bytes - at;
         return (uint8_t *)m->begin + at;
      }
   }
   TlExecFault *f = &t->fault;
   f->bytes = access.bytes;
   f->address = p;
   if (b) {
      f->buffer = b->name;
      f->byte = (int64_t)byte;
      f->buffer_bytes = b->bytes;
      f->mask = mask_kind(inst->op);
   }
   tl_cpu_fail_at(t, inst, slot, i, kind);
   return NULL;
}

/* Pointee bytes of a pointer operand. */
static Access
access_of(const TlExecInst *inst, bool writes)
{
   const TlType *pointee = tl_type_elem(inst->arg[0]->type)->elem;
   uint32_t bytes = pointee->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[pointee->dtype].bytes;
   return (Access){bytes, writes};
}

static const uint8_t *
mask_of(TlExecThread *t, const TlExecInst *inst, unsigned arg)
{
   return inst->num_args > arg ? tl_cpu_data(t, inst->arg[arg]) : NULL;
}

/* Checked mode: operand `arg` must be defined wherever the mask (itself defined) is true. */
static bool
want_defined(TlExecThread *t, const TlExecInst *inst, unsigned arg, const uint8_t *mask)
{
   const TlExecSlot *s = inst->arg[arg];
   if (!tl_cpu_is_undef(t, s))
      return true;
   const uint8_t *shadow = tl_cpu_shadow(t, s);
   bool is_cut = false;
   for (uint32_t i = 0; i < s->n; i++) {
      if (!shadow[i] || (mask && !mask[i]) || (is_cut && t->plan->is_cut[shadow[i]]))
         continue;
      if (!t->plan->is_cut[shadow[i]])
         return tl_cpu_fail_undefined(t, inst, s, i, shadow[i]);
      tl_cpu_warn_cut(t, shadow[i], s, i);
      is_cut = true;
   }
   return true;
}

static bool
want_all_defined(TlExecThread *t, const TlExecInst *inst, unsigned num_values, unsigned mask_arg)
{
   if (!t->checked)
      return true;
   const uint8_t *mask = mask_of(t, inst, mask_arg);
   if (mask && !want_defined(t, inst, mask_arg, NULL))
      return false;
   for (unsigned k = 0; k <= num_values; k++)
      if (!want_defined(t, inst, k, mask))
         return false;
   return true;
}

/* ---- addresses ---- */
bool
tl_cpu_addptr(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0], *offset = inst->arg[1];
   uint64_t *to = tl_cpu_data(t, r);
   const uint64_t *from = tl_cpu_data(t, inst->arg[0]);
   assert(r->n == inst->arg[0]->n && r->n == offset->n);
   uint64_t bytes = access_of(inst, false).bytes;
   if (offset->dtype == TL_I32) {
      const int32_t *k = tl_cpu_data(t, offset);
      for (uint32_t i = 0; i < r->n; i++)
         to[i] = from[i] + (uint64_t)(int64_t)k[i] * bytes;
   } else {
      const uint8_t *k = tl_cpu_data(t, offset);
      for (uint32_t i = 0; i < r->n; i++) {
         TlBits bits = tl_load_elem(offset->dtype, k + (size_t)i * offset->elem_bytes);
         to[i] = from[i] + (uint64_t)tl_bits_to_int(offset->dtype, bits) * bytes;
      }
   }
   if (!tl_cpu_is_undef(t, inst->arg[0]) && !tl_cpu_is_undef(t, offset))
      return true;
   uint8_t *shadow = tl_cpu_shadow(t, r);
   t->undef[r->root] = true;
   for (uint32_t i = 0; i < r->n; i++) {
      shadow[i] = tl_cpu_is_undef(t, offset) ? tl_cpu_shadow(t, offset)[i] : 0;
      if (!shadow[i] && tl_cpu_is_undef(t, inst->arg[0]))
         shadow[i] = tl_cpu_shadow(t, inst->arg[0])[i];
   }
   return true;
}

/* The elements from i on that lie side by side in one buffer and may be accessed: at least 1, or 0
 * with the fault set.  *at receives the host address of the first. */
static size_t
find_run(TlExecThread *t, const TlExecInst *inst, size_t i, const uint8_t *mask, Access access,
         uint8_t **at)
{
   const TlExecSlot *s = inst->arg[0];
   const uint64_t *p = (const uint64_t *)tl_cpu_data(t, s) + i;
   uint64_t room;
   *at = find_bytes(t, inst, i, *p, access, &room);
   if (!*at)
      return 0;
   size_t left = s->n - i, n = 1;
   while (n < left && p[n] == p[0] + n * access.bytes && (!mask || mask[i + n]))
      n++;
   room /= access.bytes;
   assert(room >= 1); /* find_bytes has found the first */
   return n < room ? n : (size_t)room;
}

/* ---- memory that was never written ---- */
/* The argument that the address lies in; memory beside the arguments is somebody else's, who may
 * have written it. */
static TlExecBuffer *
argument_at(TlExecThread *t, uint64_t p)
{
   uint64_t number = tl_exec_buffer_number(p);
   TlExecBuffer *b = number < t->run->num_args ? &t->run->buffers[number] : NULL;
   return b && p - b->base < b->bytes ? b : NULL;
}

static uint8_t *
written_at(TlExecThread *t, uint64_t p)
{
   const TlExecBuffer *b = argument_at(t, p);
   return b && b->written ? b->written + (p - b->base) : NULL;
}

static void
note_read(TlExecThread *t, uint64_t p)
{
   TlExecBuffer *b = argument_at(t, p);
   if (!b)
      return;
   if (b->reached)
      atomic_store_explicit(&b->is_read, true, memory_order_relaxed);
   if (!atomic_load_explicit(&b->is_touched, memory_order_relaxed))
      atomic_store_explicit(&b->is_touched, true, memory_order_relaxed);
}

/* n elements from p on. */
static void
note_loaded(TlExecThread *t, const TlExecInst *inst, uint64_t p, size_t n, uint32_t bytes)
{
   TlExecBuffer *b = t->run->loaded ? argument_at(t, p) : NULL;
   if (b && b->seen)
      tl_cpu_see_read(t, inst, b, p, n, bytes);
}

static void
note_stored(TlExecThread *t, const TlExecInst *inst, uint64_t p, size_t bytes)
{
   TlExecBuffer *b = argument_at(t, p);
   if (b && !atomic_load_explicit(&b->is_touched, memory_order_relaxed))
      atomic_store_explicit(&b->is_touched, true, memory_order_relaxed);
   if (b && b->written && b->written != b->reached)
      memset(b->written + (p - b->base), 1, bytes);
   if (!b || !b->reached)
      return;
   memset(b->reached + (p - b->base), 1, bytes);
   const TlExecInst *first = atomic_load(&b->store);
   while (!first || inst->number < first->number)
      if (atomic_compare_exchange_weak(&b->store, &first, inst))
         break;
}

static bool
is_unwritten(const uint8_t *written, uint32_t bytes)
{
   return written && memchr(written, 0, bytes);
}

/* The first of the instruction is kept for the report: which argument, counted from 1, and the byte
 * in it. */
static void
keep_unwritten(TlExecThread *t, const TlExecInst *inst, uint64_t p)
{
   int64_t *kept = t->operands[inst->empty_source];
   const TlExecBuffer *b = argument_at(t, p);
   if (kept[0] || !b)
      return;
   kept[0] = b - t->run->buffers + 1;
   kept[1] = (int64_t)(p - b->base);
}

/* Elements i to i + n of the result are read from p on, where `written` is: those that nothing has
 * written are undefined. */
static void
mark_unwritten(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint64_t p)
{
   const TlExecSlot *r = inst->result[0];
   const uint8_t *written = written_at(t, p);
   const uint8_t *first = written ? memchr(written, 0, n * r->elem_bytes) : NULL;
   if (!first)
      return;
   keep_unwritten(t, inst, p + (uint64_t)(first - written));
   uint8_t *shadow = tl_cpu_shadow(t, r);
   if (!t->undef[r->root])
      memset(shadow, 0, r->n);
   t->undef[r->root] = true;
   for (size_t k = 0; k < n; k++)
      if (is_unwritten(written + k * r->elem_bytes, r->elem_bytes))
         shadow[i + k] = inst->empty_source;
}

/* ---- load, store ---- */
static void
bools_to_01(uint8_t *p, size_t n)
{
   for (size_t i = 0; i < n; i++)
      p[i] = p[i] != 0;
}

/* Masked-off elements: `other`, or zero and (checked) undefined. */
static void
fill_masked(TlExecThread *t, const TlExecInst *inst, const uint8_t *mask)
{
   const TlExecSlot *r = inst->result[0];
   const TlExecSlot *other = inst->num_args > 2 ? inst->arg[2] : NULL;
   uint8_t *to = tl_cpu_data(t, r), *shadow = tl_cpu_shadow(t, r);
   if (other)
      memcpy(to, tl_cpu_data(t, other), (size_t)r->n * r->elem_bytes);
   else
      memset(to, 0, (size_t)r->n * r->elem_bytes);
   if (!t->checked || (other && !tl_cpu_is_undef(t, other)))
      return;
   bool any = false;
   for (uint32_t i = 0; i < r->n; i++) {
      uint8_t source = other ? tl_cpu_shadow(t, other)[i] : inst->source;
      shadow[i] = mask[i] ? 0 : source;
      any |= shadow[i] != 0;
   }
   t->undef[r->root] = any;
}

/* What was loaded may be meant to be infinite. */
static void
look_at_loaded(TlExecThread *t, const TlExecSlot *r, const uint8_t *data, size_t n)
{
   if (t->checked && tl_cpu_num_odd(r->dtype, data, n))
      atomic_store_explicit(&t->run->has_read_odd, true, memory_order_relaxed);
}

/* The reduction to a greatest value that v is made of, and spread: maximum(m, max(x)). */
static const TlOp *
greatest_in(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 40 };
   const TlOp *op = v->def, *found = NULL;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_REDUCE)
      return tl_combined_by(op) == TL_OP_MAX ? op : NULL;
   bool goes_on = tl_has_trait(op, TL_TRAIT_ELTWISE) || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) ||
                  op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_SPLAT ||
                  op->opcode == TL_OP_EXPAND_DIMS;
   for (unsigned i = 0; goes_on && !found && i < op->num_args; i++)
      found = greatest_in(tl_arg(op, i), steps);
   return found;
}

static bool
is_minus_infinity(const TlValue *v)
{
   double x;
   while (v->def && (v->def->opcode == TL_OP_SPLAT || v->def->opcode == TL_OP_BROADCAST ||
                     v->def->opcode == TL_OP_CAST))
      v = tl_arg(v->def, 0);
   return tl_is_number(v, &x) && isinf(x) && x < 0;
}

/* What puts -inf in for lanes that a mask leaves out: a load or a where; NULL: nothing does. */
static const TlOp *
left_out_in(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 40 };
   const TlOp *op = v->def, *found = NULL;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_LOAD)
      return op->num_args > 2 && is_minus_infinity(tl_arg(op, 2)) ? op : NULL;
   if (op->opcode == TL_OP_SELECT &&
       (is_minus_infinity(tl_arg(op, 1)) || is_minus_infinity(tl_arg(op, 2))))
      return op;
   for (unsigned i = 0; tl_has_trait(op, TL_TRAIT_ELTWISE) && !found && i < op->num_args; i++)
      found = left_out_in(tl_arg(op, i), steps);
   return found;
}

/* The load whose lanes that are left out are a finite number, which counts for the greatest. */
static const TlOp *
filled_in(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 40 };
   const TlOp *op = v->def, *found = NULL;
   double other;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_LOAD)
      return op->num_args > 2 && tl_is_number(tl_arg(op, 2), &other) && isfinite(other) ? op : NULL;
   if (op->opcode == TL_OP_SELECT)
      return NULL;
   for (unsigned i = 0; tl_has_trait(op, TL_TRAIT_ELTWISE) && !found && i < op->num_args; i++)
      found = filled_in(tl_arg(op, i), steps);
   return found;
}

/* The exponential of which v is a sum, and spread; NULL: it is none. */
static const TlOp *
summed_exponential(const TlValue *v)
{
   const TlOp *op = v->def;
   bool is_sum = false;
   while (op && op->opcode != TL_OP_EXP && op->opcode != TL_OP_EXP2) {
      bool is_here = op->opcode == TL_OP_REDUCE && tl_combined_by(op) == TL_OP_ADD;
      bool goes_on = is_here || op->opcode == TL_OP_CAST || op->opcode == TL_OP_SPLAT ||
                     op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_EXPAND_DIMS ||
                     op->opcode == TL_OP_SELECT;
      if (!goes_on)
         return NULL;
      is_sum |= is_here;
      op = tl_arg(op, op->opcode == TL_OP_SELECT ? 1 : 0)->def;
   }
   return is_sum ? op : NULL;
}

/* What makes the number odd: an exponential, or a sum of such that is 0. */
static const TlOp *
odd_exponential(const TlOp *op)
{
   bool is_log = op->opcode == TL_OP_LOG || op->opcode == TL_OP_LOG2;
   const TlOp *sum =
      is_log || op->opcode == TL_OP_DIV ? summed_exponential(tl_arg(op, !is_log)) : NULL;
   return sum ? sum : op;
}

/* exp(x - max(x)): the reduction; NULL: nothing of the kind is subtracted. */
static const TlOp *
subtracted_greatest(const TlOp *op)
{
   if (op->opcode != TL_OP_EXP && op->opcode != TL_OP_EXP2)
      return NULL;
   unsigned steps = 0;
   do
      op = tl_arg(op, 0)->def;
   while (op && (op->opcode == TL_OP_MUL || op->opcode == TL_OP_CAST));
   return op && op->opcode == TL_OP_SUB ? greatest_in(tl_arg(op, 1), &steps) : NULL;
}

/* NaN, or an infinity that was made of finite numbers, in a run that has loaded neither.  What a
 * constant says, such as -inf for what is masked off, is meant. */
static void
look_at_stored(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n)
{
   const TlExecSlot *v = inst->arg[1];
   const uint8_t *data = (const uint8_t *)tl_cpu_data(t, v);
   if (!t->checked || !tl_cpu_num_odd(v->dtype, data + i * v->elem_bytes, n) ||
       tl_cpu_is_undef(t, v) || atomic_load_explicit(&t->run->has_read_odd, memory_order_relaxed))
      return;
   for (size_t k = i; k < i + n; k++) {
      double x = tl_bits_to_number(v->dtype, tl_load_elem(v->dtype, data + k * v->elem_bytes));
      if (isfinite(x) || (!t->odd && (isinf(x) || t->plan->has_nan)))
         continue;
      TlExecFault what = {.kind = TL_FAULT_NOT_FINITE, .text = isnan(x) ? "nan" : "inf"};
      if (t->odd) {
         what.origin = t->odd->op->range;
         what.origin_op = tl_source_name(t->odd->op);
         const TlOp *most = subtracted_greatest(odd_exponential(t->odd->op));
         what.is_shifted = most != NULL;
         what.is_of_nan = t->odd_of_nan;
         what.value = most ? tl_attr_int(most, TL_ATTR_AXIS) : 0;
         what.limit = most ? tl_arg(most, 0)->type->rank : 0;
         unsigned steps = 0;
         const TlOp *by = most && t->odd_of_nan ? left_out_in(tl_arg(most, 0), &steps) : NULL;
         const TlOp *filled = most && !t->odd_of_nan ? filled_in(tl_arg(most, 0), &steps) : NULL;
         what.is_filled = filled != NULL;
         what.left_out = by ? by->range : filled ? filled->range : (TlRange){0};
         what.is_chosen = by && by->opcode == TL_OP_SELECT;
      }
      tl_cpu_warn_of(t, inst, inst->arg[0], k, &what);
      return;
   }
}

bool
tl_cpu_load(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0];
   const uint8_t *mask = mask_of(t, inst, 1);
   Access access = access_of(inst, false);
   uint8_t *to = tl_cpu_data(t, r), *from;
   assert(access.bytes == r->elem_bytes && r->n == inst->arg[0]->n);
   if (!want_all_defined(t, inst, 0, 1))
      return false;
   if (mask)
      fill_masked(t, inst, mask);
   if (inst->empty_source)
      t->operands[inst->empty_source][0] = 0;
   for (size_t i = 0, n; i < r->n; i += n) {
      n = 1;
      if (mask && !mask[i])
         continue;
      n = find_run(t, inst, i, mask, access, &from);
      if (!n)
         return false;
      if (t->run->has_cells)
         tl_cpu_see_load(t, inst, i, n, access.bytes);
      uint64_t p = ((const uint64_t *)tl_cpu_data(t, inst->arg[0]))[i];
      note_read(t, p);
      note_loaded(t, inst, p, n, access.bytes);
      if (inst->empty_source)
         mark_unwritten(t, inst, i, n, p);
      if (n == 1)
         memcpy(to + i * access.bytes, from, access.bytes);
      else
         memcpy(to + i * access.bytes, from, n * access.bytes);
      look_at_loaded(t, r, to + i * access.bytes, n);
   }
   if (r->dtype == TL_I1)
      bools_to_01(to, r->n);
   return true;
}

bool
tl_cpu_store(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *v = inst->arg[1];
   const uint8_t *mask = mask_of(t, inst, 2);
   Access access = access_of(inst, true);
   const uint8_t *from = tl_cpu_data(t, v);
   uint8_t *to;
   assert(access.bytes == v->elem_bytes && v->n == inst->arg[0]->n);
   if (!want_all_defined(t, inst, 1, 2))
      return false;
   if (t->run->has_cells)
      t->store = 1 + atomic_fetch_add(&t->run->num_stores, 1);
   for (size_t i = 0, n; i < v->n; i += n) {
      n = 1;
      if (mask && !mask[i])
         continue;
      n = find_run(t, inst, i, mask, access, &to);
      if (!n)
         return false;
      if (t->run->has_cells)
         tl_cpu_see_store(t, inst, i, n, access.bytes, from + i * access.bytes, to);
      look_at_stored(t, inst, i, n);
      memcpy(to, from + i * access.bytes, n * access.bytes);
      note_stored(t, inst, ((const uint64_t *)tl_cpu_data(t, inst->arg[0]))[i], n * access.bytes);
   }
   return true;
}

/* ---- atomics ---- */
/* An atomic is about to take what is at p, and to leave something there. */
static bool
want_written(TlExecThread *t, const TlExecInst *inst, size_t i, uint64_t p, uint32_t bytes)
{
   uint8_t *written = inst->empty_source ? written_at(t, p) : NULL;
   TlExecBuffer *b = argument_at(t, p);
   note_read(t, p);
   if (b && b->seen)
      atomic_store_explicit(&b->is_chosen, true, memory_order_relaxed);
   bool is_exchange =
      inst->op->opcode == TL_OP_ATOMIC_RMW && tl_attr_int(inst->op, TL_ATTR_RMW) == TL_RMW_XCHG;
   bool is_empty = is_unwritten(written, bytes);
   if (written)
      memset(written, 1, bytes);
   if (is_empty) {
      t->operands[inst->empty_source][0] = 0;
      keep_unwritten(t, inst, p);
   }
   if (is_empty && is_exchange) /* what it gives is what was there */
      tl_cpu_shadow(t, inst->result[0])[i] = inst->empty_source;
   return !is_empty || is_exchange ||
          tl_cpu_fail_undefined(t, inst, inst->arg[0], i, inst->empty_source);
}

static atomic_flag *
lock_address(TlExecThread *t, const uint8_t *p)
{
   if (!t->run->is_shared)
      return NULL;
   uint64_t line = (uintptr_t)p >> 3;
   atomic_flag *lock = &t->run->locks[(line ^ line >> 8) % TL_EXEC_LOCKS];
   tl_cpu_lock(lock);
   return lock;
}

static const TlOpcode rmw_op[] = {
   [TL_RMW_ADD] = TL_OP_ADD,    [TL_RMW_AND] = TL_OP_AND, [TL_RMW_OR] = TL_OP_OR,
   [TL_RMW_XOR] = TL_OP_XOR,    [TL_RMW_MAX] = TL_OP_MAX, [TL_RMW_MIN] = TL_OP_MIN,
   [TL_RMW_XCHG] = TL_OP_COUNT, /* the new value itself */
};

static TlBits
combine(TlOpcode op, TlDtype dtype, TlBits old, TlBits value)
{
   const TlAttr plain = {0}; /* a NaN loses */
   return op == TL_OP_COUNT
             ? value
             : tl_eval(op, &plain, dtype, (TlDtype[]){dtype, dtype}, (TlBits[]){old, value}, NULL);
}

bool
tl_cpu_atomic_rmw(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0], *v = inst->arg[1];
   const uint64_t *p = tl_cpu_data(t, inst->arg[0]);
   const uint8_t *mask = mask_of(t, inst, 2), *value = tl_cpu_data(t, v);
   uint8_t *to = tl_cpu_data(t, r);
   TlOpcode op = rmw_op[tl_attr_int(inst->op, TL_ATTR_RMW)];
   Access access = access_of(inst, true);
   if (!want_all_defined(t, inst, 1, 2))
      return false;
   bool any_off = false;
   for (size_t i = 0; i < r->n; i++) {
      size_t at = i * r->elem_bytes;
      if (t->checked)
         tl_cpu_shadow(t, r)[i] = mask && !mask[i] ? inst->source : 0;
      if (mask && !mask[i]) {
         any_off = true;
         memset(to + at, 0, r->elem_bytes);
         continue;
      }
      uint64_t room;
      uint8_t *host = find_bytes(t, inst, i, p[i], access, &room);
      if (!host || !want_written(t, inst, i, p[i], access.bytes))
         return false;
      any_off |= t->checked && tl_cpu_shadow(t, r)[i];
      atomic_flag *lock = lock_address(t, host);
      TlBits old = tl_load_elem(r->dtype, host);
      tl_store_elem(r->dtype, host, combine(op, r->dtype, old, tl_load_elem(v->dtype, value + at)));
      if (lock)
         tl_cpu_unlock(lock);
      tl_store_elem(r->dtype, to + at, old);
   }
   if (t->checked)
      t->undef[r->root] = any_off;
   return true;
}

bool
tl_cpu_atomic_cas(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0];
   const uint64_t *p = tl_cpu_data(t, inst->arg[0]);
   const uint8_t *compare = tl_cpu_data(t, inst->arg[1]), *value = tl_cpu_data(t, inst->arg[2]);
   uint8_t *to = tl_cpu_data(t, r);
   Access access = access_of(inst, true);
   assert(access.bytes == r->elem_bytes && r->n == inst->arg[0]->n);
   if (!want_all_defined(t, inst, 2, 3))
      return false;
   for (size_t i = 0; i < r->n; i++) {
      size_t at = i * access.bytes;
      uint64_t room;
      uint8_t *host = find_bytes(t, inst, i, p[i], access, &room);
      if (!host || !want_written(t, inst, i, p[i], access.bytes))
         return false;
      atomic_flag *lock = lock_address(t, host);
      memcpy(to + at, host, access.bytes);
      if (memcmp(host, compare + at, access.bytes) == 0) /* bits, as the GPU compares */
         memcpy(host, value + at, access.bytes);
      if (lock)
         tl_cpu_unlock(lock);
   }
   return true;
}
