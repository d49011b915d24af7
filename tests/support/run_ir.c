/* Evaluator of the functions that gen_ir.c makes.  Invariant: value[id] holds the elements of the
 * value with that id, row-major, from its definition on. */
#include "support/run_ir.h"

#include <string.h>

typedef struct Ev {
   Run *run;
   uint64_t **value;           /* by value id */
   const uint64_t *yielded[8]; /* of the region that ended last */
} Ev;

static bool run_block(Ev *e, const TlBlock *block);

static const uint64_t *
get(Ev *e, const TlValue *v)
{
   return e->value[v->id];
}

static uint64_t *
set(Ev *e, const TlValue *v)
{
   size_t n = tl_type_num_elems(v->type);
   e->value[v->id] = tl_new_array(e->run->arena, uint64_t, n);
   return e->value[v->id];
}

static void
seen(Ev *e, const TlValue *v)
{
   if (e->run->observe)
      e->run->observe(e->run->user, v, e->value[v->id]);
}

static void
set_copy(Ev *e, const TlValue *v, const uint64_t *from)
{
   uint64_t *to = set(e, v);
   memcpy(to, from, tl_type_num_elems(v->type) * sizeof to[0]);
   seen(e, v);
}

static bool
stop(Ev *e, const char *why)
{
   e->run->error = why;
   return false;
}

static TlDtype
dtype_of(const TlValue *v)
{
   return tl_type_elem(v->type)->dtype;
}

/* ---- indices ---- */
static void
unflatten(const TlType *t, size_t flat, uint32_t *at)
{
   for (unsigned d = t->rank; d-- > 0;) {
      at[d] = (uint32_t)(flat % t->shape[d]);
      flat /= t->shape[d];
   }
}

static size_t
flatten(const TlType *t, const uint32_t *at)
{
   size_t flat = 0;
   for (unsigned d = 0; d < t->rank; d++)
      flat = flat * t->shape[d] + at[d];
   return flat;
}

/* ---- operations ---- */
static bool
run_eltwise(Ev *e, const TlOp *op)
{
   const TlValue *r = &op->results[0];
   uint64_t *out = set(e, r);
   for (size_t i = 0; i < tl_type_num_elems(r->type); i++) {
      TlDtype dtypes[3];
      TlBits bits[3];
      bool undefined = false;
      for (unsigned k = 0; k < op->num_args; k++) {
         dtypes[k] = dtype_of(tl_arg(op, k));
         bits[k] = get(e, tl_arg(op, k))[i];
      }
      out[i] = tl_eval(op->opcode, op->attrs, dtype_of(r), dtypes, bits, &undefined);
   }
   return true;
}

static bool
run_addptr(Ev *e, const TlOp *op)
{
   const TlValue *r = &op->results[0];
   const TlType *pointee = tl_type_elem(r->type)->elem;
   uint64_t *out = set(e, r);
   for (size_t i = 0; i < tl_type_num_elems(r->type); i++) {
      int64_t offset = tl_bits_to_int(dtype_of(tl_arg(op, 1)), get(e, tl_arg(op, 1))[i]);
      out[i] = get(e, tl_arg(op, 0))[i] + (uint64_t)offset * tl_dtype_info[pointee->dtype].bytes;
   }
   return true;
}

static bool
run_arrangement(Ev *e, const TlOp *op)
{
   const TlValue *r = &op->results[0], *x = tl_arg(op, 0);
   const uint64_t *in = get(e, x);
   uint64_t *out = set(e, r);
   for (size_t i = 0; i < tl_type_num_elems(r->type); i++) {
      uint32_t at[TL_MAX_RANK], from[TL_MAX_RANK];
      size_t source = i; /* expand_dims, reshape */
      unflatten(r->type, i, at);
      if (op->opcode == TL_OP_SPLAT) {
         source = 0;
      } else if (op->opcode == TL_OP_BROADCAST) {
         for (unsigned d = 0; d < r->type->rank; d++)
            from[d] = x->type->shape[d] == 1 ? 0 : at[d];
         source = flatten(x->type, from);
      } else if (op->opcode == TL_OP_TRANS) {
         TlInts order = tl_attr_ints(op, TL_ATTR_ORDER);
         for (unsigned d = 0; d < r->type->rank; d++)
            from[order.data[d]] = at[d];
         source = flatten(x->type, from);
      }
      out[i] = in[source];
   }
   return true;
}

