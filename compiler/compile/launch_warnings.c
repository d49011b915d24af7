/* See launch_warnings.h. */
#include "compile/launch_warnings.h"
#include "ir/walk.h"

#include <string.h>

static bool
is_told(const TlDiag *told, const TlDiag *of)
{
   for (const TlDiag *d = told; d; d = d->next)
      if (d->code == of->code && d->range.begin == of->range.begin)
         return true;
   return false;
}

static bool
is_one_program(const TlLaunchGrid *g)
{
   return g->size[0] == 1 && g->size[1] == 1 && g->size[2] == 1;
}

typedef struct Asked { /* of the grid, by the kernel */
   bool axis[3];
   const TlOp *beyond; /* program_id of an axis that the grid does not have */
   bool is_noted;      /* each program leaves a trace of its own: an atomic, a line printed */
} Asked;

static Asked
find_asked(const TlFunc *f, unsigned sizes)
{
   Asked a = {0};
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      a.is_noted |= op->opcode == TL_OP_ATOMIC_RMW || op->opcode == TL_OP_ATOMIC_CAS ||
                    op->opcode == TL_OP_INLINE_ASM || op->opcode == TL_OP_DEVICE_PRINT;
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
name_of(const TlCompilation *comp)
{
   const TlKernelInfo *k;
   unsigned n = tl_sema_kernels(comp->sema, &k);
   for (unsigned i = 0; i < n; i++)
      if (strcmp(k[i].name, comp->entries.data[0].kernel) == 0)
         return k[i].name_range;
   return comp->entries.data[0].func->range;
}

/* program_id(1) under a grid of 8, where nothing tells the 8 programs apart. */
static void
warn_of_axes(const TlCompilation *comp, const TlLaunchGrid *g, TlDiags *diags)
{
   const TlFunc *f = comp->entries.len ? comp->entries.data[0].typed : NULL;
   Asked a = f ? find_asked(f, g->sizes) : (Asked){.axis = {true, true, true}};
   for (int i = 0; i < 3 && !g->is_own; i++) {
      if (a.axis[i] || g->size[i] < 2)
         continue;
      if (a.beyond) {
         tl_report(diags, W0232, a.beyond->range, g->sizes, g->sizes == 1 ? "" : "s",
                   tl_arena_printf(diags->arena, "program_id(%d)",
                                   (int)tl_attr_int(a.beyond, TL_ATTR_AXIS)),
                   0);
         tl_help(diags, "nothing asks for program_id(%d), whose %u programs do the same", i,
                 g->size[i]);
      } else if (!a.is_noted) {
         tl_report(diags, W0264, name_of(comp), i, i);
         tl_help(diags,
                 "all %u of them do the same: take tl.program_id(%d) into the offsets, or give the "
                 "grid one program there",
                 g->size[i], i);
      }
      return;
   }
}

void
tl_launch_warn(const TlCompilation *comp, const TlLaunchGrid *grid, const TlDiag *told,
               TlDiags *diags)
{
   diags->warnings.initial = TL_WARNINGS_RUN;
   if (comp->sema)
      warn_of_axes(comp, grid, diags);
   for (const TlDiag *d = comp->lints; d; d = d->next)
      if (!is_told(told, d) && !(is_one_program(grid) && tl_diag_is_of_programs(d->code)))
         tl_diags_repeat(diags, d);
   tl_diags_sort(diags);
}
