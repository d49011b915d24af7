/* Runs passes: state check, pass, new state, verification, printing, timing.
 * Invariant: after a pass that changed anything the function is sound, in every build; otherwise a
 * located error names the pass and cx->failed is set, so that nothing later works on broken IR.
 * Scratch memory of a pass is given back when it ends. */
#include "passes/pass.h"
#include "base/clock.h"

#include <assert.h>
#include <string.h>

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
   if ((progress || cx->verify_each) && !cx->failed)
      tl_verify_each(f, report_unsound, &(Unsound){cx, f, pass->name});
   if (cx->print && (is_asked(cx->print_after, pass->name) || (progress && cx->failed)))
      print_after(cx, f, pass->name);
}

static bool
run_row(TlPassCx *cx, TlFunc *f, const PassRow *pass, bool *progress)
{
   assert(pass->run && f->body->block);
   if (pass->state_in != STATE_ANY && pass->state_in != (int)f->state) {
      tl_report(cx->diags, E0361, f->range, pass->name, state_names[pass->state_in], f->name,
                state_names[f->state]);
      cx->failed = true;
      return false;
   }
   TlArenaMark mark = tl_arena_mark(cx->scratch);
   double start = tl_now_ms();
   *progress = pass->run(cx, f);
   double ms = tl_now_ms() - start;
   if (!cx->failed && pass->state_out != STATE_ANY)
      f->state = (TlState)pass->state_out;
   finish(cx, f, pass, *progress);
   tl_arena_reset(cx->scratch, mark);
   tl_vec_push(f->module->arena, &cx->times, (TlPassTime){pass->name, ms});
   return !cx->failed;
}

bool
tl_run_passes(TlPassCx *cx, TlFunc *f, const TlPassId *ids)
{
   bool progress;
   while (*ids != TL_PASS_END)
      if (!run_row(cx, f, &passes[*ids++], &progress))
         return false;
   return true;
}

bool
tl_run_passes_to_fixed_point(TlPassCx *cx, TlFunc *f, const TlPassId *ids, unsigned max_rounds)
{
   assert(max_rounds > 0);
   bool any = true;
   for (unsigned round = 0; any && round < max_rounds; round++) {
      any = false;
      for (const TlPassId *id = ids; *id != TL_PASS_END; id++) {
         bool progress = false;
         if (!run_row(cx, f, &passes[*id], &progress))
            return false;
         any |= progress;
      }
   }
   return true;
}

static TlPassId
find_pass(const char *name, size_t len)
{
   unsigned id = 0;
   while (id < TL_PASS_COUNT &&
          (strlen(passes[id].name) != len || memcmp(passes[id].name, name, len) != 0))
      id++;
   return (TlPassId)id;
}

TlPassId
tl_pass_named(const char *name)
{
   return find_pass(name, strlen(name));
}

bool
tl_run_named_passes(TlPassCx *cx, TlFunc *f, const char *list)
{
   for (; *list; list += *list == ',') {
      size_t len = strcspn(list, ",");
      const TlPassId ids[] = {find_pass(list, len), TL_PASS_END};
      assert(!len || ids[0] != TL_PASS_END);
      if (!tl_run_passes(cx, f, ids))
         return false;
      list += len;
   }
   return true;
}
