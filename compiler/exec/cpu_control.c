/* Control flow, promises, assertions and printing. */
#include "exec/cpu_impl.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
truth(TlExecThread *t, const TlExecSlot *s)
{
   return *(const uint8_t *)tl_cpu_data(t, s) != 0;
}

/* ---- loops ---- */
/* Number of rounds of for (i = lower; i < upper; i += step), or > for a negative step. */
static uint64_t
trip_count(__int128 lower, __int128 upper, __int128 step)
{
   __int128 span = step > 0 ? upper - lower : lower - upper;
   __int128 by = step > 0 ? step : -step;
   return span > 0 ? (uint64_t)((span + by - 1) / by) : 0;
}

static __int128
bound(TlExecThread *t, const TlExecSlot *s)
{
   TlBits bits = tl_load_elem(s->dtype, tl_cpu_data(t, s));
   return tl_dtype_is_signed(s->dtype) ? (__int128)tl_bits_to_int(s->dtype, bits) : (__int128)bits;
}

bool
tl_cpu_for(TlExecThread *t, const TlExecInst *inst)
{
   for (unsigned i = 0; t->checked && i < 3; i++)
      if (!tl_cpu_want_defined(t, inst, i))
         return false;
   const TlExecSlot *index = inst->block[0]->arg[0];
   assert(index->dtype == inst->arg[0]->dtype && index->n == 1);
   __int128 lower = bound(t, inst->arg[0]), step = bound(t, inst->arg[2]);
   if (step == 0)
      return tl_cpu_fail(t, inst, TL_FAULT_STEP);
   uint64_t rounds = trip_count(lower, bound(t, inst->arg[1]), step);
   tl_cpu_copies(t, &inst->copies);
   for (uint64_t k = 0; k < rounds; k++) {
      TlBits bits = tl_int_to_bits(index->dtype, (int64_t)(lower + (__int128)k * step));
      tl_store_elem(index->dtype, tl_cpu_data(t, index), bits);
      if (t->checked)
         t->undef[index->root] = false;
      if (!tl_cpu_block(t, inst->block[0]) || !tl_cpu_tick(t, inst))
         return false;
   }
   return true;
}

bool
tl_cpu_while(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecBlock *test = inst->block[0];
   const TlExecInst *condition = &test->inst[test->num - 1];
   assert(condition->op->opcode == TL_OP_CONDITION);
   tl_cpu_copies(t, &inst->copies);
   for (;;) {
      if (!tl_cpu_block(t, test))
         return false;
      if (!truth(t, condition->arg[0]))
         break;
      tl_cpu_copies(t, &condition->copies);
      if (!tl_cpu_block(t, inst->block[1]) || !tl_cpu_tick(t, inst))
         return false;
   }
   tl_cpu_copies(t, &condition->leave);
   return true;
}

bool
tl_cpu_if(TlExecThread *t, const TlExecInst *inst)
{
   if (t->checked && !tl_cpu_want_defined(t, inst, 0))
      return false;
   return tl_cpu_block(t, inst->block[truth(t, inst->arg[0]) ? 0 : 1]);
}

/* A condition delivers nothing by itself: which copies are made is the while's decision. */
bool
tl_cpu_yield(TlExecThread *t, const TlExecInst *inst)
{
   if (inst->op->opcode == TL_OP_CONDITION)
      return !t->checked || tl_cpu_want_defined(t, inst, 0);
   tl_cpu_copies(t, &inst->copies);
   return true;
}

bool
tl_cpu_return(TlExecThread *t, const TlExecInst *inst)
{
   (void)t;
   (void)inst;
   return true;
}

/* Memory operations of a program are in order already. */
bool
tl_cpu_debug_barrier(TlExecThread *t, const TlExecInst *inst)
{
   (void)t;
   (void)inst;
   atomic_thread_fence(memory_order_seq_cst);
   return true;
}

/* Grids follow each other here: there is nothing to wait for. */
bool
tl_cpu_nothing(TlExecThread *t, const TlExecInst *inst)
{
   (void)t;
   (void)inst;
   return true;
}

