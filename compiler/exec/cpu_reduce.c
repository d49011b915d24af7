/* reduce, scan, map and histogram.
 *
 * Operands are first laid out as [axis][rest], so that one step of the fold combines two rows of
 * `rest` elements at once.  reduce orders the axis by bit-reversed index: combining the first half
 * of the rows with the second half then joins neighbours 2j and 2j + 1, level by level, which keeps
 * element order (a combine that is associative but not commutative gets the right answer).  The
 * axis length is a power of two (ir/infer.c).
 *
 * Rows are combined by the region's only operation directly, by a batched region, or element by
 * element when the region has control flow. */
#include "exec/cpu_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_OPERANDS = 64 };

typedef struct Shape {
   size_t outer, len, inner; /* row-major: index = (o * len + l) * inner + i */
} Shape;

static Shape
shape_of(const TlExecInst *inst)
{
   const TlType *type = inst->arg[0]->type;
   unsigned axis = (unsigned)tl_attr_int(inst->op, TL_ATTR_AXIS);
   assert(axis < type->rank);
   Shape s = {1, type->shape[axis], 1};
   for (unsigned d = 0; d < axis; d++)
      s.outer *= type->shape[d];
   for (unsigned d = axis + 1; d < type->rank; d++)
      s.inner *= type->shape[d];
   return s;
}

static size_t
reverse_bits(size_t v, size_t len)
{
   size_t r = 0;
   assert(v < len && (len & (len - 1)) == 0);
   for (; len > 1; len >>= 1, v >>= 1)
      r = r << 1 | (v & 1);
   return r;
}

/* Moves between the tile's order and rows of the axis; row l is at position l or bit-reversed l. */
typedef struct Move {
   Shape s;
   uint32_t bytes;
   bool is_reversed, to_rows;
} Move;

static void
move(const Move *m, uint8_t *tile, uint8_t *rows)
{
   size_t run = m->s.inner * m->bytes;
   for (size_t l = 0; l < m->s.len; l++) {
      size_t at = m->is_reversed ? reverse_bits(l, m->s.len) : l;
      for (size_t o = 0; o < m->s.outer; o++) {
         uint8_t *in_tile = tile + (o * m->s.len + l) * run;
         uint8_t *in_rows = rows + (at * m->s.outer + o) * run;
         if (run == 4)
            memcpy(m->to_rows ? in_rows : in_tile, m->to_rows ? in_tile : in_rows, 4);
         else
            memcpy(m->to_rows ? in_rows : in_tile, m->to_rows ? in_tile : in_rows, run);
      }
   }
}

/* ---- running a region ---- */
static void
spread_captures(TlExecThread *t, const TlExecBlock *b)
{
   for (uint32_t i = 0; i < b->captures.num; i++) {
      const TlExecSlot *from = b->captures.from[i], *to = b->captures.to[i];
      tl_cpu_fill(tl_cpu_data(t, to), tl_cpu_data(t, from), to->elem_bytes, to->n);
      if (t->checked)
         t->undef[to->root] = false;
   }
}

/* out[j][i] = region(in[0][i], in[1][i], ...) for i < n.  in and out may be the same memory. */
static bool
run_region(TlExecThread *t, const TlExecInst *inst, uint8_t *const *in, uint8_t *const *out,
           size_t n)
{
   const TlExecBlock *b = inst->block[0];
   uint32_t outer_batch = t->batch;
   size_t room = b->is_batched ? b->arg[0]->n : 1;
   assert(room > 0 && room <= TL_EXEC_CHUNK);
   for (size_t at = 0; at < n; at += room) {
      size_t part = n - at < room ? n - at : room;
      t->batch = b->is_batched ? (uint32_t)part : outer_batch;
      for (uint32_t k = 0; k < b->num_args; k++) {
         uint32_t bytes = b->arg[k]->elem_bytes;
         memcpy(tl_cpu_data(t, b->arg[k]), in[k] + at * bytes, part * bytes);
         if (t->checked)
            t->undef[b->arg[k]->root] = false;
      }
      if (!tl_cpu_block(t, b) || (!b->is_batched && !tl_cpu_tick(t, inst)))
         return false;
      for (uint32_t k = 0; k < b->num_outs; k++) {
         uint32_t bytes = b->out[k]->elem_bytes;
         memcpy(out[k] + at * bytes, tl_cpu_data(t, b->out[k]), part * bytes);
      }
   }
   t->batch = outer_batch;
   return true;
}

