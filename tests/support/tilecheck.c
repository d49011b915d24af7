/* Golden runner: runs the RUN lines of test files and checks the output against their CHECK lines.
 *
 *    tilecheck --tilec PATH [--tmp DIR] [--one-in N] FILE_OR_FOLDER...
 *
 * In a folder: files with RUN lines, with --one-in each N-th of them.
 *
 * RUN: COMMAND         run by sh; stdout and stderr together are the output.  It must end with 0.
 * RUN: not COMMAND     it must end with 1 .. 127
 * EXIT: N              the RUN line before must end with exactly N
 * RUN: COMMAND | FileCheck [--check-prefix=P] [--strict-whitespace] %s
 *                      the output of this line is checked by itself, with that prefix; the outputs
 *                      of lines without FileCheck are joined and checked with CHECK
 * Substitutions: %s the file, %S its folder, %t a scratch name of its own, %tilec the command, all
 * quoted for the shell.  A trailing backslash continues a RUN line on the next RUN line.
 *
 * Checks as FileCheck understands them: P:, P-NEXT:, P-SAME:, P-NOT:, P-LABEL:, P-DAG:, P-EMPTY:,
 * P-COUNT-n:; {{regex}}, [[NAME:regex]], [[NAME]] with POSIX extended expressions.  Blanks in a row
 * count as one unless --strict-whitespace.
 * The test's folder is taken out of the output, and the scratch name reads %t.
 * If FILE.expected exists, the joined output must equal it; TILEC_BLESS=1 in the environment
 * rewrites it instead. */
#include <ctype.h>
#include <dirent.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_DIRECTIVES = 1000, MAX_VARS = 200, MAX_GROUPS = 64, MAX_RUNS = 128 };

/* ---- text ---- */
typedef struct Text {
   char *data; /* NUL-terminated */
   size_t len, cap;
} Text;

static void
text_add(Text *t, const char *s, size_t n)
{
   if (n > SIZE_MAX / 8 || t->len + n + 1 > t->cap) {
      t->cap = (t->len + n + 1) * 2;
      t->data = n > SIZE_MAX / 8 ? NULL : realloc(t->data, t->cap);
      if (!t->data) {
         fputs("tilecheck: out of memory\n", stderr);
         exit(2);
      }
   }
   memcpy(t->data + t->len, s, n);
   t->len += n;
   t->data[t->len] = 0;
}

static void
text_adds(Text *t, const char *s)
{
   text_add(t, s, strlen(s));
}

static void __attribute__((format(printf, 2, 3)))
text_printf(Text *t, const char *format, ...)
{
   char buffer[2048];
   va_list ap;
   va_start(ap, format);
   vsnprintf(buffer, sizeof buffer, format, ap);
   va_end(ap);
   text_adds(t, buffer);
}

static void
text_free(Text *t)
{
   free(t->data);
   *t = (Text){0};
}

static char *
copy_n(const char *s, size_t n)
{
   Text t = {0};
   text_add(&t, s, n);
   return t.data;
}

static bool
read_file(const char *path, Text *out)
{
   FILE *f = fopen(path, "rb");
   if (!f)
      return false;
   char buffer[65536];
   text_adds(out, "");
   for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
      text_add(out, buffer, n);
   bool ok = !ferror(f);
   fclose(f);
   return ok;
}

/* Blanks in a row become one space; blanks before a line end go. */
static char *
canonical(const char *s)
{
   Text t = {0};
   text_adds(&t, "");
   for (; *s; s++) {
      if (*s == '\r' && s[1] == '\n')
         continue;
      if (*s != ' ' && *s != '\t') {
         text_add(&t, s, 1);
         continue;
      }
      while (s[1] == ' ' || s[1] == '\t')
         s++;
      text_adds(&t, " ");
   }
   return t.data;
}

/* ---- directives ---- */
typedef enum Kind { PLAIN, NEXT, SAME, NOT, LABEL, DAG, EMPTY, COUNT } Kind;

typedef struct Directive {
   Kind kind;
   unsigned line;  /* in the check file */
   unsigned count; /* COUNT: how often */
   char *pattern;
} Directive;

typedef struct Var {
   char *name, *value;
} Var;

