/* What to say of a file that is not there. */
#ifndef TL_COMMAND_NEARBY_H
#define TL_COMMAND_NEARBY_H

#include "base/arena.h"

/* What follows "No such file": "; did you mean '..'?" of the files with one of the endings beside
 * it, or which there are; "": nothing.  `suffixes` end with NULL. */
const char *tl_not_there(TlArena *arena, const char *path, const char *const *suffixes);

#endif
