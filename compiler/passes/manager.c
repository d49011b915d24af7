/* Runs passes by name: state check, pass, verification, printing, timing.
 * Invariant: after a pass that changed anything (debug builds, or cx->verify_each) the function is
 * sound; otherwise a located error names the pass and cx->failed is set, so that nothing later
 * works on broken IR.  Scratch memory of a pass is given back when it ends. */
#include "passes/pass.h"

#include <string.h>
#include <time.h>

enum {
   STATE_TYPED = TL_STATE_TYPED,
   STATE_LAID = TL_STATE_LAID,
   STATE_LOWERED = TL_STATE_LOWERED,
   STATE_ANY = -1
};

typedef struct PassRow {
   const char *name;
   bool (*run)(TlPassCx *cx, TlFunc *f);
   int state_in, state_out;
} PassRow;

static const PassRow passes[TL_PASS_COUNT] = {
#define TL_PASS(name, state_in, state_out, doc)                                                    \
   [TL_PASS_##name] = {#name, tl_pass_##name, STATE_##state_in, STATE_##state_out},
#include "passes/passes.def"
};

static const char *const state_names[] = {"typed", "laid", "lowered"};

static bool
should_verify(const TlPassCx *cx)
{
#ifndef NDEBUG
   (void)cx;
   return true;
#else
   return cx->verify_each;
#endif
}

static double
now_ms(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct Unsound {
   TlPassCx *cx;
   TlFunc *func;
   const char *pass;
} Unsound;

static void
report_unsound(void *user, const TlOp *op, const char *why)
{
   Unsound *u = user;
   u->cx->failed = true;
   tl_report(u->cx->diags, E0360, op ? op->range : u->func->range, u->pass,
             op ? tl_info(op)->text : "func", why);
}

static void
print_after(TlPassCx *cx, TlFunc *f, const char *pass)
{
   TlSb sb;
   tl_sb_init(&sb, cx->scratch);
   tl_print_func(f, NULL, &sb);
   cx->print(cx->print_user, pass, tl_sb_cstr(&sb));
}

static bool
is_asked(const char *asked, const char *pass)
{
   return asked && (strcmp(asked, pass) == 0 || strcmp(asked, "all") == 0);
}

/* Verifies and prints; a broken function is printed whether asked for or not. */
static void
finish(TlPassCx *cx, TlFunc *f, const PassRow *pass, bool progress)
{
   if (progress && !cx->failed && should_verify(cx))
      tl_verify_each(f, report_unsound, &(Unsound){cx, f, pass->name});
   if (cx->print && (is_asked(cx->print_after, pass->name) || (progress && cx->failed)))
      print_after(cx, f, pass->name);
}

static bool
run_row(TlPassCx *cx, TlFunc *f, const PassRow *pass, bool *progress)
{
   if (pass->state_in != STATE_ANY && pass->state_in != (int)f->state) {
      tl_report(cx->diags, E0361, f->range, pass->name, state_names[pass->state_in], f->name,
                state_names[f->state]);
      cx->failed = true;
      return false;
   }
   TlArenaMark mark = tl_arena_mark(cx->scratch);
   double start = now_ms();
   *progress = pass->run(cx, f);
   double ms = now_ms() - start;
   if (!cx->failed && pass->state_out != STATE_ANY)
      f->state = (TlState)pass->state_out;
   finish(cx, f, pass, *progress);
   tl_arena_reset(cx->scratch, mark);
   tl_vec_push(f->module->arena, &cx->times, (TlPassTime){pass->name, ms});
   return !cx->failed;
}

static const PassRow *
find_pass(const char *name, size_t len)
{
   for (unsigned i = 0; i < TL_PASS_COUNT; i++)
      if (strlen(passes[i].name) == len && memcmp(passes[i].name, name, len) == 0)
         return &passes[i];
   return NULL;
}

static bool
run_named(TlPassCx *cx, TlFunc *f, const char *name, size_t len, bool *progress)
{
   const PassRow *pass = find_pass(name, len);
   if (pass)
      return run_row(cx, f, pass, progress);
   tl_report(cx->diags, E0362, f->range, (int)(len > 60 ? 60 : len), name);
   cx->failed = true;
   return false;
}

bool
tl_run_pass(TlPassCx *cx, TlFunc *f, const char *name)
{
   bool progress = false;
   return run_named(cx, f, name, strlen(name), &progress);
}

bool
tl_run_passes(TlPassCx *cx, TlFunc *f, const char *list)
{
   while (*list) {
      size_t len = strcspn(list, ",");
      bool progress = false;
      if (len && !run_named(cx, f, list, len, &progress))
         return false;
      list += len + (list[len] == ',');
   }
   return true;
}

bool
tl_run_passes_to_fixed_point(TlPassCx *cx, TlFunc *f, const TlPassId *ids, unsigned num,
                             unsigned max_rounds)
{
   for (unsigned round = 0; round < max_rounds; round++) {
      bool any = false;
      for (unsigned i = 0; i < num; i++) {
         bool progress = false;
         if (!run_row(cx, f, &passes[ids[i]], &progress))
            return false;
         any |= progress;
      }
      if (!any)
         return true;
   }
   return true;
}