typedef struct Checker {
   const char *prefix;
   Directive d[MAX_DIRECTIVES];
   unsigned num;
   Var vars[MAX_VARS];
   unsigned num_vars;
   const char *out; /* the output, blanks folded */
   Text *why;       /* receives what is wrong */
} Checker;

static const struct {
   const char *suffix;
   Kind kind;
} suffixes[] = {{":", PLAIN},       {"-NEXT:", NEXT}, {"-SAME:", SAME},   {"-NOT:", NOT},
                {"-LABEL:", LABEL}, {"-DAG:", DAG},   {"-EMPTY:", EMPTY}, {"-COUNT-", COUNT}};

/* The directive at `s` right after the prefix; NULL or the start of its pattern. */
static const char *
directive_at(const char *s, Kind *kind, unsigned *count)
{
   for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
      size_t n = strlen(suffixes[i].suffix);
      if (strncmp(s, suffixes[i].suffix, n) != 0)
         continue;
      *kind = suffixes[i].kind;
      *count = 1;
      if (*kind != COUNT)
         return s + n;
      char *end;
      *count = (unsigned)strtoul(s + n, &end, 10);
      return *end == ':' && *count ? end + 1 : NULL;
   }
   return NULL;
}

static bool
parse_line(Checker *c, const char *line, size_t len, unsigned number, bool strict)
{
   size_t prefix = strlen(c->prefix);
   for (const char *p = line; p + prefix < line + len; p++) {
      Kind kind;
      unsigned count;
      const char *pattern;
      if (strncmp(p, c->prefix, prefix) != 0 ||
          (p > line && (isalnum((unsigned char)p[-1]) || p[-1] == '-' || p[-1] == '_')) ||
          !(pattern = directive_at(p + prefix, &kind, &count)))
         continue;
      const char *end = line + len;
      while (pattern < end && (*pattern == ' ' || *pattern == '\t'))
         pattern++;
      while (end > pattern && isspace((unsigned char)end[-1]))
         end--;
      if (c->num == MAX_DIRECTIVES || (end == pattern) != (kind == EMPTY)) {
         text_printf(c->why, "line %u: %s\n", number,
                     c->num == MAX_DIRECTIVES ? "too many checks"
                     : kind == EMPTY          ? "-EMPTY takes no pattern"
                                              : "a check needs a pattern");
         return false;
      }
      char *raw = copy_n(pattern, (size_t)(end - pattern));
      c->d[c->num++] = (Directive){kind, number, count, strict ? raw : canonical(raw)};
      if (!strict)
         free(raw);
      return true;
   }
   return true;
}

static bool
parse_checks(Checker *c, const char *text, bool strict)
{
   unsigned number = 1;
   for (const char *line = text; *line; number++) {
      size_t len = strcspn(line, "\n");
      if (!parse_line(c, line, len, number, strict))
         return false;
      line += len + (line[len] == '\n');
   }
   if (!c->num) {
      text_printf(c->why, "no lines with '%s:' found\n", c->prefix);
      return false;
   }
   Kind first = c->d[0].kind;
   if (first == NEXT || first == SAME || first == EMPTY) {
      text_printf(c->why, "line %u: the first check must not be -NEXT, -SAME or -EMPTY\n",
                  c->d[0].line);
      return false;
   }
   return true;
}

/* ---- patterns ---- */
typedef struct Pattern {
   regex_t regex;
   struct {
      char *name;
      unsigned group;
   } defs[MAX_GROUPS];
   unsigned num_defs;
} Pattern;

static void
add_literal(Text *ere, const char *s, size_t n)
{
   for (size_t i = 0; i < n; i++) {
      if (strchr("\\^$.[]|()*+?{}", s[i]))
         text_adds(ere, "\\");
      text_add(ere, s + i, 1);
   }
}

/* Groups that a user's expression opens. */
static unsigned
count_groups(const char *s, size_t n)
{
   unsigned groups = 0;
   bool in_set = false;
   for (size_t i = 0; i < n; i++) {
      if (s[i] == '\\')
         i++;
      else if (s[i] == '[' && !in_set)
         in_set = true, i += s[i + 1] == ']' || s[i + 1] == '^';
      else if (s[i] == ']')
         in_set = false;
      else if (s[i] == '(' && !in_set)
         groups++;
   }
   return groups;
}

