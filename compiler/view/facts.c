/* The page's header: what the kernel takes of the machine. */
#include "view/impl.h"

/* CUDA programming guide, "Compute Capabilities": a multiprocessor has four parts with a quarter of
 * the registers, given to warps in units of 256; blocks get shared memory in units of 128 bytes, of
 * which each takes 1 KiB for the system. */
enum { PARTS = 4, REGISTER_UNIT = 256, SHARED_UNIT = 128, SYSTEM_BYTES = 1024 };

typedef struct Limit {
   const char *what;
   uint32_t blocks;
} Limit;

static uint32_t
round_up(uint32_t n, uint32_t unit)
{
   return (n + unit - 1) / unit * unit;
}

/* Blocks that a multiprocessor holds at once, and what limits them; of equal limits the first. */
static void
put_occupancy(const TlView *v, const TlViewFacts *facts, TlSb *out)
{
   const TlTarget *t = facts->target;
   uint32_t registers = facts->usage.registers, warps = v->num_warps + v->extra_warps;
   if (!registers || registers > t->thread_registers || !warps)
      return;
   uint32_t shared = round_up(v->shared_bytes + SYSTEM_BYTES, SHARED_UNIT);
   uint32_t per_warp = round_up(registers * 32, REGISTER_UNIT);
   Limit limits[] = {{"shared memory", t->sm_shared_bytes / shared},
                     {"registers", t->sm_registers / PARTS / per_warp * PARTS / warps},
                     {"warps", t->sm_warps / warps},
                     {"blocks", t->sm_blocks}};
   Limit least = limits[0];
   for (size_t i = 1; i < sizeof limits / sizeof limits[0]; i++)
      least = limits[i].blocks < least.blocks ? limits[i] : least;
   tl_json_open_field(out, "occupancy", '{');
   tl_json_int(out, "blocks", least.blocks);
   tl_json_int(out, "warps", least.blocks * warps);
   tl_json_int(out, "of", t->sm_warps);
   tl_json_str(out, "limit", least.what);
   tl_json_close(out, '}');
}

static void
put_param(const TlView *v, const TlParam *p, TlSb *out)
{
   const char *value = p->is_runtime ? NULL : p->constant ? p->constant : "None";
   tl_json_open(out, '{');
   tl_json_str(out, "name", p->name);
   tl_json_str(out, "type", p->type ? tl_type_cstr(v->arena, p->type) : "constexpr");
   tl_json_str(out, "value", value);
   tl_json_int(out, "divisible", p->is_runtime ? p->divisibility : 1);
   tl_json_close(out, '}');
}

void
tl_view_put_facts(TlView *v, const TlViewFacts *facts, TlSb *out)
{
   const TlFunc *f = v->func;
   tl_json_open_field(out, "facts", '{');
   tl_json_str(out, "producer", facts->producer);
   tl_json_str(out, "kernel", f->name);
   tl_json_int(out, "from", tl_view_place(v, v->range));
   tl_json_str(out, "arch", facts->target->arch);
   tl_json_int(out, "warps", v->num_warps);
   tl_json_int(out, "extra_warps", v->extra_warps);
   tl_json_int(out, "stages", v->num_stages);
   tl_json_int(out, "shared", v->shared_bytes);
   tl_json_str(out, "grid", f->grid);
   if (facts->usage.is_known) {
      tl_json_int(out, "registers", facts->usage.registers);
      tl_json_int(out, "stack", facts->usage.stack);
      tl_json_int(out, "spill_stores", facts->usage.spill_stores);
      tl_json_int(out, "spill_loads", facts->usage.spill_loads);
      put_occupancy(v, facts, out);
   }
   tl_json_open_field(out, "params", '[');
   for (uint32_t i = 0; i < f->num_params; i++)
      put_param(v, &f->params[i], out);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}
