/* tilec doc: what a name of the language means; all names; or the pages of docs/reference. */
#include "command/command.h"
#include "command/reference.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */
/* Why a builtin of Triton is not there; NULL: it is none. */
static const char *
refused(const char *name)
{
   const TlBuiltin *b;
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if (strcmp(b->name, name) == 0 && b->fn == tl_builtin_unsupported)
         return ((const TlBuiltinRow *)b)->module;
   return NULL;
}

static const char *
nearest_name(const TlReference *ref, const char *name)
{
   TlNearest near = {.name = name};
   for (size_t p = 0; *name && p < ref->pages.len; p++)
      for (size_t i = 0; i < ref->pages.data[p].entries.len; i++) {
         const TlRefEntry *e = &ref->pages.data[p].entries.data[i];
         for (size_t k = 0; k < e->names.len; k++)
            tl_nearest_try(&near, e->names.data[k]);
      }
   return near.best;
}

static bool
is_diagnostic(const char *name)
{
   return strchr("EWRN", name[0]) && strlen(name) == 5 && strspn(name + 1, "0123456789") == 4;
}

/* The modules whose names all are listed. */
static bool
is_language(const char *asked)
{
   return strcmp(asked, "tl") == 0 || strcmp(asked, "triton") == 0 ||
          strcmp(asked, "triton.language") == 0;
}

static int
unknown(const TlReference *ref, const char *asked, const char *name)
{
   const char *instead = tl_name_instead(name), *why = refused(name),
              *near = nearest_name(ref, name);
   if (is_diagnostic(name))
      return tl_cmd_misuse("'%s' is a diagnostic: tilec explain %s", name, name);
   if (why)
      return tl_cmd_misuse("'%s' is not supported; %s", asked, why);
   if (instead)
      return tl_cmd_misuse("there is no '%s'; write %s", asked, instead);
   if (near)
      return tl_cmd_misuse("nothing is called '%s'; did you mean '%s'?", asked, near);
   return tl_cmd_misuse("nothing is called '%s'; 'tilec doc' lists all names", asked);
}

/* "tl.math.exp", "x.exp", "exp()" and "@autotune" ask for "exp" and "autotune"; operators have dots
 * and signs of their own. */
static const char *
plain_name(TlArena *arena, const TlReference *ref, const char *asked)
{
   if (tl_reference_find(ref, asked))
      return asked;
   const char *callee = tl_arena_strndup(arena, asked, strcspn(asked, "("));
   const char *dot = strrchr(callee, '.'), *name = dot && dot[1] ? dot + 1 : callee;
   return name + (*name == '@');
}

/* ---- pages ---- */
static int
write_pages(TlCommand *c, const TlReference *ref, const char *folder)
{
   const char *missing = tl_reference_missing(ref);
   if (*missing) {
      tl_cmd_error("the reference has no entry for: %s", missing);
      return EXIT_BUG;
   }
   if (!tl_cmd_folder("--pages", folder))
      return EXIT_ENVIRONMENT;
   size_t n = ref->pages.len;
   TlOutput *files = tl_new_array(c->arena, TlOutput, n + 1);
   for (size_t i = 0; i <= n; i++) {
      TlSb sb;
      tl_sb_init(&sb, c->arena);
      if (i < n)
         tl_reference_page_markdown(ref, &ref->pages.data[i], &sb);
      else
         tl_reference_index_markdown(ref, &sb);
      const char *name = i < n ? ref->pages.data[i].name : "README";
      files[i] = (TlOutput){.path = tl_arena_printf(c->arena, "%s/%s.md", folder, name),
                            .text = sb.data,
                            .len = sb.len};
   }
   return tl_cmd_write_all(c, files, n + 1) ? EXIT_OK : EXIT_ENVIRONMENT;
}

int
tl_cmd_doc(TlCommand *c)
{
   TlReference ref;
   tl_reference_read(c->arena, &ref);
   const char *folder = tl_option(&c->cl, TL_OPT_PAGES);
   if (folder && c->cl.operands.len)
      return tl_cmd_misuse("--pages writes about all names: take '%s' out, or --pages",
                           c->cl.operands.data[0]);
   if (c->cl.operands.len > 1)
      return tl_cmd_misuse("'doc' takes one name, as in: tilec doc %s; found also '%s'",
                           c->cl.operands.data[0], c->cl.operands.data[1]);
   if (folder)
      return write_pages(c, &ref, folder);
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   if (!c->cl.operands.len || is_language(c->cl.operands.data[0])) {
      tl_reference_list_text(&ref, &sb);
   } else {
      const char *asked = c->cl.operands.data[0], *name = plain_name(c->arena, &ref, asked);
      const TlRefEntry *e = tl_reference_find(&ref, name);
      if (!e)
         return unknown(&ref, asked, name);
      tl_reference_entry_text(&ref, e, name, &sb);
   }
   return tl_cmd_write(c, NULL, sb.data, sb.len) ? EXIT_OK : EXIT_ENVIRONMENT;
}