static const char *
find_var(const Checker *c, const char *name)
{
   for (unsigned i = c->num_vars; i-- > 0;)
      if (strcmp(c->vars[i].name, name) == 0)
         return c->vars[i].value;
   return NULL;
}

/* [[NAME]] or [[NAME:regex]] from `s`, just after the opening brackets, to `end`. */
static bool
add_variable(Checker *c, const Directive *d, Pattern *p, Text *ere, unsigned *groups, const char *s,
             const char *end)
{
   const char *colon = memchr(s, ':', (size_t)(end - s));
   char *name = copy_n(s, (size_t)((colon ? colon : end) - s));
   if (colon) {
      if (p->num_defs == MAX_GROUPS || *groups >= MAX_GROUPS - 1) {
         text_printf(c->why, "line %u: too many variables\n", d->line);
         free(name);
         return false;
      }
      p->defs[p->num_defs].name = name;
      p->defs[p->num_defs++].group = ++*groups;
      text_adds(ere, "(");
      text_add(ere, colon + 1, (size_t)(end - colon - 1));
      text_adds(ere, ")");
      *groups += count_groups(colon + 1, (size_t)(end - colon - 1));
      return true;
   }
   bool found = false;
   for (unsigned i = 0; i < p->num_defs && !found; i++)
      if (strcmp(p->defs[i].name, name) == 0) {
         text_printf(ere, "\\%u", p->defs[i].group);
         found = true;
      }
   const char *value = found ? NULL : find_var(c, name);
   if (value)
      add_literal(ere, value, strlen(value));
   else if (!found)
      text_printf(c->why, "line %u: variable '%s' has no value yet\n", d->line, name);
   free(name);
   return found || value;
}

static void
pattern_free(Pattern *p)
{
   for (unsigned i = 0; i < p->num_defs; i++)
      free(p->defs[i].name);
   regfree(&p->regex);
}

static bool
pattern_compile(Checker *c, const Directive *d, Pattern *p)
{
   *p = (Pattern){0};
   Text ere = {0};
   text_adds(&ere, d->kind == EMPTY ? "^$" : "");
   unsigned groups = 0;
   bool ok = true;
   for (const char *s = d->pattern; *s && ok;) {
      bool is_regex = strncmp(s, "{{", 2) == 0, is_var = strncmp(s, "[[", 2) == 0;
      const char *end = is_regex ? strstr(s + 2, "}}") : is_var ? strstr(s + 2, "]]") : NULL;
      if ((is_regex || is_var) && !end) {
         text_printf(c->why, "line %u: '%.2s' is not closed\n", d->line, s);
         ok = false;
      } else if (is_regex) {
         while (end[2] == '}')
            end++;
         groups += 1 + count_groups(s + 2, (size_t)(end - s - 2));
         text_adds(&ere, "(");
         text_add(&ere, s + 2, (size_t)(end - s - 2));
         text_adds(&ere, ")");
         s = end + 2;
      } else if (is_var) {
         while (end[2] == ']') /* the regex itself may end in a bracket */
            end++;
         ok = add_variable(c, d, p, &ere, &groups, s + 2, end);
         s = end + 2;
      } else {
         add_literal(&ere, s++, 1);
      }
   }
   int error = ok ? regcomp(&p->regex, ere.data, REG_EXTENDED) : 0;
   if (error) {
      char message[256];
      regerror(error, &p->regex, message, sizeof message);
      text_printf(c->why, "line %u: %s in '%s'\n", d->line, message, ere.data);
   }
   text_free(&ere);
   if (!ok || error) {
      for (unsigned i = 0; i < p->num_defs; i++)
         free(p->defs[i].name);
      return false;
   }
   return true;
}