/* left = combine(left, right) for n elements of each operand */
static bool
combine(TlExecThread *t, const TlExecInst *inst, uint8_t *const *left, uint8_t *const *right,
        size_t n)
{
   assert(!inst->direct || inst->num_args == 1);
   if (inst->direct) {
      const void *args[2] = {left[0], right[0]};
      if (inst->is_swapped)
         args[0] = right[0], args[1] = left[0];
      t->steps++;
      tl_cpu_apply(inst->direct, left[0], args, n);
      return true;
   }
   uint8_t *in[2 * MAX_OPERANDS];
   for (uint32_t k = 0; k < inst->num_args; k++) {
      in[k] = left[k];
      in[inst->num_args + k] = right[k];
   }
   return run_region(t, inst, in, left, n);
}

static bool
load_rows(TlExecThread *t, const TlExecInst *inst, Move *m, uint8_t **rows)
{
   if (inst->num_args > MAX_OPERANDS) {
      t->fault.text = "more than 64 operands";
      return tl_cpu_fail(t, inst, TL_FAULT_UNSUPPORTED);
   }
   m->to_rows = true;
   spread_captures(t, inst->block[0]);
   for (uint32_t k = 0; k < inst->num_args; k++) {
      rows[k] = tl_cpu_data(t, inst->scratch[k]);
      m->bytes = inst->arg[k]->elem_bytes;
      assert(inst->arg[k]->n == m->s.outer * m->s.len * m->s.inner);
      move(m, tl_cpu_data(t, inst->arg[k]), rows[k]);
   }
   return true;
}

/* ---- checked mode: a fold of something undefined is undefined ---- */
static uint8_t
any_source(TlExecThread *t, const TlExecInst *inst, size_t i)
{
   for (uint32_t k = 0; k < inst->num_args; k++)
      if (tl_cpu_is_undef(t, inst->arg[k]) && tl_cpu_shadow(t, inst->arg[k])[i])
         return tl_cpu_shadow(t, inst->arg[k])[i];
   return 0;
}

static bool
any_undef(TlExecThread *t, const TlExecInst *inst)
{
   bool any = false;
   for (uint32_t k = 0; k < inst->num_args; k++)
      any |= tl_cpu_is_undef(t, inst->arg[k]);
   return any;
}

static void
mark_results(TlExecThread *t, const TlExecInst *inst, size_t i, uint8_t source)
{
   for (uint32_t k = 0; k < inst->num_results; k++) {
      tl_cpu_shadow(t, inst->result[k])[i] = source;
      t->undef[inst->result[k]->root] = true;
   }
}

static void
clear_results(TlExecThread *t, const TlExecInst *inst)
{
   for (uint32_t k = 0; k < inst->num_results; k++)
      memset(tl_cpu_shadow(t, inst->result[k]), 0, inst->result[k]->n);
}

/* Element i of the operands decides elements of the results along the axis: one (reduce), or itself
 * and the ones after it in the scan's direction. */
static void
propagate(TlExecThread *t, const TlExecInst *inst, Shape s, bool is_scan, bool is_backward)
{
   if (!any_undef(t, inst))
      return;
   clear_results(t, inst);
   for (size_t o = 0; o < s.outer; o++)
      for (size_t i = 0; i < s.inner; i++) {
         uint8_t source = 0;
         for (size_t l = 0; l < s.len; l++) {
            size_t at = is_backward ? s.len - 1 - l : l;
            size_t element = (o * s.len + at) * s.inner + i;
            if (!source)
               source = any_source(t, inst, element);
            if (source && is_scan)
               mark_results(t, inst, element, source);
         }
         if (source && !is_scan)
            mark_results(t, inst, o * s.inner + i, source);
      }
}

/* ---- watched: fp16 and bf16 are added in their own type ---- */
static double
number_at(TlExecThread *t, const TlExecSlot *slot, size_t i)
{
   const uint8_t *data = tl_cpu_data(t, slot);
   return tl_bits_to_number(slot->dtype, tl_load_elem(slot->dtype, data + i * slot->elem_bytes));
}

