/* The order of passes, for each state of the IR. */
#include "passes/pass.h"
#include "passes/remark.h"

static const TlPassId clean_up[] = {TL_PASS_fold, TL_PASS_cse, TL_PASS_licm, TL_PASS_dce,
                                    TL_PASS_END};

bool
tl_pipeline_typed(TlPassCx *cx, TlFunc *f)
{
   static const TlPassId typed[] = {
      TL_PASS_fold, TL_PASS_cse, TL_PASS_licm, TL_PASS_group_invariants, TL_PASS_dce, TL_PASS_END};
   return tl_run_passes_to_fixed_point(cx, f, typed, 4);
}

bool
tl_pipeline_laid(TlPassCx *cx, TlFunc *f)
{
   static const TlPassId place[] = {TL_PASS_narrow_divisions,
                                    TL_PASS_fold_dot_add,
                                    TL_PASS_reduce_thin_dots,
                                    TL_PASS_turn_products,
                                    TL_PASS_widen_loops,
                                    TL_PASS_fold,
                                    TL_PASS_cse,
                                    TL_PASS_scalarize_steps,
                                    TL_PASS_dce,
                                    TL_PASS_choose_warps,
                                    TL_PASS_place_layouts,
                                    TL_PASS_END};
   static const TlPassId converts[] = {TL_PASS_elide_converts, TL_PASS_cse, TL_PASS_dce,
                                       TL_PASS_END};
   static const TlPassId pipeline[] = {TL_PASS_hold_operands,
                                       TL_PASS_hoist_products,
                                       TL_PASS_specialize_warps,
                                       TL_PASS_order_programs,
                                       TL_PASS_advance_products,
                                       TL_PASS_skip_scaling,
                                       TL_PASS_pipeline_loops,
                                       TL_PASS_elide_converts,
                                       TL_PASS_cse,
                                       TL_PASS_dce,
                                       TL_PASS_store_boxes,
                                       TL_PASS_read_buffers,
                                       TL_PASS_prefetch_loads,
                                       TL_PASS_cse,
                                       TL_PASS_dce,
                                       TL_PASS_advance_loads,
                                       TL_PASS_stage_loads,
                                       TL_PASS_END};
   tl_remark_tiles(cx, f);
   if (!tl_run_passes(cx, f, place) || !tl_run_passes_to_fixed_point(cx, f, converts, 3) ||
       !tl_run_passes(cx, f, pipeline))
      return false;
   tl_remark_conversions(cx, f);
   return !cx->failed;
}

bool
tl_pipeline_lowered(TlPassCx *cx, TlFunc *f)
{
   /* Masks of vectors pick from those of elements until trim_registers: narrow_masks runs twice. */
   static const TlPassId lower[] = {
      TL_PASS_lower,          TL_PASS_dce,          TL_PASS_join_sums,
      TL_PASS_drop_masked,    TL_PASS_narrow_masks, TL_PASS_split_addresses,
      TL_PASS_trim_registers, TL_PASS_narrow_masks, TL_PASS_END};
   static const TlPassId finish[] = {TL_PASS_share_shuffles,
                                     TL_PASS_mask_loads,
                                     TL_PASS_join_pointers,
                                     TL_PASS_sink_values,
                                     TL_PASS_sink_masks,
                                     TL_PASS_dce,
                                     TL_PASS_delay_waits,
                                     TL_PASS_sink_waits,
                                     TL_PASS_rotate_loops,
                                     TL_PASS_raise_reads,
                                     TL_PASS_insert_barriers,
                                     TL_PASS_branch_sends,
                                     TL_PASS_branch_products,
                                     TL_PASS_share_last_round,
                                     TL_PASS_pair_blocks,
                                     TL_PASS_dce,
                                     TL_PASS_END};
   return tl_run_passes(cx, f, lower) && tl_run_passes_to_fixed_point(cx, f, clean_up, 2) &&
          tl_run_passes(cx, f, finish);
}