/* A result is undefined where an operand of its group of `pack` elements is. */
static void
mark_asm_results(TlExecThread *t, const TlExecInst *inst, size_t n)
{
   size_t pack = (size_t)tl_attr_int(inst->op, TL_ATTR_PACK);
   assert(pack > 0);
   for (uint32_t k = 0; k < inst->num_results; k++)
      t->undef[inst->result[k]->root] = false;
   for (uint32_t a = 0; a < inst->num_args; a++) {
      const TlExecSlot *s = inst->arg[a];
      const uint8_t *from = tl_cpu_is_undef(t, s) ? tl_cpu_shadow(t, s) : NULL;
      for (size_t i = 0; from && i < n; i++) {
         uint8_t source = from[tl_cpu_count(t, s) == 1 ? 0 : i];
         for (uint32_t k = 0; source && k < inst->num_results; k++) {
            const TlExecSlot *r = inst->result[k];
            uint8_t *to = tl_cpu_shadow(t, r);
            if (!t->undef[r->root])
               memset(to, 0, n);
            t->undef[r->root] = true;
            for (size_t e = i / pack * pack; e < n && e < (i / pack + 1) * pack; e++)
               to[e] = source;
         }
      }
   }
}

bool
tl_cpu_inline_asm(TlExecThread *t, const TlExecInst *inst)
{
   enum { MOST = TL_PTX_MAX_OPERANDS_OF_CALL };
   const void *arg[MOST];
   void *result[MOST];
   size_t num[MOST], n = 1;
   if (!inst->ptx) {
      t->fault.text = inst->ptx_error;
      return tl_cpu_fail(t, inst, TL_FAULT_UNSUPPORTED);
   }
   assert(inst->num_results <= MOST && inst->num_args <= MOST); /* tl_ptx_new saw to it */
   for (uint32_t k = 0; k < inst->num_results; k++) {
      result[k] = tl_cpu_data(t, inst->result[k]);
      n = tl_cpu_count(t, inst->result[k]);
   }
   for (uint32_t k = 0; k < inst->num_args; k++) {
      arg[k] = tl_cpu_data(t, inst->arg[k]);
      num[k] = tl_cpu_count(t, inst->arg[k]);
      n = num[k] > n ? num[k] : n;
   }
   tl_ptx_apply(inst->ptx, arg, num, result, n);
   mark_asm_results(t, inst, n);
   return true;
}

/* ---- promises ---- */
/* Of x along a dimension: groups of `size` neighbours whose first is divisible by it, or which are
 * consecutive (step 1) or equal (step 0). */
typedef struct Promise {
   const TlExecSlot *x;
   size_t inner; /* elements from one to the next along the dimension */
   uint32_t dim; /* of them */
   uint64_t size, step;
} Promise;

static uint64_t
bytes_of_pointee(const TlType *elem)
{
   if (elem->kind != TL_TYPE_PTR)
      return 1;
   return elem->elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->elem->dtype].bytes;
}

static bool
holds_in_groups(TlExecThread *t, const Promise *p, size_t *where)
{
   const TlExecSlot *x = p->x;
   const uint8_t *data = tl_cpu_data(t, x);
   assert(p->dim > 0 && p->size > 1);
   uint64_t step = p->step * bytes_of_pointee(tl_type_elem(x->type));
   for (size_t i = 0; i < x->n; i++) {
      uint64_t place = i / p->inner % p->dim;
      if (place % p->size == 0)
         continue;
      TlBits now = tl_load_elem(x->dtype, data + i * x->elem_bytes);
      TlBits before = tl_load_elem(x->dtype, data + (i - p->inner) * x->elem_bytes);
      if (now != tl_int_to_bits(x->dtype, (int64_t)(before + step))) {
         *where = i;
         return false;
      }
   }
   return true;
}

