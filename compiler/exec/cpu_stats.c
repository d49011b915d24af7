/* What a launch moves and computes, counted from the instructions that ran: masked-off elements of
 * loads and stores do not count, arithmetic on them does, since it is done. */
#include "exec/cpu_impl.h"

#include <assert.h>

/* Elements that an access touches: those its mask leaves on. */
static uint64_t
accessed(TlExecThread *t, const TlExecInst *inst)
{
   unsigned mask_arg = tl_pred_at(inst->op);
   uint32_t n = inst->arg[0]->n;
   if (!mask_arg || inst->num_args <= mask_arg)
      return n;
   const uint8_t *mask = tl_cpu_data(t, inst->arg[mask_arg]);
   uint64_t on = 0;
   for (uint32_t i = 0; i < n; i++)
      on += mask[i] != 0;
   return on;
}

/* Operations for each element of the result: conversions and choices are none, fma is two. */
static uint64_t
flops_of_element(const TlOp *op)
{
   const TlType *elem = tl_type_elem(tl_result(op, 0)->type);
   bool computes = (tl_info(op)->traits & TL_TRAIT_ELTWISE) && op->opcode != TL_OP_CAST &&
                   op->opcode != TL_OP_BITCAST && op->opcode != TL_OP_SELECT;
   if (!computes || elem->kind == TL_TYPE_PTR || !tl_dtype_is_float(elem->dtype))
      return 0;
   return op->opcode == TL_OP_FMA ? 2 : 1;
}

static uint64_t
flops_of(TlExecThread *t, const TlExecInst *inst)
{
   if (!inst->num_results)
      return 0;
   const TlExecSlot *r = inst->result[0];
   if (inst->op->opcode == TL_OP_DOT) {
      const TlType *a = inst->arg[0]->type;
      bool is_float = tl_dtype_is_float(r->dtype);
      return is_float ? 2 * (uint64_t)r->n * a->shape[a->rank - 1] : 0;
   }
   if (inst->direct) { /* a region of more than one operation counts its own */
      uint64_t in = inst->arg[0]->n, out = inst->op->opcode == TL_OP_REDUCE ? r->n : 0;
      assert(in >= out);
      return (in - out) * flops_of_element(inst->direct->op);
   }
   return tl_cpu_count(t, r) * flops_of_element(inst->op);
}

void
tl_cpu_count_inst(TlExecThread *t, const TlExecInst *inst)
{
   uint64_t traits = tl_info(inst->op)->traits;
   if (!(traits & TL_TRAIT_ACCESS)) {
      t->stats.flops += flops_of(t, inst);
      return;
   }
   const TlExecSlot *value = inst->num_results ? inst->result[0] : inst->arg[1];
   uint64_t bytes = accessed(t, inst) * value->elem_bytes;
   t->stats.load_bytes += traits & TL_TRAIT_READ ? bytes : 0; /* an atomic reads and writes */
   t->stats.store_bytes += traits & TL_TRAIT_WRITE ? bytes : 0;
}
