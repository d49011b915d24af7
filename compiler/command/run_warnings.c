/* See run_warnings.h. */
#include "command/run_warnings.h"
#include "ir/walk.h"

static bool
is_told(const TlRunWarnings *w, const TlDiag *of)
{
   for (const TlDiag *d = w->told; d; d = d->next)
      if (d->code == of->code && d->range.begin == of->range.begin)
         return true;
   return false;
}

static bool
is_one_program(const TlRunWarnings *w)
{
   return w->grid[0] == 1 && w->grid[1] == 1 && w->grid[2] == 1;
}

typedef struct Asked { /* of the grid, by the kernel */
   bool axis[3];
   const TlOp *beyond; /* program_id of an axis that the grid does not have */
   bool has_atomics;
} Asked;

static Asked
find_asked(const TlFunc *f, unsigned sizes)
{
   Asked a = {0};
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      a.has_atomics |= op->opcode == TL_OP_ATOMIC_RMW || op->opcode == TL_OP_ATOMIC_CAS ||
                       op->opcode == TL_OP_INLINE_ASM;
      if (op->opcode != TL_OP_PROGRAM_ID && op->opcode != TL_OP_NUM_PROGRAMS)
         continue;
      int64_t axis = tl_attr_int(op, TL_ATTR_AXIS);
      a.axis[axis] = true;
      if (op->opcode == TL_OP_PROGRAM_ID && axis >= sizes && !a.beyond)
         a.beyond = op;
   }
   return a;
}

static TlRange
name_of(TlCompilation *comp)
{
   const TlKernelInfo *k;
   unsigned n = tl_sema_kernels(comp->sema, &k);
   for (unsigned i = 0; i < n; i++)
      if (strcmp(k[i].name, comp->entries.data[0].kernel) == 0)
         return k[i].name_range;
   return comp->entries.data[0].func->range;
}

/* program_id(1) under --grid=8, where nothing tells the 8 programs apart. */
static void
warn_of_axes(const TlRunWarnings *w, TlCompilation *comp)
{
   const TlFunc *f = comp->entries.len ? comp->entries.data[0].typed : NULL;
   Asked a = f ? find_asked(f, w->sizes) : (Asked){.axis = {true, true, true}};
   bool is_own = !tl_option(&w->c->cl, TL_OPT_GRID); /* checked with the text */
   for (int i = 0; i < 3 && !is_own; i++) {
      if (a.axis[i] || w->grid[i] < 2)
         continue;
      if (a.beyond) {
         tl_report(&comp->diags, W0232, a.beyond->range, w->sizes, w->sizes == 1 ? "" : "s",
                   tl_arena_printf(comp->arena, "program_id(%d)",
                                   (int)tl_attr_int(a.beyond, TL_ATTR_AXIS)));
         tl_help(&comp->diags, "nothing asks for program_id(%d), whose %u programs do the same", i,
                 w->grid[i]);
      } else if (!a.has_atomics) {
         tl_report(&comp->diags, W0264, name_of(comp), i, i);
         tl_help(&comp->diags,
                 "all %u of them do the same: take tl.program_id(%d) into the offsets, or give the "
                 "grid one program there",
                 w->grid[i], i);
      }
      return;
   }
}

bool
tl_run_warn(const TlRunWarnings *w, TlCompilation *comp, bool *any)
{
   bool is_fine = true;
   comp->diags.first = comp->diags.last = NULL; /* shown already */
   comp->diags.warnings.initial = TL_WARNINGS_RUN;
   if (comp->sema)
      warn_of_axes(w, comp);
   for (const TlDiag *d = comp->lints; d; d = d->next)
      if (!is_told(w, d) && !(is_one_program(w) && tl_diag_is_of_programs(d->code)))
         tl_diags_repeat(&comp->diags, d);
   tl_diags_sort(&comp->diags);
   for (const TlDiag *d = comp->diags.first; d; d = d->next)
      is_fine &= d->severity != TL_SEV_ERROR;
   *any = comp->diags.first != NULL;
   comp->diags.num_errors = 0;
   comp->error[0] = 0;
   tl_cmd_diagnostics(w->c, comp);
   return is_fine;
}
