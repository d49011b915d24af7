/* What was meant by the name of an architecture that is none: a GPU's name, or one nearly right. */
#include "ir/target.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LETTERS = 64 };

static const struct {
   const char *name, *arch;
} gpus[] = {
#define TL_GPU(name, arch) {name, arch},
#include "ir/target.def"
};

static char
lower(char c)
{
   return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_digit(char c)
{
   return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
   return lower(c) >= 'a' && lower(c) <= 'z';
}

/* Letters and digits alone, small ones; what is too long is cut. */
static void
squeeze(const char *text, size_t len, char out[MOST_LETTERS])
{
   size_t n = 0;
   for (size_t i = 0; i < len && n + 1 < MOST_LETTERS; i++)
      if (is_letter(text[i]) || is_digit(text[i]))
         out[n++] = lower(text[i]);
   out[n] = 0;
}

/* Behind the words that stand before a GPU's name. */
static const char *
skip_makers(const char *text)
{
   static const char *const words[] = {"nvidia", "geforce", "tesla", "quadro", "rtx", "gtx"};
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
      size_t n = strlen(words[i]);
      if (strncmp(text, words[i], n) == 0)
         text += n;
   }
   return text;
}

/* The GPU that a squeezed text names, alone or with letters behind it: h100pcie, 4070ti; the
 * longest name, as l40s is no l40. */
static int
named_gpu(const char *text)
{
   const char *name = skip_makers(text);
   size_t longest = 0;
   int found = -1;
   for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
      char gpu[MOST_LETTERS];
      size_t n = strlen(gpus[i].name);
      squeeze(gpus[i].name, n, gpu);
      if (strncmp(name, gpu, n) == 0 && n > longest && !is_digit(name[n])) {
         longest = n;
         found = (int)i;
      }
   }
   return found;
}

/* Any word of the text may be the name; all of it, as dashes part words too: h-100. */
static int
find_gpu(const char *text)
{
   char word[MOST_LETTERS];
   squeeze(text, strlen(text), word);
   int found = named_gpu(word);
   for (const char *p = text; *p && found < 0;) {
      size_t len = strcspn(p, " -_/");
      squeeze(p, len, word);
      found = named_gpu(word);
      p += len + (p[len] != 0);
   }
   return found;
}

/* sm90 and compute_90 are sm_90; of SM_90A, 90 and 9.0 the last target of the number, which has
 * most. */
static const char *
near_arch(const char *text)
{
   static const char *const words[] = {"sm", "compute", "capability", "cc", "arch", "cuda"};
   char word[MOST_LETTERS];
   squeeze(text, strlen(text), word);
   const char *p = word, *found = NULL;
   bool is_name = strncmp(word, "sm", 2) == 0 || strncmp(word, "compute", 7) == 0;
   is_name &= !strstr(word, "capability");
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
      size_t n = strlen(words[i]);
      if (strncmp(p, words[i], n) == 0)
         p += n;
   }
   size_t digits = strspn(p, "0123456789");
   size_t letters = strlen(p) - digits;
   unsigned long sm = digits && digits < 4 && letters <= 1 ? strtoul(p, NULL, 10) : 0;
   for (unsigned i = 0; sm && tl_target_at(i); i++)
      if (tl_target_at(i)->sm == sm && !(is_name && !letters && found))
         found = tl_target_at(i)->arch;
   return found;
}

const char *
tl_target_meant(const char *text, const char **product)
{
   const char *arch = near_arch(text);
   int gpu = arch ? -1 : find_gpu(text);
   *product = gpu < 0 ? NULL : gpus[gpu].name;
   return gpu < 0 ? arch : gpus[gpu].arch;
}
