/* The order of passes, for each state of the IR. */
#include "passes/pass.h"

bool
tl_pipeline_typed(TlPassCx *cx, TlFunc *f)
{
   static const TlPassId clean_up[] = {TL_PASS_fold, TL_PASS_cse, TL_PASS_licm, TL_PASS_dce};
   return tl_run_passes_to_fixed_point(cx, f, clean_up, 4, 4);
}