/* First match inside [begin, end) of the output, never across lines; binds variables on request. */
static bool
pattern_find(Checker *c, const Pattern *p, size_t begin, size_t end, bool bind, size_t *from,
             size_t *to)
{
   regmatch_t m[MAX_GROUPS];
   for (size_t pos = begin; pos <= end;) {
      size_t len = strcspn(c->out + pos, "\n");
      if (pos == end && end > begin && c->out[pos - 1] == '\n')
         break;
      if (pos + len > end)
         len = end - pos;
      char *line = copy_n(c->out + pos, len);
      bool at_start = pos == 0 || c->out[pos - 1] == '\n';
      bool hit = regexec(&p->regex, line, MAX_GROUPS, m, at_start ? 0 : REG_NOTBOL) == 0;
      for (unsigned i = 0; hit && bind && i < p->num_defs && c->num_vars < MAX_VARS; i++) {
         regmatch_t g = m[p->defs[i].group];
         c->vars[c->num_vars].name = copy_n(p->defs[i].name, strlen(p->defs[i].name));
         c->vars[c->num_vars++].value = copy_n(line + g.rm_so, (size_t)(g.rm_eo - g.rm_so));
      }
      free(line);
      if (hit) {
         *from = pos + (size_t)m[0].rm_so;
         *to = pos + (size_t)m[0].rm_eo;
         return true;
      }
      pos += len + 1;
   }
   return false;
}

/* ---- matching ---- */
static unsigned
newlines(const char *s, size_t begin, size_t end)
{
   unsigned n = 0;
   for (size_t i = begin; i < end; i++)
      n += s[i] == '\n';
   return n;
}

static bool
complain(Checker *c, const Directive *d, const char *what, size_t at)
{
   static const char *const names[] = {"",       "-NEXT", "-SAME",  "-NOT",
                                       "-LABEL", "-DAG",  "-EMPTY", "-COUNT"};
   size_t begin = at;
   while (begin > 0 && c->out[begin - 1] != '\n')
      begin--;
   text_printf(c->why, "line %u: %s%s: %s: %s\n   output line %u: %.*s\n", d->line, c->prefix,
               names[d->kind], what, d->pattern, newlines(c->out, 0, begin) + 1,
               (int)strcspn(c->out + begin, "\n"), c->out + begin);
   return false;
}

/* None of the -NOT directives first .. last-1 may match inside [begin, end). */
static bool
check_nots(Checker *c, unsigned first, unsigned last, size_t begin, size_t end)
{
   for (unsigned i = first; i < last; i++) {
      Pattern p;
      size_t from, to;
      if (c->d[i].kind != NOT)
         continue;
      if (!pattern_compile(c, &c->d[i], &p))
         return false;
      bool hit = pattern_find(c, &p, begin, end, false, &from, &to);
      pattern_free(&p);
      if (hit)
         return complain(c, &c->d[i], "was found", from);
   }
   return true;
}

/* One positive directive from *pos on; moves *pos past the match, gives where it began. */
static bool
check_one(Checker *c, const Directive *d, size_t *pos, size_t end, size_t *began)
{
   Pattern p;
   if (!pattern_compile(c, d, &p))
      return false;
   bool ok = true;
   for (unsigned n = 0; n < d->count && ok; n++) {
      size_t from, to;
      ok = pattern_find(c, &p, *pos, end, true, &from, &to);
      if (!ok) {
         complain(c, d, "not found from here on", *pos);
         break;
      }
      unsigned lines = newlines(c->out, *pos, from);
      if ((d->kind == NEXT || d->kind == EMPTY) && lines != 1)
         ok = complain(c, d, lines ? "is not on the next line" : "is on the same line", from);
      else if (d->kind == SAME && lines != 0)
         ok = complain(c, d, "is not on the same line", from);
      if (n == 0)
         *began = from;
      *pos = to;
   }
   pattern_free(&p);
   return ok;
}

/* Directives first .. last-1, which lie between two labels, inside [begin, end). */
static bool
check_region(Checker *c, unsigned first, unsigned last, size_t begin, size_t end)
{
   size_t pos = begin;
   unsigned not_from = first;
   for (unsigned i = first; i < last; i++) {
      const Directive *d = &c->d[i];
      if (d->kind == NOT)
         continue;
      size_t before = pos, began = pos;
      if (d->kind == DAG) { /* a group of them in any order */
         size_t furthest = pos;
         for (; i < last && c->d[i].kind == DAG; i++) {
            size_t p = before;
            if (!check_one(c, &c->d[i], &p, end, &began))
               return false;
            furthest = p > furthest ? p : furthest;
         }
         i--;
         pos = furthest;
         began = furthest;
      } else if (!check_one(c, d, &pos, end, &began)) {
         return false;
      }
      if (!check_nots(c, not_from, i, before, began))
         return false;
      not_from = i + 1;
   }
   return check_nots(c, not_from, last, pos, end);
}