static uint32_t *
memory(Ev *e, uint64_t address)
{
   Run *r = e->run;
   const struct {
      uint64_t base;
      uint32_t *data;
      size_t elems;
   } areas[] = {{RUN_IN_I, r->in_i, GEN_IN_ELEMS},
                {RUN_IN_F, r->in_f, GEN_IN_ELEMS},
                {RUN_OUT_I, r->out_i, GEN_OUT_ELEMS},
                {RUN_OUT_F, r->out_f, GEN_OUT_ELEMS}};
   for (unsigned i = 0; i < 4; i++)
      if (address >= areas[i].base && address < areas[i].base + 4 * areas[i].elems)
         return &areas[i].data[(address - areas[i].base) / 4];
   return NULL;
}

static bool
run_memory(Ev *e, const TlOp *op)
{
   bool is_load = op->opcode == TL_OP_LOAD;
   const TlValue *ptr = tl_arg(op, 0);
   unsigned mask_at = is_load ? 1 : 2;
   const uint64_t *mask = op->num_args > mask_at ? get(e, tl_arg(op, mask_at)) : NULL;
   uint64_t *out = is_load ? set(e, &op->results[0]) : NULL;
   for (size_t i = 0; i < tl_type_num_elems(ptr->type); i++) {
      uint32_t *at = memory(e, get(e, ptr)[i]);
      if (mask && !mask[i]) {
         if (is_load)
            out[i] = op->num_args > 2 ? get(e, tl_arg(op, 2))[i] : 0;
         continue;
      }
      if (!at)
         return stop(e, "access out of bounds");
      if (is_load)
         out[i] = *at;
      else
         *at = (uint32_t)get(e, tl_arg(op, 1))[i];
   }
   return true;
}

/* Runs the combine region on acc and x (num_args of each); the yields replace acc. */
static bool
combine(Ev *e, const TlOp *op, uint64_t *acc, const uint64_t *x)
{
   const TlBlock *body = op->regions[0]->block;
   unsigned k = op->num_args;
   for (unsigned i = 0; i < k; i++) {
      *set(e, body->args[i]) = acc[i];
      *set(e, body->args[i + k]) = x[i];
      seen(e, body->args[i]);
      seen(e, body->args[i + k]);
   }
   if (!run_block(e, body))
      return false;
   for (unsigned i = 0; i < k; i++)
      acc[i] = *e->yielded[i];
   return true;
}

static bool
run_reduce(Ev *e, const TlOp *op)
{
   const TlType *t = tl_arg(op, 0)->type;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), k = op->num_args;
   bool scan = op->opcode == TL_OP_SCAN;
   size_t inner = 1, outer = 1, len = t->shape[axis];
   for (unsigned d = axis + 1; d < t->rank; d++)
      inner *= t->shape[d];
   for (unsigned d = 0; d < axis; d++)
      outer *= t->shape[d];
   uint64_t *out[8];
   for (unsigned i = 0; i < k; i++)
      out[i] = set(e, &op->results[i]);
   for (size_t line = 0; line < inner * outer; line++) {
      size_t first = line / inner * inner * len + line % inner;
      uint64_t acc[8], x[8];
      for (size_t s = 0; s < len; s++) {
         for (unsigned i = 0; i < k; i++)
            (s ? x : acc)[i] = get(e, tl_arg(op, i))[first + s * inner];
         if (s && !combine(e, op, acc, x))
            return false;
         for (unsigned i = 0; scan && i < k; i++)
            out[i][first + s * inner] = acc[i];
      }
      for (unsigned i = 0; !scan && i < k; i++)
         out[i][line] = acc[i];
   }
   return true;
}

static bool
run_for(Ev *e, const TlOp *op)
{
   const TlBlock *body = op->regions[0]->block;
   TlDtype dtype = dtype_of(tl_arg(op, 0));
   int64_t i = tl_bits_to_int(dtype, *get(e, tl_arg(op, 0)));
   int64_t hi = tl_bits_to_int(dtype, *get(e, tl_arg(op, 1)));
   int64_t step = tl_bits_to_int(dtype, *get(e, tl_arg(op, 2)));
   const uint64_t *carried[8];
   if (step == 0 || op->num_results > 8)
      return stop(e, "a loop that this evaluator does not know");
   for (unsigned c = 0; c < op->num_results; c++)
      carried[c] = get(e, tl_arg(op, c + 3));
   for (; step > 0 ? i < hi : i > hi; i += step) {
      *set(e, body->args[0]) = tl_int_to_bits(dtype, i);
      seen(e, body->args[0]);
      for (unsigned c = 0; c < op->num_results; c++)
         set_copy(e, body->args[c + 1], carried[c]);
      if (!run_block(e, body))
         return false;
      for (unsigned c = 0; c < op->num_results; c++)
         carried[c] = e->yielded[c];
   }
   for (unsigned c = 0; c < op->num_results; c++)
      memcpy(set(e, &op->results[c]), carried[c],
             tl_type_num_elems(op->results[c].type) * sizeof(uint64_t));
   return true;
}

