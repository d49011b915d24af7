/* Remarks of the group "layout".  They look at finished LAID code only, so that they tell what is,
 * not what was planned. */
#include "passes/remark.h"
#include "layout/convert_plan.h"
#include "passes/coalesce.h"
#include "passes/lower.h"

#include <string.h>

bool
tl_remarks_on(const TlPassCx *cx, const char *group)
{
   if (!cx->remarks)
      return false;
   size_t n = strlen(group);
   for (const char *s = cx->remarks; *s;) {
      size_t len = strcspn(s, ",");
      if ((len == n && strncmp(s, group, n) == 0) || (len == 3 && strncmp(s, "all", 3) == 0))
         return true;
      s += len + (s[len] == ',');
   }
   return false;
}

/* What keeps an access below 16 bytes. */
static const char *
why_narrow(const TlAccess *a, const TlLinear *l, unsigned vec)
{
   if (vec * a->elem_bytes >= 16)
      return "";
   if (a->contiguity <= vec)
      return "; addresses are not known to be contiguous";
   if (a->align_bytes <= vec * a->elem_bytes)
      return "; the address is not known to be aligned further";
   if (a->mask_run <= vec)
      return "; the mask may change between neighbours";
   return tl_ll_contiguous_regs(l, a->dim) <= vec ? "; a thread holds no more neighbours" : "";
}

static void
remark_access(TlPassCx *cx, TlAnalysis *facts, const TlOp *op)
{
   const TlValue *ptr = tl_arg(op, 0);
   TlAccess a = tl_access_of(facts, ptr, tl_access_mask(op));
   TlLinear l = tl_layout_of(ptr->type);
   unsigned vec = tl_access_vec_in(&a, &l);
   tl_report(cx->diags, R0410, op->range, tl_info(op)->text,
             tl_type_cstr(cx->scratch, tl_type_with_elem(tl_op_func(op)->module->types, ptr->type,
                                                         tl_type_elem(ptr->type)->elem)),
             vec, vec * a.elem_bytes, why_narrow(&a, &l, vec));
}

static void
remark_dot(TlPassCx *cx, const TlOp *op)
{
   const TlType *acc = tl_result(op, 0)->type, *a = tl_arg(op, 0)->type;
   TlDotForm form;
   bool is_mma = tl_match_mma(a, tl_arg(op, 1)->type, acc, &form);
   tl_report(cx->diags, R0412, op->range, acc->shape[acc->rank - 2], acc->shape[acc->rank - 1],
             a->shape[a->rank - 1],
             is_mma ? tl_attr_word(TL_AK_MMA, form.mma) : "multiply-adds of each thread");
}

static void
walk_layouts(TlPassCx *cx, TlAnalysis *facts, const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if ((op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE) &&
          tl_arg(op, 0)->type->kind == TL_TYPE_TILE)
         remark_access(cx, facts, op);
      if (op->opcode == TL_OP_DOT)
         remark_dot(cx, op);
      for (unsigned i = 0; i < op->num_regions; i++)
         walk_layouts(cx, facts, op->regions[i]->block);
   }
}

void
tl_remark_layouts(TlPassCx *cx, TlFunc *f)
{
   if (tl_remarks_on(cx, "layout"))
      walk_layouts(cx, tl_analysis_new(cx->scratch, f), f->body->block);
}

static void
walk_conversions(TlPassCx *cx, const TlBlock *block, unsigned loops)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if (op->opcode == TL_OP_CONVERT_LAYOUT) {
         const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
         TlLinear a = tl_layout_of(from), b = tl_layout_of(to);
         TlConvertPlan *plan = tl_new(cx->scratch, TlConvertPlan);
         unsigned es = tl_dtype_info[tl_memory_dtype(to->elem)].bytes;
         bool ok = tl_plan_conversion(to->elem, &a, &b, plan);
         if (ok && (plan->kind == TL_CONVERT_SHUFFLES || plan->kind == TL_CONVERT_SHARED))
            tl_report(cx->diags, R0411, op->range, tl_type_cstr(cx->scratch, to),
                      plan->kind == TL_CONVERT_SHARED ? "through shared memory" : "by shuffles",
                      (unsigned)tl_type_num_elems(to) * es, loops ? " in every iteration" : "");
      }
      bool is_loop = op->opcode == TL_OP_FOR || op->opcode == TL_OP_WHILE;
      for (unsigned i = 0; i < op->num_regions; i++)
         walk_conversions(cx, op->regions[i]->block, loops + is_loop);
   }
}

void
tl_remark_conversions(TlPassCx *cx, TlFunc *f)
{
   if (tl_remarks_on(cx, "layout"))
      walk_conversions(cx, f->body->block, 0);
}
