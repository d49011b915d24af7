/* What a long step has reached: on a terminal one line that changes, elsewhere a line every ten
 * seconds, so that a log shows that it goes on.  A thread of its own prints, since the step may be
 * one call that takes minutes. */
#ifndef TL_COMMAND_PROGRESS_H
#define TL_COMMAND_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { TL_PROGRESS_LIVE_MS = 500, TL_PROGRESS_LOG_MS = 10000 };

typedef struct TlProgress {
   FILE *out;
   bool is_terminal;
   unsigned every_ms; /* also before the first line: short steps print nothing */
   bool runs;         /* there is a thread */
   bool ends;
   unsigned shown; /* how often it was */
   char text[160];
   struct timespec begun;
   pthread_t thread;
   pthread_mutex_t lock;
   pthread_cond_t wake;
} TlProgress;

/* On stderr. */
void tl_progress_begin(TlProgress *p, const char *text);
/* every_ms: of is_terminal or not, see above. */
void tl_progress_begin_on(TlProgress *p, FILE *out, bool is_terminal, unsigned every_ms,
                          const char *text);
/* From any thread. */
void tl_progress_say(TlProgress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line away. */
void tl_progress_end(TlProgress *p);

#endif
