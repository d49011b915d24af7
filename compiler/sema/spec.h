/* What parameters are, by annotations and by signatures: shared by annotation.c, kernels.c and
 * spec.c. */
#ifndef TL_SEMA_SPEC_H
#define TL_SEMA_SPEC_H

#include "sema/impl.h"

extern const char tl_entry_separators[]; /* how entries of a signature are told apart, as a help */

void tl_set_constant(TlSpecArg *a, TlSv v);
/* What the annotation says; is_given false: nothing.  False: it is wrong, reported. */
bool tl_annotation_type(TlSema *s, TlSourceModule *source, const TlNode *a, TlSpecArg *out);
/* tl.const: a pointer that is not stored through. */
bool tl_is_const_annotation(TlSema *s, const TlNode *a);
/* The annotation as an entry of a signature, NULL when it says nothing.  Its mistakes are reported
 * once the kernel is compiled. */
const char *tl_annotation_entry(TlSema *s, TlSourceModule *source, const TlNode *a);
/* How the text, which is no type, was meant. */
void tl_help_type(TlSema *s, const char *text);

/* What the kernel is called in the file, or in the class or function it stands in. */
const char *tl_kernel_name(const TlSvFunc *fn);

#endif
