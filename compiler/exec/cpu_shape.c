/* Creation and movement of elements: no arithmetic on values.
 * Every movement is written once, for elements of any size; shadow bytes move by the same code. */
#include "exec/cpu_impl.h"
#include "base/clock.h"

#include <assert.h>
#include <string.h>

/* ---- filling and copying ---- */
#define FILL(T)                                                                                    \
   do {                                                                                            \
      T v, *p = to;                                                                                \
      memcpy(&v, value, sizeof v);                                                                 \
      for (size_t i = 0; i < n; i++)                                                               \
         p[i] = v;                                                                                 \
   } while (0)

void
tl_cpu_fill(void *to, const void *value, uint32_t elem_bytes, size_t n)
{
   assert(elem_bytes == 1 || elem_bytes == 2 || elem_bytes == 4 || elem_bytes == 8);
   if (elem_bytes == 1)
      memset(to, *(const uint8_t *)value, n);
   else if (elem_bytes == 2)
      FILL(uint16_t);
   else if (elem_bytes == 4)
      FILL(uint32_t);
   else
      FILL(uint64_t);
}

void
tl_cpu_mark(TlExecThread *t, const TlExecSlot *s, uint8_t source)
{
   if (!t->checked)
      return;
   t->undef[s->root] = source != 0;
   if (source)
      memset(tl_cpu_shadow(t, s), source, tl_cpu_count(t, s));
}

void
tl_cpu_copy(TlExecThread *t, const TlExecSlot *from, const TlExecSlot *to)
{
   size_t n = tl_cpu_count(t, to);
   assert(from->elem_bytes == to->elem_bytes && tl_cpu_count(t, from) == n);
   if (from->offset == to->offset)
      return;
   memcpy(tl_cpu_data(t, to), tl_cpu_data(t, from), n * to->elem_bytes);
   if (!t->checked)
      return;
   t->undef[to->root] = t->undef[from->root];
   if (t->undef[from->root])
      memcpy(tl_cpu_shadow(t, to), tl_cpu_shadow(t, from), n);
}

void
tl_cpu_copies(TlExecThread *t, const TlExecCopies *c)
{
   for (uint32_t i = 0; i < c->num; i++)
      if (c->via[i])
         tl_cpu_copy(t, c->from[i], c->via[i]);
   for (uint32_t i = 0; i < c->num; i++)
      tl_cpu_copy(t, c->via[i] ? c->via[i] : c->from[i], c->to[i]);
}

/* One row of n elements, `step` elements apart in the source. */
static void
copy_row(uint8_t *to, const uint8_t *from, size_t n, size_t step, uint32_t bytes)
{
   if (step == 1) {
      memcpy(to, from, n * bytes);
   } else if (step == 0) {
      tl_cpu_fill(to, from, bytes, n);
   } else {
#define ROW(T)                                                                                     \
   for (size_t i = 0; i < n; i++)                                                                  \
   ((T *)to)[i] = ((const T *)from)[i * step]
      if (bytes == 1)
         ROW(uint8_t);
      else if (bytes == 2)
         ROW(uint16_t);
      else if (bytes == 4)
         ROW(uint32_t);
      else
         ROW(uint64_t);
#undef ROW
   }
}

typedef struct Strided {
   unsigned rank;
   const uint32_t *shape;    /* of the result */
   size_t step[TL_MAX_RANK]; /* of the source, in elements */
   uint32_t bytes;
} Strided;

/* Dimension d and inner ones; returns where the next result element goes. */
static uint8_t *
copy_dims(const Strided *s, unsigned d, uint8_t *to, const uint8_t *from)
{
   if (d + 1 >= s->rank) {
      size_t n = s->rank ? s->shape[s->rank - 1] : 1;
      copy_row(to, from, n, s->rank ? s->step[s->rank - 1] : 1, s->bytes);
      return to + n * s->bytes;
   }
   for (uint32_t i = 0; i < s->shape[d]; i++)
      to = copy_dims(s, d + 1, to, from + i * s->step[d] * s->bytes);
   return to;
}

static void
copy_strided(TlExecThread *t, const TlExecInst *inst, Strided *s)
{
   const TlExecSlot *to = inst->result[0], *from = inst->arg[0];
   s->bytes = to->elem_bytes;
   copy_dims(s, 0, tl_cpu_data(t, to), tl_cpu_data(t, from));
   if (!tl_cpu_is_undef(t, from))
      return;
   s->bytes = 1;
   t->undef[to->root] = true;
   copy_dims(s, 0, tl_cpu_shadow(t, to), tl_cpu_shadow(t, from));
}

