/* The line of a long step, by its clock of milliseconds instead of seconds. */
#include "command/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* What a step that says one thing prints until it is shown `times` times; freed by the caller. */
static char *
run_step(bool is_terminal, unsigned every_ms, unsigned times)
{
   char *data = NULL;
   size_t len = 0;
   FILE *out = open_memstream(&data, &len);
   TlProgress p;
   assert_non_null(out);
   tl_progress_begin_on(&p, out, is_terminal, every_ms, "compiling");
   assert_true(p.runs);
   tl_progress_say(&p, "compiling %d of %d", 3, 7);
   for (unsigned shown = 0; shown < times;) {
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      pthread_mutex_lock(&p.lock);
      shown = p.shown;
      pthread_mutex_unlock(&p.lock);
   }
   tl_progress_end(&p);
   fclose(out);
   return data;
}

static void
a_log_gets_lines(void **state)
{
   (void)state;
   char *text = run_step(false, 1, 2);
   assert_memory_equal(strrchr(text, 'c'), "compiling 3 of 7, ", 18);
   assert_null(strchr(text, '\r'));
   assert_non_null(strchr(strchr(text, '\n') + 1, '\n'));
   free(text);
}

/* On a terminal: one line, taken away at the end. */
static void
a_terminal_gets_one_line(void **state)
{
   (void)state;
   char *text = run_step(true, 1, 2), *last = strrchr(text, '\r');
   assert_memory_equal(text, "\rcompiling", 10);
   assert_string_equal(last, "\r\033[K");
   assert_null(strchr(text, '\n'));
   free(text);
}

static void
short_steps_print_nothing(void **state)
{
   (void)state;
   char *text = run_step(true, 60000, 0);
   assert_string_equal(text, "");
   free(text);
}

int test_progress(void);
int
test_progress(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_log_gets_lines),
      cmocka_unit_test(a_terminal_gets_one_line),
      cmocka_unit_test(short_steps_print_nothing),
   };
   return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