/* The first along the dimension begins a group, however long those are that are consecutive. */
static bool
is_divisible(TlExecThread *t, const Promise *p, size_t *where)
{
   const TlExecSlot *x = p->x;
   const uint8_t *data = tl_cpu_data(t, x);
   for (size_t i = 0; i < x->n; i++) {
      if (i / p->inner % p->dim)
         continue;
      int64_t v = tl_bits_to_int(x->dtype, tl_load_elem(x->dtype, data + i * x->elem_bytes));
      if (v % (int64_t)p->size) {
         *where = i;
         return false;
      }
   }
   return true;
}

/* Checked: one warning, of the first dimension whose promise does not hold. */
bool
tl_cpu_hint(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *x = inst->arg[0];
   TlInts values = tl_attr_ints(inst->op, TL_ATTR_VALUES);
   int64_t hint = tl_attr_int(inst->op, TL_ATTR_HINT);
   bool is_tile = tl_type_is_tile(x->type);
   if (!t->plan->is_strict || tl_dtype_is_float(x->dtype))
      return true;
   Promise p = {.x = x, .inner = x->n, .step = hint == TL_HINT_CONTIGUOUS};
   for (unsigned d = 0; d < (is_tile ? x->type->rank : 1) && d < values.len; d++) {
      size_t where = 0;
      p.dim = is_tile ? x->type->shape[d] : 1;
      p.inner /= p.dim;
      p.size = values.data[d] > 0 ? (uint64_t)values.data[d] : 1;
      if (p.size == 1)
         continue;
      if (hint == TL_HINT_DIVISIBLE ? !is_divisible(t, &p, &where)
                                    : !holds_in_groups(t, &p, &where)) {
         tl_cpu_warn(t, inst, x, where, TL_FAULT_ASSUME, values.data[d]);
         return true;
      }
   }
   return true;
}

bool
tl_cpu_assume(TlExecThread *t, const TlExecInst *inst)
{
   if (!t->plan->is_strict)
      return true;
   if (!tl_cpu_want_defined(t, inst, 0))
      return false;
   return truth(t, inst->arg[0]) || tl_cpu_fail(t, inst, TL_FAULT_ASSUME);
}

/* Of the checks that --check adds, which are of every element: one without a value overflows
 * nothing, and whoever uses it hears of it there. */
static bool
is_of_overflow(const TlExecInst *inst)
{
   const char *text = tl_attr_str(inst->op, TL_ATTR_TEXT);
   TlDtype dtype;
   return text && tl_is_overflow_text(text, &dtype);
}

/* A warning of the first element for which it would fail; what is undefined says nothing. */
static void
watch_assert(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *c = inst->arg[0];
   const uint8_t *ok = tl_cpu_data(t, c);
   bool undef = tl_cpu_is_undef(t, c);
   for (size_t i = 0; i < c->n; i++)
      if (!ok[i] && !(undef && tl_cpu_shadow(t, c)[i])) {
         TlExecFault what = {.kind = TL_FAULT_ASSERT_SEEN,
                             .text = tl_attr_str(inst->op, TL_ATTR_TEXT)};
         tl_cpu_warn_of(t, inst, c, i, &what);
         return;
      }
}

bool
tl_cpu_device_assert(TlExecThread *t, const TlExecInst *inst)
{
   if (t->plan->spares_asserts) {
      if (t->checked)
         watch_assert(t, inst);
      return true;
   }
   const TlExecSlot *c = inst->arg[0];
   const uint8_t *ok = tl_cpu_data(t, c);
   const uint8_t *mask = inst->num_args > 1 ? tl_cpu_data(t, inst->arg[1]) : NULL;
   bool undef = tl_cpu_is_undef(t, c), has_holes = undef && is_of_overflow(inst);
   for (size_t i = 0; i < c->n; i++) {
      if ((mask && !mask[i]) || (has_holes && tl_cpu_shadow(t, c)[i]))
         continue;
      if (undef && tl_cpu_shadow(t, c)[i])
         return tl_cpu_fail_undefined(t, inst, c, i, tl_cpu_shadow(t, c)[i]);
      if (!ok[i]) {
         t->fault.text = tl_attr_str(inst->op, TL_ATTR_TEXT);
         return tl_cpu_fail_at(t, inst, c, i, TL_FAULT_ASSERT);
      }
   }
   return true;
}

