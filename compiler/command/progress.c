/* The line of a long step. */
#include "command/progress.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static struct timespec
now(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return t;
}

static void
show(TlProgress *p)
{
   struct timespec t = now();
   long seconds = (long)(t.tv_sec - p->begun.tv_sec) - (t.tv_nsec < p->begun.tv_nsec);
   fprintf(p->out, p->is_terminal ? "\r%s, %ld s\033[K" : "%s, %ld s\n", p->text, seconds);
   fflush(p->out);
   p->shown++;
}

static void *
show_steadily(void *user)
{
   TlProgress *p = user;
   struct timespec next = p->begun;
   pthread_mutex_lock(&p->lock);
   while (!p->ends) {
      next.tv_nsec += (long)(p->every_ms % 1000) * 1000000;
      next.tv_sec += p->every_ms / 1000 + next.tv_nsec / 1000000000;
      next.tv_nsec %= 1000000000;
      while (!p->ends && pthread_cond_timedwait(&p->wake, &p->lock, &next) == 0) {
      }
      if (!p->ends)
         show(p);
   }
   pthread_mutex_unlock(&p->lock);
   return NULL;
}

void
tl_progress_begin_on(TlProgress *p, FILE *out, bool is_terminal, unsigned every_ms,
                     const char *text)
{
   *p = (TlProgress){.out = out, .is_terminal = is_terminal, .every_ms = every_ms, .begun = now()};
   pthread_condattr_t clock;
   snprintf(p->text, sizeof p->text, "%s", text);
   if (pthread_condattr_init(&clock) != 0)
      return;
   bool good = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 &&
               pthread_cond_init(&p->wake, &clock) == 0;
   pthread_condattr_destroy(&clock);
   if (!good)
      return;
   pthread_mutex_init(&p->lock, NULL);
   p->runs = pthread_create(&p->thread, NULL, show_steadily, p) == 0; /* else nothing is shown */
}

void
tl_progress_begin(TlProgress *p, const char *text)
{
   bool is_terminal = isatty(STDERR_FILENO);
   tl_progress_begin_on(p, stderr, is_terminal,
                        is_terminal ? TL_PROGRESS_LIVE_MS : TL_PROGRESS_LOG_MS, text);
}

void
tl_progress_say(TlProgress *p, const char *format, ...)
{
   va_list args;
   if (!p->runs)
      return;
   pthread_mutex_lock(&p->lock);
   va_start(args, format);
   vsnprintf(p->text, sizeof p->text, format, args);
   va_end(args);
   pthread_mutex_unlock(&p->lock);
}

void
tl_progress_end(TlProgress *p)
{
   if (!p->runs)
      return;
   pthread_mutex_lock(&p->lock);
   p->ends = true;
   pthread_cond_signal(&p->wake);
   pthread_mutex_unlock(&p->lock);
   pthread_join(p->thread, NULL);
   p->runs = false;
   if (p->shown && p->is_terminal) {
      fputs("\r\033[K", p->out);
      fflush(p->out);
   }
}
