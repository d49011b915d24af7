/* Warnings and errors that a file's text shows, whatever its kernels are called with. */
#ifndef TL_SEMA_LINT_H
#define TL_SEMA_LINT_H

#include "sema/names.h"
#include "sema/sema.h"

/* Of the compiled functions of the main file: names that nothing binds, on ways too that no
 * specialisation takes, and the groups of warnings.def that are about the text.  Of the kernel
 * `compiled` (may be NULL) types are those that its arguments have. */
void tl_sema_lint(TlSema *s, const TlNames *names, const TlFunc *compiled);
/* What these, and launches of the kernel in its file, warn of in a kernel that was compiled for
 * `spec`, by the groups that a run shows; of other kernels nothing.  Nothing is reported. */
const TlDiag *tl_sema_lint_compiled(TlSema *s, const TlNames *names, const TlFunc *f,
                                    const TlSpecialization *spec);
/* Is the name, interned, read anywhere in the expression? */
bool tl_has_name(const TlNode *n, const char *name);
/* Does it store anything, or print, or do nothing at all? */
bool tl_sema_has_effect(const TlFunc *f);
/* What a round of a loop leaves in a name that the next one sets anew (lint_rounds.c). */
void tl_sema_lint_rounds(TlSema *s, const TlNames *names, TlNode *fn);
/* What a reduction takes of lanes that masks leave out (lint_lanes.c). */
struct TlAffine;
void tl_sema_lint_lanes(TlSema *s, struct TlAffine *a, const TlOp *op);
/* The same of sort and topk, as the kernel calls them. */
void tl_sema_lint_sorted(TlSema *s, struct TlAffine *a, const TlFunc *f);
/* What the accesses and sums of a kernel's typed code show; nothing is reported. */
const TlDiag *tl_sema_lint_accesses(TlSema *s, const TlFunc *f, const TlKernelInfo *k, bool *wraps);
/* Keeps such for the end: beside other messages about the kernel it would most often be a second
 * one for the same mistake. */
void tl_sema_lint_late(TlSema *s, const TlKernelInfo *k, const TlDiag *d);
/* Of a kernel's typed code, before passes have changed it. */
void tl_sema_lint_func(TlSema *s, const TlFunc *f, const TlKernelInfo *k);

#endif