static void
look_for_overflow(TlExecThread *t, const TlExecInst *inst, Shape s)
{
   const TlExecSlot *x = inst->arg[0], *sum = inst->result[0];
   bool is_sum = inst->direct && inst->direct->op->opcode == TL_OP_ADD &&
                 (x->dtype == TL_FP16 || x->dtype == TL_BF16);
   for (size_t i = 0; is_sum && i < s.outer * s.inner; i++) {
      bool is_fine = !isinf(number_at(t, sum, i));
      for (size_t l = 0; !is_fine && l < s.len; l++)
         is_fine = !isfinite(number_at(t, x, (i / s.inner * s.len + l) * s.inner + i % s.inner));
      if (is_fine)
         continue;
      TlExecFault what = {.kind = TL_FAULT_OVERFLOW, .text = tl_dtype_info[x->dtype].text};
      tl_cpu_warn_of(t, inst, sum, i, &what);
      return;
   }
}

/* A sum of int32 that goes on beyond it. */
static void
look_for_long_sum(TlExecThread *t, const TlExecInst *inst, Shape s)
{
   const TlExecSlot *x = inst->arg[0], *sum = inst->result[0];
   bool is_sum = inst->direct && inst->direct->op->opcode == TL_OP_ADD && x->dtype == TL_I32;
   const int32_t *data = is_sum ? tl_cpu_data(t, x) : NULL;
   for (size_t i = 0; is_sum && i < s.outer * s.inner; i++) {
      int64_t full = 0;
      for (size_t l = 0; l < s.len; l++)
         full += data[(i / s.inner * s.len + l) * s.inner + i % s.inner];
      if (full == (int32_t)full)
         continue;
      TlExecFault what = {.kind = TL_FAULT_LONG_SUM, .value = full};
      tl_cpu_warn_of(t, inst, sum, i, &what);
      return;
   }
}

/* ---- the rules ---- */
bool
tl_cpu_reduce(TlExecThread *t, const TlExecInst *inst)
{
   Move m = {.s = shape_of(inst), .is_reversed = true};
   uint8_t *left[MAX_OPERANDS], *right[MAX_OPERANDS];
   size_t rest = m.s.outer * m.s.inner;
   if (!load_rows(t, inst, &m, left))
      return false;
   for (size_t half = m.s.len / 2; half; half /= 2) {
      for (uint32_t k = 0; k < inst->num_args; k++)
         right[k] = left[k] + half * rest * inst->arg[k]->elem_bytes;
      if (!combine(t, inst, left, right, half * rest))
         return false;
   }
   for (uint32_t k = 0; k < inst->num_results; k++)
      memcpy(tl_cpu_data(t, inst->result[k]), left[k], rest * inst->result[k]->elem_bytes);
   propagate(t, inst, m.s, false, false);
   if (t->checked)
      look_for_overflow(t, inst, m.s);
   if (t->checked)
      look_for_long_sum(t, inst, m.s);
   return true;
}

/* Row by row: the next row's elements are the `new` operands, and receive the result. */
bool
tl_cpu_scan(TlExecThread *t, const TlExecInst *inst)
{
   Move m = {.s = shape_of(inst)};
   bool is_backward = tl_attr_int(inst->op, TL_ATTR_REVERSE) != 0;
   uint8_t *rows[MAX_OPERANDS], *done[MAX_OPERANDS], *next[MAX_OPERANDS];
   size_t rest = m.s.outer * m.s.inner;
   if (!load_rows(t, inst, &m, rows))
      return false;
   for (size_t l = 1; l < m.s.len; l++) {
      size_t to = is_backward ? m.s.len - 1 - l : l, from = is_backward ? to + 1 : to - 1;
      for (uint32_t k = 0; k < inst->num_args; k++) {
         size_t row_bytes = rest * inst->arg[k]->elem_bytes;
         done[k] = rows[k] + from * row_bytes;
         next[k] = rows[k] + to * row_bytes;
      }
      if (inst->direct) {
         const void *args[2] = {done[0], next[0]};
         if (inst->is_swapped)
            args[0] = next[0], args[1] = done[0];
         t->steps++;
         tl_cpu_apply(inst->direct, next[0], args, rest);
      } else {
         uint8_t *in[2 * MAX_OPERANDS];
         memcpy(in, done, inst->num_args * sizeof in[0]);
         memcpy(in + inst->num_args, next, inst->num_args * sizeof in[0]);
         if (!run_region(t, inst, in, next, rest))
            return false;
      }
   }
   m.to_rows = false;
   for (uint32_t k = 0; k < inst->num_results; k++) {
      m.bytes = inst->result[k]->elem_bytes;
      move(&m, tl_cpu_data(t, inst->result[k]), rows[k]);
   }
   propagate(t, inst, m.s, true, is_backward);
   return true;
}