/* Row-major distances between neighbours along each dimension. */
static void
row_major(const TlType *type, size_t *step)
{
   size_t n = 1;
   for (unsigned d = type->rank; d-- > 0; n *= type->shape[d])
      step[d] = n;
}

/* ---- creation ---- */
bool
tl_cpu_none(TlExecThread *t, const TlExecInst *inst)
{
   t->fault.text = "this operation runs in the simulator only";
   return tl_cpu_fail(t, inst, TL_FAULT_UNSUPPORTED);
}

bool
tl_cpu_constant(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0];
   uint64_t bits = tl_attr_bits(inst->op, TL_ATTR_VALUE);
   tl_cpu_fill(tl_cpu_data(t, r), &bits, r->elem_bytes, r->n);
   return true;
}

bool
tl_cpu_poison(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0];
   memset(tl_cpu_data(t, r), 0, (size_t)r->n * r->elem_bytes);
   tl_cpu_mark(t, r, inst->source);
   return true;
}

bool
tl_cpu_program_id(TlExecThread *t, const TlExecInst *inst)
{
   const uint32_t *from = inst->op->opcode == TL_OP_PROGRAM_ID ? t->program : t->run->grid;
   int64_t axis = tl_attr_int(inst->op, TL_ATTR_AXIS);
   uint32_t v = axis >= 0 && axis < 3 ? from[axis] : inst->op->opcode != TL_OP_PROGRAM_ID;
   tl_cpu_fill(tl_cpu_data(t, inst->result[0]), &v, sizeof v, 1);
   return true;
}

bool
tl_cpu_sreg(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0];
   uint64_t v = tl_attr_int(inst->op, TL_ATTR_SREG) == TL_SREG_SMID ? 0 : tl_now_ns();
   tl_cpu_fill(tl_cpu_data(t, r), &v, r->elem_bytes, r->n);
   return true;
}

bool
tl_cpu_arange(TlExecThread *t, const TlExecInst *inst)
{
   int32_t *p = tl_cpu_data(t, inst->result[0]);
   int32_t start = (int32_t)tl_attr_int(inst->op, TL_ATTR_START);
   for (uint32_t i = 0; i < inst->result[0]->n; i++)
      p[i] = start + (int32_t)i;
   return true;
}

bool
tl_cpu_splat(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0], *x = inst->arg[0];
   tl_cpu_fill(tl_cpu_data(t, r), tl_cpu_data(t, x), r->elem_bytes, r->n);
   if (tl_cpu_is_undef(t, x))
      tl_cpu_mark(t, r, *tl_cpu_shadow(t, x));
   return true;
}

/* ---- shape ---- */
/* The three rules whose result is the operand's storage (cpu_plan.c). */
bool
tl_cpu_retype(TlExecThread *t, const TlExecInst *inst)
{
   assert(inst->arg[0]->offset == inst->result[0]->offset);
   (void)t;
   return true;
}

bool
tl_cpu_identity(TlExecThread *t, const TlExecInst *inst)
{
   return tl_cpu_retype(t, inst);
}

bool
tl_cpu_broadcast(TlExecThread *t, const TlExecInst *inst)
{
   const TlType *to = inst->result[0]->type, *from = inst->arg[0]->type;
   Strided s = {.rank = to->rank, .shape = to->shape};
   assert(from->rank == to->rank);
   row_major(from, s.step);
   for (unsigned d = 0; d < to->rank; d++)
      if (from->shape[d] != to->shape[d])
         s.step[d] = 0;
   copy_strided(t, inst, &s);
   return true;
}

bool
tl_cpu_trans(TlExecThread *t, const TlExecInst *inst)
{
   const TlType *to = inst->result[0]->type;
   Strided s = {.rank = to->rank, .shape = to->shape};
   size_t step[TL_MAX_RANK];
   row_major(inst->arg[0]->type, step);
   TlInts order = tl_attr_ints(inst->op, TL_ATTR_ORDER);
   assert(order.len == to->rank);
   for (unsigned d = 0; d < to->rank; d++)
      s.step[d] = step[order.data[d]];
   copy_strided(t, inst, &s);
   return true;
}

/* to[2i + half] = from[i], or the other way round */
static void
copy_half(uint8_t *pairs, uint8_t *half, size_t n, uint32_t bytes, bool to_pairs)
{
   for (size_t i = 0; i < n; i++)
      if (to_pairs)
         memcpy(pairs + 2 * i * bytes, half + i * bytes, bytes);
      else
         memcpy(half + i * bytes, pairs + 2 * i * bytes, bytes);
}