static bool
run_if(Ev *e, const TlOp *op)
{
   if (!run_block(e, op->regions[*get(e, tl_arg(op, 0)) ? 0 : 1]->block))
      return false;
   const uint64_t *out[8];
   memcpy(out, e->yielded, sizeof out);
   for (unsigned c = 0; c < op->num_results; c++)
      memcpy(set(e, &op->results[c]), out[c],
             tl_type_num_elems(op->results[c].type) * sizeof(uint64_t));
   return true;
}

static bool
run_source(Ev *e, const TlOp *op)
{
   const TlValue *r = &op->results[0];
   uint64_t *out = set(e, r);
   for (size_t i = 0; i < tl_type_num_elems(r->type); i++) {
      if (op->opcode == TL_OP_CONSTANT)
         out[i] = tl_attr_bits(op, TL_ATTR_VALUE);
      else if (op->opcode == TL_OP_PROGRAM_ID)
         out[i] = (uint64_t)e->run->program_id[tl_attr_int(op, TL_ATTR_AXIS)];
      else
         out[i] = tl_int_to_bits(TL_I32, tl_attr_int(op, TL_ATTR_START) + (int64_t)i);
   }
   return true;
}

static bool
run_op(Ev *e, const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_PROGRAM_ID:
   case TL_OP_ARANGE:
      return run_source(e, op);
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_RESHAPE:
   case TL_OP_TRANS:
      return run_arrangement(e, op);
   case TL_OP_ADDPTR:
      return run_addptr(e, op);
   case TL_OP_LOAD:
   case TL_OP_STORE:
      return run_memory(e, op);
   case TL_OP_REDUCE:
   case TL_OP_SCAN:
      return run_reduce(e, op);
   case TL_OP_FOR:
      return run_for(e, op);
   case TL_OP_IF:
      return run_if(e, op);
   case TL_OP_HINT:
      memcpy(set(e, &op->results[0]), get(e, tl_arg(op, 0)),
             tl_type_num_elems(op->results[0].type) * sizeof(uint64_t));
      return true;
   default:
      if (!tl_has_trait(op, TL_TRAIT_ELTWISE))
         return stop(e, tl_info(op)->text);
      return run_eltwise(e, op);
   }
}

static bool
run_block(Ev *e, const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if (tl_has_trait(op, TL_TRAIT_TERM)) {
         for (unsigned i = 0; i < op->num_args && i < 8; i++)
            e->yielded[i] = get(e, tl_arg(op, i));
         return true;
      }
      if (!run_op(e, op))
         return false;
      for (unsigned i = 0; i < op->num_results; i++)
         seen(e, &op->results[i]);
   }
   return true;
}

void
run_ir_fill(Run *r, uint64_t seed)
{
   static const uint32_t floats[] = {0x3f800000, 0xc0200000, 0,          0x80000000, 0x7f800000,
                                     0x41200000, 0x3dcccccd, 0xff7fffff, 0x7fc00000, 0x00000001};
   for (unsigned i = 0; i < GEN_IN_ELEMS; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
      r->in_i[i] = seed >> 62 ? (uint32_t)(seed >> 33) % 64 : (uint32_t)(seed >> 32);
      r->in_f[i] = floats[(seed >> 40) % (sizeof floats / sizeof floats[0])];
   }
   memset(r->out_i, 0, sizeof r->out_i);
   memset(r->out_f, 0, sizeof r->out_f);
   r->error = NULL;
}

bool
run_ir(Run *r, const TlFunc *f)
{
   const uint64_t params[6] = {RUN_IN_I,
                               RUN_IN_F,
                               RUN_OUT_I,
                               RUN_OUT_F,
                               tl_int_to_bits(TL_I32, r->n),
                               tl_int_to_bits(TL_I32, r->k)};
   Ev e = {.run = r, .value = tl_new_array(r->arena, uint64_t *, f->next_value_id)};
   const TlBlock *body = f->body->block;
   for (unsigned i = 0; i < body->num_args; i++) {
      *set(&e, body->args[i]) = params[i];
      seen(&e, body->args[i]);
   }
   return run_block(&e, body);
}

static bool
is_nan(uint32_t fp32)
{
   return (fp32 & 0x7fffffff) > 0x7f800000;
}

bool
run_ir_same(const Run *a, const Run *b)
{
   for (unsigned i = 0; i < GEN_OUT_ELEMS; i++) {
      bool both_nan = is_nan(a->out_f[i]) && is_nan(b->out_f[i]);
      if (a->out_i[i] != b->out_i[i] || (a->out_f[i] != b->out_f[i] && !both_nan))
         return false;
   }
   return true;
}
