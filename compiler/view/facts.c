/* The page's header: what the kernel takes of the machine. */
#include "view/impl.h"

/* CUDA programming guide, "Compute Capabilities": technical specifications.  Registers are given
 * to warps in units of 256; of shared memory each block takes 1 KiB for the system. */
typedef struct Multiprocessor {
   uint32_t sm, warps, blocks, shared_bytes;
} Multiprocessor;

static const Multiprocessor known[] = {
   {80, 64, 32, 167936}, {86, 48, 16, 102400},  {89, 48, 24, 102400},
   {90, 64, 32, 233472}, {100, 64, 32, 233472}, {120, 48, 24, 102400},
};
enum { REGISTER_UNIT = 256, SYSTEM_BYTES = 1024 };

static uint32_t
smaller(uint32_t a, uint32_t b)
{
   return a < b ? a : b;
}

/* Blocks that a multiprocessor holds at once, and what sets the limit. */
static void
put_occupancy(const TlView *v, const TlViewFacts *facts, TlSb *out)
{
   const Multiprocessor *m = NULL;
   uint32_t warps = v->num_warps + v->extra_warps;
   for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
      m = known[i].sm == facts->target->sm ? &known[i] : m;
   if (!m || !facts->registers || !warps)
      return;
   uint32_t per_warp = (facts->registers * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
   uint32_t by_registers = facts->target->sm_registers / per_warp / warps;
   uint32_t by_warps = m->warps / warps;
   uint32_t by_shared =
      v->shared_bytes ? m->shared_bytes / (v->shared_bytes + SYSTEM_BYTES) : m->blocks;
   uint32_t blocks = smaller(smaller(by_registers, by_warps), smaller(by_shared, m->blocks));
   tl_view_json_open_field(out, "occupancy", '{');
   tl_view_json_int(out, "blocks", blocks);
   tl_view_json_int(out, "warps", blocks * warps);
   tl_view_json_int(out, "of", m->warps);
   tl_view_json_text(out, "limit",
                     blocks == by_shared && v->shared_bytes ? "shared memory"
                     : blocks == by_registers               ? "registers"
                     : blocks == by_warps                   ? "warps"
                                                            : "blocks");
   tl_view_json_close(out, '}');
}

static void
put_param(const TlView *v, const TlParam *p, TlSb *out)
{
   const char *value = p->is_runtime ? NULL : p->constant ? p->constant : "None";
   tl_view_json_open(out, '{');
   tl_view_json_text(out, "name", p->name);
   tl_view_json_text(out, "type", p->type ? tl_type_cstr(v->arena, p->type) : "constexpr");
   tl_view_json_text(out, "value", value);
   tl_view_json_int(out, "divisible", p->is_runtime ? p->divisibility : 1);
   tl_view_json_close(out, '}');
}

void
tl_view_put_facts(TlView *v, const TlViewFacts *facts, TlSb *out)
{
   const TlFunc *f = v->func;
   tl_view_json_open_field(out, "facts", '{');
   tl_view_json_text(out, "producer", facts->producer);
   tl_view_json_text(out, "kernel", f->name);
   tl_view_json_int(out, "from", tl_view_place(v, v->range));
   tl_view_json_text(out, "arch", facts->target->arch);
   tl_view_json_int(out, "warps", v->num_warps);
   tl_view_json_int(out, "extra_warps", v->extra_warps);
   tl_view_json_int(out, "stages", v->num_stages);
   tl_view_json_int(out, "shared", v->shared_bytes);
   tl_view_json_text(out, "grid", f->grid);
   if (facts->has_usage) {
      tl_view_json_int(out, "registers", facts->registers);
      tl_view_json_int(out, "stack", facts->stack);
      tl_view_json_int(out, "spill_stores", facts->spill_stores);
      tl_view_json_int(out, "spill_loads", facts->spill_loads);
      put_occupancy(v, facts, out);
   }
   tl_view_json_open_field(out, "params", '[');
   for (uint32_t i = 0; i < f->num_params; i++)
      put_param(v, &f->params[i], out);
   tl_view_json_close(out, ']');
   tl_view_json_close(out, '}');
}