bool
tl_cpu_join(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0];
   uint8_t *to = tl_cpu_data(t, r), *shadow = tl_cpu_shadow(t, r);
   bool undef = tl_cpu_is_undef(t, inst->arg[0]) || tl_cpu_is_undef(t, inst->arg[1]);
   if (undef) {
      memset(shadow, 0, r->n);
      t->undef[r->root] = true;
   }
   for (unsigned k = 0; k < 2; k++) {
      const TlExecSlot *x = inst->arg[k];
      assert(2 * x->n == r->n && x->elem_bytes == r->elem_bytes);
      copy_half(to + k * r->elem_bytes, tl_cpu_data(t, x), x->n, r->elem_bytes, true);
      if (tl_cpu_is_undef(t, x))
         copy_half(shadow + k, tl_cpu_shadow(t, x), x->n, 1, true);
   }
   return true;
}

bool
tl_cpu_split(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *x = inst->arg[0];
   uint8_t *from = tl_cpu_data(t, x), *shadow = tl_cpu_shadow(t, x);
   for (unsigned k = 0; k < 2; k++) {
      const TlExecSlot *r = inst->result[k];
      assert(2 * r->n == x->n && x->elem_bytes == r->elem_bytes);
      copy_half(from + k * r->elem_bytes, tl_cpu_data(t, r), r->n, r->elem_bytes, false);
      if (tl_cpu_is_undef(t, x)) {
         t->undef[r->root] = true;
         copy_half(shadow + k, tl_cpu_shadow(t, r), r->n, 1, false);
      }
   }
   return true;
}

bool
tl_cpu_cat(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *r = inst->result[0], *a = inst->arg[0], *b = inst->arg[1];
   uint8_t *to = tl_cpu_data(t, r), *shadow = tl_cpu_shadow(t, r);
   assert(a->n + b->n == r->n);
   memcpy(to, tl_cpu_data(t, a), (size_t)a->n * a->elem_bytes);
   memcpy(to + (size_t)a->n * a->elem_bytes, tl_cpu_data(t, b), (size_t)b->n * b->elem_bytes);
   if (!tl_cpu_is_undef(t, a) && !tl_cpu_is_undef(t, b))
      return true;
   memset(shadow, 0, r->n);
   t->undef[r->root] = true;
   if (tl_cpu_is_undef(t, a))
      memcpy(shadow, tl_cpu_shadow(t, a), a->n);
   if (tl_cpu_is_undef(t, b))
      memcpy(shadow + a->n, tl_cpu_shadow(t, b), b->n);
   return true;
}

/* An index outside the axis gives 0, and in checked mode an undefined element.  The first is kept
 * for the report. */
bool
tl_cpu_gather(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *src = inst->arg[0], *index = inst->arg[1], *r = inst->result[0];
   unsigned axis = (unsigned)tl_attr_int(inst->op, TL_ATTR_AXIS);
   const TlType *type = src->type;
   assert(axis < type->rank && index->n == r->n);
   size_t inner = 1, len = type->shape[axis], rows = r->type->shape[axis];
   for (unsigned d = axis + 1; d < type->rank; d++)
      inner *= type->shape[d];
   const uint8_t *from = tl_cpu_data(t, src), *at = tl_cpu_data(t, index);
   uint8_t *to = tl_cpu_data(t, r), *shadow = tl_cpu_shadow(t, r);
   bool undef_src = tl_cpu_is_undef(t, src), undef_index = tl_cpu_is_undef(t, index);
   bool any = undef_src || undef_index;
   bool is_outside = false;
   if (t->checked)
      memset(shadow, 0, r->n);
   for (size_t i = 0; i < r->n; i++) {
      uint64_t k = (uint64_t)tl_bits_to_int(index->dtype,
                                            tl_load_elem(index->dtype, at + i * index->elem_bytes));
      size_t row = (i / inner / rows * len + k) * inner + i % inner;
      if (k >= len)
         memset(to + i * r->elem_bytes, 0, r->elem_bytes);
      else
         memcpy(to + i * r->elem_bytes, from + row * r->elem_bytes, r->elem_bytes);
      if (!t->checked)
         continue;
      if (k >= len) {
         shadow[i] = inst->source;
         if (!is_outside)
            memcpy(t->operands[inst->source], (int64_t[]){(int64_t)k, (int64_t)len},
                   sizeof t->operands[0]);
         is_outside = true;
      } else if (undef_src)
         shadow[i] = tl_cpu_shadow(t, src)[row];
      if (undef_index && tl_cpu_shadow(t, index)[i])
         shadow[i] = tl_cpu_shadow(t, index)[i];
      any |= shadow[i] != 0;
   }
   if (t->checked)
      t->undef[r->root] = any;
   return true;
}
