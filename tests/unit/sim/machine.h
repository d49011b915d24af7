/* LOWERED text on the simulator: buffers in, buffers and faults out. */
#ifndef TESTS_UNIT_SIM_MACHINE_H
#define TESTS_UNIT_SIM_MACHINE_H

#include "support/ir_fixture.h"

#include "exec/sim/sim.h"

enum { MACHINE_ARGS = 8 };

typedef struct Machine {
   IrFixture x;
   TlExecArg arg[MACHINE_ARGS];
   unsigned num_args;
   const char *params;
   uint32_t grid[3];
   TlSimOptions opts;
   TlSimFault fault;
   TlSimStats stats;
   TlExecStatus status;
   uint64_t rng;
   const char *text;
} Machine;

static inline void
m_open(Machine *m, uint64_t seed)
{
   memset(m, 0, sizeof *m);
   ir_open(&m->x);
   m->params = "";
   m->grid[0] = m->grid[1] = m->grid[2] = 1;
   m->rng = seed * 7919 + 1;
}

static inline void
m_close(Machine *m)
{
   ir_close(&m->x);
}

static inline uint64_t
m_random(Machine *m)
{
   m->rng += 0x9e3779b97f4a7c15u;
   uint64_t z = m->rng;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return z ^ z >> 31;
}

/* A new parameter %<name>: n elements, zeroed, 16-byte aligned. */
static inline void *
m_buffer(Machine *m, const char *name, TlDtype t, size_t n)
{
   size_t bytes = n * tl_dtype_info[t].bytes;
   char *p = tl_arena_alloc(m->x.arena, bytes + 64);
   p += 64 - (uintptr_t)p % 64;
   m->arg[m->num_args++] =
      (TlExecArg){.is_buffer = true, .is_writable = true, .data = p, .bytes = bytes};
   m->params = tl_arena_printf(m->x.arena, "%s%s%%%s: ptr<%s>", m->params, *m->params ? ", " : "",
                               name, tl_dtype_info[t].text);
   return p;
}

/* Who every thread is, under names that bodies use, and some constants. */
static const char m_prelude[] = "%lane = lane_id : i32\n"
                                "%warp = warp_id : i32\n"
                                "%k0 = constant 0 : i32\n"
                                "%k1 = constant 1 : i32\n"
                                "%k2 = constant 2 : i32\n"
                                "%k4 = constant 4 : i32\n"
                                "%k5 = constant 5 : i32\n"
                                "%k16 = constant 16 : i32\n"
                                "%warp32 = shl %warp, %k5 : i32\n"
                                "%tid = add %warp32, %lane : i32\n"
                                "%tid4 = shl %tid, %k2 : i32\n"
                                "%tid16 = shl %tid, %k4 : i32\n";

/* A program that includes this may define M_ON_DEVICE: a function that gets every run that went
 * well, with the buffers' contents before it. */
#ifdef M_ON_DEVICE
static void M_ON_DEVICE(Machine *m, TlFunc *f, void *const before[]);
#endif

static inline TlExecStatus
m_run(Machine *m, unsigned warps, unsigned shared_bytes, const char *body)
{
   m->text = tl_arena_printf(m->x.arena,
                             "func @k(%s) {num_warps = %u, state = lowered, shared_bytes = %u} {\n"
                             "%s%s   return\n}\n",
                             m->params, warps, shared_bytes, m_prelude, body);
   TlFunc *f = ir_must_read(&m->x, m->text);
   TlSb sb;
   tl_sb_init(&sb, m->x.arena);
   if (!tl_verify(f, &sb))
      fail_msg("%s\n%s", tl_sb_cstr(&sb), m->text);
   void *before[MACHINE_ARGS] = {0};
   for (unsigned i = 0; i < m->num_args; i++) {
      bool too_large = m->arg[i].bytes > 1 << 20;
      before[i] = tl_arena_alloc(m->x.arena, too_large ? 0 : m->arg[i].bytes);
      memcpy(before[i], m->arg[i].data, too_large ? 0 : m->arg[i].bytes);
   }
   m->status = tl_sim_run(f, m->arg, m->num_args, m->grid, &m->opts, &m->fault, &m->stats);
#ifdef M_ON_DEVICE
   if (m->status == TL_EXEC_OK)
      M_ON_DEVICE(m, f, before);
#endif
   return m->status;
}

static inline void
m_must_run(Machine *m, unsigned warps, unsigned shared_bytes, const char *body)
{
   if (m_run(m, warps, shared_bytes, body) != TL_EXEC_OK)
      fail_msg("status %d, fault %d/%d at '%s' thread %u, other '%s'\n%s", (int)m->status,
               (int)m->fault.kind, (int)m->fault.base.kind, m->fault.base.op, m->fault.thread,
               m->fault.other_op ? m->fault.other_op : "-", m->text);
}

/* Source text under a range. */
static inline const char *
m_source(Machine *m, TlRange r)
{
   const TlSource *s = tl_source(m->x.sources, r.file);
   return s ? tl_arena_strndup(m->x.arena, s->text + r.begin, r.end - r.begin) : "";
}

#endif