/* ---- printing ---- */
typedef struct Line {
   char *text;
   size_t len, cap;
} Line;

static void __attribute__((format(printf, 2, 3)))
add(Line *l, const char *fmt, ...)
{
   va_list ap;
   va_start(ap, fmt);
   int n = vsnprintf(l->text + l->len, l->cap - l->len, fmt, ap);
   va_end(ap);
   size_t room = l->cap - l->len - 1;
   l->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room;
}

static void
add_value(Line *l, const TlExecSlot *s, TlBits bits, bool is_hex)
{
   if (is_hex || tl_type_elem(s->type)->kind == TL_TYPE_PTR)
      add(l, "0x%0*llx", (int)s->elem_bytes * 2, (unsigned long long)bits);
   else if (tl_dtype_is_float(s->dtype))
      add(l, "%f", tl_bits_to_double(s->dtype, bits));
   else if (tl_dtype_is_signed(s->dtype))
      add(l, "%lld", (long long)tl_bits_to_int(s->dtype, bits));
   else
      add(l, "%llu", (unsigned long long)bits);
}

static void
add_place(TlExecThread *t, Line *l, const TlExecSlot *s, size_t i)
{
   add(l, "pid (%u, %u, %u) idx (", t->program[0], t->program[1], t->program[2]);
   const TlType *type = s ? s->type : NULL;
   size_t below = s ? s->n : 1;
   for (unsigned d = 0; type && tl_type_is_tile(type) && d < type->rank; d++) {
      below /= type->shape[d];
      add(l, "%s%*zu", d ? ", " : "", tl_print_width(type->shape[d]), i / below % type->shape[d]);
   }
   add(l, ")");
}

static void
send(TlExecThread *t, Line *l, size_t times)
{
   assert(l->len < l->cap);
   if (l->len > l->cap - 2)
      l->len = l->cap - 2;
   l->text[l->len++] = '\n';
   l->text[l->len] = 0;
   tl_cpu_lock(&t->run->print_lock);
   for (size_t i = 0; i < times; i++)
      t->run->opts->print(t->run->opts->user, l->text, l->len);
   tl_cpu_unlock(&t->run->print_lock);
   l->len = 0;
}

/* One line for each element of each operand, as Triton prints it, or as many as the threads that
 * print have each: pid (x, y, z) idx (i, j) prefix: (operand n) value */
bool
tl_cpu_device_print(TlExecThread *t, const TlExecInst *inst)
{
   if (!t->run->opts->print)
      return true;
   const char *prefix = tl_attr_str(inst->op, TL_ATTR_TEXT);
   bool is_hex = tl_attr_int(inst->op, TL_ATTR_HEX) != 0;
   size_t threads = (size_t)tl_attr_int(inst->op, TL_ATTR_THREADS);
   Line l = {t->line, 0, sizeof t->line};
   if (!inst->num_args) {
      add(&l, "pid (%u, %u, %u)", t->program[0], t->program[1], t->program[2]);
      add(&l, "%s", prefix ? prefix : "");
      send(t, &l, threads);
   }
   for (uint32_t k = 0; k < inst->num_args; k++) {
      const TlExecSlot *s = inst->arg[k];
      for (size_t i = 0; i < s->n; i++) {
         const uint8_t *at = (const uint8_t *)tl_cpu_data(t, s) + i * s->elem_bytes;
         add_place(t, &l, s, i);
         add(&l, "%s", prefix ? prefix : "");
         if (inst->num_args > 1)
            add(&l, "(operand %u) ", k);
         add_value(&l, s, tl_load_elem(s->dtype, at), is_hex);
         send(t, &l, threads > s->n ? threads / s->n : 1);
      }
   }
   return true;
}