/* One group of `pack` elements at a time when packed or with control flow; else whole operands. */
bool
tl_cpu_map(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecBlock *b = inst->block[0];
   size_t pack = (size_t)tl_attr_int(inst->op, TL_ATTR_PACK), n = inst->arg[0]->n;
   uint32_t outer_batch = t->batch;
   size_t room = b->is_batched ? b->arg[0]->n : 1;
   assert(pack > 0 && n % pack == 0 && b->num_args == inst->num_args * pack);
   spread_captures(t, b);
   for (size_t at = 0; at < n / pack; at += room) {
      size_t part = n / pack - at < room ? n / pack - at : room;
      t->batch = b->is_batched ? (uint32_t)part : outer_batch;
      for (uint32_t k = 0; k < b->num_args; k++) {
         const TlExecSlot *to = b->arg[k], *from = inst->arg[k / pack];
         const uint8_t *data = tl_cpu_data(t, from);
         uint8_t *arg = tl_cpu_data(t, to);
         for (size_t i = 0; i < part; i++)
            memcpy(arg + i * to->elem_bytes, data + ((at + i) * pack + k % pack) * to->elem_bytes,
                   to->elem_bytes);
         if (t->checked)
            t->undef[to->root] = false;
      }
      if (!tl_cpu_block(t, b) || !tl_cpu_tick(t, inst))
         return false;
      for (uint32_t k = 0; k < b->num_outs; k++) {
         const TlExecSlot *from = b->out[k], *to = inst->result[k / pack];
         const uint8_t *out = tl_cpu_data(t, from);
         uint8_t *data = tl_cpu_data(t, to);
         for (size_t i = 0; i < part; i++)
            memcpy(data + ((at + i) * pack + k % pack) * to->elem_bytes, out + i * to->elem_bytes,
                   to->elem_bytes);
      }
   }
   t->batch = outer_batch;
   if (!any_undef(t, inst))
      return true;
   clear_results(t, inst);
   for (size_t i = 0; i < n; i++) {
      uint8_t source = any_source(t, inst, i);
      for (size_t k = 0; source && k < pack; k++)
         mark_results(t, inst, i / pack * pack + k, source);
   }
   return true;
}

bool
tl_cpu_histogram(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *x = inst->arg[0], *r = inst->result[0];
   const uint8_t *mask = inst->num_args > 1 ? tl_cpu_data(t, inst->arg[1]) : NULL;
   const uint8_t *data = tl_cpu_data(t, x);
   int32_t *bins = tl_cpu_data(t, r);
   assert(r->elem_bytes == sizeof *bins);
   memset(bins, 0, (size_t)r->n * sizeof *bins);
   for (size_t i = 0; i < x->n; i++) {
      if (mask && !mask[i])
         continue;
      if (tl_cpu_is_undef(t, x) && tl_cpu_shadow(t, x)[i])
         return tl_cpu_fail_undefined(t, inst, x, i, tl_cpu_shadow(t, x)[i]);
      int64_t v = tl_bits_to_int(x->dtype, tl_load_elem(x->dtype, data + i * x->elem_bytes));
      if ((uint64_t)v >= r->n) {
         t->fault.value = v;
         t->fault.limit = r->n;
         return tl_cpu_fail_at(t, inst, x, i, TL_FAULT_INDEX);
      }
      bins[v]++;
   }
   return true;
}
