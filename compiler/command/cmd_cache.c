/* tilec cache stats|verify|clear: the folder that `run` keeps compiled kernels in. */
#include "base/json.h"
#include "command/cached.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
when_text(int64_t seconds, char *text, size_t bytes)
{
   time_t t = (time_t)seconds;
   struct tm tm;
   if (!seconds || !gmtime_r(&t, &tm) || !strftime(text, bytes, "%Y-%m-%d %H:%M:%S UTC", &tm))
      snprintf(text, bytes, "-");
}

static void
print_table(const char *dir, TlCacheVisit how, const TlCacheStats *s)
{
   char oldest[64], newest[64];
   when_text(s->oldest, oldest, sizeof oldest);
   when_text(s->newest, newest, sizeof newest);
   printf("folder      %s\n", dir);
   printf("entries     %llu\n", (unsigned long long)s->entries);
   printf("size        %.1f MiB of at most %.0f MiB\n", (double)s->bytes / 1048576,
          (double)TL_CACHE_DEFAULT_BYTES / 1048576);
   printf("last used   %s to %s\n", oldest, newest);
   printf("temporary   %llu\n", (unsigned long long)s->temporary);
   if (how == TL_CACHE_VERIFY)
      printf("damaged     %llu%s\n", (unsigned long long)s->damaged,
             s->damaged ? " (removed)" : "");
   if (how != TL_CACHE_COUNT)
      printf("removed     %llu\n", (unsigned long long)s->removed);
}

static bool
print_json(TlCommand *c, const char *dir, const TlCacheStats *s)
{
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   tl_json_open(&sb, '{');
   tl_json_str(&sb, "folder", dir);
   tl_json_int(&sb, "entries", (int64_t)s->entries);
   tl_json_int(&sb, "bytes", (int64_t)s->bytes);
   tl_json_int(&sb, "max_bytes", TL_CACHE_DEFAULT_BYTES);
   tl_json_int(&sb, "oldest", s->oldest);
   tl_json_int(&sb, "newest", s->newest);
   tl_json_int(&sb, "temporary", (int64_t)s->temporary);
   tl_json_int(&sb, "damaged", (int64_t)s->damaged);
   tl_json_int(&sb, "removed", (int64_t)s->removed);
   tl_json_close(&sb, '}');
   tl_sb_char(&sb, '\n');
   return tl_cmd_write(c, NULL, sb.data, sb.len);
}

int
tl_cmd_cache(TlCommand *c)
{
   static const struct {
      const char *name;
      TlCacheVisit how;
   } verbs[] = {{"stats", TL_CACHE_COUNT}, {"verify", TL_CACHE_VERIFY}, {"clear", TL_CACHE_CLEAR}};
   const char *word = c->cl.operands.len == 1 ? c->cl.operands.data[0] : "";
   char why[TL_CACHE_WHY] = "";
   TlCacheStats stats;
   for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
      if (strcmp(word, verbs[i].name) != 0)
         continue;
      const char *dir = tl_cmd_cache_dir(c);
      if (!dir) {
         tl_cmd_error("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set; give "
                      "--cache-dir=DIR");
         return EXIT_ENVIRONMENT;
      }
      if (tl_option(&c->cl, TL_OPT_CACHE_DIR) && access(dir, F_OK) != 0) {
         tl_cmd_error(
            "there is no folder '%s': --cache-dir names one that 'tilec run' has kept kernels "
            "in",
            dir);
         return EXIT_ENVIRONMENT;
      }
      if (!tl_cache_visit(dir, verbs[i].how, &stats, why)) {
         tl_cmd_error("%s; --cache-dir=DIR names another", why);
         return EXIT_ENVIRONMENT;
      }
      if (!tl_option(&c->cl, TL_OPT_JSON))
         print_table(dir, verbs[i].how, &stats);
      else if (!print_json(c, dir, &stats))
         return EXIT_ENVIRONMENT;
      return stats.damaged ? EXIT_PROGRAM : EXIT_OK;
   }
   if (c->cl.operands.len > 1)
      return tl_cmd_misuse("'cache' takes one of stats, verify, clear; found '%s' and '%s'",
                           c->cl.operands.data[0], c->cl.operands.data[1]);
   TlNearest near = {.name = word};
   for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
      tl_nearest_try(&near, verbs[i].name);
   if (near.best)
      return tl_cmd_misuse(
         "'cache' takes one of stats, verify, clear; found '%s': did you mean '%s'?", word,
         near.best);
   return tl_cmd_misuse("'cache' takes one of stats, verify, clear%s%s", *word ? "; found " : "",
                        word);
}
