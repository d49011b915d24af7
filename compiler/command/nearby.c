/* See nearby.h. */
#include "command/nearby.h"
#include "base/str.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t
folder_len(const char *path)
{
   const char *slash = strrchr(path, '/');
   return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool
ends_with_one_of(const char *name, const char *const *suffixes)
{
   for (; *suffixes; suffixes++)
      if (tl_ends_with(name, *suffixes))
         return true;
   return false;
}

/* "a.tile, b.py", those with the endings in the folder of the path; *near: the one that the path's
 * name may be a slip for. */
static const char *
files_beside(TlArena *arena, const char *path, const char *const *suffixes, const char **near)
{
   enum { MOST = 6 };
   TlNearest best = {.name = path + folder_len(path)};
   const char *dot = strrchr(best.name, '.'), *same_stem = NULL;
   size_t stem = dot ? (size_t)(dot - best.name) + 1 : strlen(best.name);
   struct dirent **entries = NULL;
   int n = scandir(tl_arena_printf(arena, "%.*s.", (int)folder_len(path), path), &entries, NULL,
                   alphasort);
   unsigned listed = 0;
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (int i = 0; i < n; i++) {
      const char *name = tl_arena_strdup(arena, entries[i]->d_name);
      free(entries[i]);
      if (!ends_with_one_of(name, suffixes))
         continue;
      tl_nearest_try(&best, name);
      if (dot && strncmp(name, best.name, stem) == 0 && strcmp(name, best.name) != 0)
         same_stem = name;
      if (++listed <= MOST)
         tl_sb_printf(&sb, "%s%s", sb.len ? ", " : "", name);
   }
   free(entries);
   if (listed > MOST)
      tl_sb_printf(&sb, " and %u more", listed - MOST);
   *near = same_stem ? same_stem : best.best;
   return tl_sb_cstr(&sb);
}

const char *
tl_not_there(TlArena *arena, const char *path, const char *const *suffixes)
{
   const char *near, *text = "", *colon = strchr(path, ':');
   size_t folder = folder_len(path);
   char target[512];
   ssize_t n = readlink(path, target, sizeof target - 1);
   if (n > 0)
      return tl_arena_printf(arena, "; it is a link to '%.*s', which is not there", (int)n, target);
   if (folder && access(tl_arena_strndup(arena, path, folder), F_OK) != 0)
      return tl_arena_printf(arena, "; there is no folder '%.*s'", (int)folder - 1, path);
   const char *before = colon ? tl_arena_strndup(arena, path, (size_t)(colon - path)) : "";
   if (*before && access(before, F_OK) == 0)
      return tl_arena_printf(
         arena,
         "; did you mean '%s'? What follows ':' is no part of its name: a kernel "
         "is chosen by -k, a line is not",
         before);
   text = files_beside(arena, path, suffixes, &near);
   if (near)
      return tl_arena_printf(arena, "; did you mean '%.*s%s'?", (int)folder, path, near);
   return *text ? tl_arena_printf(arena, "; there %s %s", strchr(text, ',') ? "are" : "is", text)
                : "";
}
