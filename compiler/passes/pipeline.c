/* The order of passes, for each state of the IR. */
#include "passes/pass.h"
#include "passes/remark.h"

bool
tl_pipeline_typed(TlPassCx *cx, TlFunc *f)
{
   static const TlPassId clean_up[] = {TL_PASS_fold, TL_PASS_cse, TL_PASS_licm, TL_PASS_dce};
   return tl_run_passes_to_fixed_point(cx, f, clean_up, 4, 4);
}

bool
tl_pipeline_laid(TlPassCx *cx, TlFunc *f)
{
   static const TlPassId clean_up[] = {TL_PASS_elide_converts, TL_PASS_cse, TL_PASS_dce};
   if (!tl_run_passes(cx, f, "fold_dot_add,scalarize_steps,dce,place_layouts") ||
       !tl_run_passes_to_fixed_point(cx, f, clean_up, 3, 3) ||
       !tl_run_passes(cx, f, "pipeline_loops,elide_converts,cse,dce"))
      return false;
   tl_remark_conversions(cx, f);
   return !cx->failed;
}

bool
tl_pipeline_lowered(TlPassCx *cx, TlFunc *f)
{
   static const TlPassId clean_up[] = {TL_PASS_fold, TL_PASS_cse, TL_PASS_licm, TL_PASS_dce};
   return tl_run_passes(cx, f, "lower,dce,split_addresses,trim_registers") &&
          tl_run_passes_to_fixed_point(cx, f, clean_up, 4, 2) &&
          tl_run_passes(cx, f, "join_pointers,dce,rotate_loops,insert_barriers");
}