static bool
check_all(Checker *c)
{
   size_t pos = 0, len = strlen(c->out);
   unsigned i = 0;
   while (i < c->num) {
      unsigned next = i;
      while (next < c->num && c->d[next].kind != LABEL)
         next++;
      size_t from = len, to = len;
      if (next < c->num) {
         size_t at = pos;
         if (!check_one(c, &c->d[next], &at, len, &from))
            return false;
         to = at;
      }
      if (!check_region(c, i, next, pos, from))
         return false;
      pos = to;
      i = next + 1;
   }
   return true;
}

/* True when `output` satisfies the checks in `text`; else *why says what does not. */
static bool
tilecheck_match(const char *text, const char *prefix, bool strict, const char *output, Text *why)
{
   Checker *c = calloc(1, sizeof *c);
   if (!c)
      return false;
   c->prefix = prefix;
   c->why = why;
   char *out = strict ? copy_n(output, strlen(output)) : canonical(output);
   c->out = out;
   bool ok = parse_checks(c, text, strict) && check_all(c);
   for (unsigned i = 0; i < c->num; i++)
      free(c->d[i].pattern);
   for (unsigned i = 0; i < c->num_vars; i++) {
      free(c->vars[i].name);
      free(c->vars[i].value);
   }
   free(out);
   free(c);
   return ok;
}

/* ---- RUN lines ---- */
typedef struct Run {
   char *command;     /* substituted, without `not` and FileCheck */
   char *prefix;      /* of its own check, or NULL */
   bool strict;       /* --strict-whitespace */
   bool expects_fail; /* not */
   int exit;          /* EXIT: line; -1 = none */
} Run;

typedef struct Options {
   const char *tilec, *tmp;
   unsigned one_in; /* of the files in folders */
} Options;

typedef struct TestFile {
   const char *path; /* absolute */
   const char *dir;  /* absolute */
   char *scratch;    /* %t */
   Text text;
   Run runs[MAX_RUNS];
   unsigned num_runs;
} TestFile;

static void
add_quoted(Text *t, const char *s)
{
   text_adds(t, "'");
   for (; *s; s++)
      if (*s == '\'')
         text_adds(t, "'\\''");
      else
         text_add(t, s, 1);
   text_adds(t, "'");
}

static char *
substitute(const Options *o, const TestFile *f, const char *s)
{
   struct {
      const char *name, *value;
   } const table[] = {{"%tilec", o->tilec}, {"%s", f->path}, {"%S", f->dir}, {"%t", f->scratch}};
   Text t = {0};
   text_adds(&t, "");
   while (*s) {
      bool done = false;
      if (strncmp(s, "%%", 2) == 0) {
         text_adds(&t, "%");
         s += 2;
         continue;
      }
      for (size_t i = 0; i < sizeof table / sizeof table[0] && !done; i++) {
         size_t n = strlen(table[i].name);
         if (strncmp(s, table[i].name, n) == 0) {
            add_quoted(&t, table[i].value);
            s += n;
            done = true;
         }
      }
      if (!done)
         text_add(&t, s++, 1);
   }
   return t.data;
}

static void
add_run(const Options *o, TestFile *f, char *line)
{
   Run *r = &f->runs[f->num_runs++];
   *r = (Run){.exit = -1};
   char *check = strstr(line, "| FileCheck");
   if (check) {
      char *prefix = strstr(check, "--check-prefix=");
      r->strict = strstr(check, "--strict-whitespace") != NULL;
      r->prefix = prefix ? copy_n(prefix + 15, strcspn(prefix + 15, " \t")) : copy_n("CHECK", 5);
      *check = 0;
   }
   if (strncmp(line, "not ", 4) == 0) {
      r->expects_fail = true;
      line += 4;
   }
   r->command = substitute(o, f, line);
}

/* The text after KEY: on a line, or NULL. */
static const char *
after_key(const char *line, size_t len, const char *key)
{
   size_t n = strlen(key);
   for (const char *p = line; p + n <= line + len; p++)
      if (strncmp(p, key, n) == 0 && (p == line || !isalnum((unsigned char)p[-1])))
         return p + n;
   return NULL;
}

