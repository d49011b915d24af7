/* A bug of the compiler must not end an editor's session: what crashes is given up, the rest goes
 * on. */
#ifndef TL_LSP_GUARD_H
#define TL_LSP_GUARD_H

#include <stdbool.h>

/* Runs work(user).  False when it crashed (a bad access, an assertion, a stack that is full): what
 * it was working on is in no known state and must not be used or freed any more. */
bool tl_guarded(void (*work)(void *user), void *user);

#endif
