/* Faults as diagnostics, counters as text. */
#include "exec/sim/impl.h"

static void
where(TlDiags *d, const TlSimFault *f, TlRange range)
{
   tl_note(d, N0686, range, f->base.program[0], f->base.program[1], f->base.program[2]);
}

/* "x[128]" */
static const char *
element(TlDiags *d, const TlExecFault *f)
{
   const char *buffer = f->buffer ? f->buffer : "a buffer";
   return f->elem_bytes && f->byte % f->elem_bytes == 0
             ? tl_arena_printf(d->arena, "%s[%lld]", buffer, (long long)(f->byte / f->elem_bytes))
             : tl_arena_printf(d->arena, "byte %lld of '%s'", (long long)f->byte, buffer);
}

static void
report_pair(TlDiags *d, const TlSimFault *f)
{
   TlRange at = f->base.range;
   uint32_t last = f->shared_at + f->shared_bytes - 1;
   if (f->kind == TL_SIM_FAULT_RACE) {
      tl_report(d, E0680, at, f->base.op, f->thread, f->other_op, f->other_thread, f->shared_at,
                last);
      tl_help(d, "one of the two is a %s and nothing orders them",
              f->is_write || f->other_is_write ? "write" : "read");
      tl_note(d, N0680, f->other, f->other_op);
   } else {
      tl_report(d, E0681, at, f->base.op, f->thread, f->shared_at, last);
      tl_note(d, N0681, f->other, f->other_op, f->other_thread);
   }
}

void
tl_sim_report(TlDiags *d, const TlSimFault *f)
{
   TlRange at = f->base.range;
   const char *op = f->base.op;
   uint32_t last = f->shared_at + f->shared_bytes - 1;
   switch (f->kind) {
   case TL_SIM_FAULT_BASE:
      tl_exec_report(d, &f->base);
      return;
   case TL_SIM_FAULT_RACE:
   case TL_SIM_FAULT_IN_FLIGHT:
      report_pair(d, f);
      break;
   case TL_SIM_FAULT_GLOBAL_RACE:
      tl_report(d, E0687, at, op, f->thread, f->other_op, f->other_thread, element(d, &f->base));
      tl_help(d, "one of the two is a write; '%s' orders what the threads of a program do",
              "debug_barrier");
      tl_note(d, N0680, f->other, f->other_op);
      break;
   case TL_SIM_FAULT_BLOCK_RACE:
      tl_report(d, E0690, at, op, f->base.program[0], f->base.program[1], f->base.program[2],
                f->other_op, f->other_program[0], f->other_program[1], f->other_program[2],
                element(d, &f->base));
      tl_help(d,
              "programs run in any order; an atomic after the one and an atomic before the other "
              "make one, or both may be atomics");
      tl_note(d, N0680, f->other, f->other_op);
      return;
   case TL_SIM_FAULT_UNWRITTEN:
      tl_report(d, E0682, at, op, f->thread, f->shared_at, last);
      break;
   case TL_SIM_FAULT_PROXY:
      tl_report(d, E0688, at, op, f->thread, f->shared_at, last, f->other_thread, f->other_op);
      tl_note(d, N0680, f->other, f->other_op);
      break;
   case TL_SIM_FAULT_WGMMA:
      tl_report(d, E0689, at, op, f->thread);
      break;
   case TL_SIM_FAULT_STORED:
      tl_report(d, E0691, at, f->thread, op);
      break;
   case TL_SIM_FAULT_ARRIVALS:
      tl_report(d, E0692, at, op, f->thread);
      break;
   case TL_SIM_FAULT_MAP: {
      static const char *const why[] = {
         [SIM_MAP_UNWRITTEN] = "before its warp has written it",
         [SIM_MAP_UNFENCED] = "before the fence",
         [SIM_MAP_IN_USE] = "while boxes move by it",
      };
      tl_report(d, E0693, at, op, f->thread, why[f->shared_at]);
      break;
   }
   case TL_SIM_FAULT_GONE:
      tl_report(d, E0694, at, op, f->other_thread);
      break;
   case TL_SIM_FAULT_EXTENT:
      tl_report(d, E0683, at, f->extent[0], f->extent[1] - 1, op, f->thread, f->shared_at, last);
      break;
   case TL_SIM_FAULT_ALIGNMENT:
      tl_report(d, E0684, at, f->shared_bytes, op, f->thread, f->shared_at);
      break;
   case TL_SIM_FAULT_DIVERGED:
      tl_report(d, E0685, at, f->thread, op, f->other_thread, f->other_op);
      tl_note(d, N0685, f->other, f->other_op);
      break;
   case TL_SIM_FAULT_STUCK: {
      const char *state = f->other_ended ? "has ended" : "waits elsewhere";
      tl_report(d, E0686, at, op, f->thread, f->other_thread, state);
      if (!f->other_ended && f->other_op)
         tl_note(d, N0685, f->other, f->other_op);
      break;
   }
   }
   where(d, f, at);
}

void
tl_sim_stats_print(const TlSimStats *s, TlSb *out)
{
#define STAT(name, doc)                                                                            \
   tl_sb_printf(out, "%-22s %14llu  %s\n", #name, (unsigned long long)s->name, doc);
#include "exec/sim/stats.def"
}