static bool
collect_runs(const Options *o, TestFile *f)
{
   Text pending = {0};
   for (const char *line = f->text.data; *line;) {
      size_t len = strcspn(line, "\n");
      const char *run = after_key(line, len, "RUN:"), *code = after_key(line, len, "EXIT:");
      if (run) {
         while (*run == ' ')
            run++;
         size_t n = (size_t)(line + len - run);
         bool more = n && run[n - 1] == '\\';
         text_add(&pending, run, more ? n - 1 : n);
         if (!more && f->num_runs < MAX_RUNS) {
            add_run(o, f, pending.data);
            text_free(&pending);
         }
      } else if (code && f->num_runs) {
         f->runs[f->num_runs - 1].exit = atoi(code);
      }
      line += len + (line[len] == '\n');
   }
   text_free(&pending);
   return f->num_runs > 0;
}

/* The output without the test's folder, and with the scratch name as %t: where the tests lie must
 * not decide what a check finds. */
static char *
without_paths(const TestFile *f, const char *s)
{
   Text dir = {0}, out = {0};
   text_printf(&dir, "%s/", f->dir);
   text_adds(&out, "");
   while (*s) {
      if (strncmp(s, dir.data, dir.len) == 0)
         s += dir.len;
      else if (strncmp(s, f->scratch, strlen(f->scratch)) == 0)
         text_adds(&out, "%t"), s += strlen(f->scratch);
      else
         text_add(&out, s++, 1);
   }
   text_free(&dir);
   return out.data;
}

static int
run_command(const char *command, Text *out)
{
   Text full = {0};
   text_adds(&full, "{ ");
   text_adds(&full, command);
   text_adds(&full, "\n} 2>&1 </dev/null");
   FILE *pipe = popen(full.data, "r");
   text_free(&full);
   if (!pipe)
      return -1;
   char buffer[65536];
   text_adds(out, "");
   for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      text_add(out, buffer, n);
   int status = pclose(pipe);
   return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- whole-output files ---- */

static bool
check_expected(const TestFile *f, const char *output, Text *why, bool *used)
{
   Text path = {0}, want = {0};
   text_printf(&path, "%s.expected", f->path);
   *used = access(path.data, F_OK) == 0;
   bool ok = true;
   const char *got = output;
   const char *bless = getenv("TILEC_BLESS");
   if (*used && bless && strcmp(bless, "1") == 0) {
      FILE *file = fopen(path.data, "wb");
      ok = file && fwrite(got, 1, strlen(got), file) == strlen(got);
      ok = file && fclose(file) == 0 && ok;
      if (!ok)
         text_printf(why, "%s cannot be written\n", path.data);
   } else if (*used) {
      ok = read_file(path.data, &want) && strcmp(want.data, got) == 0;
      size_t at = 0;
      while (!ok && want.data && want.data[at] && want.data[at] == got[at])
         at++;
      if (!ok)
         text_printf(why, "output differs from %s from line %u on (TILEC_BLESS=1 rewrites it)\n",
                     path.data, newlines(got, 0, at) + 1);
   }
   text_free(&path);
   text_free(&want);
   return ok;
}

/* ---- one file ---- */
static bool
exit_fits(const Run *r, int code)
{
   if (r->exit >= 0)
      return code == r->exit;
   return r->expects_fail ? code > 0 && code < 128 : code == 0;
}

static bool
run_all(TestFile *f, Text *joined, Text *why)
{
   text_adds(joined, "");
   for (unsigned i = 0; i < f->num_runs; i++) {
      Run *r = &f->runs[i];
      Text out = {0};
      int code = run_command(r->command, &out);
      char *seen = without_paths(f, out.data);
      bool ok = exit_fits(r, code);
      if (!ok)
         text_printf(why, "exit code %d%s\n", code, code >= 128 ? " (signal)" : "");
      if (ok && r->prefix)
         ok = tilecheck_match(f->text.data, r->prefix, r->strict, seen, why);
      if (ok && !r->prefix)
         text_adds(joined, seen);
      if (!ok) {
         text_adds(why, "   command: ");
         text_adds(why, r->command);
         text_adds(why, "\n   output:\n");
         text_adds(why, seen);
         text_adds(why, "\n");
      }
      free(seen);
      text_free(&out);
      if (!ok)
         return false;
   }
   return true;
}

static bool
has_checks(const char *text)
{
   return strstr(text, "CHECK:") || strstr(text, "CHECK-");
}

static bool
test_file(const Options *o, const char *path, Text *why)
{
   TestFile *f = calloc(1, sizeof *f);
   char *absolute = realpath(path, NULL);
   if (!f || !absolute) {
      text_printf(why, "%s cannot be opened\n", path);
      free(f);
      return false;
   }
   const char *slash = strrchr(absolute, '/'); /* there is one: the path is absolute */
   size_t dir_len = slash ? (size_t)(slash - absolute) : 0;
   const char *base = absolute + dir_len + 1;
   char *dir = copy_n(absolute, dir_len);
   Text scratch = {0};
   text_printf(&scratch, "%s/%s.tmp", o->tmp, base);
   f->path = absolute;
   f->dir = dir;
   f->scratch = scratch.data;
   bool is_open = false, used = false; /* open: some output has no check of its own */
   Text joined = {0};
   bool ok = read_file(absolute, &f->text) && collect_runs(o, f);
   if (!ok)
      text_adds(why, "no RUN line\n");
   ok = ok && run_all(f, &joined, why);
   for (unsigned i = 0; i < f->num_runs; i++)
      is_open = is_open || !f->runs[i].prefix;
   for (unsigned i = 0; i < f->num_runs; i++) /* CHECK lines belong to one of the runs */
      is_open = is_open && !(f->runs[i].prefix && strcmp(f->runs[i].prefix, "CHECK") == 0);
   ok = ok && check_expected(f, joined.data, why, &used);
   if (ok && is_open && has_checks(f->text.data)) {
      ok = tilecheck_match(f->text.data, "CHECK", false, joined.data, why);
      if (!ok)
         text_printf(why, "   output:\n"), text_adds(why, joined.data);
   }
   for (unsigned i = 0; i < f->num_runs; i++) {
      free(f->runs[i].command);
      free(f->runs[i].prefix);
   }
   text_free(&joined);
   text_free(&f->text);
   text_free(&scratch);
   free(dir);
   free(absolute);
   free(f);
   return ok;
}

#ifndef TILECHECK_NO_MAIN
/* Folders also hold data of other tests: only files with a RUN line are ours. */
static bool
has_run_line(const char *path)
{
   Text text = {0};
   bool found = read_file(path, &text) && strstr(text.data, "RUN:");
   text_free(&text);
   return found;
}

static int
is_test(const struct dirent *e)
{
   size_t n = strlen(e->d_name);
   return e->d_name[0] != '.' && !(n > 9 && strcmp(e->d_name + n - 9, ".expected") == 0);
}

typedef struct Tally {
   unsigned seen, passed, failed;
} Tally;

static void
test_path(const Options *o, const char *path, Tally *tally)
{
   struct stat st;
   if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
      struct dirent **names;
      int n = scandir(path, &names, is_test, alphasort);
      for (int i = 0; i < n; i++) {
         Text child = {0};
         text_printf(&child, "%s/%s", path, names[i]->d_name);
         if ((stat(child.data, &st) == 0 && S_ISDIR(st.st_mode)) || has_run_line(child.data))
            test_path(o, child.data, tally);
         text_free(&child);
         free(names[i]);
      }
      if (n >= 0)
         free(names);
      return;
   }
   Text why = {0};
   if (tally->seen++ % o->one_in)
      return;
   if (test_file(o, path, &why)) {
      tally->passed++;
   } else {
      tally->failed++;
      printf("FAIL %s\n%s", path, why.data ? why.data : "");
   }
   text_free(&why);
}

int
main(int argc, char **argv)
{
   Options o = {.tilec = "tilec", .tmp = "/tmp", .one_in = 1};
   Tally tally = {0};
   for (int i = 1; i < argc; i++) {
      if (strcmp(argv[i], "--tilec") == 0 && i + 1 < argc)
         o.tilec = argv[++i];
      else if (strcmp(argv[i], "--tmp") == 0 && i + 1 < argc)
         o.tmp = argv[++i];
      else if (strcmp(argv[i], "--one-in") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
         o.one_in = (unsigned)atoi(argv[++i]);
      else
         test_path(&o, argv[i], &tally);
   }
   printf("%u golden tests passed, %u failed\n", tally.passed, tally.failed);
   return tally.failed || !tally.passed;
}
#endif
